"""GEMM microkernels: register tiles of the result.

A tile has some rows (BLIS's MR), and columns for some vector registers (NR). For every k it loads
vectors from `b`, broadcasts one element of `a` for each row, and multiplies and adds (FMA). `a` may
have any strides, so that it need not be packed.
"""

from collections.abc import Sequence
from typing import NamedTuple

from clew.kernels.codegen.builder import SIZEOF
from clew.kernels.codegen.emitter import Emitter
from clew.kernels.runtime.cpu import CACHE_LINE, vector_registers

# Rows that are addressed from one pointer: at 0, 1 and 2 strides. Tiles get a second pointer,
# `a_upper`, for the other rows: more address arithmetic would slow them down.
_ROWS_PER_POINTER = 3
# By how many k the loop is unrolled where that is possible.
K_UNROLL = 4

MICROKERNEL_PARAMETERS = (
    "i64 %k, ptr %a, ptr %a_upper, i64 %a_row_stride, i64 %a_k_stride, ptr %b, i64 %b_k_stride, "
    "ptr %c, i64 %c_row_stride, i64 %accumulate, ptr %initial, ptr %prefetch"
)


class Layout(NamedTuple):
    """The strides of `a` that are known at compile time, in bytes; or 0."""

    row_stride: int
    k_stride: int


class Tile(NamedTuple):
    """A kind of register tile: rows, vectors, and the layout of `a` if it is known."""

    height: int
    width: int
    layout: Layout | None = None

    @property
    def name(self) -> str:
        known = f"by{self.layout.row_stride}and{self.layout.k_stride}" if self.layout else ""
        return f"tile{self.height}x{self.width}{known}"


class Tiling:
    """The tiles that fit a processor's registers, and the depth of blocks that fit its caches."""

    def __init__(self, vector_bytes: int, llvm: str) -> None:
        self.llvm = llvm
        self.lanes = vector_bytes // SIZEOF[llvm]
        self.heights = (6, 4, 1)
        # Some registers must be left for elements of a and b.
        self.widths = (4, 2, 1) if vector_registers(vector_bytes) == 32 else (2, 1)
        self.columns = self.widths[0] * self.lanes
        # The largest depth of a block whose panels stay in the cache.
        self.kc = 128 if vector_bytes == 64 else 256
        # The bytes that each iteration prefetches: with five tiles below each other, they are the
        # whole next panel.
        panel = K_UNROLL * self.columns * SIZEOF[llvm]
        self.prefetch_bytes = max(1, panel // (5 * CACHE_LINE)) * CACHE_LINE

    @property
    def layouts(self) -> tuple[Layout, ...]:
        """The layouts of `a` for which the largest tile has code of its own: row-major, and
        column-major (as packed)."""
        item = SIZEOF[self.llvm]
        return Layout(0, item), Layout(item, 0)

    @property
    def tiles(self) -> list[Tile | None]:
        """All kinds, by width and height, then the largest for each layout; None for no tile."""
        widths, heights = range(self.widths[0] + 1), range(self.heights[0] + 1)
        by_size = [
            Tile(h, w) if h in self.heights and w in self.widths else None
            for w in widths
            for h in heights
        ]
        return [
            *by_size,
            *(Tile(self.heights[0], self.widths[0], layout) for layout in self.layouts),
        ]

    @property
    def vector(self) -> str:
        return f"<{self.lanes} x {self.llvm}>"


def emit_microkernel(e: Emitter, tiling: Tiling, tile: Tile) -> None:
    """The function of one kind of tile: c = initial + a b, or c = c + a b if `accumulate`.

    With a layout of `a` it is for packed `b`: the loop is unrolled, with hardly any address
    arithmetic, and prefetches the cache lines from `prefetch` on. They are the next panel of `b`,
    for which its first tiles would otherwise wait.
    """
    e.lines.append(f"define void @{tile.name}({MICROKERNEL_PARAMETERS}) #0 {{")
    e.label("entry")
    _MicroKernel(e, tiling, tile).emit()
    e.line("ret void")
    e.lines.append("}")


class RegisterTile:
    """What register tiles are made of: rows of `width` vectors that stay in registers."""

    def __init__(self, e: Emitter, tiling: Tiling, height: int, width: int) -> None:
        self.e, self.tiling, self.height, self.width = e, tiling, height, width
        self.vector = tiling.vector
        lanes, letter = tiling.lanes, "f32" if tiling.llvm == "float" else "f64"
        self.fma = f"@llvm.fma.v{lanes}{letter}"
        e.declare(f"{self.vector} {self.fma}({self.vector}, {self.vector}, {self.vector})")

    def multiply_add_row(
        self, number: str, b: list[str], totals: list[str], names: list[str]
    ) -> list[str]:
        """The accumulators of a row after one k."""
        sums = []
        for v in range(self.width):
            given = ", ".join(f"{self.vector} {x}" for x in (number, b[v], totals[v]))
            sums.append(self.e.value(f"call {self.vector} {self.fma}({given})", names[v]))
        return sums

    def epilogue(self, sums: Sequence[Sequence[str]]) -> None:
        """Store the tile, or add it to c."""
        e = self.e
        rows = ["%c"]
        for _ in range(self.height - 1):
            rows.append(e.value(f"getelementptr i8, ptr {rows[-1]}, i64 %c_row_stride"))
        e.line("%accumulates = icmp ne i64 %accumulate, 0")
        e.line("br i1 %accumulates, label %add, label %store")
        e.label("add")
        for row, values in zip(rows, sums, strict=True):
            have = self.load_vectors(row)
            pairs = zip(have, values, strict=True)
            self.store(row, [e.value(f"fadd {self.vector} {h}, {s}") for h, s in pairs])
        e.line("br label %end")
        e.label("store")
        for row, values in zip(rows, sums, strict=True):
            self.store(row, values)
        e.line("br label %end")
        e.label("end")

    def address(self, base: str, vector: int) -> str:
        if not vector:
            return base
        size = vector * self.tiling.lanes
        return self.e.value(f"getelementptr {self.tiling.llvm}, ptr {base}, i64 {size}")

    def load_vectors(self, base: str) -> list[str]:
        item = SIZEOF[self.tiling.llvm]
        return [
            self.e.value(f"load {self.vector}, ptr {self.address(base, v)}, align {item}")
            for v in range(self.width)
        ]

    def store(self, base: str, values: Sequence[str]) -> None:
        item = SIZEOF[self.tiling.llvm]
        for v, value in enumerate(values):
            self.e.line(f"store {self.vector} {value}, ptr {self.address(base, v)}, align {item}")

    def splat(self, pointer: str) -> str:
        """The element at an address, broadcast to all lanes."""
        e, llvm = self.e, self.tiling.llvm
        number = e.value(f"load {llvm}, ptr {pointer}, align {SIZEOF[llvm]}")
        one = e.value(f"insertelement {self.vector} poison, {llvm} {number}, i32 0")
        zeros = f"<{self.tiling.lanes} x i32> zeroinitializer"
        return e.value(f"shufflevector {self.vector} {one}, {self.vector} poison, {zeros}")


class _MicroKernel(RegisterTile):
    def __init__(self, e: Emitter, tiling: Tiling, tile: Tile) -> None:
        super().__init__(e, tiling, tile.height, tile.width)
        self.is_unrolled = tile.layout is not None
        self.layout = tile.layout or Layout(0, 0)
        self.rows_per_pointer = self.height if self.layout.row_stride else _ROWS_PER_POINTER

    def emit(self) -> None:
        e = self.e
        initial = self.load_vectors("%initial")
        self.prefetch_c()
        pointers = ["%a", "%a_upper", "%b"] if self.height > self.rows_per_pointer else ["%a", "%b"]
        e.line("%a_row_stride2 = shl i64 %a_row_stride, 1")
        values = pointers + [initial[v] for _ in range(self.height) for v in range(self.width)]
        unroll = K_UNROLL if self.is_unrolled else 1
        iterations = e.value(f"udiv i64 %k, {unroll}") if unroll > 1 else "%k"
        values = self.loop(iterations, values, unroll)
        sums = values[len(pointers) :]
        rows = range(0, len(sums), self.width)
        self.epilogue([sums[first : first + self.width] for first in rows])

    def loop(self, iterations: str, values: list[str], unroll: int) -> list[str]:
        """The loop over k, unrolled; takes and returns the pointers and the accumulators."""
        e, pointers = self.e, len(values) - self.height * self.width
        kinds = ["ptr"] * pointers + [self.vector] * (len(values) - pointers)
        e.line("br label %loop")
        e.label("loop")
        count = e.value(f"phi i64 [ {iterations}, %entry ], [ %left, %loop ]")
        names = [f"%new{i}" for i in range(len(values))]
        now = [
            e.value(f"phi {kind} [ {value}, %entry ], [ {new}, %loop ]")
            for kind, value, new in zip(kinds, values, names, strict=True)
        ]
        first, totals = now[:pointers], now[pointers:]
        at = first
        for step in range(1, unroll + 1):
            new_names = names if step == unroll else [""] * len(values)
            totals = self.multiply_add(at, totals, new_names[pointers:])
            at = self.advanced(first, at, step, new_names[:pointers])
        if unroll > 1:
            first_line = e.value(
                f"getelementptr [{self.tiling.prefetch_bytes} x i8], ptr %prefetch, i64 {count}"
            )
            for distance in range(0, self.tiling.prefetch_bytes, CACHE_LINE):
                line = e.value(f"getelementptr i8, ptr {first_line}, i64 {distance}")
                e.line(f"call void @llvm.prefetch.p0(ptr {line}, i32 0, i32 2, i32 1)")
        e.value(e.freeze(f"sub i64 {count}, 1"), "%left")
        e.line("%over = icmp eq i64 %left, 0")
        e.line("br i1 %over, label %done, label %loop")
        e.label("done")
        return names

    def advanced(self, first: list[str], at: list[str], step: int, names: list[str]) -> list[str]:
        """The pointers for the next k: at a known offset from the first ones, or from the last."""
        e, *rows = self.e, *[(self.layout.k_stride, "%a_k_stride")] * (len(first) - 1)
        columns = (
            self.tiling.columns * SIZEOF[self.tiling.llvm] if self.is_unrolled else 0,
            "%b_k_stride",
        )
        moved = []
        for i, (known, stride) in enumerate([*rows, columns]):
            start, distance = (first[i], step * known) if known else (at[i], stride)
            place = f"getelementptr i8, ptr {start}, i64 {distance}"
            last = bool(names[i])
            moved.append(e.value(e.freeze(place, "ptr") if last else place, names[i]))
        return moved

    def multiply_add(self, pointers: list[str], totals: list[str], names: list[str]) -> list[str]:
        """The accumulators after one k."""
        b = self.load_vectors(pointers[-1])
        sums = []
        for r in range(self.height):
            which, distance = divmod(r, self.rows_per_pointer)
            number = self.broadcast(pointers[which], distance)
            row = slice(r * self.width, (r + 1) * self.width)
            sums += self.multiply_add_row(number, b, totals[row], names[row])
        return sums

    def prefetch_c(self) -> None:
        """Prefetch the tile of c, which is stored at the end."""
        e, row = self.e, "%c"
        e.declare("void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        for r in range(self.height):
            if r:
                row = e.value(f"getelementptr i8, ptr {row}, i64 %c_row_stride")
            for v in range(self.width):
                place = self.address(row, v)
                e.line(f"call void @llvm.prefetch.p0(ptr {place}, i32 1, i32 3, i32 1)")

    def broadcast(self, pointer: str, distance: int) -> str:
        """The element at some rows' distance from a pointer, broadcast to all lanes."""
        if distance:
            stride = "%a_row_stride" if distance == 1 else "%a_row_stride2"
            if self.layout.row_stride:
                stride = str(distance * self.layout.row_stride)
            pointer = self.e.value(f"getelementptr i8, ptr {pointer}, i64 {stride}")
        return self.splat(pointer)
