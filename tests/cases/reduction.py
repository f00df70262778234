"""Reductions, index-returning reductions, and scans."""

from __future__ import annotations

from typing import Any

import torch

from ..sampling import (
    FLOATS,
    WIDE_FLOATS,
    Maker,
    OpCase,
    Sample,
    Samples,
    also,
    bad_dim,
    empty_reduction,
    given,
    many_dims,
    no_overlap,
    none,
    one_dim,
    reductions,
    repeated_dim,
    scans,
)

NAN, INF = float("nan"), float("inf")

# Half precision sums are rounded in an order that is no part of the contract.
HALF_SUMS = {"float16": (4e-3, 4e-3), "bfloat16": (3.2e-2, 3.2e-2)}


def _with_dtype(make: Maker) -> list[Sample]:
    return [
        Sample(make(3, 4), dtype=torch.float64),
        Sample(make(3, 4), 1, dtype=torch.float32),
        Sample(make(3, 4), dim=0, keepdim=True, dtype=torch.float64),
    ]


def _with_wider_dtype(make: Maker) -> list[Sample]:
    """For prod, whose tangents torch leaves in the input's dtype."""
    return [Sample(make(3, 4), dtype=torch.float64), Sample(make(3, 4), 1, dtype=torch.float64)]


def _nans(make: Maker) -> list[Sample]:
    """NaN and infinities among the values."""
    if not make.dtype.is_floating_point:
        return []
    rows = torch.tensor([[1.0, NAN, 2.0], [INF, 1.0, 0.5], [-INF, 0.25, INF]], dtype=make.dtype)
    return [Sample(rows.clone(), 1), Sample(rows.clone(), 0)]


def nans_everywhere(make: Maker) -> list[Sample]:
    return [*_nans(make), *(Sample(s.args[0]) for s in _nans(make)[:1])]


def _usual(samples: Samples) -> Samples:
    """Without empty inputs and NaN, for which torch's tangents (not its gradients) are accidental.

    Rows that use it have those samples, see `_unusual`, as kinks and as extremes.
    """
    return lambda make: [s for s in samples(make) if not _is_unusual(s)]


def _unusual(samples: Samples) -> Samples:
    return lambda make: [s for s in samples(make) if _is_unusual(s)]


def _is_unusual(sample: Sample) -> bool:
    values = sample.args[0]
    return values.numel() == 0 or bool(values.isnan().any())


def ties(make: Maker) -> list[Sample]:
    """Equal extreme values: who gets the gradient, and which index is named."""
    return [
        Sample(make.values([1.0, 3.0, 3.0], [2.0, 2.0, 2.0]), 1),
        Sample(make.values([1.0, 3.0], [1.0, 3.0]), 0),
    ]


def _ties_everywhere(make: Maker) -> list[Sample]:
    return [*ties(make), Sample(make.values(3.0, 1.0, 3.0)), Sample(make.values(1.0, 1.0))]


def _zeros_for_prod(make: Maker) -> list[Sample]:
    """No zero, one zero, two zeros: each has its own form of the derivative."""
    rows = ([1.0, 2.0, 3.0], [1.0, 0.0, 3.0], [0.0, 2.0, 0.0])
    return [
        Sample(make.values(*rows), 1),
        Sample(make.values(1.0, 0.0, 2.0)),
        Sample(make.values(0.0, 0.0, 2.0)),
    ]


def _corrections(make: Maker) -> list[Sample]:
    return [
        Sample(make(3, 4)),
        Sample(make(3, 4), False),
        Sample(make(3, 4), 1),
        Sample(make.strided(2, 3, 4), (0, 2)),
        Sample(make(3, 4), 0, True, True),
        Sample(make(3, 4), 1, unbiased=False, keepdim=True),
        Sample(make(3, 4), dim=1, correction=0),
        Sample(make(3, 4), dim=None, correction=2),
        Sample(make(5), correction=1.5),
        Sample(make(1), 0),
        Sample(make()),
        Sample(make(0)),
        Sample(make(0, 3), 1),
        Sample(make(3, 4), dim=1, correction=None),
    ]


def _constant_rows(make: Maker) -> list[Sample]:
    return [Sample(make.values([2.0, 2.0], [1.0, 3.0]), 1)]


def _logsumexp(make: Maker) -> list[Sample]:
    return [
        Sample(make(3, 4), 0),
        Sample(make(3, 4), dim=1, keepdim=True),
        Sample(make(), 0),
        Sample(make.strided(2, 3, 4), (0, 2)),
        Sample(make(0, 3), 0),
        Sample(make(2, 0), 1),
    ]


def _norms(make: Maker) -> list[Sample]:
    orders = (0, 1, 2, 3, 0.5, INF, -INF, -1, 2.0)
    return [
        Sample(make(3, 4)),
        Sample(make()),
        Sample(make(0)),
        *(Sample(make(3, 4), p, 1) for p in orders),
        *(Sample(make.strided(3, 4), p=p) for p in (1, 2, INF)),
        Sample(make(2, 3, 4), 2, (0, 2), True),
        Sample(make(3, 4), p="fro"),
        Sample(make(3, 4), "fro", dim=(0, 1)),
        Sample(make(3, 4), dim=0),
        Sample(make(3, 4), 2, 1, dtype=torch.float64),
    ]


def _norm_kinks(make: Maker) -> list[Sample]:
    orders = (0, 0.5, 1, 1.5, 2, 3, INF, -INF)
    return [
        *(Sample(make.values(0.0, 0.0), p, 0) for p in orders),
        *(Sample(make.values(0.0, 1.0, -1.0), p, 0) for p in orders),
    ]


def _vector_norms(make: Maker) -> list[Sample]:
    return [
        Sample(make(3, 4)),
        Sample(make(3, 4), 3),
        Sample(make(3, 4), 1, 0),
        Sample(make(3, 4), INF, dim=1, keepdim=True),
        Sample(make(2, 3, 4), 2, (0, 2)),
        Sample(make.strided(3, 4), 0.5),
        Sample(make(), 2),
        Sample(make(0), 2),
        Sample(make(3, 4), dtype=torch.float64),
    ]


def _quantiles(make: Maker) -> list[Sample]:
    q = torch.tensor([0.1, 0.5, 0.95], dtype=make.dtype)
    ways = ("linear", "lower", "higher", "midpoint", "nearest")
    return [
        Sample(make(5), 0.3),
        Sample(make(3, 4), q),
        Sample(make(3, 4), 0.5, 1),
        Sample(make(3, 4), q, dim=0, keepdim=True),
        Sample(make(), 0.5),
        Sample(make(1), 0.0),
        *(Sample(make(2, 6), 0.3, dim=1, interpolation=way) for way in ways),
    ]


def _bad_quantiles(make: Maker) -> list[Sample]:
    return [Sample(make(5), 1.5), Sample(make(0), 0.5)] if make.is_inexact else []


def _kth(make: Maker) -> list[Sample]:
    return [
        Sample(make(5), 2),
        Sample(make(3, 4), 1, 0),
        Sample(make(3, 4), 4, dim=1, keepdim=True),
        Sample(make.strided(3, 4), 3),
        Sample(make(), 1),
    ]


def _distinct(make: Maker) -> list[Sample]:
    rows = make.values([3.0, 1.0, 2.0], [0.0, 5.0, 4.0])
    return [Sample(rows, 2), Sample(rows, 1, 0), Sample(rows, 3, keepdim=True)]


def _bad_kth(make: Maker) -> list[Sample]:
    return [Sample(make(3), 4), Sample(make(3), 0)]


def _dists(make: Maker) -> list[Sample]:
    samples = [
        Sample(make(3, 4), make(3, 4)),
        Sample(make(3, 4), make(4), 1),
        Sample(make(3), make(3), p=INF),
    ]
    # torch fails on the gradient for p = 0, which is zero.
    return samples if make.requires_grad else [*samples, Sample(make(3), make(3), 0)]


def reduction_row(name: str, samples: Samples, **row: Any) -> OpCase:
    row.setdefault("errors", bad_dim)
    row.setdefault("out", False)
    return OpCase(name, samples, **row)


SUMS: list[OpCase] = [
    reduction_row(
        "sum",
        also(reductions, many_dims, empty_reduction, _with_dtype, nans_everywhere),
        errors=also(bad_dim, repeated_dim),
        tolerance=HALF_SUMS,
    ),
    reduction_row(
        "nansum",
        also(reductions, many_dims, empty_reduction, nans_everywhere),
        tolerance=HALF_SUMS,
    ),
    reduction_row(
        "mean",
        also(reductions, many_dims, empty_reduction, _with_dtype, nans_everywhere),
        errors=none,
        tolerance=HALF_SUMS,
    ),
    reduction_row(
        "nanmean", also(reductions, many_dims, nans_everywhere), errors=none, tolerance=HALF_SUMS
    ),
    reduction_row(
        "prod",
        also(reductions, empty_reduction, _with_wider_dtype),
        kinks=_zeros_for_prod,
        domain=(-2.0, 2.0),
        tolerance=HALF_SUMS,
    ),
    reduction_row("prod", _zeros_for_prod, label="zeros", errors=none),
    *(
        reduction_row(name, _corrections, kinks=_constant_rows, errors=none, tolerance=HALF_SUMS)
        for name in ("var", "std")
    ),
    *(
        reduction_row(
            name,
            _usual(_corrections),
            variants=("function",),
            errors=none,
            extremes=_unusual(_corrections),
            kinks=_unusual(_corrections),
            tolerance=HALF_SUMS,
        )
        for name in ("var_mean", "std_mean")
    ),
    reduction_row(
        "logsumexp",
        _usual(also(_logsumexp, _nans)),
        out=True,
        tolerance=HALF_SUMS,
        extremes=_unusual(also(_logsumexp, _nans)),
        kinks=_unusual(also(_logsumexp, _nans)),
    ),
    reduction_row(
        "norm", _norms, kinks=_norm_kinks, errors=none, dtypes=FLOATS, tolerance=HALF_SUMS
    ),
    reduction_row(
        "linalg.vector_norm",
        _vector_norms,
        variants=("function",),
        kinks=_norm_kinks,
        errors=none,
        tolerance=HALF_SUMS,
    ),
    reduction_row("dist", _dists, errors=none, tolerance=HALF_SUMS),
    reduction_row(
        "count_nonzero",
        given(
            lambda m: Sample(m(3, 4)),
            lambda m: Sample(m(3, 4), 1),
            lambda m: Sample(m(3, 4), dim=(0, 1)),
            lambda m: Sample(m.strided(2, 3, 4), -2),
            lambda m: Sample(m()),
            lambda m: Sample(m(0)),
            lambda m: Sample(m(0, 3), 1),
            lambda m: Sample(m(3, 0), 1),
        ),
        errors=none,
        domain=(-1, 2),
    ),
]

EXTREMA: list[OpCase] = [
    *(
        reduction_row(
            name,
            also(reductions, _ties_everywhere),
            extremes=nans_everywhere,
            kinks=also(nans_everywhere, _ties_everywhere),
            errors=also(bad_dim, empty_reduction),
        )
        for name in ("max", "min")
    ),
    *(
        reduction_row(
            name,
            given(lambda m: Sample(m(3, 4), m(4)), lambda m: Sample(m(), m(2))),
            label="binary",
            errors=none,
        )
        for name in ("max", "min")
    ),
    *(
        reduction_row(
            name,
            also(one_dim, many_dims, _nans, ties),
            kinks=_ties_everywhere,
            out=True,
            errors=also(bad_dim, repeated_dim, empty_reduction),
        )
        for name in ("amax", "amin")
    ),
    reduction_row(
        "aminmax",
        given(
            lambda m: Sample(m(3, 4)),
            lambda m: Sample(m(3, 4), dim=1),
            lambda m: Sample(m.strided(3, 4), dim=0, keepdim=True),
            lambda m: Sample(m()),
        ),
        kinks=given(lambda m: Sample(m.values(1.0, 1.0, 3.0, 3.0))),
        errors=none,
    ),
    *(
        reduction_row(
            name,
            also(reductions, nans_everywhere, _ties_everywhere),
            errors=also(bad_dim, empty_reduction),
        )
        for name in ("argmax", "argmin")
    ),
    # torch's selection works in place on a copy that keeps stride 0, so its answer is not defined.
    *(
        reduction_row(
            name,
            _usual(no_overlap(reductions)),
            errors=bad_dim,
            extremes=also(nans_everywhere, empty_reduction),
            kinks=also(nans_everywhere, given(lambda m: Sample(m.values(1.0, 2.0, 2.0, 3.0)))),
            # Which of several equal elements is named is no part of the contract.
            domain=(0, 120),
        )
        for name in ("median", "nanmedian")
    ),
    reduction_row(
        "mode",
        also(one_dim, given(lambda m: Sample(m.values(1, 2, 2, 1, 0)))),
        errors=bad_dim,
        domain=(0, 3),
        dtypes=(torch.int64, torch.int32, torch.uint8),
    ),
    reduction_row("kthvalue", _kth, errors=_bad_kth, dtypes=WIDE_FLOATS),
    reduction_row("kthvalue", _distinct, label="distinct", errors=none),
    *(
        reduction_row(name, _quantiles, errors=_bad_quantiles, dtypes=(*WIDE_FLOATS, torch.int64))
        for name in ("quantile", "nanquantile")
    ),
]

LOGIC: list[OpCase] = [
    *(
        reduction_row(
            name, also(reductions, many_dims, empty_reduction, nans_everywhere), domain=(0, 2)
        )
        for name in ("any", "all")
    ),
]

SCANS: list[OpCase] = [
    reduction_row(
        "cumsum",
        also(scans, given(lambda m: Sample(m(3, 4), 1, dtype=torch.float64))),
        inplace="cumsum_",
        out=True,
        tolerance=HALF_SUMS,
    ),
    reduction_row(
        "cumprod",
        also(scans, given(lambda m: Sample(m(3, 4), 1, dtype=torch.float64))),
        inplace="cumprod_",
        out=True,
        domain=(-2.0, 2.0),
        tolerance=HALF_SUMS,
        kinks=given(
            lambda m: Sample(m.values([1.0, 2.0, 3.0], [1.0, 0.0, 3.0], [0.0, 2.0, 0.0]), 1)
        ),
    ),
    reduction_row(
        "logcumsumexp",
        _usual(scans),
        out=True,
        tolerance=HALF_SUMS,
        extremes=_unusual(scans),
        kinks=_unusual(scans),
    ),
    *(
        reduction_row(
            name,
            also(scans, _nans),
            kinks=given(lambda m: Sample(m.values(1.0, 3.0, 3.0, 2.0, 1.0, 1.0), 0)),
        )
        for name in ("cummax", "cummin")
    ),
    reduction_row(
        "diff",
        given(
            lambda m: Sample(m(5)),
            lambda m: Sample(m(3, 4), 2),
            lambda m: Sample(m(3, 4), dim=0),
            lambda m: Sample(m.strided(3, 4), 1, 1, m(3, 1), m(3, 2)),
            lambda m: Sample(m(1)),
        ),
        errors=none,
    ),
    reduction_row(
        "trapezoid",
        given(
            lambda m: Sample(m(5)),
            lambda m: Sample(m(3, 4), dim=0),
            lambda m: Sample(m(3, 4), dx=0.5),
            lambda m: Sample(m(3, 4), m(4)),
        ),
        variants=("function",),
        errors=none,
        dtypes=WIDE_FLOATS,
    ),
]


CASES: list[OpCase] = [*SUMS, *EXTREMA, *LOGIC, *SCANS]
