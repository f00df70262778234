"""Rules for batch norm by running statistics, and for group norm."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from clew.compiler.native.calls import Calls
from clew.compiler.native.layouts import Layout
from clew.compiler.native.rule_table import FLOATS, forward, gradient, present, require
from clew.kernels.numpy import reduce
from clew.ops.nn.batch_norm import COLUMN_AFFINE, ROWS
from clew.ops.nn.group_norm import STATISTICS_KERNEL, channels_are_long
from clew.ops.nn.layer_norm import (
    LAYER_NORM_BACKWARD_KERNEL,
    LAYER_NORM_KERNEL,
    LAYER_NORM_PARAMETERS_KERNEL,
)


def _require_channels(x: Layout, *vectors: Any) -> None:
    require(x.dtype in FLOATS and x.is_contiguous and x.size > 0, "no floats in order")
    given = [each for each in vectors if each is not None]
    require(all(each.dtype is x.dtype and each.is_contiguous for each in given), "other memory")


def _rows(x: Layout) -> Layout:
    """A row for each channel of each sample."""
    return x.reshaped(*x.shape[:2], math.prod(x.shape[2:]))


def _spread(c: Calls, source: Layout, *shape: int) -> Layout:
    """Numbers in memory of their own, repeated along dimensions of size 1."""
    made = c.temporary(shape, source.dtype)
    c.call(np.positive, source, made)
    return made


# -- batch norm by running statistics --------------------------------------------------------------


@forward("native_batch_norm_running")
def _batch_norm_running(
    c: Calls, outs: list[Layout | None], x: Layout, weight: Any, bias: Any, mean: Layout,
    variance: Layout, eps: float,
) -> None:  # fmt: skip
    (out,) = present(outs)
    _require_channels(x, out, weight, bias, mean, variance)
    scale = c.temporary(mean.shape, x.dtype)
    c.call(np.add, variance, c.constant(eps, x.dtype), scale)
    c.call(np.sqrt, scale, scale)
    c.call(np.divide, c.constant(1.0, x.dtype), scale, scale)
    if weight is not None:
        c.call(np.multiply, scale, weight, scale)
    shift = c.constant(0.0, x.dtype) if bias is None else bias
    if len(x.shape) == 2:
        c.call(COLUMN_AFFINE, x, mean, scale, shift, out)
        return
    # Numbers for each row: one loop.
    numbers = [_spread(c, each, *x.shape[:2]) for each in (mean, scale, shift)]
    c.call(ROWS.affine, _rows(x), *numbers, _rows(out))


# -- group norm ------------------------------------------------------------------------------------


def _groups(x: Layout, count: int) -> Layout:
    """A row for each group of each sample."""
    return x.reshaped(x.shape[0], count, math.prod(x.shape[1:]) // count)


def _per_channel(c: Calls, per_group: Layout, channels: int) -> Layout:
    """(N, groups) as (N, channels)."""
    samples, groups = per_group.shape
    each = _spread(c, per_group.unsqueezed(2), samples, groups, channels // groups)
    return each.reshaped(samples, channels)


def _along_groups(c: Calls, vector: Any, default: float, x: Layout, groups: int) -> Layout:
    """Numbers per channel, repeated for every element of the rows that are groups."""
    channels, size = x.shape[1], math.prod(x.shape[1:])
    each = c.constant(default, x.dtype) if vector is None else vector.unsqueezed(1)
    return _spread(c, each, channels, size // channels).reshaped(groups, size // groups)


@forward("native_group_norm")
def _group_norm(
    c: Calls, outs: list[Layout | None], x: Layout, weight: Any, bias: Any, num_groups: int,
    eps: float,
) -> None:  # fmt: skip
    out, mean, rstd = present(outs)
    _require_channels(x, out, mean, rstd, weight, bias)
    groups, small = _groups(x, num_groups), c.constant(eps, x.dtype)
    if not channels_are_long(x.shape):
        factor = _along_groups(c, weight, 1.0, x, num_groups)
        offset = _along_groups(c, bias, 0.0, x, num_groups)
        made = _groups(out, num_groups), mean, rstd
        c.call(LAYER_NORM_KERNEL, groups, factor, offset, small, *made)
        return
    c.call(STATISTICS_KERNEL, groups, small, mean, rstd)
    scale = _per_channel(c, rstd, x.shape[1])
    if weight is not None:
        c.call(np.multiply, scale, weight, scale)
    shift = _spread(c, c.constant(0.0, x.dtype) if bias is None else bias, *x.shape[:2])
    c.call(ROWS.affine, _rows(x), _per_channel(c, mean, x.shape[1]), scale, shift, _rows(out))


@gradient("native_group_norm")
def _group_norm_gradients(
    c: Calls, outs: list[Layout | None], grads: list[Any], x: Layout, weight: Any, mean: Layout,
    rstd: Layout, num_groups: int, eps: float, needs: tuple[bool, ...],
) -> None:  # fmt: skip
    g = grads[0]
    require(isinstance(g, Layout) and grads[1:] == [None] * 2, "other gradients")
    _require_channels(x, g, mean, rstd, weight, *outs)
    require(x.shape[0] < 2 * reduce.ROWS, "many samples")
    by_rows = _by_channels if channels_are_long(x.shape) else _by_groups
    by_rows(c, outs, g, x, weight, mean, rstd)


def _by_channels(
    c: Calls, outs: list[Layout | None], g: Layout, x: Layout, weight: Any, mean: Layout,
    rstd: Layout,
) -> None:  # fmt: skip
    channels, dtype, shape = x.shape[1], x.dtype, x.shape[:2]
    means, rstds = (_per_channel(c, each, channels) for each in (mean, rstd))
    total, along = c.temporary(shape, dtype), c.temporary(shape, dtype)
    c.call(ROWS.gradient_sums, _rows(g), _rows(x), means, total, along)
    c.call(np.multiply, along, rstds, along)
    of_input, of_weight, of_bias = outs
    for sums, out in ((along, of_weight), (total, of_bias)):
        if out is not None:
            c.call(reduce.SUM_COLUMNS, sums, out)
    if of_input is None:
        return
    factor = rstds
    if weight is not None:
        factor = c.temporary(shape, dtype)
        c.call(np.multiply, rstds, weight, factor)
        for sums in (total, along):
            c.call(np.multiply, sums, weight, sums)
    count = c.constant(x.size // mean.size, dtype)
    shares = []
    for sums, power in ((along, 2), (total, 1)):
        per_group = c.temporary(mean.shape, dtype)
        c.call(reduce.SUM, sums.reshaped(*mean.shape, channels // mean.shape[1]), per_group)
        c.call(np.divide, per_group, count, per_group)
        c.call(np.negative, per_group, per_group)
        share = _per_channel(c, per_group, channels)
        for _ in range(power):
            c.call(np.multiply, share, rstds, share)
        shares.append(share)
    c.call(ROWS.gradient, _rows(g), _rows(x), means, factor, *shares, _rows(of_input))


def _by_groups(
    c: Calls, outs: list[Layout | None], g: Layout, x: Layout, weight: Any, mean: Layout,
    rstd: Layout,
) -> None:  # fmt: skip
    groups, channels = mean.shape[1], x.shape[1]
    of_input, *of_parameters = outs
    gradients, values = _groups(g, groups), _groups(x, groups)
    if of_input is not None:
        factor = _along_groups(c, weight, 1.0, x, groups)
        out = _groups(of_input, groups)
        c.call(LAYER_NORM_BACKWARD_KERNEL, gradients, values, factor, mean, rstd, out)
    if not any(of_parameters):
        return
    size = values.shape[2]
    sums = [c.temporary((groups, size), x.dtype) for _ in range(2)]
    by_group = [each.permuted((1, 0, *range(2, len(each.shape))))
                for each in (gradients, values, mean, rstd)]  # fmt: skip
    c.call(LAYER_NORM_PARAMETERS_KERNEL, *by_group, *sums)
    for each, parameter in zip(sums, of_parameters, strict=True):
        if parameter is not None:
            c.call(reduce.SUM, each.reshaped(channels, groups * size // channels), parameter)
