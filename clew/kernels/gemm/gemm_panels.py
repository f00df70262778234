"""GEMM panels: microkernels down the rows of a panel of `b`, and their epilogue.

Panels are compiled at -O0: what they do between two tiles takes no time beside the tiles.
"""

from __future__ import annotations

from collections.abc import Sequence

from clew.kernels.codegen.builder import IRBuilder
from clew.kernels.codegen.ir import F32, F64
from clew.kernels.codegen.vectors import vector_loop
from clew.kernels.gemm.microkernel_table import call_helper, call_microkernel
from clew.kernels.gemm.microkernels import K_UNROLL, Tiling

# The context of a panel; all strides in bytes. `initial` has the values that the accumulators of a
# row begin with, `scratch_tile` room for one tile; `left` and `right` are the task's columns.
# `is_padded`: whole vectors may be stored beyond `right`, and a bias for each row is added later.
FIELDS = (
    "*a_block", "*packed_a", "packs_a", "a_row_stride", "a_k_stride",
    "*b_block", "b_panel_stride", "b_block_k_stride", "*c", "c_row_stride",
    "*bias", "bias_row_stride", "bias_col_stride", "has_bias", "is_first", "accumulates", "depth",
    "*initial", "*scratch_tile", "is_padded", "left", "right",
)  # fmt: skip
FLAGS = ("packs_a", "has_bias", "is_first", "is_padded")


def allocate_context(c: IRBuilder, fields: Sequence[str]) -> str:
    """A word on the stack for each field."""
    return c.e.value(f"alloca i64, i64 {len(fields)}, align 8")


def copy_tile(c: IRBuilder, tiling: Tiling) -> None:
    """Copy a scratch tile to a row-major result, with the epilogue: accumulate, add the bias."""
    with c.loop("0", "%rows") as row:
        _copy_row(c, row, tiling.lanes)


def copy_strided(c: IRBuilder, _: Tiling) -> None:
    """The same for a result with strided columns."""
    with c.loop("0", "%rows") as row:
        _copy_row(c, row, 0)


def _copy_row(c: IRBuilder, row: str, lanes: int) -> None:
    e, dtype = c.e, F32 if c.llvm == "float" else F64
    accumulates = c.icmp("ne", "%accumulate", "0")
    has_bias = e.value("icmp ne ptr %bias, null")
    row_source = c.select(has_bias, "%bias", "%source", "ptr")
    bias = c.load(c.ptr_add(row_source, c.mul(row, "%bias_row_stride")))
    source, target = (
        c.gep("%source", c.mul(row, "%source_columns")),
        c.ptr_add("%c", c.mul(row, "%c_row_stride")),
    )

    def body(column: str, _: list[str]) -> list[str]:
        numbers, kind = e.load(dtype, c.gep(source, column)), e.value_type(c.llvm)
        place = (
            c.gep(target, column) if lanes else c.ptr_add(target, c.mul(column, "%c_col_stride"))
        )
        total = e.arithmetic("fadd", dtype, e.load(dtype, place), numbers)
        numbers = c.select(accumulates, total, numbers, kind)
        total = e.arithmetic("fadd", dtype, numbers, e.splat(dtype, bias))
        e.store(dtype, c.select(has_bias, total, numbers, kind), place)
        return []

    vector_loop(e, ("0", "%columns"), lanes, 0, body)


def call_panel(c: IRBuilder, context: str, place: str) -> None:
    """Compute the tiles of some rows in one panel of columns."""
    c.e.line(f"call void @panel(ptr {context}, {place})")


class Panel:
    """`panel(context, top, rows, left)`"""

    def __init__(self, c: IRBuilder, tiling: Tiling) -> None:
        self.c, self.tiling = c, tiling

    def emit(self) -> None:
        c = self.c
        head = "void @panel(ptr %context, i64 %top, i64 %rows, i64 %left)"
        with c.function(head):
            self.row, self.column = c.local("i64", "0"), c.local("i64", "0")
            self.f = c.load_context(*FIELDS)
            for name in FLAGS:
                self.f[name] = c.icmp("ne", self.f[name], "0")
            self.tiles()

    def tiles(self) -> None:
        """The widest first."""
        c, tiling, f = self.c, self.tiling, self.f
        b = c.ptr_add(f["b_block"], c.mul(c.sub("%left", f["left"]), f["b_panel_stride"]))
        columns = c.min(str(tiling.columns), c.sub(f["right"], "%left"))
        c.store_word(self.column, "0")
        with c.loop_forever() as end:
            column = c.load_word(self.column)
            columns_left = c.sub(columns, column)
            c.branch_unless(c.icmp("sgt", columns_left, "0"), end)
            vectors = c.largest_fitting(c.ceil_div(columns_left, str(tiling.lanes)), tiling.widths)
            width = c.mul(vectors, str(tiling.lanes))
            place = c.add("%left", column)
            bias_start = self.initial_values(place, c.min(width, columns_left))
            self.column_of_tiles(place, c.gep(b, column), vectors, columns_left, bias_start)
            c.store_word(self.column, c.add(column, width))

    def initial_values(self, column: str, count: str) -> str:
        """Store what accumulators begin with: zero, or the bias where there is one per column.

        Returns the bias that the epilogue adds, one per row, or null.
        """
        c, tiling, f = self.c, self.tiling, self.f
        c.fill_zeros(f["initial"], str(tiling.columns))
        along = c.icmp("eq", f["bias_row_stride"], "0")
        is_added = c.and_(f["has_bias"], f["is_first"])
        with c.if_then(c.and_(is_added, along)):
            source = c.ptr_add(f["bias"], c.mul(column, f["bias_col_stride"]))
            with c.loop("0", count) as lane:
                number = c.load(c.ptr_add(source, c.mul(lane, f["bias_col_stride"])))
                c.store(number, c.gep(f["initial"], lane))
        return c.select(c.and_(is_added, c.not_(along)), f["bias"], "null", "ptr")

    def column_of_tiles(
        self, column: str, b: str, vectors: str, columns_left: str, epilogue_bias: str
    ) -> None:
        """Tiles below each other, the tallest first."""
        c, tiling, f = self.c, self.tiling, self.f
        width = c.mul(vectors, str(tiling.lanes))
        has_epilogue_bias = c.e.value(f"icmp ne ptr {epilogue_bias}, null")
        fits = c.and_(c.icmp("sge", columns_left, width), c.not_(has_epilogue_bias))
        f |= {"column": column, "b": b, "vectors": vectors, "width": width}
        f |= {"columns_left": columns_left, "epilogue_bias": epilogue_bias}
        f |= {"has_epilogue_bias": has_epilogue_bias, "fits": c.or_(f["is_padded"], fits)}
        # The tiles of a panel prefetch the next panel.
        f["next_panel"] = c.ptr_add(b, c.mul(f["depth"], f["b_block_k_stride"]))
        f["prefetch_bytes"] = c.mul(c.udiv(f["depth"], str(K_UNROLL)), str(tiling.prefetch_bytes))
        c.store_word(self.row, "0")
        with c.loop_forever() as end:
            row = c.load_word(self.row)
            left = c.sub("%rows", row)
            c.branch_unless(c.icmp("sgt", left, "0"), end)
            height, count = self.height_for(left), self.count_for(left)
            self.tiles_of_one_height(row, height, count)
            c.store_word(self.row, c.add(row, c.mul(height, count)))

    def tiles_of_one_height(self, row: str, height: str, count: str) -> None:
        """Tiles below each other: all that changes is found by adding strides."""
        c, tiling, f = self.c, self.tiling, self.f
        a, a_k_stride, a_tile_stride = self.rows_of_a(row, height)
        kind = self.tile_index(height, a_k_stride)
        first = c.add("%top", row)
        target = c.gep(c.ptr_add(f["c"], c.mul(first, f["c_row_stride"])), f["column"])
        bias_start = c.ptr_add(f["epilogue_bias"], c.mul(first, f["bias_row_stride"]))
        c_tile_stride, bias_tile_stride = (
            c.mul(height, f[name]) for name in ("c_row_stride", "bias_row_stride")
        )
        prefetch_offset = c.mul(c.udiv(row, str(tiling.heights[0])), f["prefetch_bytes"])
        prefetch = c.ptr_add(f["next_panel"], prefetch_offset)
        c_row_stride = c.select(f["fits"], f["c_row_stride"], str(tiling.columns * c.itemsize))
        accumulates = c.select(f["fits"], f["accumulates"], "0")
        upper_offset = c.mul(f["a_row_stride"], "3")
        with c.loop("0", count) as i:
            rows, place = (
                c.ptr_add(a, c.mul(i, a_tile_stride)),
                c.ptr_add(target, c.mul(i, c_tile_stride)),
            )
            arguments = (
                f"i64 {f['depth']}, ptr {rows}, ptr {c.ptr_add(rows, upper_offset)}, "
                f"i64 {f['a_row_stride']}, i64 {a_k_stride}, "
                f"ptr {f['b']}, i64 {f['b_block_k_stride']}, "
                f"ptr {c.select(f['fits'], place, f['scratch_tile'], 'ptr')}, "
                f"i64 {c_row_stride}, i64 {accumulates}, ptr {f['initial']}, "
                f"ptr {c.ptr_add(prefetch, c.mul(i, f['prefetch_bytes']))}"
            )
            call_microkernel(c, tiling, kind, arguments)
            with c.if_then(c.not_(f["fits"])):
                bias = c.select(
                    f["has_epilogue_bias"],
                    c.ptr_add(bias_start, c.mul(i, bias_tile_stride)),
                    "null",
                    "ptr",
                )
                source = f"ptr {f['scratch_tile']}, i64 {tiling.columns}"
                destination = f"ptr {place}, i64 {f['c_row_stride']}"
                size = f"i64 {height}, i64 {c.min(f['width'], f['columns_left'])}"
                epilogue = f"i64 {f['accumulates']}, ptr {bias}, i64 {f['bias_row_stride']}"
                call_helper(c, tiling, "copy_tile", f"{source}, {destination}, {size}, {epilogue}")

    def height_for(self, left: str) -> str:
        """The tallest tile; but the last 8 or 9 rows are two tiles of 4, unless `a` is packed."""
        c, (tallest, middle, _) = self.c, self.tiling.heights
        rest = c.sub(left, str(2 * middle))
        better = c.and_(
            c.e.value(f"icmp ult i64 {rest}, {tallest - middle}"), c.not_(self.f["packs_a"])
        )
        return c.select(better, str(middle), c.largest_fitting(left, self.tiling.heights))

    def count_for(self, left: str) -> str:
        """How many tiles of that height surely follow each other: as many of the tallest as leave
        enough rows for `height_for` to choose."""
        c, (tallest, middle, _) = self.c, self.tiling.heights
        enough = c.max(c.sub(left, str(middle)), "0")
        return c.max(c.udiv(enough, str(tallest)), "1")

    def rows_of_a(self, row: str, height: str) -> tuple[str, str, str]:
        """The address of rows of `a`, and the strides to the next k and to the next tile."""
        c, f, tallest = self.c, self.f, self.tiling.heights[0]
        within = c.urem(row, str(tallest))
        packed = c.gep(f["packed_a"], c.add(c.mul(c.sub(row, within), f["depth"]), within))
        direct = c.ptr_add(f["a_block"], c.mul(row, f["a_row_stride"]))
        packs = f["packs_a"]
        step = c.select(packs, str(tallest * c.itemsize), f["a_k_stride"])
        distance = c.select(packs, c.mul(f["depth"], str(c.itemsize)), f["a_row_stride"])
        return c.select(packs, packed, direct, "ptr"), step, c.mul(height, distance)

    def tile_index(self, height: str, a_k_stride: str) -> str:
        """The index of a microkernel in `Tiling.tiles`."""
        c, tiling, f = self.c, self.tiling, self.f
        table = tiling.heights[0] + 1
        place = c.add(c.mul(f["vectors"], str(table)), height)
        full_tile = tiling.widths[0] * table + tiling.heights[0]
        is_packed = c.icmp("eq", f["b_block_k_stride"], str(tiling.columns * c.itemsize))
        is_unrolled = c.icmp("eq", c.urem(f["depth"], str(K_UNROLL)), "0")
        has_layouts = c.and_(c.icmp("eq", place, str(full_tile)), c.and_(is_packed, is_unrolled))
        for index, layout in reversed(list(enumerate(tiling.layouts))):
            fits = has_layouts
            for known, actual in (
                (layout.row_stride, f["a_row_stride"]),
                (layout.k_stride, a_k_stride),
            ):
                if known:
                    fits = c.and_(fits, c.icmp("eq", actual, str(known)))
            place = c.select(fits, str(full_tile + 1 + index), place)
        return place
