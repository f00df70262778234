"""Every row of the op table, compiled: captured with some values and replayed with others.

A value that a capture has taken for a constant shows here, because the replay gets other values.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

import clew
from clew.utils._pytree import tree_flatten
from tests import oracle
from tests.ops.test_ops import CASES
from tests.sampling import Maker, OpCase

BOUNDS = {"float32": 2e-4, "float64": 1e-9}


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def samples(case: OpCase, dtype: torch.dtype, seed: int, requires_grad: bool) -> list[Any]:
    make = Maker(dtype, case.domain, requires_grad)
    make._generator.manual_seed(seed)
    return list(case.samples(make))


def outcome(function: Any, arguments: Any) -> Any:
    """The results of a call and the gradients of its inputs, or the kind of error."""
    clew.manual_seed(0)
    try:
        result = function(list(arguments[0]), arguments[1])
    except Exception as error:  # compared by kind, below
        return type(error), ()
    leaves = [each for each in tree_flatten(result)[0] if isinstance(each, clew.Tensor)]
    inputs = [
        each
        for each in tree_flatten(arguments)[0]
        if isinstance(each, clew.Tensor) and each.requires_grad
    ]
    attached = [each for each in leaves if each.requires_grad]
    if not attached or not inputs:
        return result, ()
    weights = [
        clew.from_numpy(np.cos(np.arange(each.numel())).reshape(tuple(each.shape))).to(each.dtype)
        for each in attached
    ]
    try:
        return result, clew.autograd.grad(attached, inputs, weights, allow_unused=True)
    except Exception as error:  # compared by kind, below
        return result, (type(error),)


def assert_equal(mine: Any, right: Any) -> None:
    ours, theirs = tree_flatten(mine)[0], tree_flatten(right)[0]
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        if not isinstance(b, clew.Tensor):
            assert a == b or (a != a and b != b)
            continue
        assert (a.shape, a.dtype, a.requires_grad) == (b.shape, b.dtype, b.requires_grad)
        x, y = a.detach()._array, b.detach()._array
        if x.dtype.kind in "biu":
            assert (x == y).all()
        else:
            wide = np.complex128 if x.dtype.kind == "c" else np.float64
            bound = BOUNDS.get(x.dtype.name, 2e-4)
            np.testing.assert_allclose(x.astype(wide), y.astype(wide), bound, bound)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_replay_is_what_the_operation_gives(case: OpCase) -> None:
    function = case.function_of(clew)

    def call(args: list[Any], kwargs: dict[str, Any]) -> Any:
        return function(*args, **kwargs)

    for dtype, requires_grad in (
        (torch.float32, True),
        (torch.float32, False),
        (torch.int64, False),
    ):
        if dtype not in case.dtypes:
            continue
        first = samples(case, dtype, 0, requires_grad)
        for one, other in zip(first, samples(case, dtype, 1, requires_grad), strict=False):
            before, given, expected = (
                oracle.to_clew((each.args, each.kwargs)) for each in (one, other, other)
            )
            compiled = clew.compile(call)
            outcome(compiled, before)
            assert_equal(outcome(compiled, given), outcome(call, expected))
