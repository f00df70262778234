"""Writes to expanded tensors, whose elements share memory: mostly refused, some with a warning."""

from __future__ import annotations

from typing import Any

from tests.twice import raised, twice


def _expanded(lib: Any) -> Any:
    return lib.zeros(1).expand(6)


@twice
def test_filling_at_indices_or_a_mask_warns(lib: Any) -> Any:
    index, mask = lib.tensor([2, 1]), lib.tensor([True, False] * 3)
    one = lib.tensor(1.0)
    return (
        _expanded(lib).index_fill_(0, index, 1.0), _expanded(lib).index_fill_(0, index, one),
        _expanded(lib).masked_fill_(mask, 1.0), _expanded(lib).masked_fill_(mask, one),
        _expanded(lib).index_put_((index,), lib.ones(2)),
    )  # fmt: skip


@twice
def test_assignment_writes_what_is_chosen_only(lib: Any) -> Any:
    rows = lib.full((1, 3), float("nan")).expand(3, 3)
    places = lib.tensor([2, 1])
    rows[places, places] = lib.tensor([3.0, 4.0])
    masked = _expanded(lib)
    masked[lib.tensor([True, False] * 3)] = lib.ones(3)
    return rows, masked


@twice
def test_other_writes_are_refused(lib: Any) -> Any:
    index, F = lib.tensor([2, 1]), lib.nn.functional
    return (
        raised(_expanded(lib).index_copy_, 0, index, lib.ones(2)),
        raised(_expanded(lib).scatter_, 0, index, 1.0), raised(F.relu_, _expanded(lib)),
        F.threshold_(_expanded(lib), 0.5, 0.6), F.threshold(_expanded(lib), 0.5, 0.6, True),
    )  # fmt: skip
