"""Panels of matrix products: the tiles below each other, and where their numbers go to."""

from __future__ import annotations

from clew.kernels.native.code import Code
from clew.kernels.native.ir import F32, F64
from clew.kernels.native.product_table import call, call_tile
from clew.kernels.native.tiles import K_TOGETHER, Shape
from clew.kernels.native.vectors import over_vectors

# What a panel is told; all distances in bytes. `start` and `tile` are memory for one row and one
# tile; `left` and `right` are the part's columns. `has_room`: whole vectors may be written beyond
# the last of them, and a row that runs along the rows is not added yet.
FIELDS = (
    "*a_from", "*packed_a", "packs_a", "a_row", "a_step", "*b_from", "b_panel", "b_down",
    "*c", "c_row", "c_col", "*added", "added_row", "added_col", "has_row", "is_first", "adds",
    "depth", "*start", "*tile", "has_room", "left", "right",
)  # fmt: skip
TRUTHS = ("packs_a", "has_row", "is_first", "has_room")


def copy(c: Code, shape: Shape) -> None:
    """A tile that was made beside the result, to where it belongs."""
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


def panel(c: Code, shape: Shape) -> None:
    """The tiles of some rows in one panel of columns."""
    _Panel(c, shape).tiles()


class _Panel:
    def __init__(self, c: Code, shape: Shape) -> None:
        self.c, self.shape = c, shape
        self.row, self.column = c.variable("i64", "0"), c.variable("i64", "0")

    def __getitem__(self, name: str) -> str:
        """What the panel is told. It is loaded where it is used: fewer values are kept over the
        calls of tiles, which takes LLVM a quarter less of its time."""
        c = self.c
        is_pointer = f"*{name}" in FIELDS
        place = c.integer_at("%context", str(FIELDS.index(f"*{name}" if is_pointer else name)))
        word = c.get(place, "ptr" if is_pointer else "i64")
        return c.compare("ne", word, "0") if name in TRUTHS else word

    def tiles(self) -> None:
        """The widest first."""
        c, shape = self.c, self.shape
        b = c.past(self["b_from"], c.mul(c.sub("%left", self["left"]), self["b_panel"]))
        columns = c.least(str(shape.columns), c.sub(self["right"], "%left"))
        c.put(self.column, "0")
        with c.repeat() as end:
            column = c.get(self.column)
            missing = c.sub(columns, column)
            c.branch_unless(c.compare("sgt", missing, "0"), end)
            vectors = c.tallest(c.pieces(missing, str(shape.lanes)), shape.widths)
            wide = c.mul(vectors, str(shape.lanes))
            place = c.add("%left", column)
            extra = self.starts(place, c.least(wide, missing))
            self.column_of_tiles(place, c.at(b, column), vectors, missing, extra)
            c.put(self.column, c.add(column, wide))

    def starts(self, column: str, count: str) -> str:
        """What sums begin with: zero, or the row that is added where it runs along the columns.

        Gives what is to be added afterwards, or null.
        """
        c, shape = self.c, self.shape
        zeros = f"{shape.vector} zeroinitializer"
        for vector in range(shape.widths[0]):
            place = c.at(self["start"], str(vector * shape.lanes))
            c.e.line(f"store {zeros}, ptr {place}, align {c.item}")
        along = c.compare("eq", self["added_row"], "0")
        is_added = c.both(self["has_row"], self["is_first"])
        with c.when(c.both(is_added, along)):
            source = c.past(self["added"], c.mul(column, self["added_col"]))
            with c.loop("0", count) as lane:
                number = c.load(c.past(source, c.mul(lane, self["added_col"])))
                c.store(number, c.at(self["start"], lane))
        return c.choose(c.both(is_added, c.negated(along)), self["added"], "null", "ptr")

    def column_of_tiles(
        self, column: str, b: str, vectors: str, missing: str, added_later: str
    ) -> None:
        """Tiles below each other, the tallest first."""
        c, shape = self.c, self.shape
        lanes = str(shape.lanes)
        wide = c.mul(vectors, lanes)
        later = c.e.value(f"icmp ne ptr {added_later}, null")
        fits = c.both(c.compare("sge", missing, wide), c.compare("eq", self["c_col"], str(c.item)))
        fits = c.either(self["has_room"], c.both(fits, c.negated(later)))
        # While the tiles of a panel are made, they have the cache look for the next one.
        next_panel = c.past(b, c.mul(self["depth"], self["b_down"]))
        each_fetches = c.mul(c.quotient(self["depth"], str(K_TOGETHER)), str(shape.fetched))
        c.put(self.row, "0")
        with c.repeat() as end:
            row = c.get(self.row)
            left = c.sub("%rows", row)
            c.branch_unless(c.compare("sgt", left, "0"), end)
            height = self.height_for(left)
            a, a_step = self.rows_of_a(row)
            there = c.add(c.mul(c.add("%top", row), self["c_row"]), c.mul(column, self["c_col"]))
            place = c.past(self["c"], there)
            c_from = c.choose(fits, place, self["tile"], "ptr")
            c_row = c.choose(fits, self["c_row"], str(shape.columns * c.item))
            adds = c.choose(fits, self["adds"], "0")
            far = c.past(a, c.mul(self["a_row"], "3"))
            lines = c.mul(c.quotient(row, str(shape.heights[0])), each_fetches)
            ahead = c.past(next_panel, lines)
            arguments = (
                f"i64 {self['depth']}, ptr {a}, ptr {far}, i64 {self['a_row']}, i64 {a_step}, "
                f"ptr {b}, i64 {self['b_down']}, ptr {c_from}, i64 {c_row}, i64 {adds}, "
                f"ptr {self['start']}, ptr {ahead}"
            )
            self.call_tile(height, vectors, a_step, arguments)
            with c.when(c.negated(fits)):
                extra = c.past(added_later, c.mul(c.add("%top", row), self["added_row"]))
                extra = c.choose(later, extra, "null", "ptr")
                tile, size = (self["tile"], str(shape.columns)), (height, c.least(wide, missing))
                move(c, shape, self, tile, place, size, extra, self["adds"])
            c.put(self.row, c.add(row, height))

    def height_for(self, left: str) -> str:
        """The tallest tile; but eight or nine rows are two of four, unless packed in six."""
        c, (tallest, middle, _) = self.c, self.shape.heights
        rest = c.sub(left, str(2 * middle))
        better = c.both(
            c.e.value(f"icmp ult i64 {rest}, {tallest - middle}"), c.negated(self["packs_a"])
        )
        return c.choose(better, str(middle), c.tallest(left, self.shape.heights))

    def rows_of_a(self, row: str) -> tuple[str, str]:
        """Where rows of a begin, and how far it is from one k to the next."""
        c, height = self.c, str(self.shape.heights[0])
        within = c.remainder(row, height)
        packed = c.at(self["packed_a"], c.add(c.mul(c.sub(row, within), self["depth"]), within))
        direct = c.past(self["a_from"], c.mul(row, self["a_row"]))
        packs = self["packs_a"]
        step = c.choose(packs, str(self.shape.heights[0] * c.item), self["a_step"])
        return c.choose(packs, packed, direct, "ptr"), step

    def call_tile(self, height: str, vectors: str, a_step: str, arguments: str) -> None:
        c, shape = self.c, self.shape
        table = shape.heights[0] + 1
        place = c.add(c.mul(vectors, str(table)), height)
        largest = shape.widths[0] * table + shape.heights[0]
        is_packed = c.compare("eq", self["b_down"], str(shape.columns * c.item))
        turns = c.compare("eq", c.remainder(self["depth"], str(K_TOGETHER)), "0")
        special = c.both(c.compare("eq", place, str(largest)), c.both(is_packed, turns))
        for index, form in reversed(list(enumerate(shape.forms))):
            fits = special
            for known, actual in ((form.row, self["a_row"]), (form.step, a_step)):
                if known:
                    fits = c.both(fits, c.compare("eq", actual, str(known)))
            place = c.choose(fits, str(largest + 1 + index), place)
        call_tile(c, shape, place, arguments)


def move(
    c: Code,
    shape: Shape,
    f: _Panel | dict[str, str],
    tile: tuple[str, str],
    place: str,
    size: tuple[str, str],
    extra: str,
    adds: str,
) -> None:
    """A tile, given with the length of its rows, to its place in the result."""
    height, columns = size
    arguments = (
        f"ptr {tile[0]}, i64 {tile[1]}, ptr {place}, i64 {f['c_row']}, "
        f"i64 {f['c_col']}, i64 {height}, i64 {columns}, i64 {adds}, ptr {extra}, "
        f"i64 {f['added_row']}"
    )
    call(c, shape, "copy", arguments)
