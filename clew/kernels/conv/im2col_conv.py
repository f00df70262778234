"""Two-dimensional convolution and its two adjoints, compiled: windows to columns, then a product.

A piece of work is some images of the batch. Their windows are copied into a matrix that stays in
the cache (`cols`, one row per element of a window, one column per position), which is multiplied
with the weights. The adjoint in the input goes the other way: columns to images. A piece of a
single image is read and written where it is; several are laid side by side in a `block`, so that
the product is wide enough.
"""

import ctypes
import functools
from typing import Any, NamedTuple

import numpy as np

from clew.kernels.codegen.builder import TYPES
from clew.kernels.codegen.emitter import Emitter
from clew.kernels.codegen.image_rows import KNOWN_STRIDES, Lines
from clew.kernels.codegen.loops import Loop, finish
from clew.kernels.gemm.inline_gemm import call_multiply, provide_multiply
from clew.kernels.runtime import jit
from clew.kernels.runtime.optimization_levels import O0

Array = np.ndarray
FORWARD, OF_INPUT, OF_WEIGHT = "forward", "of_input", "of_weight"

# What a kernel is told, in this order: three arrays and sums of weights, the geometry, and how the
# work is cut.
FIELDS = (
    "*x", "*w", "*y", "*sums", "channels", "filters", "groups", "height", "width", "rows",
    "columns", "kernel_h", "kernel_w", "stride_h", "stride_w", "pad_h", "pad_w", "dilation_h",
    "dilation_w", "batch", "images", "tile", "parts",
)  # fmt: skip
# Columns should stay in the second-level cache, yet be wide enough for the product.
TILE_BYTES, MIN_COLUMNS = 1 << 20, 256


class Geometry(NamedTuple):
    """Sizes of one convolution over images: all pairs are (vertical, horizontal)."""

    input_shape: tuple[int, ...]
    weight_shape: tuple[int, ...]
    output_shape: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int

    @property
    def depth(self) -> int:
        """The number of elements in a window of one group."""
        return self.weight_shape[1] * self.weight_shape[2] * self.weight_shape[3]


def run(kind: str, x: Array, w: Array, y: Array, geometry: Geometry) -> None:
    """Fill y, x or w (by `kind`) from the other two; contiguous arrays of one float type."""
    llvm = TYPES[x.dtype]
    images, tile = _cut(geometry, x.itemsize)
    batch = geometry.input_shape[0]
    parts = -(-batch // images)
    if kind == OF_WEIGHT:
        # Every part has sums of its own; their number does not depend on threads.
        parts = min(parts, 4 if w.nbytes < 1 << 20 else 2)
        if not parts:
            w.fill(0)
    # The first part has its sums in the weights.
    others = np.empty((max(parts - 1, 0) if kind == OF_WEIGHT else 0, *w.shape), w.dtype)
    arrays = [each.ctypes.data for each in (x, w, y, others)]
    sizes = _sizes(geometry, images, tile, parts)
    context = np.array([*arrays, *sizes], np.int64)
    _function(kind, llvm, known(geometry.stride[1]))(context.ctypes.data, parts)
    for sums in others:
        w += sums


def known(stride: int) -> str:
    """The stride along lines, if there is code for it that is better than for any."""
    return str(stride) if str(stride) in KNOWN_STRIDES else ""


def can_run(*arrays: Array) -> bool:
    """Whether arrays are of one type that is compiled for."""
    dtype = arrays[0].dtype
    return dtype in TYPES and all(a.dtype is dtype for a in arrays)


def _cut(geometry: Geometry, itemsize: int) -> tuple[int, int]:
    """Images in a piece, and rows of the output in a tile."""
    batch, _, rows, columns = geometry.output_shape
    fitting = max(TILE_BYTES // max(geometry.depth * itemsize, 1), MIN_COLUMNS)
    images = min(max(1, MIN_COLUMNS // max(rows * columns, 1)), max(batch // 2, 1))
    passes = -(-rows * columns * images // fitting)
    return images, max(-(-rows // passes), 1)


def _sizes(geometry: Geometry, images: int, tile: int, parts: int) -> list[int]:
    batch, _, height, width = geometry.input_shape
    filters, channels, kernel_h, kernel_w = geometry.weight_shape
    _, _, rows, columns = geometry.output_shape
    groups = geometry.groups
    return [
        channels, filters // groups, groups, height, width, rows, columns, kernel_h, kernel_w,
        *geometry.stride, *geometry.padding, *geometry.dilation, batch, images, tile, parts,
    ]  # fmt: skip


@functools.cache
def _function(kind: str, llvm: str, stride: str) -> Any:
    provide_multiply(llvm)
    key, make = f"convolution {kind} {llvm} {stride}", functools.partial(module, kind, llvm, stride)
    address = jit.machine().function(key, make, "conv")
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(address)


def module(kind: str, llvm: str, stride: str) -> str:
    """The LLVM module of one of the three kernels, for a known stride or (empty) for any."""
    e = Emitter()
    e.declare("void @clew_parallel_for(ptr, ptr, i64, i64)")
    kernel = _Convolution(e, kind, llvm, stride)
    kernel.window_function()
    kernel.copy_function()
    kernel.body()
    with kernel.function("void @conv(ptr %context, i64 %total)", O0):
        e.line("call void @clew_parallel_for(ptr @body, ptr %context, i64 %total, i64 1)")
    finish(e)
    return e.text()


class _Convolution(Lines):
    """The functions of a kernel; names of values follow FIELDS."""

    def __init__(self, e: Emitter, kind: str, llvm: str, stride: str) -> None:
        super().__init__(e, llvm)
        self.task, self.stride = kind, stride

    def body(self) -> None:
        with self.function("internal void @body(ptr %context, i64 %begin, i64 %end)", O0):
            self.f = f = self.context(*FIELDS)
            f["depth"] = self.mul(f["channels"], f["kernel_h"], f["kernel_w"])
            f["plane"] = self.mul(f["height"], f["width"])
            f["positions"] = self.mul(f["rows"], f["columns"])
            f["single"] = self.compare("eq", f["images"], "1")
            wide = self.mul(f["images"], f["tile"], f["columns"])
            f["cols"] = self.buffer(self.mul(f["depth"], wide))
            f["block"] = self.buffer(self.mul(f["filters"], wide))
            with self.loop("%begin", "%end") as part:
                self.part(part)
            self.release(f["cols"])
            self.release(f["block"])

    def part(self, part: str) -> None:
        """All pieces of images of one part."""
        f = self.f
        pieces = self.pieces(f["batch"], f["images"])
        begin = self.quotient(self.mul(part, pieces), f["parts"])
        end = self.quotient(self.mul(self.add(part, "1"), pieces), f["parts"])
        own = f["w"]
        if self.task == OF_WEIGHT:
            weights = self.mul(f["groups"], f["filters"], f["depth"])
            other = self.at(f["sums"], self.mul(self.sub(part, "1"), weights))
            own = self.choose(self.compare("eq", part, "0"), own, other, "ptr")
        with self.loop(begin, end) as piece:
            is_first = self.compare("eq", piece, begin)
            first = self.mul(piece, f["images"])
            last = self.least(self.add(first, f["images"]), f["batch"])
            with self.loop("0", f["groups"]) as group:
                w = self.at(own, self.mul(group, f["filters"], f["depth"]))
                with self.loop("0", f["rows"], by=f["tile"]) as top:
                    stop = self.least(self.add(top, f["tile"]), f["rows"])
                    begins = self.e.value(f"and i1 {is_first}, {self.compare('eq', top, '0')}")
                    self.tile(first, last, group, w, top, stop, begins)

    def tile(
        self, first: str, last: str, group: str, w: str, top: str, stop: str, begins: str
    ) -> None:
        """One product: some images, one group, some rows of the output.

        The product that begins a sum of weights replaces what is there.
        """
        f = self.f
        length = self.mul(self.sub(stop, top), f["columns"])
        wide = self.mul(length, self.sub(last, first))
        one = (first, last, group, top, length, wide)
        block = self.block(first, group, top, wide)
        weights, cols = (w, f["depth"], "1"), (f["cols"], wide, "1")
        if self.task != OF_INPUT:
            self.windows(first, last, group, top, stop, length, wide)
        if self.task == FORWARD:
            self.multiply(weights, cols, block, f["filters"], wide, f["depth"])
            with self.when(self.negated(f["single"])):
                self.blocks(*one, to_images=True)
            return
        with self.when(self.negated(f["single"])):
            self.blocks(*one, to_images=False)
        if self.task == OF_WEIGHT:
            turned, more = (f["cols"], "1", wide), self.choose(begins, "0", "1")
            self.multiply(block, turned, weights, f["filters"], f["depth"], wide, more)
            return
        turned = w, "1", f["depth"]
        self.multiply(turned, block, cols, f["depth"], wide, f["filters"])
        self.windows(first, last, group, top, stop, length, wide)

    def block(self, first: str, group: str, top: str, wide: str) -> tuple[str, str, str]:
        """The matrix of filters × positions: in the image if it is a single one."""
        f = self.f
        plane = self.mul(self.add(self.mul(first, f["groups"]), group), f["filters"])
        start = self.add(self.mul(plane, f["positions"]), self.mul(top, f["columns"]))
        matrix = self.choose(f["single"], self.at(f["y"], start), f["block"], "ptr")
        return matrix, self.choose(f["single"], f["positions"], wide), "1"

    def multiply(
        self,
        a: tuple[str, str, str],
        b: tuple[str, str, str],
        c: tuple[str, str, str],
        m: str,
        n: str,
        k: str,
        more: str = "0",
    ) -> None:
        """c = a b, or c = c + a b; matrices with the distances of their rows and columns."""
        item = str(self.item)
        matrices = [
            (start, self.mul(row, item), self.mul(column, item)) for start, row, column in (a, b, c)
        ]
        call_multiply(self.e, self.llvm, matrices, (m, n, k), more)

    def blocks(
        self, first: str, last: str, group: str, top: str, length: str, wide: str, to_images: bool
    ) -> None:
        """Copy a block of rows (filters) × columns (positions of images) to the images, or back."""
        e, f = self.e, self.f
        image = Loop(e, first, last)
        filters = self.mul(f["groups"], f["filters"])
        plane = self.add(self.mul(image.i, filters), self.mul(group, f["filters"]))
        start = self.add(self.mul(plane, f["positions"]), self.mul(top, f["columns"]))
        column = self.mul(self.sub(image.i, first), length)
        there = f"ptr {self.at(f['y'], start)}, i64 {f['positions']}"
        here = f"ptr {self.at(f['block'], column)}, i64 {wide}"
        source, target = (here, there) if to_images else (there, here)
        e.line(f"call void @copy({source}, {target}, i64 {f['filters']}, i64 {length})")
        image.close()

    def copy_function(self) -> None:
        """`copy`: rows of a matrix to those of another; given with their distances."""
        head = (
            "internal void @copy(ptr %source, i64 %source_row, ptr %target, i64 %target_row, "
            "i64 %rows, i64 %length)"
        )
        with self.function(head), self.loop("0", "%rows") as row:
            source = self.at("%source", self.mul(row, "%source_row"))
            target = self.at("%target", self.mul(row, "%target_row"))
            self.copy_line(source, target, "0", "%length")

    # -- windows and columns -------------------------------------------------------------------

    def windows(
        self, first: str, last: str, group: str, top: str, stop: str, length: str, wide: str
    ) -> None:
        """Images to columns, or (for the gradient of the input) columns added to images."""
        e, f = self.e, self.f
        image = Loop(e, first, last)
        channels = self.mul(f["groups"], f["channels"])
        plane = self.add(self.mul(image.i, channels), self.mul(group, f["channels"]))
        source = self.at(f["x"], self.mul(plane, f["plane"]))
        column = self.at(f["cols"], self.mul(self.sub(image.i, first), length))
        given = f"ptr {source}, ptr {column}, i64 {wide}, i64 {top}, i64 {stop}"
        e.line(f"call void @windows(ptr %context, {given})")
        image.close()

    def window_function(self) -> None:
        """`windows`: all channels of one image, for some rows of the output."""
        head = (
            "internal void @windows(ptr %context, ptr %image, ptr %columns, i64 %wide, i64 %top, "
            "i64 %stop)"
        )
        with self.function(head):
            self.f = f = self.context(*FIELDS)
            plane = self.mul(f["height"], f["width"])
            with (
                self.loop("0", f["channels"]) as channel,
                self.loop("0", f["kernel_h"]) as down,
                self.loop("0", f["kernel_w"]) as across,
            ):
                source = self.at("%image", self.mul(channel, plane))
                element = self.add(self.mul(channel, f["kernel_h"]), down)
                element = self.add(self.mul(element, f["kernel_w"]), across)
                line = self.at("%columns", self.mul(element, "%wide"))
                self.lines(source, line, down, across)

    def lines(self, source: str, line: str, down: str, across: str) -> None:
        """One element of the window at all positions of a tile."""
        e, f = self.e, self.f
        stride = self.stride or f["stride_w"]
        shift = self.sub(self.mul(across, f["dilation_w"]), f["pad_w"])
        # Positions from `low` to `high` lie inside the image: ceil(-shift / stride) and so on.
        low = self.least(self.most(self.ceil(self.sub("0", shift), stride), "0"), f["columns"])
        high = self.ceil(self.sub(f["width"], shift), stride)
        high = self.most(self.least(high, f["columns"]), low)
        row = Loop(e, "%top", "%stop")
        y = self.add(self.mul(row.i, f["stride_h"]), self.mul(down, f["dilation_h"]))
        y = self.sub(y, f["pad_h"])
        target = self.at(line, self.mul(self.sub(row.i, "%top"), f["columns"]))
        inside = e.value(f"icmp ult i64 {y}, {f['height']}")
        name = e.fresh("line")
        e.line(f"br i1 {inside}, label %in{name}, label %out{name}")
        e.label(f"out{name}")
        if self.task != OF_INPUT:
            self.zero(target, "0", f["columns"])
        e.line(f"br label %end{name}")
        e.label(f"in{name}")
        begin = self.at(source, self.add(self.mul(y, f["width"]), shift))
        if self.task == OF_INPUT:
            self.add_line(target, begin, low, high, stride)
        else:
            self.zero(target, "0", low)
            self.read_line(begin, target, low, high, stride)
            self.zero(target, high, f["columns"])
        e.line(f"br label %end{name}")
        e.label(f"end{name}")
        row.close()

    def ceil(self, a: str, b: str) -> str:
        """a / b rounded up, for positive b and any a."""
        e = self.e
        quotient = e.value(f"sdiv i64 {a}, {b}")
        rest = e.value(f"srem i64 {a}, {b}")
        more = e.value(f"icmp sgt i64 {rest}, 0")
        return self.add(quotient, e.value(f"zext i1 {more} to i64"))

    def zero(self, target: str, begin: str, end: str) -> None:
        with self.loop(begin, end) as element:
            self.store("0.0", self.at(target, element))
