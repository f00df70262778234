"""Sorting, and the largest and smallest elements."""

from __future__ import annotations

from ..sampling import (
    WIDE_FLOATS,
    Maker,
    OpCase,
    Sample,
    also,
    bad_dim,
    given,
    none,
)
from .reduction import INF, nans_everywhere, reduction_row, ties


def _orders(make: Maker) -> list[Sample]:
    return [
        Sample(make(5)),
        Sample(make(3, 4), 0),
        Sample(make(3, 4), dim=1, descending=True),
        Sample(make.strided(2, 3, 4), -2),
        Sample(make()),
        Sample(make(0)),
        Sample(make(2, 0), 1),
    ]


def _tops(make: Maker) -> list[Sample]:
    return [
        Sample(make(5), 2),
        Sample(make(3, 4), 3, 0),
        Sample(make(3, 4), 2, dim=1, largest=False),
        Sample(make.strided(3, 4), 4),
        Sample(make(), 1),
        Sample(make(2, 0), 0),
        Sample(make(3), 0),
    ]


def _bad_tops(make: Maker) -> list[Sample]:
    return [Sample(make(3), 4), Sample(make(3), -1), Sample(make(2, 3), 1, 2)]


CASES: list[OpCase] = [
    *(
        reduction_row(name, also(_orders, nans_everywhere, ties), errors=bad_dim)
        for name in ("sort", "argsort")
    ),
    reduction_row(
        "msort", given(lambda m: Sample(m(5)), lambda m: Sample(m.strided(3, 4))), errors=none
    ),
    reduction_row("topk", _tops, errors=_bad_tops, dtypes=WIDE_FLOATS),
    reduction_row(
        "renorm",
        given(
            lambda m: Sample(m(3, 4), 2, 0, 1.0),
            lambda m: Sample(m.strided(2, 3, 4), 1, 1, 2.0),
            lambda m: Sample(m(3, 4), INF, 1, 0.5),
            lambda m: Sample(m(3, 4), 2, 0, 100.0),
        ),
        errors=given(lambda m: Sample(m(3), 2, 0, 1.0)),
        inplace="renorm_",
        dtypes=WIDE_FLOATS,
    ),
]
