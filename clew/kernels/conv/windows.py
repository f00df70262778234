"""Windows of padded images as columns, for convolutions that are matrix products.

A unit of work is some output rows of some images, in one group. For some channels at a time, the
input rows that it needs are copied with their padding, and strided columns side by side (`pad`).
From there, windows are copied to a matrix with a row for each element of a window and a column for
each output position (`pack`): each vector takes one load and one store.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from clew.kernels.codegen.emitter import Emitter
from clew.kernels.codegen.image_rows import ImageRowBuilder
from clew.kernels.conv.im2col_conv import Geometry
from clew.kernels.conv.indirect_gemm import HEIGHT
from clew.kernels.gemm.microkernels import Tiling
from clew.kernels.gemm.transposed_copy import copy_matrix
from clew.kernels.runtime.cpu import vector_bytes

# The columns of a unit, which stay in the second-level cache.
UNIT_COLUMNS = 256
# The sizes of a convolution and its blocking. A unit has `images` and `tile` output rows, and
# `some_channels` are copied at once. Of a padded row, `phases` of `phase` columns lie side by side:
# those whose distance is the stride. `row_step` is the distance of output rows in the padded image,
# `row_stride` that of its own rows in the image. `flips`: windows are read backwards.
SIZES = (
    "channels", "filters", "groups", "height", "width", "rows", "columns", "kernel_h", "kernel_w",
    "stride_h", "stride_w", "pad_h", "pad_w", "dilation_h", "dilation_w", "batch", "images", "tile",
    "some_channels", "phases", "phase", "padded_rows", "row_step", "row_stride", "flips",
)  # fmt: skip


class Unit(NamedTuple):
    """How many images and output rows a unit has."""

    images: int
    tile: int

    @staticmethod
    def of(batch: int, rows: int, columns: int, wanted: int, panel: int) -> Unit:
        """As many as make so many columns, and whole panels of columns where rows make them."""
        positions = rows * columns
        if positions <= wanted:
            return Unit(max(min(wanted // positions, batch), 1), rows)
        tile, step = max(wanted // columns, 1), panel // math.gcd(panel, columns)
        return Unit(1, tile // step * step if tile >= step else tile)

    @staticmethod
    def filling(geometry: Geometry, threads: int, least: int, panel: int) -> Unit:
        """Units that fill the cache, or else enough of them for all threads, of `least` columns."""
        batch, _, rows, columns = geometry.output_shape
        batch *= geometry.groups
        each = batch * rows * columns // (2 * threads)
        return Unit.of(batch, rows, columns, max(min(UNIT_COLUMNS, each), least), panel)

    def count(self, geometry: Geometry) -> int:
        """The units of a convolution."""
        batch, _, rows, _ = geometry.output_shape
        return geometry.groups * -(-batch // self.images) * -(-rows // self.tile)


class Plan(NamedTuple):
    """The sizes of the context, the elements of shared panels, and the tasks of both loops."""

    sizes: tuple[int, ...]
    shared: int
    packing: int
    tasks: int


def sizes_of(
    geometry: Geometry, unit: Unit, some_channels: int, flips: bool, is_indirect: bool = False
) -> list[int]:
    """The numbers for SIZES; where windows are read through offsets, rows are copied whole."""
    batch, _, height, width = geometry.input_shape
    filters, channels, kernel_h, kernel_w = geometry.weight_shape
    _, _, rows, columns = geometry.output_shape
    stride, dilation = geometry.stride, geometry.dilation
    # Rows and columns between the windows of single elements are not copied.
    phases = 1 if kernel_w == 1 else stride[1]
    phase = -(-((columns - 1) * stride[1] + (kernel_w - 1) * dilation[1] + 1) // stride[1])
    row_step, row_stride = (1, stride[0]) if kernel_h == 1 else (stride[0], 1)
    if is_indirect:
        phases, phase = 1, (columns - 1) * stride[1] + (kernel_w - 1) * dilation[1] + 1
        row_step, row_stride = stride[0], 1
    padded_rows = (unit.tile - 1) * row_step + (kernel_h - 1) * dilation[0] + 1
    return [
        channels, filters // geometry.groups, geometry.groups, height, width, rows, columns,
        kernel_h, kernel_w, *stride, *geometry.padding, *dilation, batch, *unit, some_channels,
        phases, phase, padded_rows, row_step, row_stride, int(flips),
    ]  # fmt: skip


class WindowBuilder(ImageRowBuilder):
    """Functions of a kernel whose context has `fields`, among them SIZES, and the images `x`."""

    fields: tuple[str, ...] = ()

    def __init__(self, e: Emitter, llvm: str, stride: str) -> None:
        super().__init__(e, llvm)
        self.stride = stride
        self.tiling = Tiling(vector_bytes(), llvm)

    def load_fields(self) -> None:
        """The context, and what follows from it."""
        self.f = f = self.load_context(*self.fields)
        f["taps"] = self.mul(f["kernel_h"], f["kernel_w"])
        f["depth"] = self.mul(f["channels"], f["taps"])
        f["positions"] = self.mul(f["rows"], f["columns"])
        f["padded_row"] = self.mul(f["phases"], f["phase"])
        f["plane"] = self.mul(f["padded_rows"], f["padded_row"])
        f["blocks"] = self.ceil_div(f["channels"], f["some_channels"])

    def enter_unit(self, number: str) -> None:
        """Find the group, the images and the rows of a unit."""
        f = self.f
        tiles = self.ceil_div(f["rows"], f["tile"])
        f["top"] = self.mul(self.urem(number, tiles), f["tile"])
        rest = self.udiv(number, tiles)
        f["group"] = self.urem(rest, f["groups"])
        f["first"] = self.mul(self.udiv(rest, f["groups"]), f["images"])
        f["count"] = self.min(f["images"], self.sub(f["batch"], f["first"]))
        f["unit_rows"] = self.min(f["tile"], self.sub(f["rows"], f["top"]))
        f["unit_positions"] = self.mul(f["unit_rows"], f["columns"])
        f["wide"] = self.mul(f["count"], f["unit_positions"])

    def enter_block(self, number: str) -> None:
        """Find the channels of a block."""
        f = self.f
        f["first_channel"] = self.mul(number, f["some_channels"])
        f["block_channels"] = self.min(
            f["some_channels"], self.sub(f["channels"], f["first_channel"])
        )

    def pad_block(self, padded: str) -> None:
        """The padded rows of the present unit and block."""
        f = self.f
        with self.loop("0", f["count"]) as number:
            channel = self.mul(
                self.add(self.mul(self.add(f["first"], number), f["groups"]), f["group"]),
                f["channels"],
            )
            channel = self.add(channel, f["first_channel"])
            source = self.gep(f["x"], self.mul(channel, f["height"], f["width"]))
            target = self.gep(padded, self.mul(number, f["some_channels"], f["plane"]))
            self.e.line(
                f"call void @pad(ptr %context, ptr {source}, ptr {target}, "
                f"i64 {f['block_channels']}, i64 {f['top']}, i64 {f['unit_rows']})"
            )

    def pack_columns(self, padded: str, first: str, count: str, matrix: str, stride: str) -> None:
        """Columns of the present unit and block to a matrix, whose rows have such a distance.

        Vectors may be stored beyond the end of its last row.
        """
        f = self.f
        self.e.line(
            f"call void @pack(ptr %context, i64 {f['block_channels']}, ptr {padded}, "
            f"i64 {f['unit_rows']}, i64 {first}, i64 {count}, ptr {matrix}, i64 {stride})"
        )

    def malloc_padded(self) -> str:
        f = self.f
        size = self.mul(f["images"], f["some_channels"], f["plane"])
        return self.malloc(self.add(size, str(self.tiling.columns)))

    def pad_function(self) -> None:
        """`pad`: the rows of some channels of an image that some output rows need."""
        head = (
            "internal void @pad(ptr %context, ptr %image, ptr %padded, i64 %count, i64 %top, "
            "i64 %output_rows)"
        )
        with self.function(head):
            self.load_fields()
            f = self.f
            stride = self.stride or f["stride_w"]
            spread = self.mul(self.sub(f["kernel_h"], "1"), f["dilation_h"])
            rows = self.mul(self.sub("%output_rows", "1"), f["row_step"])
            rows = self.add(rows, spread, "1")
            begin = self.sub(self.mul("%top", f["stride_h"]), f["pad_h"])
            with self.loop("0", "%count") as channel, self.loop("0", rows) as row:
                y = self.add(begin, self.mul(row, f["row_stride"]))
                target = self.add(self.mul(channel, f["plane"]), self.mul(row, f["padded_row"]))
                target = self.gep("%padded", target)
                inside = self.icmp("ult", y, f["height"])
                with self.if_then(self.not_(inside)):
                    self.fill_zeros(target, f["padded_row"])
                with self.if_then(inside):
                    line = self.add(self.mul(channel, f["height"]), y)
                    source = self.gep("%image", self.mul(line, f["width"]))
                    with self.loop("0", f["phases"]) as number:
                        start = self.gep(target, self.mul(number, f["phase"]))
                        self.pad_row(source, start, number, stride)

    def pad_row(self, source: str, target: str, number: str, stride: str) -> None:
        """Columns number, number + stride, ... of a padded row."""
        f = self.f
        shift = self.sub(number, f["pad_w"])
        # Those from `low` to `high` lie inside of the image.
        low = self.ceil(self.sub("0", shift), stride)
        low = self.min(self.max(low, "0"), f["phase"])
        high = self.ceil(self.sub(f["width"], shift), stride)
        high = self.max(self.min(high, f["phase"]), low)
        self.zero(target, "0", low)
        self.load_strided_row(self.gep(source, shift), target, low, high, stride)
        self.zero(target, high, f["phase"])

    def pack_function(self) -> None:
        """`pack`: columns of a unit, from `first` on, to a matrix.

        They are pieces of output rows. Whole vectors are copied: what is stored beyond the end of
        a piece is overwritten by the next one.
        """
        head = (
            "internal void @pack(ptr %context, i64 %channels, ptr %padded, i64 %unit_rows, "
            "i64 %first, i64 %count, ptr %matrix, i64 %stride)"
        )
        lanes = self.tiling.lanes
        with self.function(head):
            self.load_fields()
            f = self.f
            pieces = self.e.value(f"alloca i64, i64 {3 * (UNIT_COLUMNS + 2)}, align 8")
            size = self.mul(f["some_channels"], f["plane"])
            number = self.find_pieces(pieces, size)
            vector = f"<{lanes} x {self.llvm}>"
            with (
                self.loop("0", "%channels") as channel,
                self.loop("0", f["kernel_h"]) as tap_h,
                self.loop("0", f["kernel_w"]) as tap_w,
            ):
                row = self.add(self.mul(channel, f["kernel_h"]), tap_h)
                row = self.add(self.mul(row, f["kernel_w"]), tap_w)
                target = self.gep("%matrix", self.mul(row, "%stride"))
                start = self.add(self.mul(channel, f["plane"]), self.element(tap_h, tap_w))
                source = self.gep("%padded", start)
                with self.loop("0", number) as piece:
                    words = self.mul(piece, "3")
                    begin, place, stop = (
                        self.load_i64(pieces, self.add(words, str(n))) for n in range(3)
                    )
                    first, to = self.gep(source, begin), self.gep(target, place)
                    with self.loop("0", stop, by=lanes) as i:
                        copied = self.load(self.gep(first, i), vector)
                        self.store(copied, self.gep(to, i), vector)

    def element(self, tap_h: str, tap_w: str) -> str:
        """The place in a padded plane of an element of the window that begins at its first."""
        f = self.f
        down, right = (self.tap(*each) for each in (("h", tap_h), ("w", tap_w)))
        if self.stride != "1":
            stride = self.stride or f["stride_w"]
            skipped = self.mul(self.urem(right, stride), f["phase"])
            right = self.add(skipped, self.udiv(right, stride))
        return self.add(self.mul(down, f["padded_row"]), right)

    def tap(self, axis: str, number: str) -> str:
        """The distance of an element of the window from its first, along an axis."""
        f = self.f
        other = self.sub(f[f"kernel_{axis}"], "1", number)
        number = self.select(self.icmp("ne", f["flips"], "0"), other, number)
        return self.mul(number, f[f"dilation_{axis}"])

    def find_pieces(self, pieces: str, image_size: str) -> str:
        """Store the offsets of pieces in the padded images and in the matrix, and their lengths.

        Returns how many there are.
        """
        f = self.f
        number = self.local("i64", "0")
        place = self.local("i64", "0")
        with self.loop_forever() as end:
            done = self.load_word(place)
            self.branch_unless(self.icmp("slt", done, "%count"), end)
            position = self.add("%first", done)
            line, column = self.udiv(position, f["columns"]), self.urem(position, f["columns"])
            length = self.min(self.sub(f["columns"], column), self.sub("%count", done))
            image, row = self.udiv(line, "%unit_rows"), self.urem(line, "%unit_rows")
            source = self.add(
                self.mul(image, image_size),
                self.mul(row, f["row_step"], f["padded_row"]),
                column,
            )
            words = self.load_word(number)
            for index, value in enumerate((source, done, length)):
                self.store_word(
                    self.gep_i64(pieces, self.add(self.mul(words, "3"), str(index))), value
                )
            self.store_word(number, self.add(words, "1"))
            self.store_word(place, self.add(done, length))
        return self.load_word(number)

    def offsets_function(self) -> None:
        """`offsets`: where the windows of a unit begin in its padded rows, and their elements.

        In bytes, for indirect_gemm.py; rows are copied whole (`is_indirect`). The positions of a
        unit with fewer images or rows are the first ones of a whole unit.
        """
        head = "internal void @offsets(ptr %context, ptr %positions, ptr %elements)"
        with self.function(head):
            self.load_fields()
            f = self.f
            lines = self.mul(f["images"], f["tile"])
            with self.loop("0", lines) as line, self.loop("0", f["columns"]) as column:
                image, row = self.udiv(line, f["tile"]), self.urem(line, f["tile"])
                place = self.add(
                    self.mul(image, f["some_channels"], f["plane"]),
                    self.mul(row, f["row_step"], f["padded_row"]),
                    self.mul(column, f["stride_w"]),
                )
                self.store_offset(
                    "%positions", self.add(self.mul(line, f["columns"]), column), place
                )
            self.fill_tile("%positions", self.mul(lines, f["columns"]))
            with (
                self.loop("0", f["some_channels"]) as channel,
                self.loop("0", f["kernel_h"]) as tap_h,
                self.loop("0", f["kernel_w"]) as tap_w,
            ):
                place = self.add(self.mul(channel, f["plane"]), self.element(tap_h, tap_w))
                number = self.add(self.mul(channel, f["kernel_h"]), tap_h)
                number = self.add(self.mul(number, f["kernel_w"]), tap_w)
                self.store_offset("%elements", number, place)
            self.fill_tile("%elements", self.mul(f["some_channels"], f["taps"]))

    def store_offset(self, table: str, number: str, place: str) -> None:
        self.store_word(self.gep_i64(table, number), self.mul(place, str(self.itemsize)))

    def fill_tile(self, table: str, count: str) -> None:
        """Offsets of the rows that the last tile has beyond the end."""
        with self.loop(count, self.round_up(count, str(HEIGHT))) as number:
            self.store_word(self.gep_i64(table, number), "0")

    def malloc_offsets(self) -> tuple[str, str]:
        """Tables of the positions of a unit and of the elements of windows, filled."""
        f = self.f
        counts = (
            self.mul(f["images"], f["tile"], f["columns"]), self.mul(f["some_channels"], f["taps"])
        )  # fmt: skip
        positions, elements = (
            self.e.aligned_malloc(self.mul(self.round_up(count, str(HEIGHT)), "8"))
            for count in counts
        )
        self.e.line(f"call void @offsets(ptr %context, ptr {positions}, ptr {elements})")
        return positions, elements

    def transpose(
        self, source: tuple[str, str], target: tuple[str, str], size: tuple[str, str]
    ) -> None:
        """target = source transposed: addresses, distances of rows, rows and columns of target."""
        given = [f"ptr {start}, i64 {distance}" for start, distance in (source, target)]
        self.e.line(f"call void @transpose({', '.join(given)}, i64 {size[0]}, i64 {size[1]})")

    def transpose_function(self) -> None:
        head = (
            "internal void @transpose(ptr %from, i64 %from_stride, ptr %to, i64 %to_stride, "
            "i64 %rows, i64 %columns)"
        )
        item = str(self.itemsize)
        with self.function(head):
            copy_matrix(self, {
                "from": "%from", "to": "%to", "rows": "%rows", "columns": "%columns",
                "from_row": item, "from_column": self.mul("%from_stride", item),
                "to_row": self.mul("%to_stride", item), "to_column": item,
            })  # fmt: skip
