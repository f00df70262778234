"""GEMM panels: microkernels down the rows of a panel, and their epilogue.

Little time is spent on compiling panels: what they do between two tiles is not felt.
"""

from __future__ import annotations

from clew.kernels.codegen.builder import IRBuilder
from clew.kernels.codegen.ir import F32, F64
from clew.kernels.codegen.vectors import vector_loop
from clew.kernels.gemm.microkernel_table import call, call_tile
from clew.kernels.gemm.microkernels import K_TOGETHER, Shape

# What a panel is told; all distances in bytes. `start` and `tile` are memory for one row and one
# tile; `left` and `right` are the part's columns. `has_room`: whole vectors may be written beyond
# the last of them, and a row that runs along the rows is not added yet.
FIELDS = (
    "*a_from", "*packed_a", "packs_a", "a_row", "a_step", "*b_from", "b_panel", "b_down",
    "*c", "c_row", "*added", "added_row", "added_col", "has_row", "is_first", "adds", "depth",
    "*start", "*tile", "has_room", "left", "right",
)  # fmt: skip
TRUTHS = ("packs_a", "has_row", "is_first", "has_room")


def copy(c: IRBuilder, shape: Shape) -> None:
    """A tile that was made beside the result, to where it belongs: columns lie side by side."""
    with c.loop("0", "%rows") as row:
        _copy_row(c, row, shape.lanes)


def spread(c: IRBuilder, _: Shape) -> None:
    """A part that was made beside the result, to where it belongs: columns are apart."""
    with c.loop("0", "%rows") as row:
        _copy_row(c, row, 0)


def _copy_row(c: IRBuilder, row: str, lanes: int) -> None:
    e, dtype = c.e, F32 if c.llvm == "float" else F64
    adds = c.icmp("ne", "%more", "0")
    has_row = e.value("icmp ne ptr %added, null")
    row_source = c.select(has_row, "%added", "%tile", "ptr")
    extra = c.load(c.ptr_add(row_source, c.mul(row, "%added_row")))
    source, target = c.gep("%tile", c.mul(row, "%tile_row")), c.ptr_add("%c", c.mul(row, "%c_row"))

    def turn(column: str, _: list[str]) -> list[str]:
        numbers, kind = e.load(dtype, c.gep(source, column)), e.value_type(c.llvm)
        place = c.gep(target, column) if lanes else c.ptr_add(target, c.mul(column, "%c_col"))
        total = e.arithmetic("fadd", dtype, e.load(dtype, place), numbers)
        numbers = c.select(adds, total, numbers, kind)
        total = e.arithmetic("fadd", dtype, numbers, e.splat(dtype, extra))
        e.store(dtype, c.select(has_row, total, numbers, kind), place)
        return []

    vector_loop(e, ("0", "%columns"), lanes, 0, turn)


def call_panel(c: IRBuilder, told: str, place: str) -> None:
    """Make the tiles of some rows in one panel of columns."""
    c.e.line(f"call void @panel(ptr {told}, {place})")


class Panel:
    """`panel(context, top, rows, left)`"""

    def __init__(self, c: IRBuilder, shape: Shape) -> None:
        self.c, self.shape = c, shape

    def emit(self) -> None:
        c = self.c
        head = "void @panel(ptr %context, i64 %top, i64 %rows, i64 %left)"
        with c.function(head):
            self.row, self.column = c.local("i64", "0"), c.local("i64", "0")
            self.f = c.load_context(*FIELDS)
            for name in TRUTHS:
                self.f[name] = c.icmp("ne", self.f[name], "0")
            self.tiles()

    def tiles(self) -> None:
        """The widest first."""
        c, shape, f = self.c, self.shape, self.f
        b = c.ptr_add(f["b_from"], c.mul(c.sub("%left", f["left"]), f["b_panel"]))
        columns = c.min(str(shape.columns), c.sub(f["right"], "%left"))
        c.store_word(self.column, "0")
        with c.loop_forever() as end:
            column = c.load_word(self.column)
            missing = c.sub(columns, column)
            c.branch_unless(c.icmp("sgt", missing, "0"), end)
            vectors = c.largest_fitting(c.ceil_div(missing, str(shape.lanes)), shape.widths)
            wide = c.mul(vectors, str(shape.lanes))
            place = c.add("%left", column)
            extra = self.starts(place, c.min(wide, missing))
            self.column_of_tiles(place, c.gep(b, column), vectors, missing, extra)
            c.store_word(self.column, c.add(column, wide))

    def starts(self, column: str, count: str) -> str:
        """What sums begin with: zero, or the row that is added where it runs along the columns.

        Gives what is to be added afterwards, or null.
        """
        c, shape, f = self.c, self.shape, self.f
        c.fill_zeros(f["start"], str(shape.columns))
        along = c.icmp("eq", f["added_row"], "0")
        is_added = c.and_(f["has_row"], f["is_first"])
        with c.if_then(c.and_(is_added, along)):
            source = c.ptr_add(f["added"], c.mul(column, f["added_col"]))
            with c.loop("0", count) as lane:
                number = c.load(c.ptr_add(source, c.mul(lane, f["added_col"])))
                c.store(number, c.gep(f["start"], lane))
        return c.select(c.and_(is_added, c.not_(along)), f["added"], "null", "ptr")

    def column_of_tiles(
        self, column: str, b: str, vectors: str, missing: str, added_later: str
    ) -> None:
        """Tiles below each other, the tallest first."""
        c, shape, f = self.c, self.shape, self.f
        wide = c.mul(vectors, str(shape.lanes))
        later = c.e.value(f"icmp ne ptr {added_later}, null")
        fits = c.and_(c.icmp("sge", missing, wide), c.not_(later))
        f |= {
            "column": column, "b": b, "vectors": vectors, "wide": wide, "missing": missing,
            "added_later": added_later, "later": later, "fits": c.or_(f["has_room"], fits),
        }  # fmt: skip
        # While the tiles of a panel are made, they have the cache look for the next one.
        f["next_panel"] = c.ptr_add(b, c.mul(f["depth"], f["b_down"]))
        f["fetched"] = c.mul(c.udiv(f["depth"], str(K_TOGETHER)), str(shape.fetched))
        c.store_word(self.row, "0")
        with c.loop_forever() as end:
            row = c.load_word(self.row)
            left = c.sub("%rows", row)
            c.branch_unless(c.icmp("sgt", left, "0"), end)
            height, count = self.height_for(left), self.count_for(left)
            self.tiles_of_one_height(row, height, count)
            c.store_word(self.row, c.add(row, c.mul(height, count)))

    def tiles_of_one_height(self, row: str, height: str, count: str) -> None:
        """What tiles are told is found once for all of them, but for the distances."""
        c, shape, f = self.c, self.shape, self.f
        a, a_step, a_next = self.rows_of_a(row, height)
        kind = self.kind_of_tile(height, a_step)
        first = c.add("%top", row)
        target = c.gep(c.ptr_add(f["c"], c.mul(first, f["c_row"])), f["column"])
        extra = c.ptr_add(f["added_later"], c.mul(first, f["added_row"]))
        c_next, extra_next = (c.mul(height, f[name]) for name in ("c_row", "added_row"))
        lines = c.mul(c.udiv(row, str(shape.heights[0])), f["fetched"])
        ahead = c.ptr_add(f["next_panel"], lines)
        c_row = c.select(f["fits"], f["c_row"], str(shape.columns * c.itemsize))
        adds = c.select(f["fits"], f["adds"], "0")
        far = c.mul(f["a_row"], "3")
        with c.loop("0", count) as i:
            rows, place = c.ptr_add(a, c.mul(i, a_next)), c.ptr_add(target, c.mul(i, c_next))
            arguments = (
                f"i64 {f['depth']}, ptr {rows}, ptr {c.ptr_add(rows, far)}, i64 {f['a_row']}, "
                f"i64 {a_step}, ptr {f['b']}, i64 {f['b_down']}, "
                f"ptr {c.select(f['fits'], place, f['tile'], 'ptr')}, i64 {c_row}, i64 {adds}, "
                f"ptr {f['start']}, ptr {c.ptr_add(ahead, c.mul(i, f['fetched']))}"
            )
            call_tile(c, shape, kind, arguments)
            with c.if_then(c.not_(f["fits"])):
                more = c.select(f["later"], c.ptr_add(extra, c.mul(i, extra_next)), "null", "ptr")
                tile = f"ptr {f['tile']}, i64 {shape.columns}, ptr {place}, i64 {f['c_row']}"
                size = f"i64 {height}, i64 {c.min(f['wide'], f['missing'])}"
                added = f"i64 {f['adds']}, ptr {more}, i64 {f['added_row']}"
                call(c, shape, "copy", f"{tile}, {size}, {added}")

    def height_for(self, left: str) -> str:
        """The tallest tile; but eight or nine rows are two of four, unless packed in six."""
        c, (tallest, middle, _) = self.c, self.shape.heights
        rest = c.sub(left, str(2 * middle))
        better = c.and_(
            c.e.value(f"icmp ult i64 {rest}, {tallest - middle}"), c.not_(self.f["packs_a"])
        )
        return c.select(better, str(middle), c.largest_fitting(left, self.shape.heights))

    def count_for(self, left: str) -> str:
        """How many tiles of that height follow each other, at least: the tallest, as long as more
        rows are left for them than might be better off with others."""
        c, (tallest, middle, _) = self.c, self.shape.heights
        enough = c.max(c.sub(left, str(middle)), "0")
        return c.max(c.udiv(enough, str(tallest)), "1")

    def rows_of_a(self, row: str, height: str) -> tuple[str, str, str]:
        """Where rows of a begin, how far it is from one k to the next, and to the next tile."""
        c, f, tallest = self.c, self.f, self.shape.heights[0]
        within = c.urem(row, str(tallest))
        packed = c.gep(f["packed_a"], c.add(c.mul(c.sub(row, within), f["depth"]), within))
        direct = c.ptr_add(f["a_from"], c.mul(row, f["a_row"]))
        packs = f["packs_a"]
        step = c.select(packs, str(tallest * c.itemsize), f["a_step"])
        distance = c.select(packs, c.mul(f["depth"], str(c.itemsize)), f["a_row"])
        return c.select(packs, packed, direct, "ptr"), step, c.mul(height, distance)

    def kind_of_tile(self, height: str, a_step: str) -> str:
        """Its place in the table."""
        c, shape, f = self.c, self.shape, self.f
        table = shape.heights[0] + 1
        place = c.add(c.mul(f["vectors"], str(table)), height)
        largest = shape.widths[0] * table + shape.heights[0]
        is_packed = c.icmp("eq", f["b_down"], str(shape.columns * c.itemsize))
        turns = c.icmp("eq", c.urem(f["depth"], str(K_TOGETHER)), "0")
        special = c.and_(c.icmp("eq", place, str(largest)), c.and_(is_packed, turns))
        for index, form in reversed(list(enumerate(shape.forms))):
            fits = special
            for known, actual in ((form.row, f["a_row"]), (form.step, a_step)):
                if known:
                    fits = c.and_(fits, c.icmp("eq", actual, str(known)))
            place = c.select(fits, str(largest + 1 + index), place)
        return place
