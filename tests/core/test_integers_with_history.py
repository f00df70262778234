"""Integers and bools that a value with history was written to, compared with PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.twice import outcome, raised, twice

WRITES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "fill_": lambda lib, x, w: x.fill_(w),
    "part": lambda lib, x, w: x.__setitem__(slice(1, None), w),
    "everything": lambda lib, x, w: x.__setitem__(..., w),
    "masked_fill_": lambda lib, x, w: x.masked_fill_(lib.tensor([True, False, True]), w),
    "index_fill_": lambda lib, x, w: x.index_fill_(0, lib.tensor([0]), w),
    "mask": lambda lib, x, w: x.__setitem__(lib.tensor([True, False, True]), w),
    "copy_": lambda lib, x, w: x.copy_(w),
    "element": lambda lib, x, w: x.__setitem__(0, w),
}
USES: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda lib, x: x + 1,
    "clone": lambda lib, x: x.clone(),
    "sum": lambda lib, x: x.sum(),
    "abs": lambda lib, x: x.abs(),
    "select": lambda lib, x: x[0],
    "view": lambda lib, x: x.view(-1),
    "split": lambda lib, x: x.split(1),
    "sort": lambda lib, x: x.sort(),
    "cat": lambda lib, x: lib.cat([x, x]),
    "where": lambda lib, x: lib.where(x > 0, x, x),
    "masked_fill": lambda lib, x: x.masked_fill(x > 0, 1),
    "floor_divide": lambda lib, x: x // 2,
    "equal": lambda lib, x: x == 1,
    "argmax": lambda lib, x: x.long().argmax(),
    "float": lambda lib, x: x.float(),
    "long": lambda lib, x: x.bool().long(),
    "times a float": lambda lib, x: x * 2.5,
    "exp": lambda lib, x: x.exp(),
    "detach": lambda lib, x: x.detach() + 1,
    "add_": lambda lib, x: x.add_(1).requires_grad,
    "zero_": lambda lib, x: x.zero_().requires_grad,
    "copy_": lambda lib, x: x.copy_(lib.ones(3)).requires_grad,
    "numpy": lambda lib, x: x.numpy().tolist(),
    "tolist": lambda lib, x: x.tolist(),
    "backward": lambda lib, x: x.backward(lib.ones(3)),
    "backward of floats": lambda lib, x: (x.float() * 2).sum().backward(),
    "flag off": lambda lib, x: x.requires_grad_(False),
    "flag on": lambda lib, x: x.requires_grad_(True),
    "retain_grad": lambda lib, x: x.retain_grad(),
    "detach_": lambda lib, x: x.detach_() + 1,
    "under no_grad": lambda lib, x: lib.no_grad()(lambda: x[1:] + 1)(),
}


@pytest.mark.parametrize("dtype", ["int64", "bool", "uint8"])
@pytest.mark.parametrize("write", WRITES)
def test_uses(write: str, dtype: str) -> None:
    """They have a history that nothing can be done with, but from `copy_`."""

    def scenario(lib: Any) -> Any:
        seen: list[Any] = []
        for use in USES.values():
            w = lib.tensor(2.0, requires_grad=True)
            x = lib.tensor([1, 0, 3]).to(getattr(lib, dtype))
            WRITES[write](lib, x, w)
            seen += [x.requires_grad, x.is_leaf, x._version]
            seen.append(outcome(lambda: use(lib, x), words=3))  # noqa: B023  (called at once)
            seen.append(w.grad)
        return seen

    twice(scenario)()


@twice
def test_results_that_would_be_integers(lib: Any) -> Any:
    w, i = lib.tensor(2.0, requires_grad=True), lib.tensor([1, 2, 3])
    calls: list[Callable[[], Any]] = [
        lambda: i.masked_fill(i > 1, w), lambda: i.index_fill(0, lib.tensor([0]), w),
        lambda: (w * 2).to(lib.int32), lambda: w.sum(dtype=lib.int64), lambda: w.long() + i,
    ]  # fmt: skip
    return [outcome(call, words=5) for call in calls]


@twice
def test_masks_that_do_not_fit(lib: Any) -> Any:
    w, x = lib.tensor(2.0, requires_grad=True), lib.tensor([[1, 2, 3]])
    masks = [[True, False, True], [[True, False]], [False], [True], [[True, False, True]]]
    seen: list[Any] = []
    for mask in masks:
        y = x.clone()
        seen += [raised(y.__setitem__, lib.tensor(mask), w), y.detach(), y.requires_grad]
    return seen


@twice
def test_views_of_integers(lib: Any) -> Any:
    w, x = lib.tensor(2.0, requires_grad=True), lib.tensor([1, 2, 3])
    part = x[1:]
    part.fill_(w)
    seen = [x.detach(), x.requires_grad, part.requires_grad, part.is_leaf]
    return [*seen, outcome(lambda: part + 1, words=4), outcome(lambda: x[:1], words=4)]
