"""Counts, segments and checksums: histogramdd, nonzero_static, segment_reduce, hash_tensor."""

from __future__ import annotations

import torch

from tests.sampling import FLOATS, WIDE_FLOATS, Maker, OpCase, Sample

_FUNCTION = ("function",)


def _points(make: Maker) -> list[Sample]:
    """Without grad: torch's counts and edges have a history that nothing can be done with."""
    points = make(30, 2).detach()
    edges = [make.values(-3.0, 0.0, 1.0).detach(), make.values(-1.0, 3.0).detach()]
    return [
        Sample(points, [3, 4]),
        Sample(points, bins=2),
        Sample(make(5, 6, 3).detach(), (2, 3, 2)),
        Sample(points, [3, 2], range=[-1.0, 2.0, 0.0, 1.0]),
        Sample(points, [3, 2], weight=make(30, low=0.5, high=2).detach(), density=True),
        Sample(points, edges),
        Sample(points[:0], [2, 2]),
    ]


def _bad_points(make: Maker) -> list[Sample]:
    backwards = Sample(make(4, 2), [2, 2], range=[0.0, 1.0, 3.0, 1.0])
    return [
        Sample(make(4), [2]),
        Sample(make(4, 2), [2]),
        Sample(make(4, 2), [2, 2], range=[0.0, 1.0]),
        Sample(make(4, 2), [2, 0]),
        Sample(make(4, 2), [2, 2], weight=make(3)),
        # torch looks at ranges before dtypes.
        *([backwards] if make.is_inexact else []),
    ]


def _some_zeros(make: Maker) -> list[Sample]:
    values = make.values(0, 1, 1, 0, 0, 1)
    return [
        Sample(values.reshape(2, 3), size=2),
        Sample(values, size=5, fill_value=7),
        Sample(values.reshape(3, 2, 1), size=0),
        Sample(make(), size=2),
    ]


_LENGTHS = torch.tensor([2, 0, 3])


def _segments(make: Maker) -> list[Sample]:
    rows = torch.tensor([[2, 2], [3, 1], [0, 4]])
    kinds = ("sum", "mean", "max", "min", "prod")
    return [
        *(Sample(make(5), kind, lengths=_LENGTHS, initial=1.5) for kind in kinds),
        *(Sample(make(5, 2), kind, lengths=torch.tensor([2, 3])) for kind in kinds),
        Sample(make(5, 2), "sum", lengths=_LENGTHS.int()),
        Sample(make.strided(3, 4), "max", lengths=rows, axis=1, initial=0),
        Sample(make(5, 2), "sum", offsets=torch.tensor([0, 2, 2, 5])),
        Sample(make(5), "sum", lengths=torch.tensor([1, 2]), unsafe=True),
    ]


def _bad_segments(make: Maker) -> list[Sample]:
    return [
        Sample(make(5), "sum"),
        Sample(make(5), "middle", lengths=_LENGTHS),
        Sample(make(5), "sum", indices=_LENGTHS),
        Sample(make(5), "sum", lengths=torch.tensor([1, 2])),
        Sample(make(5), "sum", lengths=torch.tensor([-1, 6])),
        Sample(make(5, 2), "sum", lengths=torch.tensor([2]), axis=1),
    ]


def _hashed(make: Maker) -> list[Sample]:
    return [
        Sample(make(3, 4)),
        Sample(make()),
        Sample(make.strided(2, 3, 4), 1),
        Sample(make(2, 3, 4), (0, 2), keepdim=True),
        Sample(make(0, 3), 1),
    ]


def _bad_hashed(make: Maker) -> list[Sample]:
    return [
        Sample(make(3), mode=1),
        Sample(make(0)),
        Sample(make(0), 0),
        Sample(make(2, 0), (0, 1)),
        Sample(make(2, 0), -1, keepdim=True),
    ]


CASES = [
    OpCase("histogramdd", _points, variants=_FUNCTION, dtypes=WIDE_FLOATS, errors=_bad_points),
    OpCase(
        "nonzero_static",
        _some_zeros,
        out=True,
        errors=lambda make: [Sample(make(3), size=-1)],
    ),
    OpCase(
        "segment_reduce",
        _segments,
        variants=_FUNCTION,
        dtypes=(*FLOATS, torch.int64),
        # torch rounds a half after each step.
        tolerance={"float16": (4e-3, 4e-3), "bfloat16": (3e-2, 3e-2)},
        errors=_bad_segments,
    ),
    OpCase("hash_tensor", _hashed, errors=_bad_hashed),
]
