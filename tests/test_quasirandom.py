"""SobolEngine against torch's: the same numbers, for all dimensions and for any seed."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
import torch

import clew
from clew.quasirandom import SobolEngine
from tests import oracle


def _both(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
    return SobolEngine(*args, **kwargs), torch.quasirandom.SobolEngine(*args, **kwargs)


def _assert_equal(ours: Any, theirs: Any) -> None:
    oracle.assert_same(ours, theirs, 0.0, 0.0)


def test_direction_numbers_of_all_dimensions() -> None:
    ours, theirs = _both(SobolEngine.MAXDIM)
    _assert_equal(ours.sobolstate, theirs.sobolstate)


@pytest.mark.parametrize("seed", [0, 1234])
@pytest.mark.parametrize("scramble", [False, True])
@pytest.mark.parametrize("dimension", [1, 2, 7, 50])
def test_points(dimension: int, scramble: bool, seed: int) -> None:
    ours, theirs = _both(dimension, scramble=scramble, seed=seed)
    for count in (1, 2, 1, 7, 30):
        _assert_equal(ours.draw(count), theirs.draw(count))
    assert ours.num_generated == theirs.num_generated
    _assert_equal(ours.quasi, theirs.quasi)
    _assert_equal(ours.shift, theirs.shift)
    _assert_equal(ours.reset().draw(5), theirs.reset().draw(5))


def test_scrambling_by_the_default_generator() -> None:
    clew.manual_seed(7)
    torch.manual_seed(7)
    ours, theirs = _both(3, scramble=True)
    _assert_equal(ours.draw(9), theirs.draw(9))
    _assert_equal(clew.rand(2), torch.rand(2))


@pytest.mark.parametrize("skipped", [(0,), (1,), (5,), (3, 4), (1, 0, 1)])
def test_fast_forward(skipped: tuple[int, ...]) -> None:
    ours, theirs = _both(4, scramble=True, seed=2)
    for n in skipped:
        _assert_equal(ours.fast_forward(n).draw(3), theirs.fast_forward(n).draw(3))


def test_dtypes_and_out() -> None:
    ours, theirs = _both(3)
    _assert_equal(ours.draw(6, dtype=clew.float64), theirs.draw(6, dtype=torch.float64))
    target = clew.zeros(4, 3)
    assert ours.draw_base2(1, out=clew.zeros(0)).shape == (2, 3)
    assert ours.draw(4, out=target) is target
    assert target.any()
    theirs.draw(2)
    _assert_equal(target, theirs.draw(4))


@pytest.mark.parametrize("dimension", [0, -1, 21202])
def test_dimensions_that_are_refused(dimension: int) -> None:
    _, expected = oracle.outcome(torch.quasirandom.SobolEngine, dimension)
    _, error = oracle.outcome(SobolEngine, dimension)
    assert expected is not None
    oracle.assert_same_error(error, expected)


@pytest.mark.parametrize(
    "call",
    [
        lambda m, engine: (engine.draw(3), engine.draw_base2(2)),
        lambda m, engine: engine.draw(-1),
        lambda m, engine: engine.draw(3, dtype=m.int64),
        lambda m, engine: engine.draw(3, dtype=m.float16),
    ],
)
def test_what_is_refused(call: Any) -> None:
    raised = [
        oracle.outcome(call, m, engine)[1]
        for m, engine in zip((clew, torch), _both(2), strict=True)
    ]
    assert raised[1] is not None
    oracle.assert_same_error(*raised)


def test_repr_and_pickle() -> None:
    for arguments in ({}, {"scramble": True}, {"scramble": True, "seed": 3}, {"seed": 0}):
        ours, theirs = _both(2, **arguments)
        assert repr(ours) == repr(theirs)
    ours.draw(3)
    again = pickle.loads(pickle.dumps(ours))
    _assert_equal(again.draw(4), torch.quasirandom.SobolEngine(2).draw(7)[3:])
