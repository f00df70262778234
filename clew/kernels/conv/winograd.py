"""3×3 convolution by Winograd's algorithm F(2×2, 3×3): 16 multiplications instead of 36.

A tile of 4×4 inputs is transformed, multiplied element by element by the transformed weights and
summed over channels, which makes 16 GEMMs over many tiles, and transformed back to 2×2 outputs. The
gradient of the input is a convolution of the same kind; the gradient of the weights goes through
the transposed transforms.

Rows of tiles are counted through all images, and processed in chunks. Where there are fewer chunks
than threads, a task has a slice of the filters only.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from clew.kernels.codegen.builder import BODY
from clew.kernels.codegen.contexts import ContextCall, compiled
from clew.kernels.codegen.emitter import Emitter
from clew.kernels.codegen.image_rows import ImageRowBuilder
from clew.kernels.codegen.loops import end_module, run_tasks
from clew.kernels.conv.im2col_conv import (
    FORWARD,
    GRAD_INPUT,
    GRAD_WEIGHT,
    Geometry,
    slice_count,
)
from clew.kernels.conv.winograd_transforms import (
    INPUT,
    OUTPUT,
    OUTPUT_TRANSPOSED,
    call_transform,
    name_of_table,
    table,
)
from clew.kernels.gemm.inline_gemm import call_multiply, provide_multiply
from clew.kernels.gemm.products import batch_product, product
from clew.kernels.runtime import jit
from clew.kernels.runtime.optimization_levels import O0

Array = np.ndarray

# The two kernels: the convolution, and the gradient of the weights.
CONVOLVE, WEIGHT_GRADIENT = KINDS = ("convolve", "weight_gradient")
# The context: images, transformed weights, outputs, then sizes; `chunk` is in rows of tiles.
FIELDS = (
    "*x", "*u", "*y", "u_row", "u_col", "channels", "filters", "height", "width", "rows", "columns",
    "pad_h", "pad_w", "tile_rows", "tile_columns", "total", "chunk", "parts", "slices",
)  # fmt: skip
# Bytes of a chunk's transformed inputs and outputs that stay in the second-level cache, and the
# limits of its tiles.
_CHUNK_BYTES, _MIN_CHUNK, _MAX_CHUNK = 1 << 21, 64, 256
# The bytes of partial sums of weight gradients, and the most parts that have their own.
_SUMS_BYTES, _MAX_PARTS = 16 << 20, 16
# What is worth transforming (measured, on AVX-512): so many tiles; and by the columns of the
# output, so many channels and filters, or for gradients of weights.
_MIN_TILES = 256
_MIN_CHANNELS = ((28, 32, 64), (14, 64, 128), (8, 128, 256))

# The matrix G of the weights' transform in one dimension, and in two: 16 from 9.
_G = np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]], np.float32)
_G2 = np.kron(_G, _G)
_FLIPPED_G2 = np.ascontiguousarray(_G2[:, ::-1])


def fits(kind: str, geometry: Geometry, dtype: np.dtype) -> bool:
    """Whether a convolution has the form, and the size, for these kernels."""
    batch, filters, rows, columns = geometry.output_shape
    fewest = next((each[1:] for each in _MIN_CHANNELS if columns >= each[0]), None)
    return (
        dtype == np.float32
        and geometry.weight_shape[2:] == (3, 3)
        and geometry.stride == geometry.dilation == (1, 1)
        and geometry.groups == 1
        and max(geometry.padding) <= 2
        and fewest is not None
        and min(filters, geometry.weight_shape[1]) >= fewest[kind == GRAD_WEIGHT]
        and batch * rows * columns >= 4 * _MIN_TILES
    )


def run(kind: str, x: Array, w: Array, y: Array, geometry: Geometry) -> None:
    """Fill y, x or w (by `kind`) from the other two; contiguous arrays of float32."""
    filters, channels = geometry.weight_shape[:2]
    call, parts = calling(kind, geometry)
    if kind == GRAD_WEIGHT:
        sums = np.empty((parts, 16, filters, channels), x.dtype)
        call(x, sums, y)
        # One product transforms the parts back and sums them.
        batch_product(sums.reshape(16 * parts, -1).T, back_transform(parts), out=w.reshape(-1, 9))
        return
    transformed = product(transform(kind), w.reshape(-1, 9).T)
    if kind == FORWARD:
        call(x, transformed, y)
    else:
        call(y, transformed, x)


def transform(kind: str) -> Array:
    """What weights are multiplied by; in gradients of the input they are flipped both ways."""
    return _G2 if kind == FORWARD else _FLIPPED_G2


def back_transform(parts: int) -> Array:
    """What partial sums of gradients of weights are multiplied by."""
    return np.tile(_G2, (parts, 1))


@functools.lru_cache(maxsize=1024)
def _sizes(kind: str, geometry: Geometry, threads: int) -> tuple[tuple[int, ...], int, int]:
    """The sizes of the context, the parts that have sums of their own, and the tasks."""
    inner, outer, padding = geometry.input_shape, geometry.output_shape, geometry.padding
    filters, channels = geometry.weight_shape[:2]
    item, parts = 4, 0
    strides = [channels * item, item]
    if kind == GRAD_INPUT:
        # Filters and channels are exchanged.
        inner, outer = outer, inner
        padding, strides = tuple(2 - each for each in padding), [item, channels * item]
    batch, channels, height, width = inner
    _, filters, rows, columns = outer
    # The rows of tiles of all images, and of a chunk.
    total = batch * -(-rows // 2)
    tiles = min(max(_CHUNK_BYTES // (64 * (channels + filters)), _MIN_CHUNK), _MAX_CHUNK)
    chunk = max(tiles // -(-columns // 2), 1)
    if kind == GRAD_WEIGHT:
        # Every part has partial sums; their number does not depend on the number of threads.
        parts = max(min(_SUMS_BYTES // (16 * filters * channels * item), _MAX_PARTS), 2)
        parts = min(parts, -(-total // chunk))
    tasks = parts or -(-total // chunk)
    slices = slice_count(tasks, filters)
    sizes = (
        *strides, channels, filters, height, width, rows, columns, *padding,
        -(-rows // 2), -(-columns // 2), total, chunk, parts, slices,
    )  # fmt: skip
    return sizes, parts, tasks * slices


def calling(kind: str, geometry: Geometry) -> tuple[ContextCall, int]:
    """The call on images, transformed weights (or partial sums of gradients) and images.

    And the number of parts that have partial sums.
    """
    sizes, parts, tasks = _sizes(kind, geometry, jit.threads())
    function = _function(WEIGHT_GRADIENT if kind == GRAD_WEIGHT else CONVOLVE)
    return ContextCall(function, sizes, (tasks,)), parts


@functools.cache
def _function(kind: str) -> Any:
    machine = jit.machine()
    provide_multiply("float")
    name = name_of_table()
    machine.define_symbol(name, table(name).address)
    return compiled(f"{name} {kind}", lambda: module(kind), "start", integers=1)


def module(kind: str) -> str:
    """The LLVM module of one of the two kernels."""
    e = Emitter()
    c = _Winograd(e, "float")
    with c.function("internal void @copy(ptr %source, ptr %target, i64 %count)"):
        c.copy_row("%source", "%target", "0", "%count")
    c.input_row()
    c.output_row(to_images=kind == CONVOLVE)
    c.body(kind)
    with c.function("void @start(ptr %context, i64 %count)", O0):
        run_tasks(e, "%context", "%count", "1")
    end_module(e)
    return e.text()


class _Winograd(ImageRowBuilder):
    """The functions of a kernel."""

    # -- rows of tiles -----------------------------------------------------------------------------

    def row(self, buffer: str, number: str, size: str) -> str:
        return self.gep(buffer, self.mul(number, size))

    @contextmanager
    def each_channel(self, height: str, width: str) -> Iterator[tuple[str, str]]:
        """The addresses of each channel and of its transformed tiles."""
        size = self.mul(height, width)
        with self.loop("0", "%count") as number:
            transformed = self.gep("%transformed", self.mul(number, "%wide"))
            yield self.gep("%channels", self.mul(number, size)), transformed

    def transform(self, kind: str, rows: str, size: str, transformed: str) -> None:
        call_transform(self, kind, rows, size, transformed, self.mul("%count", "%wide"))

    def input_row(self) -> None:
        """`input_row`: four padded rows of all channels to 16 rows of transformed tiles."""
        head = (
            "internal void @input_row(ptr %channels, i64 %count, i64 %top, i64 %height, "
            "i64 %width, i64 %pad, i64 %tiles, ptr %buffer, ptr %transformed, i64 %wide)"
        )
        with self.function(head):
            size = self.add(self.mul("%tiles", "2"), "2")
            with self.each_channel("%height", "%width") as (channel, transformed):
                with self.loop("0", "4") as number:
                    self.padded_row(channel, self.row("%buffer", number, size), size, number)
                self.transform(INPUT, "%buffer", size, transformed)

    def padded_row(self, channel: str, padded: str, size: str, number: str) -> None:
        """Copy a row of the channel, or zeros for one outside; columns of padding stay zero."""
        row = self.add("%top", number)
        inside = self.icmp("ult", row, "%height")
        source = self.ptr_add(channel, self.mul(row, self.mul("%width", str(self.itemsize))))
        target = self.gep(padded, "%pad")
        count = self.max(self.min("%width", self.sub(size, "%pad")), "0")
        with self.if_then(inside):
            self.call_copy(source, target, count)
        with self.if_then(self.not_(inside)):
            self.fill_zeros(target, count)

    def call_copy(self, source: str, target: str, count: str) -> None:
        self.e.line(f"call void @copy(ptr {source}, ptr {target}, i64 {count})")

    def output_row(self, to_images: bool) -> None:
        """`output_row`: 16 rows of tiles to two rows of all filters, or the transposed transform.

        Where the tiles reach beyond the image, its rows are copied through a buffer.
        """
        head = (
            "internal void @output_row(ptr %channels, i64 %count, i64 %top, i64 %rows, "
            "i64 %columns, i64 %tiles, ptr %buffer, ptr %transformed, i64 %wide)"
        )
        with self.function(head):
            size = self.mul("%tiles", "2")
            fits = self.and_(
                self.icmp("eq", size, "%columns"),
                self.icmp("slt", self.add("%top", "1"), "%rows"),
            )
            buffered = [self.row("%buffer", str(number), size) for number in range(2)]
            distance = self.select(fits, "%columns", size)
            with self.each_channel("%rows", "%columns") as (channel, transformed):
                images = [
                    self.gep(channel, self.mul(self.add("%top", str(n)), "%columns"))
                    for n in range(2)
                ]
                rows = self.select(fits, images[0], buffered[0], "ptr")
                if not to_images:
                    with self.if_then(self.not_(fits)):
                        self.copy_rows(images, buffered, size, to_images)
                kind = OUTPUT if to_images else OUTPUT_TRANSPOSED
                self.transform(kind, rows, distance, transformed)
                if to_images:
                    with self.if_then(self.not_(fits)):
                        self.copy_rows(images, buffered, size, to_images)

    def copy_rows(self, images: list[str], buffered: list[str], size: str, to_images: bool) -> None:
        """Two rows of the buffer to the rows of the image that exist, or back, padded."""
        for number, (image, row) in enumerate(zip(images, buffered, strict=True)):
            exists = self.icmp("slt", self.add("%top", str(number)), "%rows")
            with self.if_then(exists):
                source, target = (row, image) if to_images else (image, row)
                self.call_copy(source, target, "%columns")
            if not to_images:
                begin = self.select(exists, "%columns", "0")
                self.fill_zeros(self.gep(row, begin), self.sub(size, begin))

    # -- chunks ------------------------------------------------------------------------------------

    def body(self, kind: str) -> None:
        with self.function(BODY, O0):
            self.f = f = self.load_context(*FIELDS)
            wide = self.mul(f["chunk"], f["tile_columns"])
            f["v"] = self.malloc(self.mul(f["channels"], wide, "16"))
            f["m"] = self.malloc(self.mul(f["filters"], wide, "16"))
            # Four padded rows of the input, whose padding stays zero, and two of the output.
            input_size = self.add(self.mul(f["tile_columns"], "8"), "8")
            f["input_rows"] = self.malloc(self.add(input_size, self.mul(f["tile_columns"], "4")))
            f["output_rows"] = self.gep(f["input_rows"], input_size)
            self.fill_zeros(f["input_rows"], input_size)
            with self.loop("%begin", "%end") as task:
                self.slice(self.urem(task, f["slices"]))
                number = self.udiv(task, f["slices"])
                if kind == CONVOLVE:
                    self.chunk(self.mul(number, f["chunk"]), f["u"], kind)
                else:
                    self.part(number)
            for name in ("v", "m", "input_rows"):
                self.free(f[name])

    def slice(self, number: str) -> None:
        """The filters of a task."""
        f = self.f
        f["first"] = self.udiv(self.mul(number, f["filters"]), f["slices"])
        end = self.udiv(self.mul(self.add(number, "1"), f["filters"]), f["slices"])
        f["some"] = self.sub(end, f["first"])

    def part(self, number: str) -> None:
        """The chunks whose weight gradients have the same partial sums."""
        f = self.f
        chunks = self.ceil_div(f["total"], f["chunk"])
        begin = self.udiv(self.mul(number, chunks), f["parts"])
        end = self.udiv(self.mul(self.add(number, "1"), chunks), f["parts"])
        sums = self.gep(f["u"], self.mul(number, f["filters"], f["channels"], "16"))
        with self.loop(begin, end) as chunk:
            more = self.select(self.icmp("eq", chunk, begin), "0", "1")
            self.chunk(self.mul(chunk, f["chunk"]), sums, WEIGHT_GRADIENT, more)

    def chunk(self, first: str, u: str, kind: str, more: str = "0") -> None:
        """Some rows of tiles: transform, multiply, transform back."""
        f = self.f
        count = self.min(f["chunk"], self.sub(f["total"], first))
        wide = self.mul(count, f["tile_columns"])
        self.transforms(first, count, wide, is_input=True)
        if kind == CONVOLVE:
            self.products(u, wide, kind, more)
            self.transforms(first, count, wide, is_input=False)
        else:
            self.transforms(first, count, wide, is_input=False)
            self.products(u, wide, kind, more)

    def transforms(self, first: str, count: str, wide: str, is_input: bool) -> None:
        """The rows of tiles of all channels, or of all filters."""
        f = self.f
        name, channels, height, width, matrix, buffer = (
            ("x", f["channels"], f["height"], f["width"], f["v"], f["input_rows"]) if is_input
            else ("y", f["filters"], f["rows"], f["columns"], f["m"], f["output_rows"])
        )  # fmt: skip
        skipped, some = ("0", channels) if is_input else (f["first"], f["some"])
        with self.loop("0", count) as row:
            number = self.add(first, row)
            image = self.udiv(number, f["tile_rows"])
            top = self.mul(self.urem(number, f["tile_rows"]), "2")
            channel = self.add(self.mul(image, channels), skipped)
            start = self.gep(f[name], self.mul(channel, height, width))
            given = f"ptr {start}, i64 {some}"
            tiles = self.gep(matrix, self.mul(row, f["tile_columns"]))
            end = f"i64 {f['tile_columns']}, ptr {buffer}, ptr {tiles}, i64 {wide})"
            if is_input:
                self.e.line(
                    f"call void @input_row({given}, i64 {self.sub(top, f['pad_h'])}, "
                    f"i64 {height}, i64 {width}, i64 {f['pad_w']}, {end}"
                )
            else:
                self.e.line(
                    f"call void @output_row({given}, i64 {top}, i64 {height}, i64 {width}, {end}"
                )

    def products(self, u: str, wide: str, kind: str, more: str) -> None:
        """The 16 GEMMs of a chunk."""
        f, item = self.f, str(self.itemsize)
        row = self.mul(wide, item)
        with self.loop("0", "16") as number:
            weights = self.gep(u, self.mul(number, f["filters"], f["channels"]))
            weights = self.ptr_add(weights, self.mul(f["first"], f["u_row"]))
            v = self.gep(f["v"], self.mul(number, f["channels"], wide))
            m = self.gep(f["m"], self.mul(number, f["some"], wide))
            w = weights, f["u_row"], f["u_col"]
            images = m, row, item
            if kind == CONVOLVE:
                matrices = w, (v, row, item), images
                sizes = f["some"], wide, f["channels"]
            else:
                matrices = images, (v, item, row), w
                sizes = f["some"], f["channels"], wide
            call_multiply(self.e, "float", matrices, sizes, more)
