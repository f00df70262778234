"""Two-dimensional convolution and its gradients, compiled: im2col, then GEMM.

The batch is cut into chunks of images. The windows of a chunk are copied to a matrix that stays in
the cache (`cols`: a row for each element of a window, a column for each output position), which is
multiplied by the weights. The gradient of the input goes the other way: GEMM, then col2im. The
output of a single image is a GEMM operand in place; several are copied to a `block`, side by side,
so that the product is wide enough.

Where there are fewer chunks than threads, a chunk is several tasks, each for a slice of the filters
(of the channels, for the gradient of the input), which all make the columns they need.
"""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from clew.kernels.codegen.builder import BODY
from clew.kernels.codegen.contexts import TYPES, ContextCall, compiled
from clew.kernels.codegen.emitter import Emitter
from clew.kernels.codegen.image_rows import SPECIALIZED_STRIDES, ImageRowBuilder
from clew.kernels.codegen.loops import end_module, run_tasks
from clew.kernels.gemm.inline_gemm import call_multiply, provide_multiply
from clew.kernels.runtime import jit
from clew.kernels.runtime.optimization_levels import O0

Array = np.ndarray
FORWARD, GRAD_INPUT, GRAD_WEIGHT = "forward", "grad_input", "grad_weight"

# The context: three arrays and partial sums of weight gradients, the geometry, and the blocking.
# `images` are those of a chunk, `tile` the output rows of a GEMM; a task has a part of the chunks
# and one of the slices of filters or channels.
FIELDS = (
    "*x", "*w", "*y", "*sums", "channels", "filters", "groups", "height", "width", "rows",
    "columns", "kernel_h", "kernel_w", "stride_h", "stride_w", "pad_h", "pad_w", "dilation_h",
    "dilation_w", "batch", "images", "tile", "parts", "slices",
)  # fmt: skip
# Columns should stay in the second-level cache, yet be wide enough for the product.
TILE_BYTES, MIN_COLUMNS = 1 << 20, 256
# The fewest filters or channels of a slice: with fewer, copying columns takes longer than GEMM.
_MIN_SLICE = 32


class Geometry(NamedTuple):
    """Shapes and parameters of one convolution over images: all pairs are (height, width)."""

    input_shape: tuple[int, ...]
    weight_shape: tuple[int, ...]
    output_shape: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int

    @staticmethod
    def of(
        shapes: Sequence[Sequence[int]], stride: Sequence[int], padding: Sequence[int],
        dilation: Sequence[int], groups: int,
    ) -> "Geometry":  # fmt: skip
        """That of a convolution with one spatial axis or two; a line is an image of one row."""
        flat = len(stride) == 1

        def pair(sizes: Sequence[int], row: int) -> tuple[int, ...]:
            return (row, *sizes) if flat else tuple(sizes)

        x, w, y = ((*each[:2], 1, *each[2:]) if flat else tuple(each) for each in shapes)
        return Geometry(x, w, y, pair(stride, 1), pair(padding, 0), pair(dilation, 1), groups)

    @property
    def depth(self) -> int:
        """The number of elements in a window of one group."""
        return self.weight_shape[1] * self.weight_shape[2] * self.weight_shape[3]


def run(kind: str, x: Array, w: Array, y: Array, geometry: Geometry) -> None:
    """Fill y, x or w (by `kind`) from the other two; contiguous arrays of one float type."""
    call, count = calling(kind, x.dtype, geometry)
    if call is None:
        w.fill(0)
        return
    # The first part has its sums in the weights.
    others = np.empty((count, *w.shape), w.dtype)
    call(x, w, y, others)
    for sums in others:
        w += sums


def calling(kind: str, dtype: np.dtype, geometry: Geometry) -> tuple[ContextCall | None, int]:
    """The call on x, w, y and partial sums, and how many of these are to be added to w.

    None where there is no image to add up.
    """
    images, tile = _blocking(geometry, dtype.itemsize)
    parts, others = -(-geometry.input_shape[0] // images), 0
    filters, channels = geometry.weight_shape[:2]
    if kind == GRAD_WEIGHT:
        if not parts:
            return None, 0
        # Every part has partial sums; their number does not depend on the number of threads.
        nbytes = filters * geometry.depth * dtype.itemsize
        parts = min(parts, 4 if nbytes < 1 << 20 else 2)
        others = parts - 1
    slices = slice_count(
        parts * geometry.groups, channels if kind == GRAD_INPUT else filters // geometry.groups
    )
    function = _function(kind, TYPES[dtype], specialized_stride(geometry.stride[1]))
    sizes = tuple(_sizes(geometry, images, tile, parts, slices))
    return ContextCall(function, sizes, (parts * slices,)), others


def slice_count(tasks: int, size: int) -> int:
    """Into how many slices `size` filters or channels are cut, so that no thread is idle.

    Results do not depend on it: it divides the rows of products.
    """
    threads = jit.threads()
    if tasks >= threads or not tasks:
        return 1
    return max(min(-(-threads // tasks), size // _MIN_SLICE), 1)


def specialized_stride(stride: int) -> str:
    """The stride along rows as a constant of the code, or the empty string for any stride."""
    return str(stride) if str(stride) in SPECIALIZED_STRIDES else ""


def can_run(*arrays: Array) -> bool:
    """Whether arrays are of one type that is compiled for."""
    dtype = arrays[0].dtype
    return dtype in TYPES and all(a.dtype is dtype for a in arrays)


def _blocking(geometry: Geometry, itemsize: int) -> tuple[int, int]:
    """The images of a chunk, and the output rows of a tile."""
    batch, _, rows, columns = geometry.output_shape
    fitting = max(TILE_BYTES // max(geometry.depth * itemsize, 1), MIN_COLUMNS)
    images = min(max(1, MIN_COLUMNS // max(rows * columns, 1)), max(batch // 2, 1))
    tiles = -(-rows * columns * images // fitting)
    return images, max(-(-rows // tiles), 1)


def _sizes(geometry: Geometry, images: int, tile: int, parts: int, slices: int) -> list[int]:
    batch, _, height, width = geometry.input_shape
    filters, channels, kernel_h, kernel_w = geometry.weight_shape
    _, _, rows, columns = geometry.output_shape
    groups = geometry.groups
    return [
        channels, filters // groups, groups, height, width, rows, columns, kernel_h, kernel_w,
        *geometry.stride, *geometry.padding, *geometry.dilation, batch, images, tile, parts,
        slices,
    ]  # fmt: skip


@functools.cache
def _function(kind: str, llvm: str, stride: str) -> Any:
    provide_multiply(llvm)
    make = functools.partial(module, kind, llvm, stride)
    return compiled(f"convolution {kind} {llvm} {stride}", make, "conv", integers=1)


def module(kind: str, llvm: str, stride: str) -> str:
    """The LLVM module of one of the three kernels, for a constant stride or (empty) for any."""
    e = Emitter()
    kernel = _Convolution(e, kind, llvm, stride)
    kernel.im2col_function()
    kernel.copy_function()
    kernel.body()
    with kernel.function("void @conv(ptr %context, i64 %count)", O0):
        run_tasks(e, "%context", "%count", "1")
    end_module(e)
    return e.text()


class _Convolution(ImageRowBuilder):
    """The functions of a kernel; names of values follow FIELDS."""

    def __init__(self, e: Emitter, kind: str, llvm: str, stride: str) -> None:
        super().__init__(e, llvm)
        self.kind, self.stride = kind, stride

    def body(self) -> None:
        with self.function(BODY, O0):
            self.f = f = self.load_context(*FIELDS)
            f["depth"] = self.mul(f["channels"], f["kernel_h"], f["kernel_w"])
            f["pixels"] = self.mul(f["height"], f["width"])
            f["positions"] = self.mul(f["rows"], f["columns"])
            f["in_place"] = self.icmp("eq", f["images"], "1")
            wide = self.mul(f["images"], f["tile"], f["columns"])
            f["cols"] = self.malloc(self.mul(f["depth"], wide))
            f["block"] = self.malloc(self.mul(f["filters"], wide))
            with self.loop("%begin", "%end") as task:
                self.slice(self.urem(task, f["slices"]))
                self.part(self.udiv(task, f["slices"]))
            self.free(f["cols"])
            self.free(f["block"])

    def slice(self, number: str) -> None:
        """The filters of a task, and its channels: one of the two is a slice, the other is all."""
        f = self.f
        sliced, whole = (
            ("channels", "filters") if self.kind == GRAD_INPUT else ("filters", "channels")
        )
        begin = self.udiv(self.mul(number, f[sliced]), f["slices"])
        end = self.udiv(self.mul(self.add(number, "1"), f[sliced]), f["slices"])
        f[f"first_{sliced}"], f[f"some_{sliced}"] = begin, self.sub(end, begin)
        f[f"first_{whole}"], f[f"some_{whole}"] = "0", f[whole]
        window = self.mul(f["kernel_h"], f["kernel_w"])
        f["some_depth"] = self.mul(f["some_channels"], window)
        f["first_weight"] = self.add(
            self.mul(f["first_filters"], f["depth"]), self.mul(f["first_channels"], window)
        )

    def part(self, part: str) -> None:
        """All chunks of one part."""
        f = self.f
        chunks = self.ceil_div(f["batch"], f["images"])
        begin = self.udiv(self.mul(part, chunks), f["parts"])
        end = self.udiv(self.mul(self.add(part, "1"), chunks), f["parts"])
        all_weights = f["w"]
        if self.kind == GRAD_WEIGHT:
            weights = self.mul(f["groups"], f["filters"], f["depth"])
            other = self.gep(f["sums"], self.mul(self.sub(part, "1"), weights))
            all_weights = self.select(self.icmp("eq", part, "0"), all_weights, other, "ptr")
        with self.loop(begin, end) as chunk:
            is_first = self.icmp("eq", chunk, begin)
            first = self.mul(chunk, f["images"])
            last = self.min(self.add(first, f["images"]), f["batch"])
            with self.loop("0", f["groups"]) as group:
                start = self.mul(group, f["filters"], f["depth"])
                w = self.gep(all_weights, self.add(start, f["first_weight"]))
                with self.loop("0", f["rows"], by=f["tile"]) as top:
                    stop = self.min(self.add(top, f["tile"]), f["rows"])
                    overwrites = self.and_(is_first, self.icmp("eq", top, "0"))
                    self.tile(first, last, group, w, top, stop, overwrites)

    def tile(
        self, first: str, last: str, group: str, w: str, top: str, stop: str, overwrites: str
    ) -> None:
        """One GEMM: the images of a chunk, one group, some rows of the output.

        The first product of a sum of weight gradients overwrites what is there.
        """
        f = self.f
        length = self.mul(self.sub(stop, top), f["columns"])
        wide = self.mul(length, self.sub(last, first))
        blocks = (first, last, group, top, length, wide)
        block = self.block(first, group, top, wide)
        weights, cols = (w, f["depth"], "1"), (f["cols"], wide, "1")
        if self.kind != GRAD_INPUT:
            self.im2col(first, last, group, top, stop, length, wide)
        if self.kind == FORWARD:
            self.multiply(weights, cols, block, f["some_filters"], wide, f["depth"])
            with self.if_then(self.not_(f["in_place"])):
                self.copy_blocks(*blocks, to_images=True)
            return
        with self.if_then(self.not_(f["in_place"])):
            self.copy_blocks(*blocks, to_images=False)
        if self.kind == GRAD_WEIGHT:
            transposed, more = (f["cols"], "1", wide), self.select(overwrites, "0", "1")
            self.multiply(block, transposed, weights, f["some_filters"], f["depth"], wide, more)
            return
        transposed = w, "1", f["depth"]
        self.multiply(transposed, block, cols, f["some_depth"], wide, f["filters"])
        self.im2col(first, last, group, top, stop, length, wide)

    def block(self, first: str, group: str, top: str, wide: str) -> tuple[str, str, str]:
        """The matrix of filters × positions: the image itself if it is a single one."""
        f = self.f
        channel = self.mul(self.add(self.mul(first, f["groups"]), group), f["filters"])
        channel = self.add(channel, f["first_filters"])
        start = self.add(self.mul(channel, f["positions"]), self.mul(top, f["columns"]))
        matrix = self.select(f["in_place"], self.gep(f["y"], start), f["block"], "ptr")
        return matrix, self.select(f["in_place"], f["positions"], wide), "1"

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
        """c = a b, or c += a b; matrices with their row and column strides in elements."""
        item = str(self.itemsize)
        matrices = [
            (start, self.mul(row, item), self.mul(column, item)) for start, row, column in (a, b, c)
        ]
        call_multiply(self.e, self.llvm, matrices, (m, n, k), more)

    def copy_blocks(
        self, first: str, last: str, group: str, top: str, length: str, wide: str, to_images: bool
    ) -> None:
        """Copy a block of rows (filters) × columns (positions of images) to the images, or back."""
        f = self.f
        with self.loop(first, last) as image:
            filters = self.mul(f["groups"], f["filters"])
            channel = self.add(self.mul(image, filters), self.mul(group, f["filters"]))
            channel = self.add(channel, f["first_filters"])
            start = self.add(self.mul(channel, f["positions"]), self.mul(top, f["columns"]))
            column = self.mul(self.sub(image, first), length)
            output = f"ptr {self.gep(f['y'], start)}, i64 {f['positions']}"
            block = f"ptr {self.gep(f['block'], column)}, i64 {wide}"
            source, target = (block, output) if to_images else (output, block)
            rows = f["some_filters"]
            self.e.line(f"call void @copy({source}, {target}, i64 {rows}, i64 {length})")

    def copy_function(self) -> None:
        """`copy`: a matrix of contiguous rows to another, with their row strides."""
        head = (
            "internal void @copy(ptr %source, i64 %source_row, ptr %target, i64 %target_row, "
            "i64 %rows, i64 %length)"
        )
        with self.function(head), self.loop("0", "%rows") as row:
            source = self.gep("%source", self.mul(row, "%source_row"))
            target = self.gep("%target", self.mul(row, "%target_row"))
            self.copy_row(source, target, "0", "%length")

    # -- im2col and col2im ---------------------------------------------------------------------

    def im2col(
        self, first: str, last: str, group: str, top: str, stop: str, length: str, wide: str
    ) -> None:
        """im2col of the images of a chunk, or (for the gradient of the input) col2im."""
        f = self.f
        with self.loop(first, last) as image:
            channels = self.mul(f["groups"], f["channels"])
            channel = self.add(self.mul(image, channels), self.mul(group, f["channels"]))
            channel = self.add(channel, f["first_channels"])
            source = self.gep(f["x"], self.mul(channel, f["pixels"]))
            column = self.gep(f["cols"], self.mul(self.sub(image, first), length))
            given = f"ptr {source}, ptr {column}, i64 {f['some_channels']}, i64 {wide}, "
            given += f"i64 {top}, i64 {stop}"
            self.e.line(f"call void @im2col(ptr %context, {given})")

    def im2col_function(self) -> None:
        """`im2col`: `count` channels of one image, for some rows of the output."""
        head = (
            "internal void @im2col(ptr %context, ptr %image, ptr %columns, i64 %count, i64 %wide, "
            "i64 %top, i64 %stop)"
        )
        with self.function(head):
            self.f = f = self.load_context(*FIELDS)
            pixels = self.mul(f["height"], f["width"])
            with (
                self.loop("0", "%count") as channel,
                self.loop("0", f["kernel_h"]) as tap_h,
                self.loop("0", f["kernel_w"]) as tap_w,
            ):
                source = self.gep("%image", self.mul(channel, pixels))
                element = self.add(self.mul(channel, f["kernel_h"]), tap_h)
                element = self.add(self.mul(element, f["kernel_w"]), tap_w)
                row = self.gep("%columns", self.mul(element, "%wide"))
                self.column_row(source, row, tap_h, tap_w)

    def column_row(self, source: str, cols: str, tap_h: str, tap_w: str) -> None:
        """A row of `cols`: one tap at all positions of a tile."""
        e, f = self.e, self.f
        stride = self.stride or f["stride_w"]
        shift = self.sub(self.mul(tap_w, f["dilation_w"]), f["pad_w"])
        # Positions from `low` to `high` lie inside the image: ceil(-shift / stride) and so on.
        low = self.min(self.max(self.ceil(self.sub("0", shift), stride), "0"), f["columns"])
        high = self.ceil(self.sub(f["width"], shift), stride)
        high = self.max(self.min(high, f["columns"]), low)
        with self.loop("%top", "%stop") as row:
            y = self.add(self.mul(row, f["stride_h"]), self.mul(tap_h, f["dilation_h"]))
            y = self.sub(y, f["pad_h"])
            target = self.gep(cols, self.mul(self.sub(row, "%top"), f["columns"]))
            inside = self.icmp("ult", y, f["height"])
            name = e.fresh("row")
            e.line(f"br i1 {inside}, label %in{name}, label %out{name}")
            e.label(f"out{name}")
            if self.kind != GRAD_INPUT:
                self.zero(target, "0", f["columns"])
            e.line(f"br label %end{name}")
            e.label(f"in{name}")
            begin = self.gep(source, self.add(self.mul(y, f["width"]), shift))
            if self.kind == GRAD_INPUT:
                self.add_strided_row(target, begin, low, high, stride)
            else:
                self.zero(target, "0", low)
                self.load_strided_row(begin, target, low, high, stride)
                self.zero(target, high, f["columns"])
            e.line(f"br label %end{name}")
            e.label(f"end{name}")
