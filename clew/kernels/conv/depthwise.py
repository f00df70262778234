"""Convolutions of few channels per group and their two adjoints, compiled.

Images are laid out so that every tap of the kernel is a shift of one long run: padded, and for a
stride of s split into s x s phases, in which neighbours are s apart in the image. A plane of the
output is then a sum of weighted runs, computed in vectors without a look at where rows end; what
windows that wrap around a row's end give is left behind when the plane is copied out. Laid-out
gradients have zeros at such places.
"""

import ctypes
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from clew.kernels.codegen.builder import TYPES
from clew.kernels.codegen.emitter import Emitter
from clew.kernels.codegen.image_rows import Lines
from clew.kernels.codegen.loops import Loop, finish
from clew.kernels.codegen.vectors import carrying_loop
from clew.kernels.conv.im2col_conv import FORWARD, OF_INPUT, OF_WEIGHT, Geometry, known
from clew.kernels.runtime import jit

Array = np.ndarray
# How many taps pass over a run, of steps of two vectors, together; as many as fit go first.
TAPS_TOGETHER = (9, 5, 3, 2, 1)
# Numbers that are written apart from each other in one turn of a loop.
_WRITTEN_TOGETHER = 4
# Multiplications in a piece of work.
_GRAIN = 1 << 17
FIELDS = (
    "*x", "*w", "*y", "*shifts", "*starts", "channels", "filters", "groups", "height", "width",
    "rows", "columns", "taps", "stride_h", "stride_w", "pad_h", "pad_w", "high", "wide", "margin",
    "batch",
)  # fmt: skip


class _Plan(NamedTuple):
    """How images are laid out, and where the taps find their runs."""

    high: int
    wide: int
    margin: int
    shifts: Array
    passes: tuple[int, ...]
    # For the gradient of the input: taps ordered by phase, their shifts, where each phase begins.
    order: Array
    back: Array
    starts: Array
    back_passes: tuple[int, ...]


def _passes(counts: list[int]) -> tuple[int, ...]:
    """How many taps go together in the passes over so many of them."""
    found = set()
    for left in counts:
        for each in TAPS_TOGETHER:
            if left >= each:
                found.add(each)
                left %= each
    return tuple(each for each in TAPS_TOGETHER if each in found)


@functools.lru_cache(maxsize=256)
def _plan(geometry: Geometry) -> _Plan:
    stride, sizes, counts = geometry.stride, geometry.input_shape[2:], geometry.output_shape[2:]
    kernel = geometry.weight_shape[2:]
    steps = [np.arange(k) * d for k, d in zip(kernel, geometry.dilation, strict=True)]
    high, wide = (
        max(-(-(size + pad) // s), count + int(step[-1]) // s)
        for size, pad, s, count, step in zip(
            sizes, geometry.padding, stride, counts, steps, strict=True
        )
    )
    down, across = (each.reshape(-1) for each in np.meshgrid(*steps, indexing="ij"))
    phase = down % stride[0] * stride[1] + across % stride[1]
    inside = down // stride[0] * wide + across // stride[1]
    order = np.argsort(phase, kind="stable")
    margin = int(inside.max())
    starts = np.searchsorted(phase[order], np.arange(stride[0] * stride[1] + 1))
    return _Plan(
        high, wide, margin, phase * (high * wide) + inside, _passes([len(order)]),
        order, margin - inside[order], starts, _passes(np.diff(starts).tolist()),
    )  # fmt: skip


def run(kind: str, x: Array, w: Array, y: Array, geometry: Geometry) -> None:
    """Fill y, x or w (by `kind`) from the other two; contiguous arrays of one float type."""
    plan = _plan(geometry)
    filters, channels, *kernel = geometry.weight_shape
    batch, _, rows, columns = geometry.output_shape
    groups, taps = geometry.groups, kernel[0] * kernel[1]
    per_group = channels * filters // groups * taps * rows * columns
    total, shifts = batch * groups, plan.shifts
    if kind == OF_INPUT:
        shifts = plan.back
        w = np.ascontiguousarray(w.reshape(filters, channels, taps)[:, :, plan.order])
    elif kind == OF_WEIGHT:
        total, per_group = groups, per_group * batch
        w.fill(0)
    sizes = [
        channels, filters // groups, groups, *geometry.input_shape[2:], rows, columns, taps,
        *geometry.stride, *geometry.padding, plan.high, plan.wide, plan.margin, batch,
    ]  # fmt: skip
    arrays = [each.ctypes.data for each in (x, w, y, shifts, plan.starts)]
    context = np.array([*arrays, *sizes], np.int64)
    grain = max(_GRAIN // max(per_group, 1), 1)
    passes = plan.back_passes if kind == OF_INPUT else plan.passes
    function = _function(kind, TYPES[x.dtype], known(geometry.stride[1]), passes)
    function(context.ctypes.data, total, grain)


def can_run(*arrays: Array) -> bool:
    """Whether arrays are of one type that is compiled for, and none is empty."""
    dtype = arrays[0].dtype
    return dtype in TYPES and all(each.dtype is dtype and each.size for each in arrays)


@functools.cache
def _function(kind: str, llvm: str, stride: str, passes: tuple[int, ...]) -> Any:
    key = f"depthwise {kind} {llvm} {stride} {passes}"
    make = functools.partial(module, kind, llvm, stride, passes)
    signature = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    return signature(jit.machine().function(key, make, "direct"))


def module(kind: str, llvm: str, stride: str, passes: tuple[int, ...]) -> str:
    """The LLVM module of one of the three kernels, for a known stride or (empty) for any."""
    e = Emitter()
    runs = _Runs(e, llvm, passes)
    if kind == OF_WEIGHT:
        runs.dots()
    else:
        runs.combine()
    _Body(e, kind, llvm, stride).emit()
    finish(e, "direct")
    return e.text()


class _Runs(Lines):
    """The functions that do the arithmetic, in vectors."""

    def __init__(self, e: Emitter, llvm: str, passes: tuple[int, ...]) -> None:
        super().__init__(e, llvm)
        self.lanes, self.passes = self.widest, passes
        suffix = f"v{self.lanes}{'f32' if llvm == 'float' else 'f64'}"
        self.muladd = f"@llvm.fmuladd.{suffix}"
        self.total = f"@llvm.vector.reduce.fadd.{suffix}"
        v = self.kind()
        e.declare(f"{v} {self.muladd}({v}, {v}, {v})")
        e.declare(f"{llvm} {self.total}({llvm}, {v})")

    def vector(self, base: str, index: str) -> str:
        return self.load(self.at(base, index), self.kind())

    def fma(self, a: str, b: str, c: str) -> str:
        v = self.kind()
        return self.e.value(f"call {v} {self.muladd}({v} {a}, {v} {b}, {v} {c})")

    def in_passes(self, emit: Callable[[str, int], None]) -> None:
        """Some taps at a time: `emit(first, how_many)`."""
        left, first = "%taps", "0"
        for together in self.passes:
            covered = self.mul(self.quotient(left, str(together)), str(together))
            end = self.add(first, covered)
            with self.loop(first, end, by=together) as group:
                emit(group, together)
            left, first = self.sub(left, covered), end

    def sources(self, first: str, count: int) -> list[tuple[str, str]]:
        """For each of some taps its number and the beginning of its run."""
        found = []
        for number in range(count):
            tap = self.add(first, str(number))
            found.append((tap, self.at("%source", self.integer("%shifts", tap))))
        return found

    def combine(self) -> None:
        """target[i] += sum over taps of weights[tap] * source[shifts[tap] + i]."""
        head = (
            "internal void @combine(ptr noalias %target, ptr noalias %source, "
            "ptr noalias %weights, ptr noalias %shifts, i64 %taps, i64 %span)"
        )

        def emit(first: str, count: int) -> None:
            runs = [
                (self.repeated(self.load(self.at("%weights", tap))), source)
                for tap, source in self.sources(first, count)
            ]
            with self.loop("0", "%span", by=2 * self.lanes) as step:
                for half in (0, self.lanes):
                    place = self.add(step, str(half))
                    value = self.vector("%target", place)
                    for weight, source in runs:
                        value = self.fma(weight, self.vector(source, place), value)
                    self.store(value, self.at("%target", place), self.kind())

        with self.function(head):
            self.in_passes(emit)

    def dots(self) -> None:
        """target[tap] += sum over i of other[i] * source[shifts[tap] + i]."""
        e, v = self.e, self.kind()
        head = (
            "internal void @dots(ptr noalias %target, ptr noalias %source, "
            "ptr noalias %other, ptr noalias %shifts, i64 %taps, i64 %span)"
        )

        def emit(first: str, count: int) -> None:
            runs = self.sources(first, count)

            def turn(step: str, sums: list[str]) -> list[str]:
                for half in (0, self.lanes):
                    place = self.add(step, str(half))
                    other = self.vector("%other", place)
                    sums = [
                        self.fma(other, self.vector(source, place), total)
                        for (_, source), total in zip(runs, sums, strict=True)
                    ]
                return sums

            zeros = [(v, "zeroinitializer")] * count
            sums = carrying_loop(e, ("0", "%span"), 2 * self.lanes, turn, zeros)
            for (tap, _), total in zip(runs, sums, strict=True):
                goal = self.at("%target", tap)
                given = f"{self.llvm} {self.load(goal)}, {v} {total}"
                self.store(e.value(f"call reassoc {self.llvm} {self.total}({given})"), goal)

        with self.function(head):
            self.in_passes(emit)


class _Body(Lines):
    """What surrounds the arithmetic: laying out images and copying results; names as in FIELDS."""

    def __init__(self, e: Emitter, kind: str, llvm: str, stride: str) -> None:
        super().__init__(e, llvm)
        self.task, self.stride = kind, stride
        self.f: dict[str, str] = {}

    def emit(self) -> None:
        kinds = {FORWARD: self.forward, OF_INPUT: self.of_input, OF_WEIGHT: self.of_weight}
        with self.function("internal void @body(ptr %context, i64 %begin, i64 %end)"):
            self.f = f = self.context(*FIELDS)
            f["stride_w"] = self.stride or f["stride_w"]
            f["phases"] = self.mul(f["stride_h"], f["stride_w"])
            f["plane"] = self.mul(f["high"], f["wide"])
            f["image"] = self.mul(f["phases"], f["plane"])
            f["pixels"] = self.mul(f["height"], f["width"])
            f["positions"] = self.mul(f["rows"], f["columns"])
            last_row = self.mul(self.sub(f["rows"], "1"), f["wide"])
            step = str(2 * self.widest)
            f["span"] = self.multiple(self.add(last_row, f["columns"]), step)
            f["whole"] = self.multiple(f["plane"], step)
            f["laid"] = self.add(f["margin"], f["whole"])
            for buffer in kinds[self.task]():
                self.e.line(f"call void @free(ptr {buffer})")

    def zeros(self, elements: str) -> str:
        """A buffer with room for the last vectors to run over the end."""
        size = self.add(elements, str(4 * self.widest))
        self.e.declare("ptr @calloc(i64, i64)")
        self.e.declare("void @free(ptr)")
        return self.e.value(f"call ptr @calloc(i64 {size}, i64 {self.item})")

    # -- the three kernels -----------------------------------------------------------------------

    def all_pieces(self) -> tuple[Loop, str, str]:
        """A loop over (image, group), with the first input and output channel of each."""
        e, f = self.e, self.f
        piece = Loop(e, "%begin", "%end")
        return piece, self.mul(piece.i, f["channels"]), self.mul(piece.i, f["filters"])

    def weights(self, filter_: str, channel: str) -> str:
        """Where the taps of a filter (numbered over all groups) for a channel of its group are."""
        f = self.f
        row = self.add(self.mul(filter_, f["channels"]), channel)
        return self.at(f["w"], self.mul(row, f["taps"]))

    def forward(self) -> list[str]:
        e, f = self.e, self.f
        source, target = self.zeros(self.mul(f["channels"], f["image"])), self.zeros(f["span"])
        piece, first_in, first_out = self.all_pieces()
        group = e.value(f"urem i64 {piece.i}, {f['groups']}")
        self.lay_images(source, first_in)
        filter_ = Loop(e, "0", f["filters"])
        number = self.add(self.mul(group, f["filters"]), filter_.i)
        self.put_zeros(target, f["span"])
        channel = Loop(e, "0", f["channels"])
        image = self.at(source, self.mul(channel.i, f["image"]))
        self.call("combine", target, image, self.weights(number, channel.i), f["taps"], f["span"])
        channel.close()
        out = self.at(f["y"], self.mul(self.add(first_out, filter_.i), f["positions"]))
        self.lay_outputs(target, out, back=True)
        filter_.close()
        piece.close()
        return [source, target]

    def of_input(self) -> list[str]:
        e, f = self.e, self.f
        source, target = self.zeros(self.mul(f["filters"], f["laid"])), self.zeros(f["whole"])
        piece, first_in, first_out = self.all_pieces()
        group = e.value(f"urem i64 {piece.i}, {f['groups']}")
        self.lay_gradients(source, first_out)
        channel = Loop(e, "0", f["channels"])
        out = self.at(f["x"], self.mul(self.add(first_in, channel.i), f["pixels"]))
        phase = Loop(e, "0", f["phases"])
        start = self.integer(f["starts"], phase.i)
        stop = self.integer(f["starts"], self.add(phase.i, "1"))
        shifts = self.integer_at(f["shifts"], start)
        self.put_zeros(target, f["whole"])
        filter_ = Loop(e, "0", f["filters"])
        number = self.add(self.mul(group, f["filters"]), filter_.i)
        weights = self.at(self.weights(number, channel.i), start)
        laid = self.at(source, self.mul(filter_.i, f["laid"]))
        self.call("combine", target, laid, weights, self.sub(stop, start), f["whole"], shifts)
        filter_.close()
        self.phase(phase.i, target, out, back=True)
        phase.close()
        channel.close()
        piece.close()
        return [source, target]

    def of_weight(self) -> list[str]:
        """A piece is a group: its weights belong to one thread."""
        e, f = self.e, self.f
        source = self.zeros(self.mul(f["channels"], f["image"]))
        others = self.zeros(self.mul(f["filters"], f["laid"]))
        piece = Loop(e, "%begin", "%end")
        image = Loop(e, "0", f["batch"])
        place = self.add(self.mul(image.i, f["groups"]), piece.i)
        self.lay_images(source, self.mul(place, f["channels"]))
        self.lay_gradients(others, self.mul(place, f["filters"]))
        filter_ = Loop(e, "0", f["filters"])
        number = self.add(self.mul(piece.i, f["filters"]), filter_.i)
        other = self.at(others, self.add(self.mul(filter_.i, f["laid"]), f["margin"]))
        channel = Loop(e, "0", f["channels"])
        laid = self.at(source, self.mul(channel.i, f["image"]))
        goal = self.weights(number, channel.i)
        self.call("dots", goal, laid, other, f["taps"], f["span"])
        channel.close()
        filter_.close()
        image.close()
        piece.close()
        return [source, others]

    def call(
        self, name: str, target: str, source: str, other: str, taps: str, span: str,
        shifts: str = "",
    ) -> None:  # fmt: skip
        given = [target, source, other, shifts or self.f["shifts"]]
        pointers = ", ".join(f"ptr {each}" for each in given)
        self.e.line(f"call void @{name}({pointers}, i64 {taps}, i64 {span})")

    # -- laying out ------------------------------------------------------------------------------

    def lay_images(self, source: str, first: str) -> None:
        """The channels of a group, from one on, in phases. Borders are zero from the beginning."""
        e, f = self.e, self.f
        channel = Loop(e, "0", f["channels"])
        image = self.at(f["x"], self.mul(self.add(first, channel.i), f["pixels"]))
        laid = self.at(source, self.mul(channel.i, f["image"]))
        phase = Loop(e, "0", f["phases"])
        self.phase(phase.i, self.at(laid, self.mul(phase.i, f["plane"])), image, back=False)
        phase.close()
        channel.close()

    def lay_gradients(self, target: str, first: str) -> None:
        """The filters of a group, from one on, after a margin of zeros."""
        e, f = self.e, self.f
        filter_ = Loop(e, "0", f["filters"])
        plane = self.at(f["y"], self.mul(self.add(first, filter_.i), f["positions"]))
        laid = self.at(target, self.add(self.mul(filter_.i, f["laid"]), f["margin"]))
        self.lay_outputs(laid, plane, back=False)
        filter_.close()

    def lay_outputs(self, laid: str, plane: str, back: bool) -> None:
        """A plane of the output with rows as wide as laid-out ones, or `back`."""
        e, f = self.e, self.f
        row = Loop(e, "0", f["rows"])
        apart = self.at(laid, self.mul(row.i, f["wide"]))
        dense = self.at(plane, self.mul(row.i, f["columns"]))
        self.copy_line(*((apart, dense) if back else (dense, apart)), "0", f["columns"])
        row.close()

    def phase(self, number: str, laid: str, image: str, back: bool) -> None:
        """laid[i, j] = image[i * stride_h + a - pad_h, j * stride_w + b - pad_w], or `back`."""
        e, f = self.e, self.f
        above = self.sub(e.value(f"udiv i64 {number}, {f['stride_w']}"), f["pad_h"])
        before = self.sub(e.value(f"urem i64 {number}, {f['stride_w']}"), f["pad_w"])
        top, bottom = self.inside(above, f["height"], f["stride_h"], f["high"])
        left, right = self.inside(before, f["width"], f["stride_w"], f["wide"])
        row = Loop(e, top, bottom)
        y = self.add(self.mul(row.i, f["stride_h"]), above)
        theirs = self.at(image, self.add(self.mul(y, f["width"]), before))
        ours = self.at(laid, self.mul(row.i, f["wide"]))
        if back:
            self.write_line(ours, theirs, left, right)
        else:
            self.read_line(theirs, ours, left, right, f["stride_w"])
        row.close()

    def inside(self, shift: str, size: str, stride: str, most: str) -> tuple[str, str]:
        """The i from 0 to `most` for which 0 <= i * stride + shift < size."""

        def ceil(a: str) -> str:
            return self.quotient(self.most(self.add(a, self.sub(stride, "1")), "0"), stride)

        return ceil(self.sub("0", shift)), self.least(ceil(self.sub(size, shift)), most)

    def write_line(self, source: str, target: str, begin: str, end: str) -> None:
        """target[i * stride] = source[i]; what is between belongs to other phases."""
        stride = self.f["stride_w"]
        if stride == "1":
            self.copy_line(source, target, begin, end)
            return
        several = self.quotient(self.most(self.sub(end, begin), "0"), str(_WRITTEN_TOGETHER))
        middle = self.add(begin, self.mul(several, str(_WRITTEN_TOGETHER)))
        for first, last, count in ((begin, middle, _WRITTEN_TOGETHER), (middle, end, 1)):
            with self.loop(first, last, by=count) as some:
                for i in [self.add(some, str(number)) for number in range(count)]:
                    self.store(self.load(self.at(source, i)), self.at(target, self.mul(i, stride)))
