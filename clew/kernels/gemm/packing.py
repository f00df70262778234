"""Parts of matrices copied into the order in which tiles read them."""

from __future__ import annotations

from clew.kernels.codegen.builder import IRBuilder
from clew.kernels.gemm.microkernel_table import call
from clew.kernels.gemm.microkernels import Shape

# Rows of a panel, and columns that are turned, go through vectors of this many numbers.
LANES = 8
# Lines of the cache that are used again for the next panel: where rows are a power of two long,
# more would push each other out.
K_AT_ONCE = 16


def call_pack_b(c: IRBuilder, arguments: str) -> None:
    """Pack columns, given b, its distances, the number of k and of columns, and the target."""
    c.e.line(f"call void @pack_b({arguments})")


def pack_b(c: IRBuilder, shape: Shape) -> None:
    """Columns that become vectors: panels of them, one after another; in a panel, all for each k.

    The last panel has as many columns as there are, up to a whole number of vectors; what lies
    beyond the last column is a copy of it, which nobody uses.
    """
    given = "ptr %b, i64 %b_step, i64 %b_col, i64 %k, i64 %n, ptr %to"
    with c.function(f"internal void @pack_b({given})"):
        _pack_panels(c, shape)


def _pack_panels(c: IRBuilder, shape: Shape) -> None:
    lanes, columns, item = str(shape.lanes), str(shape.columns), str(c.itemsize)
    side_by_side = c.icmp("eq", "%b_col", item)
    down = c.icmp("eq", "%b_step", item)
    with c.loop("0", "%n", by=columns) as first:
        panel = c.gep("%to", c.mul(first, "%k"))
        here = c.min(columns, c.sub("%n", first))
        whole = c.mul(c.udiv(here, lanes), lanes)
        with c.loop("0", here, by=lanes) as column:
            target = c.gep(panel, column)
            source = c.ptr_add("%b", c.mul(c.add(first, column), "%b_col"))
            is_whole = c.icmp("slt", column, whole)
            beside = c.and_(is_whole, side_by_side)
            with c.if_then(beside):
                call(c, shape, "beside", f"ptr {source}, i64 %b_step, i64 %k, ptr {target}")
            turned = c.and_(c.and_(is_whole, down), c.not_(side_by_side))
            with c.if_then(turned):
                call(c, shape, "turn", f"ptr {source}, i64 %b_col, i64 %k, ptr {target}")
            with c.if_then(c.not_(c.or_(turned, beside))):
                arguments = f"ptr {source}, i64 %b_step, i64 %b_col, i64 %k"
                left = c.sub(c.sub("%n", "1"), c.add(first, column))
                call(c, shape, "gather", f"{arguments}, i64 {left}, ptr {target}")


def beside(c: IRBuilder, shape: Shape) -> None:
    """Columns that lie side by side, as many as a vector has lanes."""
    with c.loop("0", "%k") as k:
        vector = c.load(c.ptr_add("%b", c.mul(k, "%b_step")), shape.vector)
        c.store(vector, c.gep("%to", c.mul(k, str(shape.columns))), shape.vector)


def gather(c: IRBuilder, shape: Shape) -> None:
    """Columns one by one, as many as a vector has lanes; those after the last are copies of it."""
    with c.loop("0", str(shape.lanes)) as lane:
        source = c.ptr_add("%b", c.mul(c.min(lane, "%last"), "%b_col"))
        with c.loop("0", "%k") as k:
            number = c.load(c.ptr_add(source, c.mul(k, "%b_step")))
            c.store(number, c.gep("%to", c.add(lane, c.mul(k, str(shape.columns)))))


def pack_a(c: IRBuilder, shape: Shape) -> None:
    """Rows that become numbers and lie side by side: panels of them; in a panel, all for each k."""
    height, item = shape.heights[0], str(c.itemsize)
    vector, truths = f"<{LANES} x {c.llvm}>", f"<{LANES} x i1>"
    kind = f"v{LANES}{'f32' if c.llvm == 'float' else 'f64'}"
    load = f"@llvm.masked.load.{kind}.p0"
    c.e.declare(f"{vector} {load}(ptr, i32, {truths}, {vector})")
    numbers = ", ".join(f"i64 {lane}" for lane in range(LANES))
    with c.loop("0", "%k", by=K_AT_ONCE) as some, c.loop("0", "%m", by=height) as first:
        count = c.min(c.sub("%m", first), str(height))
        one = c.e.value(f"insertelement <{LANES} x i64> poison, i64 {count}, i32 0")
        zeros = f"<{LANES} x i32> zeroinitializer"
        counts = c.e.value(f"shufflevector <{LANES} x i64> {one}, <{LANES} x i64> poison, {zeros}")
        mask = c.e.value(f"icmp sgt <{LANES} x i64> {counts}, <{numbers}>")
        panel = c.gep("%to", c.mul(first, "%k"))
        source = c.ptr_add("%a", c.mul(first, item))
        with c.loop(some, c.min("%k", c.add(some, str(K_AT_ONCE)))) as k:
            given = f"ptr {c.ptr_add(source, c.mul(k, '%step'))}, i32 {item}, {truths} {mask}"
            rows = c.e.value(f"call {vector} {load}({given}, {vector} zeroinitializer)")
            _store_first(c, rows, c.gep(panel, c.mul(k, str(height))), height)


def _store_first(c: IRBuilder, rows: str, place: str, count: int) -> None:
    """The first lanes of a vector, in vectors of 4, 2 and 1: processors from AMD take ten times as
    long for one masked store."""
    stored = 0
    for size in (4, 2, 1):
        if count & size:
            lanes = range(stored, stored + size)
            some = c.shuffle_vector(f"<{LANES} x {c.llvm}>", rows, "poison", lanes)
            c.store(some, c.gep(place, str(stored)), f"<{size} x {c.llvm}>")
            stored += size


def turn(c: IRBuilder, shape: Shape) -> None:
    """Columns that are contiguous in k, as many as a vector has lanes, side by side.

    Squares of half a vector at most: LLVM takes its time for the shuffles of larger ones.
    """
    lanes, columns = min(LANES, shape.lanes), str(shape.columns)
    vector = f"<{lanes} x {c.llvm}>"
    with c.loop("0", str(shape.lanes), by=lanes) as first:
        whole = c.mul(c.udiv("%k", str(lanes)), str(lanes))
        sources = [c.ptr_add("%from", c.mul(first, "%col"))]
        for _ in range(lanes - 1):
            sources.append(c.ptr_add(sources[-1], "%col"))
        start = c.gep("%to", first)
        with c.loop("0", whole, by=lanes) as k:
            vectors = [c.load(c.gep(source, k), vector) for source in sources]
            target = c.gep(start, c.mul(k, columns))
            for index, row in enumerate(transposed(c, vector, vectors)):
                c.store(row, c.gep(target, str(index * shape.columns)), vector)
        with c.loop(whole, "%k") as k, c.loop("0", str(lanes)) as lane:
            source = c.ptr_add(sources[0], c.mul(lane, "%col"))
            c.store(c.load(c.gep(source, k)), c.gep(start, c.add(c.mul(k, columns), lane)))


def transposed(c: IRBuilder, vector: str, rows: list[str]) -> list[str]:
    """A square of numbers in registers, mirrored at its diagonal.

    In each round, pairs of blocks of half the size change places.
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
