"""Average pooling over the spatial axes of (N, C, *S), hashable and adaptive, with adjoints.

Every average is a product of averages along single axes, also where the divisor varies at the
border, and is applied as one `AxisTable` per axis.
"""

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from clew.kernels.numpy.arrays import Array, at, compute_dtype, is_inexact, rounded, widened
from clew.kernels.numpy.conversion import converted
from clew.kernels.numpy.im2col import Sizes, expand, hashable
from clew.kernels.numpy.max_pool import pool_output_shape, pool_parameters
from clew.kernels.numpy.separable import (
    LONG_WINDOW,
    AxisTable,
    adaptive_bounds,
    add_in_steps,
    apply_tables,
    check_adaptive,
    window_slices,
)


def avg_pool(
    x: Array,
    *,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Array:
    """Average of every window of x (N, C, *S), with PyTorch's choice of divisors."""
    sizes = (hashable(kernel_size), hashable(stride), hashable(padding))
    tables = avg_tables(x.shape[2:], *sizes, ceil_mode, count_include_pad, divisor_override)
    _check_dtype(x, "avg_pool")
    return apply_tables(x, tables)


def avg_pool_adjoint(
    g: Array,
    *,
    input_shape: Sequence[int],
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Array:
    """Adjoint of `avg_pool`: spread g (N, C, *L) over the windows of (N, C, *S)."""
    sizes = (hashable(kernel_size), hashable(stride), hashable(padding))
    spatial = tuple(input_shape[2:])
    tables = avg_tables(spatial, *sizes, ceil_mode, count_include_pad, divisor_override)
    _check_dtype(g, "avg_pool")
    if g.dtype != compute_dtype(g.dtype):
        divisors = prod(
            _along(1 / table.weights.max(1), k, tables) for k, table in enumerate(tables)
        )
        shares = widened(g) / np.rint(divisors).astype(np.float32)
        return add_in_steps(converted(shares, g.dtype), tables)
    return apply_tables(g, [table.transposed for table in tables])


def adaptive_avg_pool(x: Array, *, output_size: Sizes) -> Array:
    """Averages over `output_size` nearly equal windows along each spatial axis."""
    _check_dtype(x, "adaptive_avg_pool")
    tables = adaptive_tables(x.shape, output_size)
    if x.ndim == 5 and x.dtype != compute_dtype(x.dtype):
        return _averages_in_steps(x, tables)
    return apply_tables(x, tables)


def _averages_in_steps(x: Array, tables: list[AxisTable]) -> Array:
    """Averages over windows of volumes of halves: their sums are rounded after each addition."""
    wide, total = widened(x), np.zeros((), np.float32)
    for taps in np.ndindex(*(table.indices.shape[1] for table in tables)):
        part = wide
        for axis, (table, tap) in enumerate(zip(tables, taps, strict=True), 2):
            part = part.take(table.indices[:, tap], axis)
            inside = table.weights[:, tap] != 0
            if not inside.all():
                part[at(*(slice(None),) * axis, ~inside)] = 0
        total = rounded(total + part, x.dtype)
    return _divided_in_steps(total, tables, x.dtype)


def _divided_in_steps(wide: Array, tables: list[AxisTable], half: np.dtype[Any]) -> Array:
    """Halves divided by the size of their windows, along one axis after the other."""
    for axis, table in enumerate(tables):
        lengths = (table.weights != 0).sum(1).astype(np.float32)
        wide = rounded(wide / _along(lengths, axis, tables), half)
    return converted(wide, half)


def _along(values: Array, axis: int, tables: list[AxisTable]) -> Array:
    """Values for the positions along one of the last axes, as an array that broadcasts."""
    return values.reshape(-1, *(1,) * (len(tables) - 1 - axis))


def adaptive_avg_pool_adjoint(g: Array, *, input_shape: Sequence[int]) -> Array:
    """Adjoint of `adaptive_avg_pool` from input (N, C, *S) to g's spatial sizes."""
    _check_dtype(g, "adaptive_avg_pool")
    spatial, sizes = tuple(input_shape[2:]), g.shape[2:]
    if g.dtype != compute_dtype(g.dtype):
        tables = adaptive_tables(input_shape, sizes)
        return add_in_steps(_divided_in_steps(widened(g), tables, g.dtype), tables)
    if prod(spatial) >= LONG_WINDOW * prod(sizes):
        return _over_long_windows(g, spatial)
    tables = adaptive_tables(input_shape, sizes)
    return apply_tables(g, [table.transposed for table in tables])


def _over_long_windows(g: Array, spatial: tuple[int, ...]) -> Array:
    """Each window's gradient, spread evenly over it."""
    bounds = [adaptive_bounds(n, count) for n, count in zip(spatial, g.shape[2:], strict=True)]
    wide = widened(g)
    out = np.zeros((*g.shape[:2], *spatial), wide.dtype)
    for place in np.ndindex(*g.shape[2:]):
        window = out[window_slices(place, bounds)]
        share = wide[at(..., *place)] / prod(window.shape[2:])
        window += share.reshape(*g.shape[:2], *(1,) * len(spatial))
    return out.astype(g.dtype, copy=False)


def _check_dtype(array: Array, name: str) -> None:
    if not is_inexact(array.dtype):
        raise RuntimeError(f'"{name}" not implemented for {array.dtype.name!r}')


@lru_cache(maxsize=256)
def avg_tables(
    spatial: tuple[int, ...],
    kernel_size: Sizes,
    stride: Sizes | None,
    padding: Sizes,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> list[AxisTable]:
    _, kernel, steps, pads = pool_parameters((1, 1, *spatial), kernel_size, stride, padding)
    counts = pool_output_shape(spatial, kernel, steps, pads, (1,) * len(spatial), ceil_mode)
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    # An overriding divisor divides once: on the first axis, while the others only sum.
    hashable: list[int | None] = [None] * len(spatial)
    if divisor_override is not None:
        hashable = [divisor_override, *(1,) * (len(spatial) - 1)]
    return [
        _avg_table(*axis, count_include_pad, divisor)
        for *axis, divisor in zip(spatial, counts, kernel, steps, pads, hashable, strict=True)
    ]


@lru_cache(maxsize=256)
def _avg_table(
    size: int,
    count: int,
    kernel: int,
    stride: int,
    padding: int,
    count_include_pad: bool,
    divisor: int | None,
) -> AxisTable:
    start = np.arange(count)[:, None] * stride - padding
    positions = start + np.arange(kernel)
    inside = (positions >= 0) & (positions < size)
    if divisor is not None:
        divisors = np.full((count, 1), divisor)
    elif count_include_pad:
        # What a last partial window covers beyond the right padding does not count.
        divisors = np.minimum(start + kernel, size + padding) - start
    else:
        divisors = inside.sum(axis=1, keepdims=True)
    return AxisTable(np.clip(positions, 0, size - 1), inside / divisors, size)


def adaptive_tables(input_shape: Sequence[int], output_size: Sizes) -> list[AxisTable]:
    spatial = tuple(input_shape[2:])
    sizes = expand(output_size, len(spatial), "output_size")
    check_adaptive(spatial, sizes)
    return [adaptive_avg_table(*axis) for axis in zip(spatial, sizes, strict=True)]


@lru_cache(maxsize=256)
def adaptive_avg_table(size: int, count: int) -> AxisTable:
    """Averages over `count` nearly equal windows of one axis."""
    start, stop = adaptive_bounds(size, count)
    lengths = stop - start
    taps = np.arange(int(lengths.max(initial=1)))
    positions = np.minimum(start[:, None] + taps, size - 1)
    weights = (taps < lengths[:, None]) / lengths[:, None]
    return AxisTable(positions, weights, size)
