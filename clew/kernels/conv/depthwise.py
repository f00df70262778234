"""Convolutions of few channels per group and their gradients, compiled: direct, without im2col.

Images are packed so that every tap of the kernel is a shift of one contiguous array: padded, and
for a stride of s split into s x s phases, each of which has every s-th row and column. A channel of
the output is then a sum of shifted arrays times weights, computed in vectors across the ends of
rows; positions whose window wraps around the end of a row are dropped when the output is copied.
Packed gradients have zeros at these positions.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from clew.kernels.codegen.builder import BODY
from clew.kernels.codegen.contexts import TYPES, ContextCall, compiled
from clew.kernels.codegen.emitter import Emitter
from clew.kernels.codegen.image_rows import ImageRowBuilder
from clew.kernels.codegen.loops import end_module
from clew.kernels.codegen.vectors import carrying_loop
from clew.kernels.conv.im2col_conv import (
    FORWARD,
    GRAD_INPUT,
    GRAD_WEIGHT,
    Geometry,
    specialized_stride,
)

Array = np.ndarray
# Numbers of taps that one loop accumulates, the largest first.
TAPS_PER_LOOP = (9, 5, 3, 2, 1)
# The unroll factor of strided scalar stores.
_UNROLL = 4
# Multiplications of a task.
_GRAIN = 1 << 17
FIELDS = (
    "*x", "*w", "*y", "*shifts", "*starts", "channels", "filters", "groups", "height", "width",
    "rows", "columns", "taps", "stride_h", "stride_w", "pad_h", "pad_w", "packed_h", "packed_w",
    "margin", "batch",
)  # fmt: skip


class _Plan(NamedTuple):
    """The packed layout, and the shift of each tap in it."""

    packed_h: int
    packed_w: int
    margin: int
    shifts: Array
    loops: tuple[int, ...]
    # For the gradient of the input: taps sorted by phase, their shifts, the first tap of a phase.
    order: Array
    back_shifts: Array
    starts: Array
    back_loops: tuple[int, ...]


def _loops(counts: list[int]) -> tuple[int, ...]:
    """The members of TAPS_PER_LOOP that cover so many taps, greedily."""
    found = set()
    for left in counts:
        for each in TAPS_PER_LOOP:
            if left >= each:
                found.add(each)
                left %= each
    return tuple(each for each in TAPS_PER_LOOP if each in found)


@functools.lru_cache(maxsize=256)
def _plan(geometry: Geometry) -> _Plan:
    stride, sizes, counts = geometry.stride, geometry.input_shape[2:], geometry.output_shape[2:]
    kernel = geometry.weight_shape[2:]
    steps = [np.arange(k) * d for k, d in zip(kernel, geometry.dilation, strict=True)]
    packed_h, packed_w = (
        max(-(-(size + pad) // s), count + int(step[-1]) // s)
        for size, pad, s, count, step in zip(
            sizes, geometry.padding, stride, counts, steps, strict=True
        )
    )
    rows, columns = (each.reshape(-1) for each in np.meshgrid(*steps, indexing="ij"))
    phase = rows % stride[0] * stride[1] + columns % stride[1]
    inside = rows // stride[0] * packed_w + columns // stride[1]
    order = np.argsort(phase, kind="stable")
    margin = int(inside.max())
    starts = np.searchsorted(phase[order], np.arange(stride[0] * stride[1] + 1))
    return _Plan(
        packed_h, packed_w, margin, phase * (packed_h * packed_w) + inside, _loops([len(order)]),
        order, margin - inside[order], starts, _loops(np.diff(starts).tolist()),
    )  # fmt: skip


def run(kind: str, x: Array, w: Array, y: Array, geometry: Geometry) -> None:
    """Fill y, x or w (by `kind`) from the other two; contiguous arrays of one float type."""
    order, shifts, starts = tables(kind, geometry)
    if kind == GRAD_INPUT:
        filters, channels = geometry.weight_shape[:2]
        w = np.ascontiguousarray(w.reshape(filters, channels, -1)[:, :, order])
    elif kind == GRAD_WEIGHT:
        w.fill(0)
    calling(kind, x.dtype, geometry)(x, w, y, shifts, starts)


def tables(kind: str, geometry: Geometry) -> tuple[Array, Array, Array]:
    """The order in which the kernel takes taps, their shifts, and the first tap of each phase."""
    plan = _plan(geometry)
    if kind == GRAD_INPUT:
        return plan.order, plan.back_shifts, plan.starts
    return np.arange(len(plan.order)), plan.shifts, plan.starts


def calling(kind: str, dtype: np.dtype, geometry: Geometry) -> ContextCall:
    """The call of one of the three kernels: x, w with its taps in order, y, shifts, starts.

    The gradient of the input, and that of the weight, is added to zeros.
    """
    plan = _plan(geometry)
    filters, channels, *kernel = geometry.weight_shape
    batch, _, rows, columns = geometry.output_shape
    groups, taps = geometry.groups, kernel[0] * kernel[1]
    per_group = channels * filters // groups * taps * rows * columns
    total = batch * groups
    if kind == GRAD_WEIGHT:
        total, per_group = groups, per_group * batch
    sizes = (
        channels, filters // groups, groups, *geometry.input_shape[2:], rows, columns, taps,
        *geometry.stride, *geometry.padding, plan.packed_h, plan.packed_w, plan.margin, batch,
    )  # fmt: skip
    grain = max(_GRAIN // max(per_group, 1), 1)
    loops = plan.back_loops if kind == GRAD_INPUT else plan.loops
    function = _function(kind, TYPES[dtype], specialized_stride(geometry.stride[1]), loops)
    return ContextCall(function, sizes, (total, grain))


def can_run(*arrays: Array) -> bool:
    """Whether arrays are of one type that is compiled for, and none is empty."""
    dtype = arrays[0].dtype
    return dtype in TYPES and all(each.dtype is dtype and each.size for each in arrays)


@functools.cache
def _function(kind: str, llvm: str, stride: str, loops: tuple[int, ...]) -> Any:
    make = functools.partial(module, kind, llvm, stride, loops)
    return compiled(f"depthwise {kind} {llvm} {stride} {loops}", make, "depthwise")


def module(kind: str, llvm: str, stride: str, loops: tuple[int, ...]) -> str:
    """The LLVM module of one of the three kernels, for a constant stride or (empty) for any."""
    e = Emitter()
    taps = _TapLoops(e, llvm, loops)
    if kind == GRAD_WEIGHT:
        taps.dot_products()
    else:
        taps.weighted_sum()
    _Body(e, kind, llvm, stride).emit()
    end_module(e, "depthwise")
    return e.text()


class _TapLoops(ImageRowBuilder):
    """The functions with the arithmetic, over packed arrays."""

    def __init__(self, e: Emitter, llvm: str, loops: tuple[int, ...]) -> None:
        super().__init__(e, llvm)
        self.lanes, self.loops = self.max_lanes, loops
        suffix = f"v{self.lanes}{'f32' if llvm == 'float' else 'f64'}"
        self.muladd = f"@llvm.fmuladd.{suffix}"
        self.reduce_add = f"@llvm.vector.reduce.fadd.{suffix}"
        v = self.value_type()
        e.declare(f"{v} {self.muladd}({v}, {v}, {v})")
        e.declare(f"{llvm} {self.reduce_add}({llvm}, {v})")

    def load_vector(self, base: str, index: str) -> str:
        return self.load(self.gep(base, index), self.value_type())

    def fma(self, a: str, b: str, c: str) -> str:
        v = self.value_type()
        return self.e.value(f"call {v} {self.muladd}({v} {a}, {v} {b}, {v} {c})")

    def over_taps(self, emit: Callable[[str, int], None]) -> None:
        """All taps, some at a time: `emit(first, count)`."""
        left, first = "%taps", "0"
        for count in self.loops:
            covered = self.round_down(left, str(count))
            end = self.add(first, covered)
            with self.loop(first, end, by=count) as tap:
                emit(tap, count)
            left, first = self.sub(left, covered), end

    def shifted_sources(self, first: str, count: int) -> list[tuple[str, str]]:
        """The number of each of some taps, and the source shifted by it."""
        found = []
        for number in range(count):
            tap = self.add(first, str(number))
            found.append((tap, self.gep("%source", self.load_i64("%shifts", tap))))
        return found

    def weighted_sum(self) -> None:
        """target[i] += sum over taps of weights[tap] * source[shifts[tap] + i]."""
        head = (
            "internal void @weighted_sum(ptr noalias %target, ptr noalias %source, "
            "ptr noalias %weights, ptr noalias %shifts, i64 %taps, i64 %length)"
        )

        def emit(first: str, count: int) -> None:
            terms = [
                (self.splat(self.load(self.gep("%weights", tap))), source)
                for tap, source in self.shifted_sources(first, count)
            ]
            with self.loop("0", "%length", by=2 * self.lanes) as step:
                for half in (0, self.lanes):
                    index = self.add(step, str(half))
                    value = self.load_vector("%target", index)
                    for weight, source in terms:
                        value = self.fma(weight, self.load_vector(source, index), value)
                    self.store(value, self.gep("%target", index), self.value_type())

        with self.function(head):
            self.over_taps(emit)

    def dot_products(self) -> None:
        """target[tap] += sum over i of other[i] * source[shifts[tap] + i]."""
        e, v = self.e, self.value_type()
        head = (
            "internal void @dot_products(ptr noalias %target, ptr noalias %source, "
            "ptr noalias %other, ptr noalias %shifts, i64 %taps, i64 %length)"
        )

        def emit(first: str, count: int) -> None:
            sources = self.shifted_sources(first, count)

            def body(step: str, sums: list[str]) -> list[str]:
                for half in (0, self.lanes):
                    index = self.add(step, str(half))
                    other = self.load_vector("%other", index)
                    sums = [
                        self.fma(other, self.load_vector(source, index), total)
                        for (_, source), total in zip(sources, sums, strict=True)
                    ]
                return sums

            zeros = [(v, "zeroinitializer")] * count
            sums = carrying_loop(e, ("0", "%length"), 2 * self.lanes, body, zeros)
            for (tap, _), total in zip(sources, sums, strict=True):
                target = self.gep("%target", tap)
                given = f"{self.llvm} {self.load(target)}, {v} {total}"
                self.store(e.value(f"call reassoc {self.llvm} {self.reduce_add}({given})"), target)

        with self.function(head):
            self.over_taps(emit)


class _Body(ImageRowBuilder):
    """`body(context, begin, end)`: packs images, calls the arithmetic, copies the results."""

    def __init__(self, e: Emitter, kind: str, llvm: str, stride: str) -> None:
        super().__init__(e, llvm)
        self.kind, self.stride = kind, stride
        self.f: dict[str, str] = {}

    def emit(self) -> None:
        kinds = {
            FORWARD: self.forward, GRAD_INPUT: self.grad_input, GRAD_WEIGHT: self.grad_weight
        }  # fmt: skip
        with self.function(BODY):
            self.f = f = self.load_context(*FIELDS)
            f["stride_w"] = self.stride or f["stride_w"]
            f["phases"] = self.mul(f["stride_h"], f["stride_w"])
            f["phase_size"] = self.mul(f["packed_h"], f["packed_w"])
            f["image_size"] = self.mul(f["phases"], f["phase_size"])
            f["pixels"] = self.mul(f["height"], f["width"])
            f["positions"] = self.mul(f["rows"], f["columns"])
            last_row = self.mul(self.sub(f["rows"], "1"), f["packed_w"])
            step = str(2 * self.max_lanes)
            # Lengths of loops, as multiples of their step: over an output, and over a phase.
            f["output_length"] = self.round_up(self.add(last_row, f["columns"]), step)
            f["phase_length"] = self.round_up(f["phase_size"], step)
            f["gradient_size"] = self.add(f["margin"], f["phase_length"])
            for buffer in kinds[self.kind]():
                self.e.line(f"call void @free(ptr {buffer})")

    def calloc(self, elements: str) -> str:
        """A buffer of zeros, with room for the last vectors to run over the end."""
        size = self.add(elements, str(4 * self.max_lanes))
        self.e.declare("ptr @calloc(i64, i64)")
        self.e.declare("void @free(ptr)")
        return self.e.value(f"call ptr @calloc(i64 {size}, i64 {self.itemsize})")

    # -- the three kernels -----------------------------------------------------------------------

    def weights(self, filter_: str, channel: str) -> str:
        """The address of the taps of a filter (numbered over all groups) for a channel."""
        f = self.f
        row = self.add(self.mul(filter_, f["channels"]), channel)
        return self.gep(f["w"], self.mul(row, f["taps"]))

    def forward(self) -> list[str]:
        """A task is an image and a group."""
        f = self.f
        source = self.calloc(self.mul(f["channels"], f["image_size"]))
        target = self.calloc(f["output_length"])
        with self.loop("%begin", "%end") as task:
            first_in, first_out = self.mul(task, f["channels"]), self.mul(task, f["filters"])
            group = self.urem(task, f["groups"])
            self.pack_images(source, first_in)
            with self.loop("0", f["filters"]) as filter_:
                number = self.add(self.mul(group, f["filters"]), filter_)
                self.fill_zeros(target, f["output_length"])
                with self.loop("0", f["channels"]) as channel:
                    image = self.gep(source, self.mul(channel, f["image_size"]))
                    weights = self.weights(number, channel)
                    self.call("weighted_sum", target, image, weights, f["taps"], f["output_length"])
                out = self.gep(f["y"], self.mul(self.add(first_out, filter_), f["positions"]))
                self.copy_output(target, out, is_unpacking=True)
        return [source, target]

    def grad_input(self) -> list[str]:
        """A task is an image and a group."""
        f = self.f
        source = self.calloc(self.mul(f["filters"], f["gradient_size"]))
        target = self.calloc(f["phase_length"])
        with self.loop("%begin", "%end") as task:
            first_in, first_out = self.mul(task, f["channels"]), self.mul(task, f["filters"])
            group = self.urem(task, f["groups"])
            self.pack_gradients(source, first_out)
            with self.loop("0", f["channels"]) as channel:
                out = self.gep(f["x"], self.mul(self.add(first_in, channel), f["pixels"]))
                with self.loop("0", f["phases"]) as phase:
                    start = self.load_i64(f["starts"], phase)
                    stop = self.load_i64(f["starts"], self.add(phase, "1"))
                    shifts = self.gep_i64(f["shifts"], start)
                    self.fill_zeros(target, f["phase_length"])
                    with self.loop("0", f["filters"]) as filter_:
                        number = self.add(self.mul(group, f["filters"]), filter_)
                        weights = self.gep(self.weights(number, channel), start)
                        packed = self.gep(source, self.mul(filter_, f["gradient_size"]))
                        self.call(
                            "weighted_sum", target, packed, weights, self.sub(stop, start),
                            f["phase_length"], shifts,
                        )  # fmt: skip
                    self.copy_phase(phase, target, out, is_unpacking=True)
        return [source, target]

    def grad_weight(self) -> list[str]:
        """A task is a group, so that no two tasks add to the same weights."""
        f = self.f
        source = self.calloc(self.mul(f["channels"], f["image_size"]))
        gradients = self.calloc(self.mul(f["filters"], f["gradient_size"]))
        with self.loop("%begin", "%end") as task, self.loop("0", f["batch"]) as image:
            index = self.add(self.mul(image, f["groups"]), task)
            self.pack_images(source, self.mul(index, f["channels"]))
            self.pack_gradients(gradients, self.mul(index, f["filters"]))
            with self.loop("0", f["filters"]) as filter_:
                number = self.add(self.mul(task, f["filters"]), filter_)
                offset = self.add(self.mul(filter_, f["gradient_size"]), f["margin"])
                gradient = self.gep(gradients, offset)
                with self.loop("0", f["channels"]) as channel:
                    packed = self.gep(source, self.mul(channel, f["image_size"]))
                    target = self.weights(number, channel)
                    self.call(
                        "dot_products", target, packed, gradient, f["taps"], f["output_length"]
                    )
        return [source, gradients]

    def call(
        self, name: str, target: str, source: str, other: str, taps: str, length: str,
        shifts: str = "",
    ) -> None:  # fmt: skip
        given = [target, source, other, shifts or self.f["shifts"]]
        pointers = ", ".join(f"ptr {each}" for each in given)
        self.e.line(f"call void @{name}({pointers}, i64 {taps}, i64 {length})")

    # -- packing ---------------------------------------------------------------------------------

    def pack_images(self, source: str, first: str) -> None:
        """The channels of a group, from one on, in phases; the padding is zero from calloc on."""
        f = self.f
        with self.loop("0", f["channels"]) as channel:
            image = self.gep(f["x"], self.mul(self.add(first, channel), f["pixels"]))
            packed = self.gep(source, self.mul(channel, f["image_size"]))
            with self.loop("0", f["phases"]) as phase:
                part = self.gep(packed, self.mul(phase, f["phase_size"]))
                self.copy_phase(phase, part, image, is_unpacking=False)

    def pack_gradients(self, target: str, first: str) -> None:
        """The filters of a group, from one on, each after a margin of zeros."""
        f = self.f
        with self.loop("0", f["filters"]) as filter_:
            gradient = self.gep(f["y"], self.mul(self.add(first, filter_), f["positions"]))
            offset = self.add(self.mul(filter_, f["gradient_size"]), f["margin"])
            self.copy_output(self.gep(target, offset), gradient, is_unpacking=False)

    def copy_output(self, packed: str, output: str, is_unpacking: bool) -> None:
        """A channel of the output to rows of the packed width, or back."""
        f = self.f
        with self.loop("0", f["rows"]) as row:
            wide = self.gep(packed, self.mul(row, f["packed_w"]))
            dense = self.gep(output, self.mul(row, f["columns"]))
            source, target = (wide, dense) if is_unpacking else (dense, wide)
            self.copy_row(source, target, "0", f["columns"])

    def copy_phase(self, number: str, packed: str, image: str, is_unpacking: bool) -> None:
        """packed[i, j] = image[i * stride_h + a - pad_h, j * stride_w + b - pad_w], or back."""
        f = self.f
        above = self.sub(self.udiv(number, f["stride_w"]), f["pad_h"])
        before = self.sub(self.urem(number, f["stride_w"]), f["pad_w"])
        top, bottom = self.inside(above, f["height"], f["stride_h"], f["packed_h"])
        left, right = self.inside(before, f["width"], f["stride_w"], f["packed_w"])
        with self.loop(top, bottom) as row:
            y = self.add(self.mul(row, f["stride_h"]), above)
            strided = self.gep(image, self.add(self.mul(y, f["width"]), before))
            dense = self.gep(packed, self.mul(row, f["packed_w"]))
            if is_unpacking:
                self.store_strided_row(dense, strided, left, right)
            else:
                self.load_strided_row(strided, dense, left, right, f["stride_w"])

    def inside(self, shift: str, size: str, stride: str, most: str) -> tuple[str, str]:
        """The range of i from 0 to `most` for which 0 <= i * stride + shift < size."""

        def ceil(a: str) -> str:
            return self.udiv(self.max(self.add(a, self.sub(stride, "1")), "0"), stride)

        return ceil(self.sub("0", shift)), self.min(ceil(self.sub(size, shift)), most)

    def store_strided_row(self, source: str, target: str, begin: str, end: str) -> None:
        """target[i * stride] = source[i]; the elements in between belong to other phases."""
        stride = self.f["stride_w"]
        if stride == "1":
            self.copy_row(source, target, begin, end)
            return
        count = self.round_down(self.max(self.sub(end, begin), "0"), str(_UNROLL))
        middle = self.add(begin, count)
        for first, last, step in ((begin, middle, _UNROLL), (middle, end, 1)):
            with self.loop(first, last, by=step) as start:
                for i in [self.add(start, str(number)) for number in range(step)]:
                    value = self.load(self.gep(source, i))
                    self.store(value, self.gep(target, self.mul(i, stride)))
