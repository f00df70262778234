"""GEMM microkernels: tiles of the result that stay in registers.

A tile has some rows, and columns for some vector registers. For every k its columns take vectors
from `b`, and each of its rows one number from `a`, repeated in all lanes. Rows of `a` may lie
anywhere (a distance `row` apart, and `step` from one k to the next), so that `a` is used where it
is; `b` is read in vectors.
"""

from collections.abc import Sequence
from typing import NamedTuple

from clew.kernels.codegen.builder import SIZEOF
from clew.kernels.codegen.emitter import Emitter

# Rows whose addresses are found from one pointer: at no, one and two distances from it. Tiles get
# a second pointer, `far`, for the other rows: more additions of addresses would slow them down.
_ROWS_PER_POINTER = 3
# How many k are done in one turn where that is possible.
K_TOGETHER = 4
# Bytes that the cache finds at a time.
LINE = 64

TILE_PARAMETERS = (
    "i64 %k, ptr %a, ptr %far, i64 %row, i64 %step, ptr %b, i64 %b_step, ptr %c, i64 %c_row, "
    "i64 %more, ptr %start, ptr %ahead"
)


class Form(NamedTuple):
    """What is known of rows: how far they are from each other, and from one k to the next; or 0."""

    row: int
    step: int


class Tile(NamedTuple):
    """A kind of tiles: rows, vectors, and what is known of the rows."""

    height: int
    width: int
    form: Form | None = None

    @property
    def name(self) -> str:
        known = f"by{self.form.row}and{self.form.step}" if self.form else ""
        return f"tile{self.height}x{self.width}{known}"


class Shape:
    """How many lanes a vector has on a machine, and the tiles that fit its registers."""

    def __init__(self, vector_bytes: int, llvm: str) -> None:
        self.llvm = llvm
        self.lanes = vector_bytes // SIZEOF[llvm]
        self.heights = (6, 4, 1)
        # AVX-512 has 32 registers, AVX2 has 16; some must be left for a row's number and b.
        self.widths = (4, 2, 1) if vector_bytes == 64 else (2, 1)
        self.columns = self.widths[0] * self.lanes
        # How many k the blocks have whose panels stay in the cache.
        self.k_block = 128 if vector_bytes == 64 else 256
        # In each turn the cache is told of so many bytes that will be needed soon: with five tiles
        # below each other, they are the whole next panel.
        panel = K_TOGETHER * self.columns * SIZEOF[llvm]
        self.fetched = max(1, panel // (5 * LINE)) * LINE

    @property
    def forms(self) -> tuple[Form, ...]:
        """Where rows may lie for which the largest tiles have code of their own: one after another,
        and side by side (packed ones do, too)."""
        item = SIZEOF[self.llvm]
        return Form(0, item), Form(item, 0)

    @property
    def tiles(self) -> list[Tile | None]:
        """All kinds, by width and height, then the largest for each form; None where is no tile."""
        widths, heights = range(self.widths[0] + 1), range(self.heights[0] + 1)
        by_size = [
            Tile(h, w) if h in self.heights and w in self.widths else None
            for w in widths
            for h in heights
        ]
        return [*by_size, *(Tile(self.heights[0], self.widths[0], form) for form in self.forms)]

    @property
    def vector(self) -> str:
        return f"<{self.lanes} x {self.llvm}>"


def tile_function(e: Emitter, shape: Shape, tile: Tile) -> None:
    """A function for tiles of one kind: c = start + a b, or c = c + a b if `more`.

    With a form it is for packed columns and rows of that form: several k are done in one turn, with
    hardly an addition of addresses. Meanwhile lines from `ahead` on come into the cache: packed
    columns, which would otherwise be waited for by the first rows that use them.
    """
    e.lines.append(f"define void @{tile.name}({TILE_PARAMETERS}) #0 {{")
    e.label("entry")
    _TileCode(e, shape, tile).emit()
    e.line("ret void")
    e.lines.append("}")


class _TileCode:
    def __init__(self, e: Emitter, shape: Shape, tile: Tile) -> None:
        self.e, self.shape, (self.height, self.width, form) = e, shape, tile
        self.is_quick = form is not None
        self.form = form or Form(0, 0)
        self.rows_per_pointer = self.height if self.form.row else _ROWS_PER_POINTER
        self.vector = shape.vector
        lanes, letter = shape.lanes, "f32" if shape.llvm == "float" else "f64"
        self.fma = f"@llvm.fma.v{lanes}{letter}"
        e.declare(f"{self.vector} {self.fma}({self.vector}, {self.vector}, {self.vector})")

    def emit(self) -> None:
        e = self.e
        start = self.vectors("%start")
        self.fetch_result()
        pointers = ["%a", "%far", "%b"] if self.height > self.rows_per_pointer else ["%a", "%b"]
        e.line("%row2 = shl i64 %row, 1")
        values = pointers + [start[v] for _ in range(self.height) for v in range(self.width)]
        times = K_TOGETHER if self.is_quick else 1
        turns = e.value(f"udiv i64 %k, {times}") if times > 1 else "%k"
        values = self.loop(turns, values, times)
        sums = values[len(pointers) :]
        rows = range(0, len(sums), self.width)
        self.finish([sums[first : first + self.width] for first in rows])

    def loop(self, turns: str, values: list[str], times: int) -> list[str]:
        """So many turns of `times` k each; takes and gives the pointers and the tile's numbers."""
        e, pointers = self.e, len(values) - self.height * self.width
        kinds = ["ptr"] * pointers + [self.vector] * (len(values) - pointers)
        e.line("br label %loop")
        e.label("loop")
        count = e.value(f"phi i64 [ {turns}, %entry ], [ %left, %loop ]")
        names = [f"%new{i}" for i in range(len(values))]
        now = [
            e.value(f"phi {kind} [ {value}, %entry ], [ {new}, %loop ]")
            for kind, value, new in zip(kinds, values, names, strict=True)
        ]
        first, totals = now[:pointers], now[pointers:]
        at = first
        for turn in range(1, times + 1):
            new_names = names if turn == times else [""] * len(values)
            totals = self.add_products(at, totals, new_names[pointers:])
            at = self.advanced(first, at, turn, new_names[:pointers])
        if times > 1:
            lines = e.value(f"getelementptr [{self.shape.fetched} x i8], ptr %ahead, i64 {count}")
            for distance in range(0, self.shape.fetched, LINE):
                line = e.value(f"getelementptr i8, ptr {lines}, i64 {distance}")
                e.line(f"call void @llvm.prefetch.p0(ptr {line}, i32 0, i32 2, i32 1)")
        e.value(e.freeze(f"sub i64 {count}, 1"), "%left")
        e.line("%over = icmp eq i64 %left, 0")
        e.line("br i1 %over, label %past, label %loop")
        e.label("past")
        return names

    def advanced(self, first: list[str], at: list[str], turn: int, names: list[str]) -> list[str]:
        """The pointers for the next k: a known distance from the first ones, or from the last."""
        e, *rows = self.e, *[(self.form.step, "%step")] * (len(first) - 1)
        columns = self.shape.columns * SIZEOF[self.shape.llvm] if self.is_quick else 0, "%b_step"
        moved = []
        for i, (known, step) in enumerate([*rows, columns]):
            start, distance = (first[i], turn * known) if known else (at[i], step)
            place = f"getelementptr i8, ptr {start}, i64 {distance}"
            last = bool(names[i])
            moved.append(e.value(e.freeze(place, "ptr") if last else place, names[i]))
        return moved

    def add_products(self, pointers: list[str], totals: list[str], names: list[str]) -> list[str]:
        """The tile with the products for one k added."""
        e = self.e
        b = self.vectors(pointers[-1])
        sums = []
        for r in range(self.height):
            which, distance = divmod(r, self.rows_per_pointer)
            number = self.broadcast(pointers[which], distance)
            for v in range(self.width):
                place = r * self.width + v
                terms = (number, b[v], totals[place])
                given = ", ".join(f"{self.vector} {x}" for x in terms)
                sums.append(e.value(f"call {self.vector} {self.fma}({given})", names[place]))
        return sums

    def fetch_result(self) -> None:
        """Have the cache look for the part of c that will be written at the end."""
        e, row = self.e, "%c"
        e.declare("void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        for r in range(self.height):
            if r:
                row = e.value(f"getelementptr i8, ptr {row}, i64 %c_row")
            for v in range(self.width):
                place = self.address(row, v)
                e.line(f"call void @llvm.prefetch.p0(ptr {place}, i32 1, i32 3, i32 1)")

    def finish(self, sums: Sequence[Sequence[str]]) -> None:
        """Store the tile, or add it to what is there."""
        e = self.e
        rows = ["%c"]
        for _ in range(self.height - 1):
            rows.append(e.value(f"getelementptr i8, ptr {rows[-1]}, i64 %c_row"))
        e.line("%adds = icmp ne i64 %more, 0")
        e.line("br i1 %adds, label %add, label %put")
        e.label("add")
        for row, values in zip(rows, sums, strict=True):
            have = self.vectors(row)
            pairs = zip(have, values, strict=True)
            self.put(row, [e.value(f"fadd {self.vector} {h}, {s}") for h, s in pairs])
        e.line("br label %end")
        e.label("put")
        for row, values in zip(rows, sums, strict=True):
            self.put(row, values)
        e.line("br label %end")
        e.label("end")

    def address(self, base: str, vector: int) -> str:
        if not vector:
            return base
        size = vector * self.shape.lanes
        return self.e.value(f"getelementptr {self.shape.llvm}, ptr {base}, i64 {size}")

    def vectors(self, base: str) -> list[str]:
        item = SIZEOF[self.shape.llvm]
        return [
            self.e.value(f"load {self.vector}, ptr {self.address(base, v)}, align {item}")
            for v in range(self.width)
        ]

    def put(self, base: str, values: Sequence[str]) -> None:
        item = SIZEOF[self.shape.llvm]
        for v, value in enumerate(values):
            self.e.line(f"store {self.vector} {value}, ptr {self.address(base, v)}, align {item}")

    def broadcast(self, pointer: str, distance: int) -> str:
        """The number at some rows' distance from a pointer, in all lanes."""
        e, llvm = self.e, self.shape.llvm
        if distance:
            step = "%row" if distance == 1 else "%row2"
            if self.form.row:
                step = str(distance * self.form.row)
            pointer = e.value(f"getelementptr i8, ptr {pointer}, i64 {step}")
        number = e.value(f"load {llvm}, ptr {pointer}, align {SIZEOF[llvm]}")
        one = e.value(f"insertelement {self.vector} poison, {llvm} {number}, i32 0")
        zeros = f"<{self.shape.lanes} x i32> zeroinitializer"
        return e.value(f"shufflevector {self.vector} {one}, {self.vector} poison, {zeros}")
