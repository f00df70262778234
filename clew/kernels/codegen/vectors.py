"""Loops over vectors: the body works on some elements at once, the last ones with a mask.

The vectors are there in the LLVM IR already: if LLVM has to find them in loops over single
elements, compiling takes several times as long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from clew.kernels.codegen.emitter import ITEMSIZE, Emitter
from clew.kernels.codegen.ir import I32, Expr

# The bytes of a vector, where the machine has no such registers, of some of them.
BYTES = 64
# Operations for each element, and so many vectors then go through them side by side. The body is
# there once for each, and once for the last elements; with more operations than these only once.
TOGETHER = ((8, 4), (60, 2), (200, 1))

# Values that one turn hands on to the next: an LLVM type, and what the first turn gets.
Carried = list[tuple[str, str]]
Body = Callable[[str, list[str]], list[str]]


def lanes_for(dtypes: Iterable[str]) -> int:
    """So many elements that those of the widest type in memory fill a vector."""
    return BYTES // max([4, *(ITEMSIZE[dtype] for dtype in dtypes)])


def turns_for(exprs: Iterable[Expr]) -> int:
    """How many vectors go through the expressions side by side; 0 if all vectors have a mask."""
    operations = sum(each.op not in ("const", "input") for each in exprs)
    return next((count for most, count in TOGETHER if operations <= most), 0)


def over_vectors(
    e: Emitter,
    span: tuple[str, str],
    lanes: int,
    together: int,
    body: Body,
    carried: Carried | None = None,
    is_whole: bool = False,
) -> list[str]:
    """for i in range(begin, end, lanes): carried = body(i, carried); returns the last ones.

    Without lanes, i is every number. `together` vectors go side by side, each with carried values
    of its own, all of which are returned, those of the first vector first. The last vectors have a
    mask; if it is 0, all have. Where the span is whole turns, none has.
    """
    begin, end = span
    each = list(carried or [])
    if not lanes:
        return carrying_loop(e, span, 1, body, each)
    values = each * max(together, 1)
    if is_whole:
        return _loop(e, span, lanes, max(together, 1), body, values, masked=False)
    if together:
        size = e.value(f"sub i64 {end}, {begin}")
        some = e.value(f"call i64 @llvm.smax.i64(i64 {size}, i64 0)")
        whole = e.value(f"and i64 {some}, {-lanes * together}")
        e.declare("i64 @llvm.smax.i64(i64, i64)")
        middle = e.value(f"add i64 {begin}, {whole}")
        found = _loop(e, (begin, middle), lanes, together, body, values, masked=False)
        values = [(kind, value) for (kind, _), value in zip(values, found, strict=True)]
        begin = middle
    first, others = values[: len(each)], values[len(each) :]
    if together == 1:
        last = _once(e, (begin, end), lanes, body, first)
    else:
        last = _loop(e, (begin, end), lanes, 1, body, first, masked=True)
    return [*last, *(value for _, value in others)]


def _once(e: Emitter, span: tuple[str, str], lanes: int, body: Body, carried: Carried) -> list[str]:
    """The turn for what is left, if it is less than a vector."""
    begin, end = span
    n = e.fresh("rest")
    e.line(f"br label %before{n}")
    e.label(f"before{n}")
    e.line(f"%any{n} = icmp slt i64 {begin}, {end}")
    e.line(f"br i1 %any{n}, label %{n}, label %done{n}")
    e.label(n)
    e.lanes, e.mask = lanes, _mask(e, begin, end, lanes)
    updates = body(begin, [start for _, start in carried])
    e.lanes, e.mask = 0, ""
    e.line(f"br label %done{n}")
    e.label(f"done{n}")
    return [
        e.value(f"phi {kind} [ {start}, %before{n} ], [ {value}, %{n} ]")
        for (kind, start), value in zip(carried, updates, strict=True)
    ]


def _loop(
    e: Emitter,
    span: tuple[str, str],
    lanes: int,
    together: int,
    body: Body,
    carried: Carried,
    masked: bool,
) -> list[str]:
    each = len(carried) // together

    def turns(i: str, given: list[str]) -> list[str]:
        e.lanes, e.mask = lanes, _mask(e, i, span[1], lanes) if masked else ""
        updates: list[str] = []
        # All loads come before the stores: the processor need not find out that they differ.
        e.later = []
        for turn in range(together):
            place = e.value(f"add i64 {i}, {turn * lanes}") if turn else i
            updates += body(place, given[turn * each : (turn + 1) * each])
        e.lines += e.later
        e.lanes, e.mask, e.later = 0, "", None
        return updates

    return carrying_loop(e, span, lanes * together, turns, carried)


def carrying_loop(
    e: Emitter, span: tuple[str, str], by: int | str, body: Body, carried: Carried
) -> list[str]:
    """for i in range(begin, end, by): carried = body(i, carried); returns the last ones."""
    begin, end = span
    n = e.fresh("turn")
    e.line(f"br label %before{n}")
    e.label(f"before{n}")
    e.line(f"%any{n} = icmp slt i64 {begin}, {end}")
    e.line(f"br i1 %any{n}, label %{n}, label %done{n}")
    e.label(n)
    e.line(f"%i{n} = phi i64 [ {begin}, %before{n} ], [ %next{n}, %close{n} ]")
    # These lines can be written when the body is there.
    given = [f"%c{number}{n}" for number in range(len(carried))]
    first = len(e.lines)
    e.lines += [""] * len(carried)
    updates = body(f"%i{n}", given)
    e.line(f"br label %close{n}")
    e.label(f"close{n}")
    e.line(f"%next{n} = {e.opaque(f'add nuw nsw i64 %i{n}, {by}')}")
    e.line(f"%more{n} = icmp slt i64 %next{n}, {end}")
    e.line(f"br i1 %more{n}, label %{n}, label %done{n}")
    e.label(f"done{n}")
    results = []
    for number, ((kind, start), value) in enumerate(zip(carried, updates, strict=True)):
        phi = f"phi {kind} [ {start}, %before{n} ], [ {value}, %close{n} ]"
        e.lines[first + number] = f"  {given[number]} = {phi}"
        results.append(e.value(phi))
    return results


def _mask(e: Emitter, i: str, end: str, lanes: int) -> str:
    """Which lanes of a vector from i on are before the end."""
    left = e.value(f"sub i64 {end}, {i}")
    e.declare("i64 @llvm.smin.i64(i64, i64)")
    few = e.value(f"call i64 @llvm.smin.i64(i64 {left}, i64 {lanes})")
    count = e.value(f"trunc i64 {few} to i32")
    before, e.lanes = e.lanes, lanes
    counts = e.spread(I32, count)
    e.lanes = before
    return e.value(f"icmp ugt <{lanes} x i32> {counts}, {numbered('i32', lanes)}")


def numbered(llvm: str, lanes: int) -> str:
    """0, 1, 2, ... in the lanes of a vector."""
    return f"<{', '.join(f'{llvm} {lane}' for lane in range(lanes))}>"
