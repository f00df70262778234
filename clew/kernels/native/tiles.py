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
    def vector(self) -> str:
        return f"<{self.lanes} x {self.llvm}>"


def tile_function(e: Emitter, shape: Shape, height: int, width: int) -> str:
    """A function for tiles of one size: c = start + a b, or c = c + a b if `more`."""
    name = f"@tile{height}x{width}"
    e.lines.append(f"define internal void {name}({TILE_PARAMETERS}) #0 {{")
    e.label("entry")
    _Tile(e, shape, height, width).emit()
    e.line("ret void")
    e.lines.append("}")
    return name


class _Tile:
    def __init__(self, e: Emitter, shape: Shape, height: int, width: int) -> None:
        self.e, self.shape, self.height, self.width = e, shape, height, width
        self.vector = shape.vector
        lanes, letter = shape.lanes, "f32" if shape.llvm == "float" else "f64"
        self.fma = f"@llvm.fma.v{lanes}{letter}"
        e.declare(f"{self.vector} {self.fma}({self.vector}, {self.vector}, {self.vector})")

    def emit(self) -> None:
        e, places = self.e, [(r, v) for r in range(self.height) for v in range(self.width)]
        start = self.vectors("%start")
        self.fetch_result()
        pointers = ["%a", "%far", "%b"] if self.height > _ROWS_PER_POINTER else ["%a", "%b"]
        e.line("%row2 = shl i64 %row, 1")
        e.line("br label %k_loop")
        e.label("k_loop")
        count = e.value("phi i64 [ %k, %entry ], [ %left, %k_loop ]")
        now = [
            e.value(f"phi ptr [ {p}, %entry ], [ %next{i}, %k_loop ]")
            for i, p in enumerate(pointers)
        ]
        totals = {
            (r, v): e.value(f"phi {self.vector} [ {start[v]}, %entry ], [ %sum{r}x{v}, %k_loop ]")
            for r, v in places
        }
        b = self.vectors(now[-1])
        for r in range(self.height):
            number = self.broadcast(now[r // _ROWS_PER_POINTER], r % _ROWS_PER_POINTER)
            for v in range(self.width):
                given = ", ".join(f"{self.vector} {x}" for x in (number, b[v], totals[r, v]))
                e.value(f"call {self.vector} {self.fma}({given})", f"%sum{r}x{v}")
        for i, p in enumerate(now):
            step = "%b_step" if i == len(now) - 1 else "%step"
            e.value(f"getelementptr i8, ptr {p}, i64 {step}", f"%next{i}")
        e.value(f"sub i64 {count}, 1", "%left")
        e.line("%over = icmp eq i64 %left, 0")
        e.line("br i1 %over, label %ready, label %k_loop")
        e.label("ready")
        self.finish([[f"%sum{r}x{v}" for v in range(self.width)] for r in range(self.height)])

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
