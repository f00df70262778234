"""Loops that carry a tensor on without its history: they take the same time and memory forever."""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
import torch

import clew
from tests.oracle import assert_same

STEPS = 2 * sys.getrecursionlimit()


def _add_to_data(m: Any, p: Any) -> Any:
    p.data += -0.001 * m.ones(3)
    return p


def _replace_data(m: Any, p: Any) -> Any:
    p.data = p.data - 0.001 * m.ones(3)
    return p


def _write_to_data(m: Any, p: Any) -> Any:
    p.data.add_(0.001)
    return p


def _same_data(m: Any, p: Any) -> Any:
    p.data = p.data
    return p


def _data_of_data(m: Any, p: Any) -> Any:
    p = p.data
    p.add_(0.001)
    return p


def _detach(m: Any, p: Any) -> Any:
    return p.detach()


def _detach_and_go_on(m: Any, p: Any) -> Any:
    return p.detach() * 0.999


def _recurrent(m: Any, h: Any) -> Any:
    w = m.full((3,), 0.5, requires_grad=True)
    h = (h.detach() * w).tanh()
    h.sum().backward()
    return h


def _train(m: Any, p: Any) -> Any:
    (p * p).sum().backward()
    p.data += -0.001 * p.grad.data
    p.grad.data.zero_()
    return p


LOOPS: list[Callable[[Any, Any], Any]] = [
    _add_to_data, _replace_data, _write_to_data, _same_data, _data_of_data, _detach,
    _detach_and_go_on, _recurrent, _train,
]  # fmt: skip


@pytest.mark.parametrize("step", LOOPS, ids=lambda step: step.__name__.strip("_"))
def test_a_loop_keeps_nothing_of_its_steps(step: Callable[[Any, Any], Any]) -> None:
    def carry(m: Any, p: Any, steps: int) -> Any:
        for _ in range(steps):
            p = step(m, p)
        return p

    expected = carry(torch, torch.ones(3, requires_grad=True), 3 * STEPS)
    p = clew.ones(3, requires_grad=True)
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        # Until then Python keeps tuples for the next ones (2000 of each length), and caches fill.
        p = carry(clew, p, 2 * STEPS)
        before, objects = tracemalloc.get_traced_memory()[0], len(gc.get_objects())
        p = carry(clew, p, STEPS)
        after, more = tracemalloc.get_traced_memory()[0], len(gc.get_objects())
    finally:
        tracemalloc.stop()
        gc.enable()
    # Nothing of a step stays, not even until the garbage collector runs; the smallest object for
    # each of them would be more than this.
    assert after - before < 16 * STEPS
    assert more - objects < STEPS // 4
    assert_same(p.detach(), expected.detach())


def test_the_version_stays_with_the_tensor_whose_data_is_replaced() -> None:
    def versions(m: Any) -> list[int]:
        p, t = m.ones(3, requires_grad=True), m.zeros(3)
        t.add_(1)
        p.data += 1
        seen = [p._version]
        p.data = t
        seen += [p._version, t._version]
        with m.no_grad():
            p.add_(1)
        t.mul_(2)
        return [*seen, p._version, t._version, p.data._version]

    assert versions(clew) == versions(torch)


def _writes() -> dict[str, Callable[[Any], Any]]:
    def add_in_place(p: Any) -> None:
        p.data += 1

    return {
        "data.add_": lambda p: p.data.add_(1),
        "data +=": add_in_place,
        "data.data.add_": lambda p: p.data.data.add_(1),
        "view of data": lambda p: p.data[1:].zero_(),
        "data of view": lambda p: p[1:].data.zero_(),
        "after replacing": lambda p: (setattr(p, "data", p.data), p.data.mul_(2)),
    }


@pytest.mark.parametrize("write", _writes())
def test_backward_warns_of_a_write_through_data(write: str) -> None:
    p = clew.ones(3, requires_grad=True)
    loss = (p * p).sum()
    _writes()[write](p)
    with pytest.warns(UserWarning, match=r"\.data"):
        loss.backward()


def test_a_data_tensor_that_was_saved_is_watched_too() -> None:
    w = clew.ones(3, requires_grad=True)
    middle = clew.ones(3).data
    loss = (w * middle).sum()
    middle.data.add_(1)
    with pytest.warns(UserWarning, match=r"\.data"):
        loss.backward()
