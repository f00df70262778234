"""Sampling of images at real-valued points, compiled: the neighbours of points, and their sums."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from itertools import product
from math import prod
from typing import Any

import numpy as np

from clew.kernels.codegen.builder import BODY, IRBuilder
from clew.kernels.codegen.contexts import TYPES, compiled, context_of
from clew.kernels.codegen.emitter import Emitter
from clew.kernels.codegen.ir import F32, F64, I64, where
from clew.kernels.codegen.loops import end_module
from clew.kernels.codegen.reals import Real, load_real
from clew.kernels.codegen.ufunc import Elementwise, elementwise
from clew.kernels.codegen.vectors import carrying_loop
from clew.kernels.runtime.numpy_capi import address_of

Array = np.ndarray
Weights = Callable[[Any], list[Any]]
Coefficients = list[tuple[float, float]]
# How many neighbours a point has along each axis.
TAPS = {"bilinear": 2, "nearest": 1, "bicubic": 4}
_OUTPUTS_PER_TASK = 4096
# One neighbour of a point: its place in a plane, whether it is inside, its weight.
Corner = tuple[str, str, Real | None]


# -- neighbours along one axis -------------------------------------------------------------------


def _reflection(position: Any, low: Any, span: Any) -> tuple[Any, Any, Any]:
    """How often a position is reflected after the first time, whether that is odd, and 1 or -1.

    The last is the slope of the reflected position.
    """
    sign = where(position < low, position.like(-1.0), 1.0)
    distance = (position - low).abs()
    flips = where(distance < np.inf, (distance / span).floor(), 0.0)
    is_odd = (flips - (flips * 0.5).floor() * 2.0).eq(1.0)
    return flips, is_odd, where(is_odd, -sign, sign)


def _reflected(position: Any, low: Any, span: Any) -> Any:
    """Reflected at `low` and at `low + span`."""
    flips, is_odd, scale = _reflection(position, low, span)
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


@functools.cache
def _slopes(mode: str, padding_mode: str, cubic_derivatives: Weights) -> Elementwise:
    """From coordinates to the derivatives of the neighbours' weights; of two, that of the second.

    Where a position is clipped, also at the border itself, they are zero.
    """
    outputs = TAPS[mode] if mode == "bicubic" else 1
    types = [([each] * 6, [each] * outputs) for each in (F32, F64)]

    @elementwise(f"slopes_{mode}_{padding_mode}", 6, scalars=(1, 2, 3, 4, 5), cost=8, types=types)
    def kernel(x: Any, scale: Any, offset: Any, size: Any, low: Any, span: Any) -> Any:
        position = x * scale + offset
        if mode == "bicubic":
            part = position - position.floor()
            return tuple(each * scale for each in cubic_derivatives(part))
        if padding_mode == "zeros":
            return scale + 0.0 * size
        moved = scale
        if padding_mode == "reflection":
            slope = _reflection(position, low, span)[2]
            moved = where(span.eq(0.0), 0.0 * scale, slope * scale)
            position = _reflected(position, low, span)
        is_inside = (position > 0.0) & (position < size - 1.0)
        return where(is_inside, moved, 0.0 * scale)

    return kernel


def _along_axes(
    kernel: Elementwise, x: Array, grid: Array, coefficients: Coefficients, align_corners: bool
) -> Iterator[list[Array]]:
    """What a kernel gives for the coordinates of each axis."""
    spatial, kind = x.shape[2:], x.dtype.type
    for axis, (size, (scale, offset)) in enumerate(zip(spatial, coefficients, strict=True)):
        low, span = (0.0, size - 1.0) if align_corners else (-0.5, float(size))
        coordinates = grid[..., len(spatial) - 1 - axis]
        numbers = (kind(each) for each in (scale, offset, size, low, span))
        given = kernel.specialize(x)(coordinates, *numbers)
        found = given if isinstance(given, tuple) else (given,)
        yield [np.ascontiguousarray(each) for each in found]


def sample(
    x: Array, grid: Array, coefficients: Coefficients, mode: str, padding_mode: str,
    align_corners: bool, cubic_weights: Weights,
) -> Array:  # fmt: skip
    """Values of x (N, C, *S) at the points of grid (N, *P, axes), both float32 or float64.

    `coefficients` are, for each axis, scale and offset from coordinates to positions;
    `cubic_weights` gives the weights of four neighbours from the position after the second one.
    """
    kernel = _neighbours(mode, padding_mode, cubic_weights)
    found = _along_axes(kernel, x, grid, coefficients, align_corners)
    return _weighted_sums(np.ascontiguousarray(x), [each for axis in found for each in axis], mode)


def gradient(
    g: Array, x: Array, grid: Array, coefficients: Coefficients, mode: str, padding_mode: str,
    align_corners: bool, cubic_weights: Weights, cubic_derivatives: Weights,
    needs: tuple[bool, bool],
) -> tuple[Array | None, Array | None]:  # fmt: skip
    """The gradients by x and by grid, those that are needed, from g (N, C, *P)."""
    given = x, grid, coefficients, align_corners
    neighbours = list(_along_axes(_neighbours(mode, padding_mode, cubic_weights), *given))
    slopes: list[list[Array]] = [[] for _ in neighbours]
    wants_grid = needs[1] and mode != "nearest"
    if wants_grid:
        slopes = list(_along_axes(_slopes(mode, padding_mode, cubic_derivatives), *given))
    arrays = [each for axis in zip(neighbours, slopes) for part in axis for each in part]
    batch, channels, *spatial = x.shape
    points = prod(grid.shape[1:-1])
    of_x = np.zeros(x.shape, x.dtype) if needs[0] else None
    of_grid = np.zeros(grid.shape, x.dtype) if needs[1] else None
    x, g = np.ascontiguousarray(x), np.ascontiguousarray(g)
    outputs = (g if each is None else each for each in (of_x, of_grid))
    sizes = channels, prod(spatial), points, *spatial[1:]
    context = context_of((x, g, *outputs, *arrays), sizes)
    if needs[0] or wants_grid:
        function = _gradient_function(TYPES[x.dtype], len(spatial), mode, needs[0], wants_grid)
        function(address_of(context), batch, 1)
    return of_x, of_grid


# -- weighted sums over neighbours ---------------------------------------------------------------


def _weighted_sums(x: Array, neighbours: list[Array], mode: str) -> Array:
    batch, channels, *spatial = x.shape
    points = neighbours[0].shape[1:]
    out = np.empty((batch, channels, *points), x.dtype)
    sizes = channels, prod(spatial), prod(points), *spatial[1:]
    context = context_of((x, out, *neighbours), sizes)
    count = batch * prod(points)
    grain = max(_OUTPUTS_PER_TASK // max(channels, 1), 1)
    _function(TYPES[x.dtype], len(spatial), mode)(address_of(context), count, grain)
    return out


@functools.cache
def _gradient_function(llvm: str, axes: int, mode: str, of_x: bool, of_grid: bool) -> Any:
    make = functools.partial(gradient_module, llvm, axes, TAPS[mode], of_x, of_grid)
    key = f"grid_gradient {llvm} {axes} {mode} {of_x} {of_grid}"
    return compiled(key, make, "grid_gradient")


def gradient_module(llvm: str, axes: int, taps: int, of_x: bool, of_grid: bool) -> str:
    e = Emitter()
    _Gradient(e, llvm).emit_gradient(axes, taps, of_x, of_grid)
    end_module(e, "grid_gradient")
    return e.text()


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

    def corner(self, point: str, taps: tuple[int, ...]) -> Corner:
        flat, is_inside, weight = "0", "true", None
        for axis, tap in enumerate(taps):
            index = self.load_i64(self.f[f"index{axis}_{tap}"], point)
            is_inside = self.and_(is_inside, self.icmp("sge", index, "0"))
            flat = index if axis == 0 else self.add(self.mul(flat, self.f[f"size{axis}"]), index)
            if f"weight{axis}_{tap}" in self.f:
                along = load_real(self, self.gep(self.f[f"weight{axis}_{tap}"], point))
                weight = along if weight is None else weight * along
        return self.select(is_inside, flat, "0"), is_inside, weight

    def total(self, values: str, corners: list[Corner]) -> Real:
        total: Real | None = None
        for flat, is_inside, weight in corners:
            value = load_real(self, self.gep(values, flat))
            # What is outside counts as zero, whatever the weight and the element at its place.
            term = (value if weight is None else weight * value).where(is_inside, 0.0)
            total = term if total is None else total + term
        assert total is not None
        return total


class _Gradient(_WeightedSums):
    """`body(context, begin, end)` for some images: tasks write to planes of their own."""

    def emit_gradient(self, axes: int, taps: int, of_x: bool, of_grid: bool) -> None:
        arrays = []
        for axis in range(axes):
            arrays += [f"*index{axis}_{tap}" for tap in range(taps)]
            arrays += [f"*weight{axis}_{tap}" for tap in range(taps)] if taps > 1 else []
            # Of two neighbours the weights' slopes differ by the sign.
            slopes = range(taps) if taps > 2 else (1,)
            arrays += [f"*slope{axis}_{tap}" for tap in slopes] if of_grid else []
        sizes = ["channels", "volume", "points", *(f"size{axis}" for axis in range(1, axes))]
        choices = list(product(range(taps), repeat=axes))
        with self.function(BODY):
            f = self.f = self.load_context("*x", "*g", "*of_x", "*of_grid", *arrays, *sizes)
            with self.loop("%begin", "%end") as image, self.loop("0", f["points"]) as place:
                point = self.add(self.mul(image, f["points"]), place)
                corners = [self.corner(point, choice) for choice in choices]
                products = self.over_channels(image, place, corners, of_x, of_grid)
                if of_grid:
                    self.store_slopes(point, choices, products)

    def over_channels(
        self, image: str, place: str, corners: list[Corner], of_x: bool, of_grid: bool
    ) -> list[Real]:
        """Add to the neighbours; the sums over channels of g times each neighbour."""
        f = self.f

        def body(channel: str, totals: list[str]) -> list[str]:
            plane = self.add(self.mul(image, f["channels"]), channel)
            g = load_real(self, self.gep(f["g"], self.add(self.mul(plane, f["points"]), place)))
            start = self.mul(plane, f["volume"])
            updated = []
            for number, (flat, is_inside, weight) in enumerate(corners):
                at = self.add(start, flat)
                if of_grid:
                    value = load_real(self, self.gep(f["x"], at))
                    updated.append(
                        f"{Real(self, totals[number]) + (g * value).where(is_inside, 0.0)}"
                    )
                if of_x:
                    term = (g if weight is None else g * weight).where(is_inside, 0.0)
                    self.add_to(self.gep(f["of_x"], at), f"{term}")
            return updated

        starts = [(self.llvm, "0.0")] * (len(corners) if of_grid else 0)
        found = carrying_loop(self.e, ("0", f["channels"]), 1, body, starts)
        return [Real(self, each) for each in found]

    def store_slopes(
        self, point: str, choices: list[tuple[int, ...]], products: list[Real]
    ) -> None:
        f, axes = self.f, len(choices[0])
        base = self.mul(point, str(axes))
        for axis in range(axes):
            total: Real | None = None
            for taps, found in zip(choices, products, strict=True):
                term = found
                for other, tap in enumerate(taps):
                    factor = (
                        self.slope(axis, tap, point) if other == axis
                        else load_real(self, self.gep(f[f"weight{other}_{tap}"], point))
                    )  # fmt: skip
                    term = term * factor
                total = term if total is None else total + term
            assert total is not None
            total.store(self.gep(f["of_grid"], self.add(base, str(axes - 1 - axis))))

    def slope(self, axis: int, tap: int, point: str) -> Real:
        if f"slope{axis}_{tap}" in self.f:
            return load_real(self, self.gep(self.f[f"slope{axis}_{tap}"], point))
        return -load_real(self, self.gep(self.f[f"slope{axis}_1"], point))
