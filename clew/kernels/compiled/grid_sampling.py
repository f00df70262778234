"""Sampling of images at real-valued points, compiled: the neighbours of points, and their sums."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from math import prod
from operator import mul
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from clew.kernels.codegen.builder import BODY, IRBuilder
from clew.kernels.codegen.contexts import TYPES, compiled, context_of
from clew.kernels.codegen.emitter import Emitter
from clew.kernels.codegen.ir import BF16, F16, F32, F64, I64, where
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
# Points that PyTorch samples from images at a time take so many bytes.
_VECTOR_BYTES = 32
HALVES = {np.dtype(np.float16): F16, np.dtype(ml_dtypes.bfloat16): BF16}


class Corner(NamedTuple):
    """One neighbour of a point: its place in a plane, if it is inside, its weights by axis."""

    flat: str
    is_inside: str
    weights: list[Real]

    def weight(self) -> Real | None:
        """Their product, the last axis first; in a volume, zero outside."""
        if not self.weights:
            return None
        product = functools.reduce(mul, reversed(self.weights))
        return product if len(self.weights) == 2 else product.where(self.is_inside, 0.0)


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
    distance, twice = (position - low).abs(), span + span
    flips = where(distance < np.inf, (distance / twice).floor(), 0.0)
    extra = distance - flips * twice
    other = twice - extra
    return where(span.eq(0.0), 0.0 * span, where(extra < other, extra, other) + low)


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


def _position(x: Any, scale: Any, offset: Any, axes: int) -> Any:
    """In images PyTorch rounds the product and the sum at once, in volumes one after the other."""
    shifted = x + 1.0
    return shifted.fma(scale, offset) if axes == 2 else shifted * scale + offset


@functools.cache
def _neighbours(mode: str, padding_mode: str, axes: int, cubic_weights: Weights) -> Elementwise:
    """From coordinates to the indices of the neighbours along an axis, then their weights."""
    taps = TAPS[mode]
    weights = taps if taps > 1 else 0
    types = [([each] * 6, [I64] * taps + [each] * weights) for each in (F32, F64)]

    @elementwise(
        f"neighbours_{mode}_{padding_mode}_{axes}", 6, scalars=(1, 2, 3, 4, 5), cost=8, types=types
    )
    def kernel(x: Any, scale: Any, offset: Any, size: Any, low: Any, span: Any) -> Any:
        position = _position(x, scale, offset, axes)
        if mode != "bicubic":
            position = _padded(position, padding_mode, size, low, span)
        if mode == "nearest":
            return _index(position.rint(), size)
        floor = position.floor()
        part = position - floor
        if mode == "bilinear":
            before = 1.0 - part if axes == 2 else floor + 1.0 - position
            return *(_index(floor + tap, size) for tap in (0.0, 1.0)), before, part
        corners = [_padded(floor + tap, padding_mode, size, low, span)
                   for tap in (-1.0, 0.0, 1.0, 2.0)]  # fmt: skip
        return *(_index(corner, size) for corner in corners), *cubic_weights(part)

    return kernel


@functools.cache
def _slopes(mode: str, padding_mode: str, axes: int, cubic_derivatives: Weights) -> Elementwise:
    """From coordinates to the derivatives of bicubic weights, then how fast the position moves.

    Where a position is clipped, also at the border itself, that is zero.
    """
    outputs = TAPS[mode] + 1 if mode == "bicubic" else 1
    types = [([each] * 6, [each] * outputs) for each in (F32, F64)]
    name = f"slopes_{mode}_{padding_mode}_{axes}"

    @elementwise(name, 6, scalars=(1, 2, 3, 4, 5), cost=8, types=types)
    def kernel(x: Any, scale: Any, offset: Any, size: Any, low: Any, span: Any) -> Any:
        position = _position(x, scale, offset, axes)
        if mode == "bicubic":
            part = position - position.floor()
            return *cubic_derivatives(part), scale + 0.0 * size
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


def neighbours(
    x: Array, grid: Array, coefficients: Coefficients, mode: str, padding_mode: str,
    align_corners: bool, cubic_weights: Weights,
) -> list[list[Array]]:  # fmt: skip
    """Of the points of grid (N, *P, axes), for each axis: indices, and weights, of neighbours.

    `coefficients` are, for each axis, scale and offset from coordinates plus 1 to positions;
    `cubic_weights` gives the weights of four neighbours from the position after the second one.
    """
    kernel = _neighbours(mode, padding_mode, x.ndim - 2, cubic_weights)
    return list(_along_axes(kernel, x, grid, coefficients, align_corners))


def slopes(
    x: Array, grid: Array, coefficients: Coefficients, mode: str, padding_mode: str,
    align_corners: bool, cubic_derivatives: Weights,
) -> list[list[Array]]:  # fmt: skip
    """For each axis: the derivatives of four weights, and how fast positions move."""
    kernel = _slopes(mode, padding_mode, x.ndim - 2, cubic_derivatives)
    return list(_along_axes(kernel, x, grid, coefficients, align_corners))


def sample(x: Array, found: list[list[Array]], mode: str, dtype: Any) -> Array:
    """Values of x (N, C, *S), float32 or float64, from what `neighbours` gives.

    Of halves, given as float32, each step is rounded to their `dtype`.
    """
    x = np.ascontiguousarray(x)
    batch, channels, *spatial = x.shape
    points = found[0][0].shape[1:]
    out = np.empty((batch, channels, *points), x.dtype)
    sizes = channels, prod(spatial), prod(points), *spatial[1:]
    context = context_of((x, out, *(each for axis in found for each in axis)), sizes)
    count = batch * prod(points)
    grain = max(_OUTPUTS_PER_TASK // max(channels, 1), 1)
    function = _function(TYPES[x.dtype], len(spatial), mode, HALVES.get(dtype))
    function(address_of(context), count, grain)
    return out


def gradient(
    g: Array, x: Array, grid: tuple[int, ...], found: list[list[Array]],
    moves: list[list[Array]] | None, mode: str, needs: tuple[bool, bool], dtype: Any,
) -> tuple[Array | None, Array | None]:  # fmt: skip
    """The gradients by x and by a grid of that shape, those that are needed, from g (N, C, *P)."""
    batch, channels, *spatial = x.shape
    points = prod(grid[1:-1])
    wants_grid = moves is not None
    parts = zip(found, moves if moves is not None else [[] for _ in found], strict=True)
    arrays = [each for axis in parts for part in axis for each in part]
    of_x = np.zeros(x.shape, x.dtype) if needs[0] else None
    of_grid = np.zeros(grid, x.dtype) if needs[1] else None
    x, g = np.ascontiguousarray(x), np.ascontiguousarray(g)
    outputs = (g if each is None else each for each in (of_x, of_grid))
    sizes = channels, prod(spatial), points, *spatial[1:]
    context = context_of((x, g, *outputs, *arrays), sizes)
    if needs[0] or wants_grid:
        kind = TYPES[x.dtype], len(spatial), mode, needs[0], wants_grid, HALVES.get(dtype)
        _gradient_function(*kind)(address_of(context), batch, 1)
    return of_x, of_grid


# -- weighted sums over neighbours ---------------------------------------------------------------


@functools.cache
def _gradient_function(
    llvm: str, axes: int, mode: str, of_x: bool, of_grid: bool, half: str | None
) -> Any:
    make = functools.partial(gradient_module, llvm, axes, TAPS[mode], of_x, of_grid, half)
    key = f"grid_gradient {llvm} {axes} {mode} {of_x} {of_grid} {half}"
    return compiled(key, make, "grid_gradient")


def gradient_module(
    llvm: str, axes: int, taps: int, of_x: bool, of_grid: bool, half: str | None
) -> str:
    e = Emitter()
    _Gradient(e, llvm, axes, taps, half).emit_gradient(of_x, of_grid)
    end_module(e, "grid_gradient")
    return e.text()


@functools.cache
def _function(llvm: str, axes: int, mode: str, half: str | None) -> Any:
    make = functools.partial(module, llvm, axes, TAPS[mode], half)
    return compiled(f"grid_sums {llvm} {axes} {mode} {half}", make, "grid_sums")


def module(llvm: str, axes: int, taps: int, half: str | None) -> str:
    e = Emitter()
    _WeightedSums(e, llvm, axes, taps, half).emit()
    end_module(e, "grid_sums")
    return e.text()


class _WeightedSums(IRBuilder):
    """`body(context, begin, end)` for some points of all images.

    Products and sums have the order that they have in PyTorch.
    """

    def __init__(self, e: Emitter, llvm: str, axes: int, taps: int, half: str | None) -> None:
        super().__init__(e, llvm)
        self.axes, self.taps, self.rounding = axes, taps, half
        self.choices = list(product(range(taps), repeat=axes))

    def along(self, axis: int) -> list[str]:
        """The arrays of one axis."""
        indices = [f"*index{axis}_{tap}" for tap in range(self.taps)]
        weights = [f"*weight{axis}_{tap}" for tap in range(self.taps)] if self.taps > 1 else []
        return indices + weights

    def sizes(self) -> list[str]:
        return ["channels", "volume", "points", *(f"size{axis}" for axis in range(1, self.axes))]

    def emit(self) -> None:
        arrays = [each for axis in range(self.axes) for each in self.along(axis)]
        with self.function(BODY):
            f = self.f = self.load_context("*x", "*out", *arrays, *self.sizes())
            with self.loop("%begin", "%end") as point:
                image = self.mul(self.udiv(point, f["points"]), f["channels"])
                place = self.urem(point, f["points"])
                corners = [self.corner(point, choice) for choice in self.choices]
                # Products of weights, before the loop over channels.
                weights = [each.weight() if self.taps == 2 else None for each in corners]
                with self.loop("0", f["channels"]) as channel:
                    plane = self.add(image, channel)
                    values = self.gep(f["x"], self.mul(plane, f["volume"]))
                    total = self.total(values, corners, weights)
                    total.store(self.gep(f["out"], self.add(self.mul(plane, f["points"]), place)))

    def corner(self, point: str, taps: tuple[int, ...]) -> Corner:
        flat, is_inside, weights = "0", "true", []
        for axis, tap in enumerate(taps):
            index = self.load_i64(self.f[f"index{axis}_{tap}"], point)
            is_inside = self.and_(is_inside, self.icmp("sge", index, "0"))
            flat = index if axis == 0 else self.add(self.mul(flat, self.f[f"size{axis}"]), index)
            if self.taps > 1:
                weights.append(load_real(self, self.gep(self.f[f"weight{axis}_{tap}"], point)))
        return Corner(self.select(is_inside, flat, "0"), is_inside, weights)

    def total(self, values: str, corners: list[Corner], weights: Sequence[Real | None]) -> Real:
        if self.taps == 1:
            return self.value(values, corners[0])
        if self.taps == 2:
            return self.sum_of_products(
                (self.value(values, corner), weight)
                for corner, weight in zip(corners, weights, strict=True)
            )
        rows = [corners[start : start + 4] for start in range(0, 16, 4)]
        sums = [
            self.sum_of_products((each.weights[1], self.value(values, each)) for each in row)
            for row in rows
        ]
        return self.sum_of_products((row[0].weights[0], each) for row, each in zip(rows, sums))

    def value(self, values: str, corner: Corner) -> Real:
        """The element at a neighbour: zero outside."""
        return load_real(self, self.gep(values, corner.flat)).where(corner.is_inside, 0.0)

    def sum_of_products(self, pairs: Iterable[tuple[Real, Any]]) -> Real:
        total: Real | None = None
        for left, right in pairs:
            total = left * right if total is None else self.plus_product(total, left, right)
        assert total is not None
        return total

    def plus_product(self, total: Real, left: Real, right: Any) -> Real:
        """In images of floats PyTorch rounds the product and the sum at once."""
        if self.rounding is None and self.axes == 2:
            return left.fma(right, total)
        return total + left * right


class _Gradient(_WeightedSums):
    """`body(context, begin, end)` for some images: tasks write to planes of their own."""

    def emit_gradient(self, of_x: bool, of_grid: bool) -> None:
        arrays = []
        for axis in range(self.axes):
            arrays += self.along(axis)
            if of_grid:
                slopes = range(self.taps) if self.taps == 4 else ()
                arrays += [*(f"*slope{axis}_{tap}" for tap in slopes), f"*move{axis}"]
        if self.taps == 4:
            # PyTorch's inner loop runs along columns.
            self.choices.sort(key=lambda taps: taps[::-1])
        by_blocks = of_x and self.axes == 2 and self.rounding is not None
        with self.function(BODY):
            names = ("*x", "*g", "*of_x", "*of_grid")
            f = self.f = self.load_context(*names, *arrays, *self.sizes())
            scratch = self.scratch() if by_blocks else ()
            with self.loop("%begin", "%end") as image:
                if by_blocks:
                    self.add_by_blocks(image, scratch)
                if of_grid or not by_blocks:
                    with self.loop("0", f["points"]) as place:
                        self.at_point(image, place, of_x and not by_blocks, of_grid)

    def add_by_blocks(self, image: str, scratch: tuple[str, ...]) -> None:
        """Add to one neighbour of a block of points after the other: the order of rounding."""
        f, lanes = self.f, _VECTOR_BYTES // 2
        with self.loop("0", f["points"], lanes) as start:
            end = self.min(self.add(start, str(lanes)), f["points"])
            for number, choice in enumerate(self.choices):
                with self.loop(start, end) as place:
                    slot = self.add(self.sub(place, start), str(number * lanes))
                    point = self.add(self.mul(image, f["points"]), place)
                    self.remember(self.corner(point, choice), slot, scratch)
            with self.loop("0", f["channels"]) as channel:
                for number in range(len(self.choices)):
                    with self.loop(start, end) as place:
                        slot = self.add(self.sub(place, start), str(number * lanes))
                        g, plane = self.plane(image, channel, place)
                        self.add_to_neighbour(g, plane, *self.recalled(slot, scratch))

    def scratch(self) -> tuple[str, ...]:
        """Places of the neighbours of a block, -1 for those outside, and their factors."""
        count = _VECTOR_BYTES // 2 * len(self.choices)
        return tuple(self.e.value(f"alloca {kind}, i64 {count}, align 64")
                     for kind in ("i64", self.llvm, self.llvm))  # fmt: skip

    def remember(self, corner: Corner, slot: str, scratch: tuple[str, ...]) -> None:
        place = self.select(corner.is_inside, corner.flat, "-1")
        self.store_word(self.gep_i64(scratch[0], slot), place)
        for factor, address in zip(self.factors(corner), scratch[1:], strict=False):
            factor.store(self.gep(address, slot))

    def recalled(self, slot: str, scratch: tuple[str, ...]) -> tuple[str, str, list[Real]]:
        flat = self.load_i64(scratch[0], slot)
        is_inside = self.icmp("sge", flat, "0")
        count = {1: 0, 2: 1, 4: 2}[self.taps]
        factors = [load_real(self, self.gep(each, slot)) for each in scratch[1 : 1 + count]]
        return self.max(flat, "0"), is_inside, factors

    def factors(self, corner: Corner) -> list[Real]:
        """What the gradient of a result is multiplied by, one after the other."""
        weight = corner.weight()
        return corner.weights[::-1] if self.taps == 4 else [] if weight is None else [weight]

    def plane(self, image: str, channel: str, place: str) -> tuple[Real, str]:
        """The gradient of a result, and where its plane begins."""
        f = self.f
        plane = self.add(self.mul(image, f["channels"]), channel)
        g = load_real(self, self.gep(f["g"], self.add(self.mul(plane, f["points"]), place)))
        return g, self.mul(plane, f["volume"])

    def add_to_neighbour(
        self, g: Real, start: str, flat: str, is_inside: str, factors: list[Real]
    ) -> None:
        term = functools.reduce(mul, factors, g).where(is_inside, 0.0)
        address = self.gep(self.f["of_x"], self.add(start, flat))
        (load_real(self, address) + term).store(address)

    def at_point(self, image: str, place: str, of_x: bool, of_grid: bool) -> None:
        f, axes = self.f, self.axes
        point = self.add(self.mul(image, f["points"]), place)
        corners = [self.corner(point, choice) for choice in self.choices]
        factors = [self.factors(each) for each in corners] if of_x else []
        slopes = [
            [load_real(self, self.gep(f[f"slope{axis}_{tap}"], point)) for tap in range(4)]
            for axis in range(axes if of_grid and self.taps == 4 else 0)
        ]

        def body(channel: str, totals: list[str]) -> list[str]:
            g, start = self.plane(image, channel, place)
            for corner, own in zip(corners, factors, strict=False):
                self.add_to_neighbour(g, start, corner.flat, corner.is_inside, own)
            if not of_grid:
                return []
            plane = self.gep(f["x"], start)
            values = [self.value(plane, each) for each in corners]
            found = [Real(self, each) for each in totals]
            if self.taps == 4:
                found = self.moved_by_cubic(found, g, values, corners, slopes)
            else:
                found = self.moved(found, g, values, corners)
            return [f"{each}" for each in found]

        starts = [(self.llvm, "0.0")] * (axes if of_grid else 0)
        totals = carrying_loop(self.e, ("0", f["channels"]), 1, body, starts)
        base = self.mul(point, str(axes))
        for axis, total in enumerate(totals):
            move = load_real(self, self.gep(f[f"move{axis}"], point))
            address = self.gep(f["of_grid"], self.add(base, str(axes - 1 - axis)))
            (Real(self, total) * move).store(address)

    def moved_by_cubic(
        self, totals: list[Real], g: Real, values: list[Real], corners: list[Corner],
        slopes: list[list[Real]],
    ) -> list[Real]:  # fmt: skip
        """The sums by axis, with one channel more."""
        for value, corner, (y, x) in zip(values, corners, self.choices, strict=True):
            own = value * g
            totals = [
                self.plus_product(totals[0], own * slopes[0][y], corner.weights[1]),
                self.plus_product(totals[1], own * slopes[1][x], corner.weights[0]),
            ]
        return totals

    def moved(
        self, totals: list[Real], g: Real, values: list[Real], corners: list[Corner]
    ) -> list[Real]:
        """The sums by axis, with one channel more."""
        if self.axes == 2:
            nw, ne, sw, se = values
            (s, e), (n, w) = corners[0].weights, corners[3].weights
            by_y = self.sum_of_products((((sw - nw), e), ((se - ne), w)))
            by_x = self.sum_of_products((((ne - nw), s), ((se - sw), n)))
            return [
                self.plus_product(totals[0], by_y, g), self.plus_product(totals[1], by_x, g)
            ]  # fmt: skip
        for value, corner, taps in zip(values, corners, self.choices, strict=True):
            in_z, in_y, in_x = corner.weights
            along = value * in_x
            terms = along * in_y * g, along * in_z * g, value * in_y * in_z * g
            kept = [term.where(corner.is_inside, 0.0) for term in terms]
            totals = [total + term if tap else total - term
                      for total, term, tap in zip(totals, kept, taps, strict=True)]  # fmt: skip
        return totals
