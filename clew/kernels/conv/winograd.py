"""3×3 convolution by Winograd's transforms: 16 products for each 2×2 of the output instead of 36.

A tile of 4×4 inputs is transformed, multiplied element by element with the transformed weights
and summed over channels, which makes 16 matrix products over many tiles, and transformed back to
2×2 outputs. The gradient of the input is a convolution of the same kind; the gradient of the
weights goes through the transposed transforms.

A piece of work is some rows of tiles, of one image after another.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from clew.kernels.codegen.emitter import Emitter
from clew.kernels.codegen.image_rows import Lines
from clew.kernels.codegen.loops import finish
from clew.kernels.conv.im2col_conv import FORWARD, OF_INPUT, Geometry
from clew.kernels.conv.winograd_transforms import (
    BACK,
    INPUT,
    OUTPUT,
    call_tiles,
    name_of_table,
    table,
)
from clew.kernels.gemm.inline_gemm import call_multiply, provide_multiply
from clew.kernels.gemm.products import batch_product, product
from clew.kernels.runtime import jit
from clew.kernels.runtime.optimization_levels import O0

Array = np.ndarray

# What a kernel is told: images, transformed weights and images, then sizes.
FIELDS = (
    "*x", "*u", "*y", "u_row", "u_col", "channels", "filters", "height", "width", "rows", "columns",
    "pad_h", "pad_w", "tile_rows", "tile_columns", "total", "piece", "parts",
)  # fmt: skip
# Bytes of transformed inputs and outputs that should stay near, and the tiles of a piece.
_NEAR, _FEWEST, _MOST = 1 << 21, 64, 256
# Fewer channels or tiles than these are not worth transforming (measured).
_FEWEST_CHANNELS, _FEWEST_TILES = 16, 256

# From 3 weights to 4 transformed ones, in one dimension; in two, 16 from 9.
_ONCE = np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]], np.float32)
_OF_WEIGHTS = np.kron(_ONCE, _ONCE)


def fits(geometry: Geometry, dtype: np.dtype) -> bool:
    """Whether a convolution has the form, and the size, for these kernels."""
    batch, filters, rows, columns = geometry.output_shape
    return (
        dtype == np.float32
        and geometry.weight_shape[2:] == (3, 3)
        and geometry.stride == geometry.dilation == (1, 1)
        and geometry.groups == 1
        and max(geometry.padding) <= 2
        and min(filters, geometry.weight_shape[1]) >= _FEWEST_CHANNELS
        and batch * rows * columns >= 4 * _FEWEST_TILES
    )


def run(kind: str, x: Array, w: Array, y: Array, geometry: Geometry) -> None:
    """Fill y, x or w (by `kind`) from the other two; contiguous arrays of float32."""
    if kind == FORWARD:
        _convolve(x, _transformed(w, _OF_WEIGHTS), y, geometry.padding)
    elif kind == OF_INPUT:
        # Weights the other way round, in both dimensions, and filters for channels.
        turned = _transformed(w, np.ascontiguousarray(_OF_WEIGHTS[:, ::-1]))
        padding = tuple(2 - each for each in geometry.padding)
        _convolve(y, turned.swapaxes(1, 2), x, padding)
    else:
        _weight_gradients(x, w, y, geometry.padding)


def _transformed(w: Array, transform: Array) -> Array:
    filters, channels = w.shape[:2]
    return product(transform, w.reshape(-1, 9).T).reshape(16, filters, channels)


def _convolve(x: Array, u: Array, y: Array, padding: tuple[int, ...]) -> None:
    strides = [u.strides[1], u.strides[2]]
    _start("convolve", x, u, y, padding, strides, parts=0)


def _weight_gradients(x: Array, w: Array, y: Array, padding: tuple[int, ...]) -> None:
    filters, channels = w.shape[:2]
    # Every part has sums of its own; their number does not depend on threads.
    rows, piece = _cut(x, y)
    parts = min(4 if w.nbytes < 1 << 20 else 2, -(-rows // piece))
    sums = np.empty((parts, 16, filters, channels), x.dtype)
    _start("weights", x, sums, y, padding, [channels * x.itemsize, x.itemsize], parts)
    # One product transforms the parts back and adds them up.
    back = np.tile(_OF_WEIGHTS, (parts, 1))
    batch_product(sums.reshape(16 * parts, -1).T, back, out=w.reshape(-1, 9))


def _cut(x: Array, y: Array) -> tuple[int, int]:
    """The rows of tiles of all images, and how many of them are a piece."""
    batch, filters, rows, columns = y.shape
    tiles = min(max(_NEAR // (64 * (x.shape[1] + filters)), _FEWEST), _MOST)
    return batch * -(-rows // 2), max(tiles // -(-columns // 2), 1)


def _start(
    kind: str, x: Array, u: Array, y: Array, padding: tuple[int, ...], strides: Any, parts: int
) -> None:
    _, channels, height, width = x.shape
    _, filters, rows, columns = y.shape
    total, piece = _cut(x, y)
    context = np.array(
        [
            x.ctypes.data, u.ctypes.data, y.ctypes.data, *strides, channels, filters, height, width,
            rows, columns, *padding, -(-rows // 2), -(-columns // 2), total, piece, parts,
        ],
        np.int64,
    )  # fmt: skip
    _function(kind)(context.ctypes.data, parts or -(-total // piece))


@functools.cache
def _function(kind: str) -> Any:
    machine = jit.machine()
    provide_multiply("float")
    name = name_of_table()
    machine.define_symbol(name, table(name).address)
    address = machine.function(f"{name} {kind}", lambda: module(kind), "start")
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(address)


def module(kind: str) -> str:
    """The LLVM module of one of the two kernels."""
    e = Emitter()
    e.declare("void @clew_parallel_for(ptr, ptr, i64, i64)")
    c = _Winograd(e, "float")
    with c.function("internal void @copy(ptr %source, ptr %target, i64 %count)"):
        c.copy_line("%source", "%target", "0", "%count")
    c.input_row()
    c.output_row(to_images=kind == "convolve")
    c.body(kind)
    with c.function("void @start(ptr %context, i64 %total)", O0):
        e.line("call void @clew_parallel_for(ptr @body, ptr %context, i64 %total, i64 1)")
    finish(e)
    return e.text()


class _Winograd(Lines):
    """The functions of a kernel."""

    # -- rows of tiles -----------------------------------------------------------------------------

    def line(self, lines: str, number: str, size: str) -> str:
        return self.at(lines, self.mul(number, size))

    @contextmanager
    def each_plane(self, height: str, width: str) -> Iterator[tuple[str, str]]:
        """Planes, and where the transformed numbers of the first tile of each are, or belong."""
        size = self.mul(height, width)
        with self.loop("0", "%count") as number:
            to = self.at("%to", self.mul(number, "%wide"))
            yield self.at("%planes", self.mul(number, size)), to

    def tiles(self, kind: str, lines: str, size: str, to: str) -> None:
        call_tiles(self, kind, lines, size, to, self.mul("%count", "%wide"))

    def input_row(self) -> None:
        """`input_row`: four rows of all channels, with zeros around them, to 16 rows of tiles."""
        head = (
            "internal void @input_row(ptr %planes, i64 %count, i64 %top, i64 %height, i64 %width, "
            "i64 %pad, i64 %tiles, ptr %lines, ptr %to, i64 %wide)"
        )
        with self.function(head):
            size = self.add(self.mul("%tiles", "2"), "2")
            with self.each_plane("%height", "%width") as (plane, to):
                with self.loop("0", "4") as number:
                    self.fill_line(plane, self.line("%lines", number, size), size, number)
                self.tiles(INPUT, "%lines", size, to)

    def fill_line(self, plane: str, line: str, size: str, number: str) -> None:
        """A row of the plane, or zeros where the plane has none; what is beside it stays zero."""
        row = self.add("%top", number)
        inside = self.e.value(f"icmp ult i64 {row}, %height")
        source = self.past(plane, self.mul(row, self.mul("%width", str(self.item))))
        target = self.at(line, "%pad")
        count = self.most(self.least("%width", self.sub(size, "%pad")), "0")
        with self.when(inside):
            self.copied(source, target, count)
        with self.when(self.negated(inside)):
            self.put_zeros(target, count)

    def copied(self, source: str, target: str, count: str) -> None:
        self.e.line(f"call void @copy(ptr {source}, ptr {target}, i64 {count})")

    def output_row(self, to_images: bool) -> None:
        """`output_row`: 16 rows of tiles to two rows of all filters, or the transposed transform.

        Where tiles do not end with the image, this goes through lines that are long enough.
        """
        head = (
            "internal void @output_row(ptr %planes, i64 %count, i64 %top, i64 %rows, "
            "i64 %columns, i64 %tiles, ptr %lines, ptr %to, i64 %wide)"
        )
        with self.function(head):
            size = self.mul("%tiles", "2")
            fits = self.both(
                self.compare("eq", size, "%columns"),
                self.compare("slt", self.add("%top", "1"), "%rows"),
            )
            own = [self.line("%lines", str(number), size) for number in range(2)]
            distance = self.choose(fits, "%columns", size)
            with self.each_plane("%rows", "%columns") as (plane, to):
                images = [
                    self.at(plane, self.mul(self.add("%top", str(n)), "%columns")) for n in range(2)
                ]
                lines = self.choose(fits, images[0], own[0], "ptr")
                if not to_images:
                    with self.when(self.negated(fits)):
                        self.copy_lines(images, own, size, to_images)
                self.tiles(OUTPUT if to_images else BACK, lines, distance, to)
                if to_images:
                    with self.when(self.negated(fits)):
                        self.copy_lines(images, own, size, to_images)

    def copy_lines(self, images: list[str], own: list[str], size: str, to_images: bool) -> None:
        """Two lines to the rows of the image that exist, or back with zeros for the others."""
        for number, (image, line) in enumerate(zip(images, own, strict=True)):
            exists = self.compare("slt", self.add("%top", str(number)), "%rows")
            with self.when(exists):
                source, target = (line, image) if to_images else (image, line)
                self.copied(source, target, "%columns")
            if not to_images:
                begin = self.choose(exists, "%columns", "0")
                self.put_zeros(self.at(line, begin), self.sub(size, begin))

    # -- pieces ------------------------------------------------------------------------------------

    def body(self, kind: str) -> None:
        with self.function("internal void @body(ptr %context, i64 %begin, i64 %end)", O0):
            self.f = f = self.context(*FIELDS)
            wide = self.mul(f["piece"], f["tile_columns"])
            f["v"] = self.buffer(self.mul(f["channels"], wide, "16"))
            f["m"] = self.buffer(self.mul(f["filters"], wide, "16"))
            # Four lines of input and their margins, which stay zero, and two of output.
            margins = self.add(self.mul(f["tile_columns"], "8"), "8")
            f["lines"] = self.buffer(self.add(margins, self.mul(f["tile_columns"], "4")))
            f["output_lines"] = self.at(f["lines"], margins)
            self.put_zeros(f["lines"], margins)
            with self.loop("%begin", "%end") as number:
                if kind == "convolve":
                    self.piece(self.mul(number, f["piece"]), f["u"], kind)
                else:
                    self.part(number)
            for name in ("v", "m", "lines"):
                self.release(f[name])

    def part(self, number: str) -> None:
        """All pieces whose weight gradients are summed in one place."""
        f = self.f
        pieces = self.pieces(f["total"], f["piece"])
        begin = self.quotient(self.mul(number, pieces), f["parts"])
        end = self.quotient(self.mul(self.add(number, "1"), pieces), f["parts"])
        own = self.at(f["u"], self.mul(number, f["filters"], f["channels"], "16"))
        with self.loop(begin, end) as piece:
            more = self.choose(self.compare("eq", piece, begin), "0", "1")
            self.piece(self.mul(piece, f["piece"]), own, "weights", more)

    def piece(self, first: str, u: str, kind: str, more: str = "0") -> None:
        """Some rows of tiles: transform, multiply, transform."""
        f = self.f
        count = self.least(f["piece"], self.sub(f["total"], first))
        wide = self.mul(count, f["tile_columns"])
        self.planes(first, count, wide, is_input=True)
        if kind == "convolve":
            self.products(u, wide, kind, more)
            self.planes(first, count, wide, is_input=False)
        else:
            self.planes(first, count, wide, is_input=False)
            self.products(u, wide, kind, more)

    def planes(self, first: str, count: str, wide: str, is_input: bool) -> None:
        """The rows of tiles of all channels, or of all filters."""
        f = self.f
        name, planes, down, across, matrix, lines = (
            ("x", f["channels"], f["height"], f["width"], f["v"], f["lines"]) if is_input
            else ("y", f["filters"], f["rows"], f["columns"], f["m"], f["output_lines"])
        )  # fmt: skip
        with self.loop("0", count) as row:
            place = self.add(first, row)
            image = self.quotient(place, f["tile_rows"])
            top = self.mul(self.remainder(place, f["tile_rows"]), "2")
            start = f"ptr {self.at(f[name], self.mul(image, planes, down, across))}, i64 {planes}"
            to = self.at(matrix, self.mul(row, f["tile_columns"]))
            end = f"i64 {f['tile_columns']}, ptr {lines}, ptr {to}, i64 {wide})"
            if is_input:
                self.e.line(
                    f"call void @input_row({start}, i64 {self.sub(top, f['pad_h'])}, "
                    f"i64 {down}, i64 {across}, i64 {f['pad_w']}, {end}"
                )
            else:
                self.e.line(
                    f"call void @output_row({start}, i64 {top}, i64 {down}, i64 {across}, {end}"
                )

    def products(self, u: str, wide: str, kind: str, more: str) -> None:
        """The 16 matrix products of a piece."""
        f, item = self.f, str(self.item)
        down = self.mul(wide, item)
        with self.loop("0", "16") as number:
            weights = self.at(u, self.mul(number, f["filters"], f["channels"]))
            v = self.at(f["v"], self.mul(number, f["channels"], wide))
            m = self.at(f["m"], self.mul(number, f["filters"], wide))
            w = weights, f["u_row"], f["u_col"]
            images = m, down, item
            if kind == "convolve":
                matrices = w, (v, down, item), images
                sizes = f["filters"], wide, f["channels"]
            else:
                matrices = images, (v, item, down), w
                sizes = f["filters"], f["channels"], wide
            call_multiply(self.e, "float", matrices, sizes, more)
