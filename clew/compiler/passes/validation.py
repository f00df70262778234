"""What every pass must leave as it is: who reads which state of which memory.

Passes move, merge and drop instructions. An instruction that is still there, by itself or as part
of a fused kernel, must read memory after the same writes as before, and writes must come in the
same order.
"""

from __future__ import annotations

from collections.abc import Iterator

from clew.compiler.graph import FUSED, Graph, Instruction, Value

# For each instruction how often the memory of each of its operands was written to before it.
Versions = dict[Instruction, tuple[tuple[Value, int], ...]]


def versions(graph: Graph) -> Versions:
    """The states of memory that instructions read."""
    written: dict[Value, int] = {}
    # How often the memory of a value had been written to when it was computed.
    made: dict[Value, int] = {}
    found: Versions = {}
    for instruction in graph.instructions:
        inside: set[Value | None] = set()
        for each in _parts(instruction):
            if any(written.get(v.alias, 0) != made[v] for v in each.reads() if v in inside):
                raise AssertionError(f"it reads what was computed again without writes: {each}")
            for out in each.outputs:
                if out is not None:
                    made.setdefault(out, written.get(out.alias, 0))
            if each is not instruction:
                inside.update(each.outputs)
            read = {value.alias for value in each.reads()}
            state = tuple(sorted(((v, written.get(v, 0)) for v in read), key=_number))
            if found.setdefault(each, state) != state:
                raise AssertionError(f"it reads other memory where it is computed again: {each}")
        for value in instruction.writes():
            written[value.alias] = written.get(value.alias, 0) + 1
    return found


def _parts(instruction: Instruction) -> Iterator[Instruction]:
    """The instruction, and those that a fused kernel is made of."""
    yield instruction
    if instruction.kind == FUSED:
        yield from instruction.detail.members


def _number(entry: tuple[Value, int]) -> int:
    return entry[0].number


def compare(name: str, before: Versions, after: Versions) -> None:
    """Raise if an instruction reads another state of memory than before a pass."""
    for instruction, state in after.items():
        was = dict(before.get(instruction, state))
        for value, version in state:
            # Values that a pass has put in place of others are not among those of before.
            if was.get(value, version) != version:
                raise AssertionError(
                    f"after {name}, this reads {value!r} after {version} writes, and not after "
                    f"{was[value]}: {instruction}"
                )
