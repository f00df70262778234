"""Packing: blocks of matrices copied into panels, in the order in which microkernels read them."""

from __future__ import annotations

from clew.kernels.codegen.builder import IRBuilder
from clew.kernels.gemm.microkernel_table import call_helper
from clew.kernels.gemm.microkernels import Tiling

# The lanes of the vectors through which `a` is packed, and columns of `b` are transposed.
LANES = 8
# The k that are packed for one panel after another: their cache lines are used again. With more,
# the lines would evict each other where rows are a power of two long.
K_BLOCK = 16


def call_pack_b(c: IRBuilder, arguments: str) -> None:
    """Pack columns, given b, its strides, the numbers of k and of columns, and the target."""
    c.e.line(f"call void @pack_b({arguments})")


def pack_b(c: IRBuilder, tiling: Tiling) -> None:
    """Pack `b` into panels of columns, one after another; a panel has a row for each k.

    The last panel is padded to a whole number of vectors, with copies of the last column.
    """
    given = "ptr %b, i64 %b_k_stride, i64 %b_col_stride, i64 %k, i64 %n, ptr %to"
    with c.function(f"internal void @pack_b({given})"):
        _pack_panels(c, tiling)


def _pack_panels(c: IRBuilder, tiling: Tiling) -> None:
    lanes, columns, item = str(tiling.lanes), str(tiling.columns), str(c.itemsize)
    is_row_major = c.icmp("eq", "%b_col_stride", item)
    is_column_major = c.icmp("eq", "%b_k_stride", item)
    with c.loop("0", "%n", by=columns) as first:
        panel = c.gep("%to", c.mul(first, "%k"))
        here = c.min(columns, c.sub("%n", first))
        whole = c.mul(c.udiv(here, lanes), lanes)
        with c.loop("0", here, by=lanes) as column:
            target = c.gep(panel, column)
            source = c.ptr_add("%b", c.mul(c.add(first, column), "%b_col_stride"))
            is_whole = c.icmp("slt", column, whole)
            is_contiguous = c.and_(is_whole, is_row_major)
            with c.if_then(is_contiguous):
                call_helper(
                    c,
                    tiling,
                    "pack_b_contiguous",
                    f"ptr {source}, i64 %b_k_stride, i64 %k, ptr {target}",
                )
            transposes = c.and_(c.and_(is_whole, is_column_major), c.not_(is_row_major))
            with c.if_then(transposes):
                call_helper(
                    c,
                    tiling,
                    "pack_b_transposed",
                    f"ptr {source}, i64 %b_col_stride, i64 %k, ptr {target}",
                )
            with c.if_then(c.not_(c.or_(transposes, is_contiguous))):
                arguments = f"ptr {source}, i64 %b_k_stride, i64 %b_col_stride, i64 %k"
                left = c.sub(c.sub("%n", "1"), c.add(first, column))
                call_helper(c, tiling, "pack_b_strided", f"{arguments}, i64 {left}, ptr {target}")


def pack_b_contiguous(c: IRBuilder, tiling: Tiling) -> None:
    """Columns of a row-major `b`, as many as a vector has lanes."""
    with c.loop("0", "%k") as k:
        vector = c.load(c.ptr_add("%b", c.mul(k, "%b_k_stride")), tiling.vector)
        c.store(vector, c.gep("%to", c.mul(k, str(tiling.columns))), tiling.vector)


def pack_b_strided(c: IRBuilder, tiling: Tiling) -> None:
    """Columns with any strides, as many as a vector has lanes; those after the last are copies."""
    with c.loop("0", str(tiling.lanes)) as lane:
        source = c.ptr_add("%b", c.mul(c.min(lane, "%last"), "%b_col_stride"))
        with c.loop("0", "%k") as k:
            number = c.load(c.ptr_add(source, c.mul(k, "%b_k_stride")))
            c.store(number, c.gep("%to", c.add(lane, c.mul(k, str(tiling.columns)))))


def pack_a(c: IRBuilder, tiling: Tiling) -> None:
    """Pack a column-major `a` into panels of rows; a panel has a row of them for each k."""
    height, item = tiling.heights[0], str(c.itemsize)
    vector, truths = f"<{LANES} x {c.llvm}>", f"<{LANES} x i1>"
    kind = f"v{LANES}{'f32' if c.llvm == 'float' else 'f64'}"
    load = f"@llvm.masked.load.{kind}.p0"
    c.e.declare(f"{vector} {load}(ptr, i32, {truths}, {vector})")
    numbers = ", ".join(f"i64 {lane}" for lane in range(LANES))
    with c.loop("0", "%k", by=K_BLOCK) as some, c.loop("0", "%m", by=height) as first:
        count = c.min(c.sub("%m", first), str(height))
        one = c.e.value(f"insertelement <{LANES} x i64> poison, i64 {count}, i32 0")
        zeros = f"<{LANES} x i32> zeroinitializer"
        counts = c.e.value(f"shufflevector <{LANES} x i64> {one}, <{LANES} x i64> poison, {zeros}")
        mask = c.e.value(f"icmp sgt <{LANES} x i64> {counts}, <{numbers}>")
        panel = c.gep("%to", c.mul(first, "%k"))
        source = c.ptr_add("%a", c.mul(first, item))
        with c.loop(some, c.min("%k", c.add(some, str(K_BLOCK)))) as k:
            given = f"ptr {c.ptr_add(source, c.mul(k, '%a_k_stride'))}, i32 {item}, {truths} {mask}"
            rows = c.e.value(f"call {vector} {load}({given}, {vector} zeroinitializer)")
            _store_lanes(c, rows, c.gep(panel, c.mul(k, str(height))), height)


def _store_lanes(c: IRBuilder, rows: str, place: str, count: int) -> None:
    """Store the first lanes of a vector, in vectors of 4, 2 and 1: on AMD processors a masked store
    takes ten times as long."""
    stored = 0
    for size in (4, 2, 1):
        if count & size:
            lanes = range(stored, stored + size)
            some = c.shuffle_vector(f"<{LANES} x {c.llvm}>", rows, "poison", lanes)
            c.store(some, c.gep(place, str(stored)), f"<{size} x {c.llvm}>")
            stored += size


def pack_b_transposed(c: IRBuilder, tiling: Tiling) -> None:
    """Columns of a column-major `b`, as many as a vector has lanes, transposed in registers.

    In squares of half a vector at most: LLVM compiles the shuffles of larger ones slowly.
    """
    lanes, columns = min(LANES, tiling.lanes), str(tiling.columns)
    vector = f"<{lanes} x {c.llvm}>"
    with c.loop("0", str(tiling.lanes), by=lanes) as first:
        whole = c.mul(c.udiv("%k", str(lanes)), str(lanes))
        sources = [c.ptr_add("%b", c.mul(first, "%b_col_stride"))]
        for _ in range(lanes - 1):
            sources.append(c.ptr_add(sources[-1], "%b_col_stride"))
        start = c.gep("%to", first)
        with c.loop("0", whole, by=lanes) as k:
            vectors = [c.load(c.gep(source, k), vector) for source in sources]
            target = c.gep(start, c.mul(k, columns))
            for index, row in enumerate(transposed(c, vector, vectors)):
                c.store(row, c.gep(target, str(index * tiling.columns)), vector)
        with c.loop(whole, "%k") as k, c.loop("0", str(lanes)) as lane:
            source = c.ptr_add(sources[0], c.mul(lane, "%b_col_stride"))
            c.store(c.load(c.gep(source, k)), c.gep(start, c.add(c.mul(k, columns), lane)))


def transposed(c: IRBuilder, vector: str, rows: list[str]) -> list[str]:
    """A square of elements, transposed in registers.

    In each round, off-diagonal blocks of half the size change places.
    """
    lanes = range(len(rows))
    distance = len(rows) // 2
    while distance:
        low = [lane + (lane & distance and len(rows) - distance) for lane in lanes]
        high = [lane + (len(rows) if lane & distance else distance) for lane in lanes]
        for i in lanes:
            if not i & distance:
                pair = rows[i], rows[i | distance]
                rows[i] = c.shuffle_vector(vector, *pair, low)
                rows[i | distance] = c.shuffle_vector(vector, *pair, high)
        distance //= 2
    return rows
