"""Shapes and dimensions as arguments: none at all, one by one, in one sequence."""

from __future__ import annotations

from typing import Any

import pytest

from tests.twice import outcome, raised, twice

WITHOUT = ("reshape", "permute", "expand", "broadcast_to", "repeat", "tile", "flip", "resize_",
           "sum_to_size")  # fmt: skip


@pytest.mark.parametrize("name", WITHOUT)
def test_nothing_given(name: str) -> None:
    @twice
    def test(lib: Any) -> Any:
        x = lib.arange(3.0)
        return raised(getattr(x, name), words=20), raised(getattr(lib.ones(()), name)), x

    test()


@twice
def test_views_of_no_size(lib: Any) -> Any:
    x = lib.ones(1)
    return raised(x.view), raised(x.view, -1, dtype=lib.int32), x.view(dtype=lib.int32)


@twice
def test_broadcast_to(lib: Any) -> Any:
    x = lib.ones(3, 1)
    forms = (x.broadcast_to(3, 4), x.broadcast_to([3, 4]), x.broadcast_to(size=(3, 4)))
    return forms, x.broadcast_to(-1, 4), raised(x.broadcast_to, 2, 4, words=20)


@twice
def test_squeeze(lib: Any) -> Any:
    x = lib.ones(1, 3, 1, 2)
    written = x.clone().squeeze_(0, 2)
    seen = [x.squeeze(0, 2), x.squeeze(0, 1), x.squeeze((0, 2)), x.squeeze(-2), written]
    return [each.shape for each in seen], outcome(x.squeeze, 0, 7)


@twice
def test_sum_to_size(lib: Any) -> Any:
    x = lib.ones(2, 3, requires_grad=True)
    totals = [x.sum_to_size(1, 3), x.sum_to_size(3), x.sum_to_size(2, 3)]
    return [(each, each._is_view()) for each in totals], totals[0].grad_fn.name()
