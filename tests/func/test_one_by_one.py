"""Functions that look at values run, inside of vmap, on each example by itself, as in PyTorch."""

from __future__ import annotations

from typing import Any

import pytest

import clew
from tests.twice import outcome, twice


@twice
def test_positions_of_repeats_that_differ(lib: Any) -> Any:
    x, repeats = lib.arange(6.0).reshape(2, 3), lib.tensor([[1, 2, 1], [2, 1, 1]])
    return lib.vmap(lambda row, times: lib.repeat_interleave(row, times))(x, repeats)


@twice
def test_end_points_that_differ(lib: Any) -> Any:
    start, end = lib.zeros(2), lib.tensor([1.0, 2.0])
    both = [lambda a, b: lib.linspace(a, b, 3), lambda a, b: lib.logspace(a, end=b, steps=3)]
    return [lib.vmap(each)(start, end) for each in both]


@twice
def test_rows_shortened_in_each_table(lib: Any) -> Any:
    tables = lib.arange(12.0).reshape(2, 3, 2)
    indices = lib.tensor([[0, 2], [1, 1]])
    look_up = lib.vmap(lambda i, w: lib.nn.functional.embedding(i, w, max_norm=1.0))
    return look_up(indices, tables), tables


@twice
def test_segments_that_differ(lib: Any) -> Any:
    lengths = lib.tensor([[2, 1], [1, 2]])
    data = lib.arange(6.0).reshape(2, 3)
    return lib.vmap(lambda d, n: lib.segment_reduce(d, "sum", lengths=n))(data, lengths)


@twice
def test_coordinates(lib: Any) -> Any:
    places = lib.vmap(lambda x: lib.argwhere(x))(lib.tensor([[0, 1], [1, 0]]))
    return places, lib.vmap(lambda x: lib.unravel_index(x, (2, 3)))(lib.tensor([[1, 2], [4, 5]]))


@twice
def test_as_many_coordinates_in_each_example(lib: Any) -> Any:
    return outcome(lambda: lib.vmap(lambda x: lib.argwhere(x))(lib.tensor([[0, 1], [1, 1]])))


@twice
def test_targets_that_differ(lib: Any) -> Any:
    scores = lib.linspace(-1, 1, 48).reshape(2, 4, 2, 3).log_softmax(-1).requires_grad_()
    targets = lib.tensor([[[1, 2], [1, 1]], [[2, 2], [2, 1]]])
    losses = lib.vmap(lambda s, t: lib.nn.functional.ctc_loss(s, t, (4, 4), (2, 1)))(
        scores, targets
    )
    return losses, lib.autograd.grad(losses.sum(), scores)


def test_no_gradient_is_lost_inside() -> None:
    def loss(scores: Any, targets: Any) -> Any:
        return clew.nn.functional.ctc_loss(scores, targets, (4, 4), (2, 1))

    scores = clew.zeros(2, 4, 2, 3).log_softmax(-1)
    targets = clew.tensor([[[1, 2], [1, 1]], [[2, 2], [2, 1]]])
    with pytest.raises(RuntimeError, match="no batching rule for `ctc_loss`"):
        clew.vmap(clew.func.grad(loss))(scores, targets)
