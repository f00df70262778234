"""Loops in LLVM IR: plain, with loop-carried values, and vectorized with a masked remainder.

The code generator vectorizes: leaving it to LLVM's loop vectorizer would make compilation several
times as long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from clew.kernels.codegen.emitter import ITEMSIZE, Emitter
from clew.kernels.codegen.ir import I32, I64, Expr

# The bytes of a vector; LLVM splits it where registers are narrower.
BYTES = 64
# Unroll factors by the number of operations of the body, up to a limit. The body is emitted once
# for each, and once for the remainder; beyond the last limit only once, with a mask.
UNROLL = ((8, 4), (60, 2), (200, 1))

# Loop-carried values: the LLVM type of each, and the value that enters the loop.
Carried = list[tuple[str, str]]
Body = Callable[[str, list[str]], list[str]]


def lanes_for(dtypes: Iterable[str]) -> int:
    """As many lanes as elements of the widest storage type fill a vector."""
    return BYTES // max([4, *(ITEMSIZE[dtype] for dtype in dtypes)])


def unroll_for(exprs: Iterable[Expr]) -> int:
    """The unroll factor of a loop over expressions; 0 if all of its vectors are masked."""
    operations = sum(each.op not in ("const", "input") for each in exprs)
    return next((factor for most, factor in UNROLL if operations <= most), 0)


def vector_loop(
    e: Emitter,
    span: tuple[str, str],
    lanes: int,
    unroll: int,
    body: Body,
    carried: Carried | None = None,
    is_multiple: bool = False,
) -> list[str]:
    """for i in range(begin, end, lanes): carried = body(i, carried); returns the final values.

    Every unrolled copy of the body has carried values of its own, and all are returned, those of
    the first copy first. The remainder is masked. With `unroll` 0 all vectors are; where the span
    `is_multiple` of lanes * unroll, none is. Without lanes, it is a loop over scalars.
    """
    begin, end = span
    each = list(carried or [])
    if not lanes:
        return carrying_loop(e, span, 1, body, each)
    values = each * max(unroll, 1)
    if is_multiple:
        return _unrolled(e, span, lanes, max(unroll, 1), body, values, masked=False)
    if unroll:
        size = e.value(f"sub i64 {end}, {begin}")
        some = e.call("smax", I64, [size, "0"])
        multiple = e.value(f"and i64 {some}, {-lanes * unroll}")
        middle = e.value(f"add i64 {begin}, {multiple}")
        found = _unrolled(e, (begin, middle), lanes, unroll, body, values, masked=False)
        values = [(kind, value) for (kind, _), value in zip(values, found, strict=True)]
        begin = middle
    first, others = values[: len(each)], values[len(each) :]
    if unroll == 1:
        last = _masked_remainder(e, (begin, end), lanes, body, first)
    else:
        last = _unrolled(e, (begin, end), lanes, 1, body, first, masked=True)
    return [*last, *(value for _, value in others)]


def _masked_remainder(
    e: Emitter, span: tuple[str, str], lanes: int, body: Body, carried: Carried
) -> list[str]:
    """The body once, masked, if anything is left."""
    begin, end = span
    n = e.fresh("rest")
    _guard(e, n, begin, end)
    e.lanes, e.mask = lanes, _mask(e, begin, end, lanes)
    updates = body(begin, [start for _, start in carried])
    e.lanes, e.mask = 0, ""
    e.line(f"br label %done{n}")
    e.label(f"done{n}")
    return [
        e.value(f"phi {kind} [ {start}, %before{n} ], [ {value}, %{n} ]")
        for (kind, start), value in zip(carried, updates, strict=True)
    ]


def _unrolled(
    e: Emitter,
    span: tuple[str, str],
    lanes: int,
    unroll: int,
    body: Body,
    carried: Carried,
    masked: bool,
) -> list[str]:
    each = len(carried) // unroll

    def copies(i: str, given: list[str]) -> list[str]:
        e.lanes, e.mask = lanes, _mask(e, i, span[1], lanes) if masked else ""
        updates: list[str] = []
        # Loads of all copies come before the stores, so that no load waits for a store to alias.
        e.deferred_stores = []
        for copy in range(unroll):
            at = e.value(f"add i64 {i}, {copy * lanes}") if copy else i
            updates += body(at, given[copy * each : (copy + 1) * each])
        e.lines += e.deferred_stores
        e.lanes, e.mask, e.deferred_stores = 0, "", None
        return updates

    return carrying_loop(e, span, lanes * unroll, copies, carried)


def carrying_loop(
    e: Emitter, span: tuple[str, str], by: int | str, body: Body, carried: Carried
) -> list[str]:
    """for i in range(begin, end, by): carried = body(i, carried); returns the final values."""
    n = e.fresh("loop")
    i = _open(e, n, span[0], span[1])
    # The phis need the values of the next iteration: they are written after the body.
    given = [f"%c{number}{n}" for number in range(len(carried))]
    first = len(e.lines)
    e.lines += [""] * len(carried)
    updates = body(i, given)
    _close(e, n, span[1], by)
    results = []
    for number, ((kind, start), value) in enumerate(zip(carried, updates, strict=True)):
        phi = f"phi {kind} [ {start}, %before{n} ], [ {value}, %close{n} ]"
        e.lines[first + number] = f"  {given[number]} = {phi}"
        results.append(e.value(phi))
    return results


@contextmanager
def loop(e: Emitter, begin: str, end: str, by: int | str = 1) -> Iterator[str]:
    """for i in range(begin, end, by): what is emitted inside."""
    n = e.fresh("loop")
    yield _open(e, n, begin, end)
    _close(e, n, end, by)


def block_end(e: Emitter, begin: str, size: int, end: str) -> str:
    """min(begin + size, end): where a block of a range ends."""
    stop = e.value(f"add i64 {begin}, {size}")
    over = e.value(f"icmp sgt i64 {stop}, {end}")
    return e.value(f"select i1 {over}, i64 {end}, i64 {stop}")


def _guard(e: Emitter, n: str, begin: str, end: str) -> None:
    """Enter block n if begin < end, else skip to its exit."""
    e.line(f"br label %before{n}")
    e.label(f"before{n}")
    e.line(f"%any{n} = icmp slt i64 {begin}, {end}")
    e.line(f"br i1 %any{n}, label %{n}, label %done{n}")
    e.label(n)


def _open(e: Emitter, n: str, begin: str, end: str) -> str:
    """The head of a loop; its induction variable."""
    _guard(e, n, begin, end)
    e.line(f"%i{n} = phi i64 [ {begin}, %before{n} ], [ %next{n}, %close{n} ]")
    return f"%i{n}"


def _close(e: Emitter, n: str, end: str, by: int | str) -> None:
    """The latch of a loop, and its exit block."""
    e.line(f"br label %close{n}")
    e.label(f"close{n}")
    e.line(f"%next{n} = {e.freeze(f'add nuw nsw i64 %i{n}, {by}')}")
    e.line(f"%more{n} = icmp slt i64 %next{n}, {end}")
    e.line(f"br i1 %more{n}, label %{n}, label %done{n}")
    e.label(f"done{n}")


def _mask(e: Emitter, i: str, end: str, lanes: int) -> str:
    """Which lanes of the vector at i are before the end."""
    left = e.value(f"sub i64 {end}, {i}")
    before, e.lanes = e.lanes, 0
    few = e.call("smin", I64, [left, str(lanes)])
    count = e.value(f"trunc i64 {few} to i32")
    e.lanes = lanes
    counts = e.splat(I32, count)
    e.lanes = before
    return e.value(f"icmp ugt <{lanes} x i32> {counts}, {lane_indices('i32', lanes)}")


def lane_indices(llvm: str, lanes: int) -> str:
    """The constant vector 0, 1, 2, ..."""
    return f"<{', '.join(f'{llvm} {lane}' for lane in range(lanes))}>"
