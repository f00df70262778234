"""Sampling of images at real-valued points, compiled: the neighbours of points, and their sums."""

from __future__ import annotations

import functools
from collections.abc import Callable
from itertools import product
from math import prod
from typing import Any

import numpy as np

from clew.kernels.codegen.builder import BODY, TYPES, IRBuilder
from clew.kernels.codegen.contexts import compiled, context_of
from clew.kernels.codegen.emitter import Emitter
from clew.kernels.codegen.ir import F32, F64, I64, where
from clew.kernels.codegen.loops import end_module
from clew.kernels.codegen.reals import Real, load_real
from clew.kernels.codegen.ufunc import Elementwise, elementwise

Array = np.ndarray
Weights = Callable[[Any], list[Any]]
# How many neighbours a point has along each axis.
TAPS = {"bilinear": 2, "nearest": 1, "bicubic": 4}
_OUTPUTS_PER_TASK = 4096


# -- neighbours along one axis -------------------------------------------------------------------


def _reflected(position: Any, low: Any, span: Any) -> Any:
    """Reflected at `low` and at `low + span`."""
    sign = where(position < low, position.like(-1.0), 1.0)
    distance = (position - low).abs()
    flips = where(distance < np.inf, (distance / span).floor(), 0.0)
    is_odd = (flips - (flips * 0.5).floor() * 2.0).eq(1.0)
    scale = where(is_odd, -sign, sign)
    offset = low - scale * low + where(is_odd, (flips + 1.0) * span, -flips * span)
    return where(span.eq(0.0), 0.0 * span, scale * position + offset)


def _padded(position: Any, padding_mode: str, size: Any, low: Any, span: Any) -> Any:
    if padding_mode == "zeros":
        return position
    if padding_mode == "reflection":
        position = _reflected(position, low, span)
    last = size - 1.0
    # NaN goes to the first element.
    return where(position > 0.0, where(position >= last, last, position), 0.0)


def _index(neighbour: Any, size: Any) -> Any:
    """The index of a neighbour, -1 if it is outside."""
    is_inside = (neighbour >= 0.0) & (neighbour < size)
    return where(is_inside, neighbour, -1.0).convert(I64)


@functools.cache
def _neighbours(mode: str, padding_mode: str, cubic_weights: Weights) -> Elementwise:
    """From coordinates to the indices of the neighbours along an axis, then their weights."""
    taps = TAPS[mode]
    weights = taps if taps > 1 else 0
    types = [([each] * 6, [I64] * taps + [each] * weights) for each in (F32, F64)]

    @elementwise(
        f"neighbours_{mode}_{padding_mode}", 6, scalars=(1, 2, 3, 4, 5), cost=8, types=types
    )
    def kernel(x: Any, scale: Any, offset: Any, size: Any, low: Any, span: Any) -> Any:
        position = x * scale + offset
        if mode != "bicubic":
            position = _padded(position, padding_mode, size, low, span)
        if mode == "nearest":
            return _index(position.rint(), size)
        floor = position.floor()
        part = position - floor
        if mode == "bilinear":
            return *(_index(floor + tap, size) for tap in (0.0, 1.0)), 1.0 - part, part
        corners = [_padded(floor + tap, padding_mode, size, low, span)
                   for tap in (-1.0, 0.0, 1.0, 2.0)]  # fmt: skip
        return *(_index(corner, size) for corner in corners), *cubic_weights(part)

    return kernel


def sample(
    x: Array, grid: Array, coefficients: list[tuple[float, float]], mode: str, padding_mode: str,
    align_corners: bool, cubic_weights: Weights,
) -> Array:  # fmt: skip
    """Values of x (N, C, *S) at the points of grid (N, *P, axes), both float32 or float64.

    `coefficients` are, for each axis, scale and offset from coordinates to positions;
    `cubic_weights` gives the weights of four neighbours from the position after the second one.
    """
    spatial, kind = x.shape[2:], x.dtype.type
    found: list[Array] = []
    for axis, (size, (scale, offset)) in enumerate(zip(spatial, coefficients, strict=True)):
        low, span = (0.0, size - 1.0) if align_corners else (-0.5, float(size))
        coordinates = grid[..., len(spatial) - 1 - axis]
        numbers = (kind(each) for each in (scale, offset, size, low, span))
        given = _neighbours(mode, padding_mode, cubic_weights).when(x)(coordinates, *numbers)
        found += given if isinstance(given, tuple) else (given,)
    return _weighted_sums(np.ascontiguousarray(x), found, mode)


# -- weighted sums over neighbours ---------------------------------------------------------------


def _weighted_sums(x: Array, neighbours: list[Array], mode: str) -> Array:
    batch, channels, *spatial = x.shape
    points = neighbours[0].shape[1:]
    out = np.empty((batch, channels, *points), x.dtype)
    sizes = channels, prod(spatial), prod(points), *spatial[1:]
    arrays = [np.ascontiguousarray(each) for each in neighbours]
    context = context_of((x, out, *arrays), sizes)
    count = batch * prod(points)
    grain = max(_OUTPUTS_PER_TASK // max(channels, 1), 1)
    _function(TYPES[x.dtype], len(spatial), mode)(context.ctypes.data, count, grain)
    return out


@functools.cache
def _function(llvm: str, axes: int, mode: str) -> Any:
    make = functools.partial(module, llvm, axes, TAPS[mode])
    return compiled(f"grid_sums {llvm} {axes} {mode}", make, "grid_sums")


def module(llvm: str, axes: int, taps: int) -> str:
    e = Emitter()
    _WeightedSums(e, llvm).emit(axes, taps)
    end_module(e, "grid_sums")
    return e.text()


class _WeightedSums(IRBuilder):
    """`body(context, begin, end)` for some points of all images."""

    def emit(self, axes: int, taps: int) -> None:
        names = [(f"index{axis}_{tap}", f"weight{axis}_{tap}")
                 for axis in range(axes) for tap in range(taps)]  # fmt: skip
        arrays = []
        for axis in range(axes):
            own = names[axis * taps : (axis + 1) * taps]
            arrays += [f"*{index}" for index, _ in own]
            arrays += [f"*{weight}" for _, weight in own] if taps > 1 else []
        sizes = ["channels", "volume", "points", *(f"size{axis}" for axis in range(1, axes))]
        with self.function(BODY):
            f = self.f = self.load_context("*x", "*out", *arrays, *sizes)
            with self.loop("%begin", "%end") as point:
                image = self.mul(self.udiv(point, f["points"]), f["channels"])
                place = self.urem(point, f["points"])
                corners = [self.corner(point, choice) for choice in
                           product(range(taps), repeat=axes)]  # fmt: skip
                with self.loop("0", f["channels"]) as channel:
                    plane = self.add(image, channel)
                    values = self.gep(f["x"], self.mul(plane, f["volume"]))
                    total = self.total(values, corners)
                    total.store(self.gep(f["out"], self.add(self.mul(plane, f["points"]), place)))

    def corner(self, point: str, taps: tuple[int, ...]) -> tuple[str, str, Real | None]:
        """One neighbour of a point: its place in a plane, whether it is inside, its weight."""
        flat, is_inside, weight = "0", "true", None
        for axis, tap in enumerate(taps):
            index = self.load_i64(self.f[f"index{axis}_{tap}"], point)
            is_inside = self.and_(is_inside, self.icmp("sge", index, "0"))
            flat = index if axis == 0 else self.add(self.mul(flat, self.f[f"size{axis}"]), index)
            if f"weight{axis}_{tap}" in self.f:
                along = load_real(self, self.gep(self.f[f"weight{axis}_{tap}"], point))
                weight = along if weight is None else weight * along
        return self.select(is_inside, flat, "0"), is_inside, weight

    def total(self, values: str, corners: list[tuple[str, str, Real | None]]) -> Real:
        total: Real | None = None
        for flat, is_inside, weight in corners:
            value = load_real(self, self.gep(values, flat))
            # What is outside counts as zero, whatever the weight and the element at its place.
            term = (value if weight is None else weight * value).where(is_inside, 0.0)
            total = term if total is None else total + term
        assert total is not None
        return total
