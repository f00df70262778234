"""Pooling: windows, adaptive, fractional, and unpooling."""

from __future__ import annotations

import torch

from ..sampling import FLOATS, WIDE_FLOATS, Maker, OpCase, Sample, Samples, given
from .conv import HALF_STEPS, channels_last, nn_row, reals


def _max1d(m: Maker) -> list[Sample]:
    return [
        Sample(m(2, 3, 8), 2), Sample(m(3, 8), 3, 2, 1), Sample(m(2, 3, 9), 3, 2, 1, 2, True),
        Sample(m(2, 3, 8), (2,), return_indices=True), Sample(m(0, 3, 8), 2),
        Sample(m.strided(2, 3, 8), 3, 1),
    ]  # fmt: skip


def _max2d(m: Maker) -> list[Sample]:
    return [
        Sample(m(2, 3, 8, 7), 2), Sample(m(3, 6, 7), (3, 2), 2, (1, 0)),
        Sample(m(1, 2, 9, 8), 3, 2, 1, 2, True), Sample(m(1, 2, 7, 7), 3, 1, 1),
        Sample(m(2, 3, 7, 7), kernel_size=2, ceil_mode=True, return_indices=True),
        Sample(m(0, 3, 8, 8), 2), Sample(m.strided(2, 3, 6, 6), 2),
        Sample(channels_last(m(2, 3, 6, 6)), 3, 2), Sample(m(1, 1, 5, 5), 5),
    ]  # fmt: skip


def _max3d(m: Maker) -> list[Sample]:
    return [
        Sample(m(1, 2, 4, 5, 6), 2),
        Sample(m(2, 5, 4, 4), 3, 1, 1),
        Sample(m(1, 1, 5, 5, 5), (2, 3, 2), 2, return_indices=True, ceil_mode=True),
    ]


def _ties2d(m: Maker) -> list[Sample]:
    tied = [
        [[1.0, 1.0, 2.0, 2.0], [1.0, 1.0, 2.0, 2.0], [0.0, 0.0, 3.0, 1.0], [0.0, 0.0, 3.0, 3.0]]
    ]
    return [Sample(m.values(*tied), 2), Sample(m.values(*tied), 3, 1)]


def _nan2d(m: Maker) -> list[Sample]:
    nan, inf = float("nan"), float("inf")
    if not m.dtype.is_floating_point:
        return []
    rows = [[[1.0, nan, 2.0, -inf], [nan, 1.0, -inf, -inf], [-inf, -inf, -inf, -inf]]]
    return [
        Sample(m.values(*rows), 2),
        Sample(m.values(*rows), 3, 1, 1, return_indices=True),
        Sample(m.values(*rows), 2, 2, 1, ceil_mode=True, return_indices=True),
    ]


def _window_errors(m: Maker) -> list[Sample]:
    x = m(1, 3, 8, 8)
    return [
        Sample(m(1, 3, 8, 0), 2), Sample(m(1, 0, 8, 8), 2), Sample(x, 2, 0),
        Sample(x, 2, padding=2),
        Sample(x, 2, padding=-1), Sample(x, 9), Sample(x, (2, 2, 2)), Sample(x, 2, (2, 2, 2)),
        Sample(x, 2, 2, (1, 1, 1)),
    ]  # fmt: skip


def _max2d_errors(m: Maker) -> list[Sample]:
    x = m(1, 3, 8, 8)
    return [
        *_window_errors(m),
        Sample(m(3), 2),
        Sample(x, 2, dilation=0),
        Sample(x, 2, dilation=(1, 1, 1)),
        Sample(x, 0, 1),
    ]


def _line_errors(m: Maker) -> list[Sample]:
    x = m(1, 3, 8)
    return [
        Sample(m(3), 2), Sample(m(1, 0, 8), 2), Sample(x, 0), Sample(x, 2, 0),
        Sample(x, 2, padding=2),
        Sample(x, 2, padding=-1), Sample(x, 9), Sample(x, (2, 2)), Sample(x, 2, (1, 1)),
        Sample(x, 2, dilation=0),
    ]  # fmt: skip


def _avg1d(m: Maker) -> list[Sample]:
    return [
        Sample(m(2, 3, 8), 2),
        Sample(m(3, 8), 3, 2, 1),
        Sample(m(2, 3, 8), 3, 2, 1, True, False),
    ]


def _avg2d(m: Maker) -> list[Sample]:
    return [
        Sample(m(2, 3, 8, 7), 2), Sample(m(3, 6, 7), (3, 2), 2, (1, 0)),
        Sample(m(1, 2, 7, 8), 3, 2, 1, True), Sample(m(1, 2, 7, 8), 3, 2, 1, True, False),
        Sample(m(1, 2, 6, 6), 2, divisor_override=3), Sample(m(0, 3, 6, 6), 2),
        Sample(m.strided(2, 3, 6, 6), 3, 1), Sample(channels_last(m(2, 3, 6, 6)), 2),
    ]  # fmt: skip


def _avg3d(m: Maker) -> list[Sample]:
    return [
        Sample(m(1, 2, 4, 5, 6), 2), Sample(m(2, 5, 4, 4), 3, 1, 1, False, False),
        Sample(m(1, 2, 5, 5, 5), 2, ceil_mode=True),
        Sample(m(1, 1, 4, 4, 4), 2, divisor_override=5),
    ]  # fmt: skip


def _adaptive1d(m: Maker) -> list[Sample]:
    return [Sample(m(2, 3, 7), 3), Sample(m(3, 7), (1,)), Sample(m(2, 3, 4), 6)]


def _adaptive2d(m: Maker) -> list[Sample]:
    return [
        Sample(m(2, 3, 7, 6), 3), Sample(m(3, 7, 6), (None, 2)), Sample(m(2, 3, 4, 5), 1),
        Sample(m(1, 2, 3, 3), (5, 4)), Sample(m(0, 3, 5, 5), 2),
        Sample(m.strided(2, 3, 5, 5), (2, 3)),
    ]  # fmt: skip


def _adaptive3d(m: Maker) -> list[Sample]:
    return [
        Sample(m(1, 2, 4, 5, 6), (2, None, 3)),
        Sample(m(2, 4, 4, 4), 1),
        Sample(m(2, 3, 3, 3), 2),
    ]


def _adaptive_errors(m: Maker) -> list[Sample]:
    x = m(1, 3, 8, 8)
    return [
        Sample(m(1, 3, 8, 0), 2),
        Sample(x, (2, 2, 2)),
        Sample(x, -1),
        Sample(x, (2,)),
        Sample(m(2, 2, 2, 2, 2), 2),
        Sample(x, None),
    ]


def _lp(*shape: int) -> Samples:
    return lambda m: [
        Sample(m(1, 2, *shape), 2.0, 2),
        Sample(m(2, *shape), 3.0, 2, 1),
        Sample(m(1, 2, *shape), 1.5, 3, ceil_mode=True),
    ]


def _unpool(dims: int) -> Samples:
    def samples(m: Maker) -> list[Sample]:
        pool = getattr(torch.nn.functional, f"max_pool{dims}d")
        source = m(2, 3, *(6,) * dims).detach()
        values, where = pool(source.double(), 2, return_indices=True)
        values = values.to(m.dtype).requires_grad_(m.requires_grad)
        single = values.detach()[0].requires_grad_(m.requires_grad)
        return [
            Sample(values, where, 2),
            Sample(single, where[0], 2, 2),
            Sample(values, where, 2, output_size=(7,) * dims),
        ]

    return samples


def _unpool_errors(m: Maker) -> list[Sample]:
    v, i = m(1, 3, 4, 4), torch.arange(48).reshape(1, 3, 4, 4)
    return [
        Sample(v, i[:, :1], 2),
        Sample(v, i.int(), 2),
        Sample(v, i, 2, output_size=(20, 20)),
        Sample(v, i, 2, output_size=(1, 2, 3)),
        Sample(v, i + 1000, 2),
    ]


def _fractional(dims: int) -> Samples:
    def samples(m: Maker) -> list[Sample]:
        drawn = m(2, 3, dims, low=0.0, high=0.99).detach()
        x = m(2, 3, *(7,) * dims)
        return [
            Sample(x, 2, 4, _random_samples=drawn),
            Sample(x, 3, output_ratio=(0.5,) * dims, _random_samples=drawn),
            Sample(x, 2, 3, return_indices=True, _random_samples=drawn),
        ]

    return samples


CASES: list[OpCase] = [
    nn_row("max_pool1d", _max1d, reals(_line_errors)),
    nn_row("max_pool2d", _max2d, reals(_max2d_errors), kinks=_ties2d, extremes=_nan2d,
         dtypes=(*FLOATS, torch.int64, torch.uint8, torch.bool, torch.complex64)),
    nn_row("max_pool3d", _max3d),
    nn_row("avg_pool1d", _avg1d, tolerance=HALF_STEPS),
    nn_row("avg_pool2d", _avg2d, reals(_window_errors), tolerance=HALF_STEPS,
         dtypes=(*FLOATS, torch.int64, torch.int32, torch.complex64)),
    # torch's kernel for three axes has no 16-bit floats.
    nn_row("avg_pool3d", _avg3d, dtypes=(*WIDE_FLOATS, torch.int64)),
    nn_row("adaptive_avg_pool1d", _adaptive1d, tolerance=HALF_STEPS),
    nn_row("adaptive_avg_pool2d", _adaptive2d, reals(_adaptive_errors), tolerance=HALF_STEPS),
    nn_row("adaptive_avg_pool3d", _adaptive3d, tolerance=HALF_STEPS),
    nn_row("adaptive_max_pool1d", _adaptive1d),
    nn_row("adaptive_max_pool2d", _adaptive2d, reals(_adaptive_errors), kinks=given(
        lambda m: Sample(m.values([[1.0, 1.0], [1.0, 1.0]]), 1))),
    nn_row("adaptive_max_pool3d", _adaptive3d),
    *(nn_row(f"lp_pool{n}d", _lp(*(5,) * n), domain=(0.5, 2.0), tolerance=HALF_STEPS,
           dtypes=FLOATS if n < 3 else WIDE_FLOATS) for n in (1, 2, 3)),
    *(nn_row(f"max_unpool{n}d", _unpool(n), reals(_unpool_errors) if n == 2 else None,
           dtypes=WIDE_FLOATS) for n in (1, 2, 3)),
    *(nn_row(f"fractional_max_pool{n}d", _fractional(n), dtypes=WIDE_FLOATS) for n in (2, 3)),
]  # fmt: skip
