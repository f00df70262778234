"""Parts of matrix products: tiles over blocks of k, and where their numbers come from and go to."""

from __future__ import annotations

from clew.kernels.native.code import Code
from clew.kernels.native.ir import F32, F64
from clew.kernels.native.packing import transposed
from clew.kernels.native.tiles import FETCHED, K_TOGETHER, Shape
from clew.kernels.native.vectors import over_vectors

# Rows whose numbers stay in the second-level cache.
ROW_BLOCK = 192

# What a part is told; all distances in bytes. `added_row` and `added_col` are of the row that is
# added; `alone` says that one thread does it all.
FIELDS = (
    "*a", "a_row", "a_step", "*b", "b_step", "b_col", "*c", "c_row", "c_col",
    "*added", "added_row", "added_col", "m", "n", "k", "more", "alone",
    "pack_a", "pack_b", "*shared", "k_cut", "m_cut", "n_cut", "m_pieces", "n_pieces",
    "a_next", "b_next", "c_next", "added_next",
)  # fmt: skip


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


def turn_tile_function(c: Code, shape: Shape) -> None:
    """`turn_tile`: like `copy` for the tallest tiles, where their rows lie side by side in c."""
    height, lanes = shape.heights[0], 8
    vector = f"<{lanes} x {c.llvm}>"
    mask = ", ".join("i1 true" if lane < height else "i1 false" for lane in range(lanes))
    mask = f"<{lanes} x i1> <{mask}>"
    kind = f"v{lanes}{'f32' if c.llvm == 'float' else 'f64'}"
    load, store = f"@llvm.masked.load.{kind}.p0", f"@llvm.masked.store.{kind}.p0"
    c.e.declare(f"{vector} {load}(ptr, i32, <{lanes} x i1>, {vector})")
    c.e.declare(f"void {store}({vector}, ptr, i32, <{lanes} x i1>)")
    head = (
        "internal void @turn_tile(ptr %tile, i64 %tile_row, ptr %c, i64 %c_col, i64 %columns, "
        "i64 %more, ptr %added)"
    )
    with c.function(head):
        adds = c.compare("ne", "%more", "0")
        has_row = c.e.value("icmp ne ptr %added, null")
        source = c.choose(has_row, "%added", "%tile", "ptr")
        rest = f"i32 {c.item}, {mask}, {vector} zeroinitializer"
        row = c.e.value(f"call {vector} {load}(ptr {source}, {rest})")
        with c.loop("0", "%columns", by=lanes) as column:
            rows = [
                c.load(c.at("%tile", c.add(column, c.mul(str(r), "%tile_row"))), vector)
                for r in range(height)
            ]
            for lane, values in enumerate(transposed(c, vector, rows + rows[: lanes - height])):
                place = c.past("%c", c.mul(c.add(column, str(lane)), "%c_col"))
                have = c.e.value(f"call {vector} {load}(ptr {place}, {rest})")
                total = c.e.value(f"fadd {vector} {have}, {values}")
                new = c.choose(adds, total, values, vector)
                total = c.e.value(f"fadd {vector} {new}, {row}")
                new = c.choose(has_row, total, new, vector)
                c.e.line(f"call void {store}({vector} {new}, ptr {place}, i32 {c.item}, {mask})")


class Part:
    """`part(context, batch, m piece, n piece)`: one rectangle of one product."""

    def __init__(self, c: Code, shape: Shape) -> None:
        self.c, self.shape = c, shape

    def emit(self) -> None:
        c, shape = self.c, self.shape
        head = "internal void @part(ptr %context, i64 %batch, i64 %m_piece, i64 %n_piece)"
        with c.function(head):
            tile = c.e.value(f"alloca [{shape.heights[0] * shape.columns} x {c.llvm}], align 64")
            start = c.e.value(f"alloca [{shape.columns} x {c.llvm}], align 64")
            self.row, self.column = c.variable("i64", "0"), c.variable("i64", "0")
            self.f = f = c.context(*FIELDS)
            f["tile"], f["start"] = tile, start
            for name in ("a", "b", "c"):
                f[name] = c.past(f[name], c.mul("%batch", f[f"{name}_next"]))
            f["has_row"] = c.e.value(f"icmp ne ptr {f['added']}, null")
            f["added"] = c.past(f["added"], c.mul("%batch", f["added_next"]))
            self.bounds()
            wide = c.multiple(c.sub(f["right"], f["left"]), str(shape.columns))
            self.f["packed_a"] = c.buffer(c.mul(f["k_cut"], str(ROW_BLOCK)))
            self.f["packed_b"] = c.buffer(c.mul(f["k_cut"], wide))
            f["is_apart"], f["wide"] = c.compare("ne", f["c_col"], str(c.item)), wide
            size = c.mul(c.sub(f["bottom"], f["top"]), wide)
            f["apart"] = c.buffer(c.choose(f["is_apart"], size, "1"))
            with c.loop("0", f["k"], by=f["k_cut"]) as k:
                self.block(k)
            with c.when(f["is_apart"]):
                self.move_all()
            c.release(f["packed_a"])
            c.release(f["packed_b"])
            c.release(f["apart"])

    def bounds(self) -> None:
        c, f = self.c, self.f
        f["top"] = c.mul("%m_piece", f["m_cut"])
        f["bottom"] = c.least(f["m"], c.add(f["top"], f["m_cut"]))
        f["left"] = c.mul("%n_piece", f["n_cut"])
        f["right"] = c.least(f["n"], c.add(f["left"], f["n_cut"]))

    def block(self, k: str) -> None:
        """All tiles, for one block of k."""
        c, f = self.c, self.f
        f["depth"] = c.least(f["k_cut"], c.sub(f["k"], k))
        is_first = c.compare("eq", k, "0")
        f["first"] = is_first
        f["adds"] = c.choose(is_first, f["more"], "1")
        b = c.past(f["b"], c.add(c.mul(k, f["b_step"]), c.mul(f["left"], f["b_col"])))
        packs = c.compare("ne", f["pack_b"], "0")
        is_shared = c.e.value(f"icmp ne ptr {f['shared']}, null")
        with c.when(c.both(packs, c.negated(is_shared))):
            c.e.line(
                f"call void @pack_b(ptr {b}, i64 {f['b_step']}, i64 {f['b_col']}, "
                f"i64 {f['depth']}, i64 {c.sub(f['right'], f['left'])}, ptr {f['packed_b']})"
            )
        whole_width = c.multiple(f["n"], str(self.shape.columns))
        offset = c.add(c.mul(k, whole_width), c.mul(f["left"], f["depth"]))
        packed = c.choose(is_shared, c.at(f["shared"], offset), f["packed_b"], "ptr")
        f["b_from"] = c.choose(packs, packed, b, "ptr")
        f["b_panel"] = c.choose(packs, c.mul(f["depth"], str(c.item)), str(c.item))
        f["b_down"] = c.choose(packs, str(self.shape.columns * c.item), f["b_step"])
        with c.loop(f["top"], f["bottom"], by=ROW_BLOCK) as top:
            rows = c.least(str(ROW_BLOCK), c.sub(f["bottom"], top))
            a = c.past(f["a"], c.add(c.mul(top, f["a_row"]), c.mul(k, f["a_step"])))
            packs_a = c.compare("ne", f["pack_a"], "0")
            with c.when(packs_a):
                c.e.line(
                    f"call void @pack_a(ptr {a}, i64 {f['a_step']}, i64 {f['depth']}, i64 {rows}, "
                    f"ptr {f['packed_a']})"
                )
            f["a_from"], f["packs_a"] = a, packs_a
            with c.loop(f["left"], f["right"], by=self.shape.columns) as left:
                self.panel(top, rows, left)

    def panel(self, top: str, rows: str, left: str) -> None:
        """The tiles of one panel of columns, the widest first."""
        c, f, shape = self.c, self.f, self.shape
        b = c.past(f["b_from"], c.mul(c.sub(left, f["left"]), f["b_panel"]))
        columns = c.least(str(shape.columns), c.sub(f["right"], left))
        c.put(self.column, "0")
        with c.repeat() as end:
            column = c.get(self.column)
            missing = c.sub(columns, column)
            c.branch_unless(c.compare("sgt", missing, "0"), end)
            vectors = c.tallest(c.pieces(missing, str(shape.lanes)), shape.widths)
            wide = c.mul(vectors, str(shape.lanes))
            self.starts(c.add(left, column), c.least(wide, missing))
            self.column_of_tiles(top, rows, c.add(left, column), c.at(b, column), vectors, missing)
            c.put(self.column, c.add(column, wide))

    def starts(self, column: str, count: str) -> None:
        """What sums begin with: zero, or the row that is added where it runs along the columns."""
        c, f, shape = self.c, self.f, self.shape
        zeros = f"{shape.vector} zeroinitializer"
        for vector in range(shape.widths[0]):
            place = c.at(f["start"], str(vector * shape.lanes))
            c.e.line(f"store {zeros}, ptr {place}, align {c.item}")
        along = c.compare("eq", f["added_row"], "0")
        with c.when(c.both(c.both(f["has_row"], along), f["first"])):
            source = c.past(f["added"], c.mul(column, f["added_col"]))
            with c.loop("0", count) as lane:
                number = c.load(c.past(source, c.mul(lane, f["added_col"])))
                c.store(number, c.at(f["start"], lane))
        across = c.both(c.both(f["has_row"], c.negated(along)), f["first"])
        f["added_later"] = c.choose(across, f["added"], "null", "ptr")

    def column_of_tiles(
        self, top: str, rows: str, column: str, b: str, vectors: str, missing: str
    ) -> None:
        """Tiles below each other, the tallest first."""
        c, f, shape = self.c, self.f, self.shape
        lanes = str(shape.lanes)
        wide = c.mul(vectors, lanes)
        later = c.e.value(f"icmp ne ptr {f['added_later']}, null")
        fits = c.both(c.compare("sge", missing, wide), c.compare("eq", f["c_col"], str(c.item)))
        fits = c.either(f["is_apart"], c.both(fits, c.negated(later)))
        # While the tiles of a panel are made, they have the cache look for the next one.
        next_panel = c.past(b, c.mul(f["depth"], f["b_down"]))
        each_fetches = c.mul(c.quotient(f["depth"], str(K_TOGETHER)), str(FETCHED))
        c.put(self.row, "0")
        with c.repeat() as end:
            row = c.get(self.row)
            left = c.sub(rows, row)
            c.branch_unless(c.compare("sgt", left, "0"), end)
            height = c.tallest(left, shape.heights)
            a, a_step = self.rows_of_a(row)
            there = c.add(c.mul(c.add(top, row), f["c_row"]), c.mul(column, f["c_col"]))
            place = c.past(f["c"], there)
            c_from = c.choose(fits, place, f["tile"], "ptr")
            c_from = c.choose(f["is_apart"], self.beside(c.add(top, row), column), c_from, "ptr")
            c_row = c.choose(fits, f["c_row"], str(shape.columns * c.item))
            c_row = c.choose(f["is_apart"], c.mul(f["wide"], str(c.item)), c_row)
            adds = c.choose(fits, f["adds"], "0")
            adds = c.choose(c.both(f["is_apart"], f["first"]), "0", adds)
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
                extra = c.past(f["added_later"], c.mul(c.add(top, row), f["added_row"]))
                extra = c.choose(later, extra, "null", "ptr")
                tile = f["tile"], str(shape.columns)
                self.move(tile, place, height, c.least(wide, missing), extra, f["adds"])
            c.put(self.row, c.add(row, height))

    def rows_of_a(self, row: str) -> tuple[str, str]:
        """Where rows of a begin, and how far it is from one k to the next."""
        c, f, height = self.c, self.f, str(self.shape.heights[0])
        within = c.remainder(row, height)
        packed = c.at(f["packed_a"], c.add(c.mul(c.sub(row, within), f["depth"]), within))
        direct = c.past(f["a_from"], c.mul(row, f["a_row"]))
        step = c.choose(f["packs_a"], str(self.shape.heights[0] * c.item), f["a_step"])
        return c.choose(f["packs_a"], packed, direct, "ptr"), step

    def beside(self, row: str, column: str) -> str:
        """Where a part's number is while the part is made beside the result."""
        c, f = self.c, self.f
        return c.at(
            f["apart"],
            c.add(c.mul(c.sub(row, f["top"]), f["wide"]), c.sub(column, f["left"])),
        )

    def move_all(self) -> None:
        """The whole part to its place, when it is ready."""
        c, f, shape = self.c, self.f, self.shape
        across = c.both(f["has_row"], c.compare("ne", f["added_row"], "0"))
        with (
            c.loop(f["top"], f["bottom"], by=shape.heights[0]) as row,
            c.loop(f["left"], f["right"], by=shape.columns) as column,
        ):
            height = c.least(str(shape.heights[0]), c.sub(f["bottom"], row))
            columns = c.least(str(shape.columns), c.sub(f["right"], column))
            place = c.past(f["c"], c.add(c.mul(row, f["c_row"]), c.mul(column, f["c_col"])))
            extra = c.past(f["added"], c.mul(row, f["added_row"]))
            extra = c.choose(across, extra, "null", "ptr")
            tile = self.beside(row, column), f["wide"]
            self.move(tile, place, height, columns, extra, f["more"])

    def move(
        self, tile: tuple[str, str], place: str, height: str, columns: str, extra: str, adds: str
    ) -> None:
        """A tile, given with the length of its rows, to its place in the result."""
        c, f, item = self.c, self.f, str(self.c.item)
        source = f"ptr {tile[0]}, i64 {tile[1]}"
        quick = c.both(
            c.compare("eq", height, str(self.shape.heights[0])),
            c.compare("eq", f["c_row"], item),
        )
        quick = c.both(quick, c.compare("eq", c.remainder(columns, "8"), "0"))
        dense = c.either(
            c.e.value(f"icmp eq ptr {extra}, null"), c.compare("eq", f["added_row"], item)
        )
        quick = c.both(quick, dense)
        with c.when(quick):
            c.e.line(
                f"call void @turn_tile({source}, ptr {place}, i64 {f['c_col']}, "
                f"i64 {columns}, i64 {adds}, ptr {extra})"
            )
        with c.when(c.negated(quick)):
            c.e.line(
                f"call void @copy({source}, ptr {place}, i64 {f['c_row']}, "
                f"i64 {f['c_col']}, i64 {height}, i64 {columns}, "
                f"i64 {adds}, ptr {extra}, i64 {f['added_row']})"
            )

    def call_tile(self, height: str, vectors: str, a_step: str, arguments: str) -> None:
        c, shape = self.c, self.shape
        table = shape.heights[0] + 1
        place = c.add(c.mul(vectors, str(table)), height)
        largest = shape.widths[0] * table + shape.heights[0]
        is_packed = c.compare("eq", self.f["b_down"], str(shape.columns * c.item))
        special = c.both(c.compare("eq", place, str(largest)), is_packed)
        for index, form in reversed(list(enumerate(shape.forms))):
            fits = special
            for known, actual in ((form.row, self.f["a_row"]), (form.step, a_step)):
                if known:
                    fits = c.both(fits, c.compare("eq", actual, str(known)))
            place = c.choose(fits, str(largest + 1 + index), place)
        entry = c.e.value(f"getelementptr ptr, ptr @clew_{c.llvm}_tiles, i64 {place}")
        c.e.line(f"call void {c.e.value(f'load ptr, ptr {entry}')}({arguments})")


def shared_packing(c: Code, shape: Shape) -> None:
    """`pack_all`: panels of all blocks of k, for several pieces to use; run by the team, too."""
    with c.function("internal void @pack_all(ptr %context, i64 %begin, i64 %end)"):
        f = c.context(*FIELDS)
        panels = c.pieces(f["n"], str(shape.columns))
        whole_width = c.mul(panels, str(shape.columns))
        with c.loop("%begin", "%end") as piece:
            k = c.mul(c.quotient(piece, panels), f["k_cut"])
            left = c.mul(c.remainder(piece, panels), str(shape.columns))
            depth = c.least(f["k_cut"], c.sub(f["k"], k))
            b = c.past(f["b"], c.add(c.mul(k, f["b_step"]), c.mul(left, f["b_col"])))
            to = c.at(f["shared"], c.add(c.mul(k, whole_width), c.mul(left, depth)))
            count = c.least(str(shape.columns), c.sub(f["n"], left))
            c.e.line(
                f"call void @pack_b(ptr {b}, i64 {f['b_step']}, i64 {f['b_col']}, i64 {depth}, "
                f"i64 {count}, ptr {to})"
            )


def body(c: Code) -> None:
    """What the team runs: pieces of all products, numbered."""
    with c.function("internal void @body(ptr %context, i64 %begin, i64 %end)"):
        f = c.context(*FIELDS)
        each = c.mul(f["m_pieces"], f["n_pieces"])
        with c.loop("%begin", "%end") as piece:
            batch, within = c.quotient(piece, each), c.remainder(piece, each)
            m, n = c.quotient(within, f["n_pieces"]), c.remainder(within, f["n_pieces"])
            c.e.line(f"call void @part(ptr %context, i64 {batch}, i64 {m}, i64 {n})")
