"""The innermost part of matrix products: tiles of the result that stay in registers.

A tile has some rows, and columns for some vector registers. For every k its columns take vectors
from `b`, and each of its rows one number from `a`, repeated in all lanes. Rows of `a` may lie
anywhere (a distance `row` apart, and `step` from one k to the next), so that `a` is used where it
is; `b` is read in vectors.
"""

from __future__ import annotations

from collections.abc import Sequence

from clew.kernels.native.code import ITEM
from clew.kernels.native.emitter import Emitter

# Rows whose addresses are found from one pointer: at no, one and two distances from it. Tiles get
# a second pointer, `far`, for the other rows: more additions of addresses would slow them down.
_ROWS_PER_POINTER = 3
# How many k are done in one turn where that is possible.
K_TOGETHER = 4

TILE_PARAMETERS = (
    "i64 %k, ptr %a, ptr %far, i64 %row, i64 %step, ptr %b, i64 %b_step, ptr %c, i64 %c_row, "
    "i64 %more, ptr %start"
)


class Shape:
    """How many lanes a vector has on a machine, and the tiles that fit its registers."""

    def __init__(self, vector_bytes: int, llvm: str) -> None:
        self.llvm = llvm
        self.lanes = vector_bytes // ITEM[llvm]
        self.heights = (6, 4, 2, 1)
        # AVX-512 has 32 registers, AVX2 has 16; some must be left for a row's number and b.
        self.widths = (4, 2, 1) if vector_bytes == 64 else (2, 1)
        self.columns = self.widths[0] * self.lanes

    @property
    def steps(self) -> tuple[int, int]:
        """The steps of rows for which the largest tiles have a form of their own: as the rows are
        in memory, and packed."""
        return ITEM[self.llvm], self.heights[0] * ITEM[self.llvm]

    @property
    def vector(self) -> str:
        return f"<{self.lanes} x {self.llvm}>"


def tile_function(e: Emitter, shape: Shape, height: int, width: int, step: int = 0) -> str:
    """A function for tiles of one size: c = start + a b, or c = c + a b if `more`.

    With `step` it is for packed columns and rows with that step, which is known then: several k are
    done in one turn without a single addition of addresses.
    """
    name = f"@tile{height}x{width}" + f"by{step}" * bool(step)
    e.lines.append(f"define internal void {name}({TILE_PARAMETERS}) #0 {{")
    e.label("entry")
    _Tile(e, shape, height, width, step).emit()
    e.line("ret void")
    e.lines.append("}")
    return name


class _Tile:
    def __init__(self, e: Emitter, shape: Shape, height: int, width: int, step: int) -> None:
        self.e, self.shape, self.height, self.width, self.step = e, shape, height, width, step
        self.vector = shape.vector
        lanes, letter = shape.lanes, "f32" if shape.llvm == "float" else "f64"
        self.fma = f"@llvm.fma.v{lanes}{letter}"
        e.declare(f"{self.vector} {self.fma}({self.vector}, {self.vector}, {self.vector})")

    def emit(self) -> None:
        e = self.e
        start = self.vectors("%start")
        self.fetch_result()
        pointers = ["%a", "%far", "%b"] if self.height > _ROWS_PER_POINTER else ["%a", "%b"]
        e.line("%row2 = shl i64 %row, 1")
        values = pointers + [start[v] for _ in range(self.height) for v in range(self.width)]
        before, left = "entry", "%k"
        if self.step:
            e.line(f"%several = udiv i64 %k, {K_TOGETHER}")
            values = self.loop("several", before, "%several", values, K_TOGETHER)
            before, left = "past_several", e.value(f"urem i64 %k, {K_TOGETHER}")
        values = self.loop("single", before, left, values, 1)
        sums = values[len(pointers) :]
        rows = range(0, len(sums), self.width)
        self.finish([sums[first : first + self.width] for first in rows])

    def loop(self, name: str, before: str, turns: str, values: list[str], times: int) -> list[str]:
        """So many turns of `times` k each; takes and gives the pointers and the tile's numbers."""
        e, pointers = self.e, len(values) - self.height * self.width
        kinds = ["ptr"] * pointers + [self.vector] * (len(values) - pointers)
        e.line(f"%none_{name} = icmp eq i64 {turns}, 0")
        e.line(f"br i1 %none_{name}, label %past_{name}, label %{name}_loop")
        e.label(f"{name}_loop")
        count = e.value(f"phi i64 [ {turns}, %{before} ], [ %left_{name}, %{name}_loop ]")
        names = [f"%{name}{i}" for i in range(len(values))]
        now = [
            e.value(f"phi {kind} [ {value}, %{before} ], [ {new}, %{name}_loop ]")
            for kind, value, new in zip(kinds, values, names, strict=True)
        ]
        totals = now[pointers:]
        for turn in range(times):
            new_names = names[pointers:] if turn == times - 1 else [""] * len(totals)
            totals = self.add_products(now[:pointers], turn, totals, new_names)
        for i, p in enumerate(now[:pointers]):
            step = "%b_step" if i == pointers - 1 else "%step"
            if self.step:
                step = str(times * (self.b_step if i == pointers - 1 else self.step))
            e.value(f"getelementptr i8, ptr {p}, i64 {step}", names[i])
        e.value(f"sub i64 {count}, 1", f"%left_{name}")
        e.line(f"%over_{name} = icmp eq i64 %left_{name}, 0")
        e.line(f"br i1 %over_{name}, label %past_{name}, label %{name}_loop")
        e.label(f"past_{name}")
        return [
            e.value(f"phi {kind} [ {value}, %{before} ], [ {new}, %{name}_loop ]")
            for kind, value, new in zip(kinds, values, names, strict=True)
        ]

    @property
    def b_step(self) -> int:
        """The distance of packed columns from one k to the next."""
        return self.shape.columns * ITEM[self.shape.llvm]

    def add_products(
        self, pointers: list[str], turn: int, totals: list[str], names: list[str]
    ) -> list[str]:
        """The tile with the products for one k added, some turns after where the pointers are."""
        e = self.e
        if turn:
            steps = [self.step] * (len(pointers) - 1) + [self.b_step]
            pairs = zip(pointers, steps, strict=True)
            pointers = [e.value(f"getelementptr i8, ptr {p}, i64 {turn * s}") for p, s in pairs]
        b = self.vectors(pointers[-1])
        sums = []
        for r in range(self.height):
            number = self.broadcast(pointers[r // _ROWS_PER_POINTER], r % _ROWS_PER_POINTER)
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
        size = vector * self.shape.lanes
        return self.e.value(f"getelementptr {self.shape.llvm}, ptr {base}, i64 {size}")

    def vectors(self, base: str) -> list[str]:
        item = ITEM[self.shape.llvm]
        return [
            self.e.value(f"load {self.vector}, ptr {self.address(base, v)}, align {item}")
            for v in range(self.width)
        ]

    def put(self, base: str, values: Sequence[str]) -> None:
        item = ITEM[self.shape.llvm]
        for v, value in enumerate(values):
            self.e.line(f"store {self.vector} {value}, ptr {self.address(base, v)}, align {item}")

    def broadcast(self, pointer: str, distance: int) -> str:
        """The number at some rows' distance from a pointer, in all lanes."""
        e, llvm = self.e, self.shape.llvm
        if distance:
            step = "%row" if distance == 1 else "%row2"
            pointer = e.value(f"getelementptr i8, ptr {pointer}, i64 {step}")
        number = e.value(f"load {llvm}, ptr {pointer}, align {ITEM[llvm]}")
        one = e.value(f"insertelement {self.vector} poison, {llvm} {number}, i32 0")
        zeros = f"<{self.shape.lanes} x i32> zeroinitializer"
        return e.value(f"shufflevector {self.vector} {one}, {self.vector} poison, {zeros}")
