"""Panels of matrix products: the tiles below each other, and where their numbers go to."""

from __future__ import annotations

from clew.kernels.native.code import Code
from clew.kernels.native.ir import F32, F64
from clew.kernels.native.tiles import K_TOGETHER, Shape
from clew.kernels.native.vectors import over_vectors

# What a panel is told; all distances in bytes. `start` and `tile` are memory for one row and one
# tile. The last three are the part's first row, and its columns.
FIELDS = (
    "*a_from", "*packed_a", "packs_a", "a_row", "a_step", "*b_from", "b_panel", "b_down",
    "*c", "c_row", "c_col", "*added", "added_row", "added_col", "has_row", "is_first", "adds",
    "depth", "*start", "*tile", "*apart", "is_apart", "wide", "top", "left", "right",
)  # fmt: skip
TRUTHS = ("packs_a", "has_row", "is_first", "is_apart")


def copy_function(c: Code, shape: Shape) -> None:
    """`copy`: a tile that was made beside the result, to where it belongs."""
    head = (
        "internal void @copy(ptr %tile, i64 %tile_row, ptr %c, i64 %c_row, i64 %c_col, i64 %rows, "
        "i64 %columns, i64 %more, ptr %added, i64 %added_row)"
    )
    with c.function(head):
        side_by_side = c.compare("eq", "%c_col", str(c.item))
        for lanes, condition in ((shape.lanes, side_by_side), (0, c.negated(side_by_side))):
            with c.when(condition), c.loop("0", "%rows") as row:
                _copy_row(c, row, lanes)


def _copy_row(c: Code, row: str, lanes: int) -> None:
    e, dtype = c.e, F32 if c.llvm == "float" else F64
    adds = c.compare("ne", "%more", "0")
    has_row = e.value("icmp ne ptr %added, null")
    row_source = c.choose(has_row, "%added", "%tile", "ptr")
    extra = c.load(c.past(row_source, c.mul(row, "%added_row")))
    source, target = c.at("%tile", c.mul(row, "%tile_row")), c.past("%c", c.mul(row, "%c_row"))

    def turn(column: str, _: list[str]) -> list[str]:
        numbers, kind = e.load(dtype, c.at(source, column)), e.of(c.llvm)
        place = c.past(target, c.mul(column, "%c_col"))
        total = e.arithmetic("fadd", dtype, e.load(dtype, place), numbers)
        numbers = c.choose(adds, total, numbers, kind)
        total = e.arithmetic("fadd", dtype, numbers, e.spread(dtype, extra))
        e.store(dtype, c.choose(has_row, total, numbers, kind), place)
        return []

    over_vectors(e, ("0", "%columns"), lanes, 0, turn)


class Panel:
    """`panel(context, top, rows, left)`: the tiles of some rows in one panel of columns."""

    def __init__(self, c: Code, shape: Shape) -> None:
        self.c, self.shape = c, shape

    def emit(self) -> None:
        c = self.c
        with c.function("internal void @panel(ptr %context, i64 %top, i64 %rows, i64 %left)"):
            self.row, self.column = c.variable("i64", "0"), c.variable("i64", "0")
            self.f = c.context(*FIELDS)
            for name in TRUTHS:
                self.f[name] = c.compare("ne", self.f[name], "0")
            self.tiles()

    def tiles(self) -> None:
        """The widest first."""
        c, f, shape = self.c, self.f, self.shape
        b = c.past(f["b_from"], c.mul(c.sub("%left", f["left"]), f["b_panel"]))
        columns = c.least(str(shape.columns), c.sub(f["right"], "%left"))
        c.put(self.column, "0")
        with c.repeat() as end:
            column = c.get(self.column)
            missing = c.sub(columns, column)
            c.branch_unless(c.compare("sgt", missing, "0"), end)
            vectors = c.tallest(c.pieces(missing, str(shape.lanes)), shape.widths)
            wide = c.mul(vectors, str(shape.lanes))
            place = c.add("%left", column)
            self.starts(place, c.least(wide, missing))
            self.column_of_tiles(place, c.at(b, column), vectors, missing)
            c.put(self.column, c.add(column, wide))

    def starts(self, column: str, count: str) -> None:
        """What sums begin with: zero, or the row that is added where it runs along the columns."""
        c, f, shape = self.c, self.f, self.shape
        zeros = f"{shape.vector} zeroinitializer"
        for vector in range(shape.widths[0]):
            place = c.at(f["start"], str(vector * shape.lanes))
            c.e.line(f"store {zeros}, ptr {place}, align {c.item}")
        along = c.compare("eq", f["added_row"], "0")
        with c.when(c.both(c.both(f["has_row"], along), f["is_first"])):
            source = c.past(f["added"], c.mul(column, f["added_col"]))
            with c.loop("0", count) as lane:
                number = c.load(c.past(source, c.mul(lane, f["added_col"])))
                c.store(number, c.at(f["start"], lane))
        across = c.both(c.both(f["has_row"], c.negated(along)), f["is_first"])
        f["added_later"] = c.choose(across, f["added"], "null", "ptr")

    def column_of_tiles(self, column: str, b: str, vectors: str, missing: str) -> None:
        """Tiles below each other, the tallest first."""
        c, f, shape = self.c, self.f, self.shape
        lanes = str(shape.lanes)
        wide = c.mul(vectors, lanes)
        later = c.e.value(f"icmp ne ptr {f['added_later']}, null")
        fits = c.both(c.compare("sge", missing, wide), c.compare("eq", f["c_col"], str(c.item)))
        fits = c.either(f["is_apart"], c.both(fits, c.negated(later)))
        # While the tiles of a panel are made, they have the cache look for the next one.
        next_panel = c.past(b, c.mul(f["depth"], f["b_down"]))
        each_fetches = c.mul(c.quotient(f["depth"], str(K_TOGETHER)), str(shape.fetched))
        c.put(self.row, "0")
        with c.repeat() as end:
            row = c.get(self.row)
            left = c.sub("%rows", row)
            c.branch_unless(c.compare("sgt", left, "0"), end)
            height = self.height_for(left)
            a, a_step = self.rows_of_a(row)
            there = c.add(c.mul(c.add("%top", row), f["c_row"]), c.mul(column, f["c_col"]))
            place = c.past(f["c"], there)
            c_from = c.choose(fits, place, f["tile"], "ptr")
            c_from = c.choose(
                f["is_apart"], beside(c, f, c.add("%top", row), column), c_from, "ptr"
            )
            c_row = c.choose(fits, f["c_row"], str(shape.columns * c.item))
            c_row = c.choose(f["is_apart"], c.mul(f["wide"], str(c.item)), c_row)
            adds = c.choose(fits, f["adds"], "0")
            adds = c.choose(c.both(f["is_apart"], f["is_first"]), "0", adds)
            far = c.past(a, c.mul(f["a_row"], "3"))
            lines = c.mul(c.quotient(row, str(shape.heights[0])), each_fetches)
            ahead = c.past(next_panel, lines)
            arguments = (
                f"i64 {f['depth']}, ptr {a}, ptr {far}, i64 {f['a_row']}, i64 {a_step}, ptr {b}, "
                f"i64 {f['b_down']}, ptr {c_from}, i64 {c_row}, i64 {adds}, ptr {f['start']}, "
                f"ptr {ahead}"
            )
            self.call_tile(height, vectors, a_step, arguments)
            with c.when(c.negated(fits)):
                extra = c.past(f["added_later"], c.mul(c.add("%top", row), f["added_row"]))
                extra = c.choose(later, extra, "null", "ptr")
                tile = f["tile"], str(shape.columns)
                move(c, f, tile, place, (height, c.least(wide, missing)), extra, f["adds"])
            c.put(self.row, c.add(row, height))

    def height_for(self, left: str) -> str:
        """The tallest tile; but eight or nine rows are two of four, unless packed in six."""
        c, (tallest, middle, _) = self.c, self.shape.heights
        rest = c.sub(left, str(2 * middle))
        better = c.both(
            c.e.value(f"icmp ult i64 {rest}, {tallest - middle}"), c.negated(self.f["packs_a"])
        )
        return c.choose(better, str(middle), c.tallest(left, self.shape.heights))

    def rows_of_a(self, row: str) -> tuple[str, str]:
        """Where rows of a begin, and how far it is from one k to the next."""
        c, f, height = self.c, self.f, str(self.shape.heights[0])
        within = c.remainder(row, height)
        packed = c.at(f["packed_a"], c.add(c.mul(c.sub(row, within), f["depth"]), within))
        direct = c.past(f["a_from"], c.mul(row, f["a_row"]))
        step = c.choose(f["packs_a"], str(self.shape.heights[0] * c.item), f["a_step"])
        return c.choose(f["packs_a"], packed, direct, "ptr"), step

    def call_tile(self, height: str, vectors: str, a_step: str, arguments: str) -> None:
        c, shape = self.c, self.shape
        table = shape.heights[0] + 1
        place = c.add(c.mul(vectors, str(table)), height)
        largest = shape.widths[0] * table + shape.heights[0]
        is_packed = c.compare("eq", self.f["b_down"], str(shape.columns * c.item))
        turns = c.compare("eq", c.remainder(self.f["depth"], str(K_TOGETHER)), "0")
        special = c.both(c.compare("eq", place, str(largest)), c.both(is_packed, turns))
        for index, form in reversed(list(enumerate(shape.forms))):
            fits = special
            for known, actual in ((form.row, self.f["a_row"]), (form.step, a_step)):
                if known:
                    fits = c.both(fits, c.compare("eq", actual, str(known)))
            place = c.choose(fits, str(largest + 1 + index), place)
        entry = c.e.value(f"getelementptr ptr, ptr @clew_{c.llvm}_tiles, i64 {place}")
        c.e.line(f"call void {c.e.value(f'load ptr, ptr {entry}')}({arguments})")


def beside(c: Code, f: dict[str, str], row: str, column: str) -> str:
    """Where a part's number is while the part is made beside the result."""
    offset = c.add(c.mul(c.sub(row, f["top"]), f["wide"]), c.sub(column, f["left"]))
    return c.at(f["apart"], offset)


def move(
    c: Code,
    f: dict[str, str],
    tile: tuple[str, str],
    place: str,
    size: tuple[str, str],
    extra: str,
    adds: str,
) -> None:
    """A tile, given with the length of its rows, to its place in the result."""
    height, columns = size
    c.e.line(
        f"call void @copy(ptr {tile[0]}, i64 {tile[1]}, ptr {place}, i64 {f['c_row']}, "
        f"i64 {f['c_col']}, i64 {height}, i64 {columns}, i64 {adds}, ptr {extra}, "
        f"i64 {f['added_row']})"
    )
