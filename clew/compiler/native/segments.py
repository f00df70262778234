"""Segments: runs of instructions that are one command list, and the memory that it works in.

Values that nobody else reads lie in one arena, in which memory is used again as soon as it is free.
What an accumulated gradient, a view or a later instruction needs is an array of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import numpy as np

from clew.compiler.graph import (
    ACCUMULATE,
    CALL,
    GRAD,
    STATE,
    STORE,
    VIEW,
    Graph,
    Instruction,
    Value,
)
from clew.compiler.native.calls import Call, Calls
from clew.compiler.native.layouts import (
    Constant,
    Declined,
    Layout,
    Roots,
    Temporary,
    memory_order,
)
from clew.compiler.native.rules import lowered
from clew.compiler.passes.overlap import finish_products
from clew.kernels.compiled.command_list import Command, CommandList, Pointer
from clew.kernels.runtime.command_interpreter import MOST_ARGUMENTS, MOST_POINTERS

_ALIGNMENT = 64
# A segment of fewer calls is not worth its own.
_FEWEST_CALLS = 2


class Check:
    """After a segment: a function that raises, unless a number that was computed is zero."""

    outputs: tuple[Value | None, ...] = ()
    seconds, scratch = 0.0, 0

    def __init__(self, wrong: str, function: Callable[..., Any], given: tuple[Any, ...]) -> None:
        # The name of the number in the program's text.
        self.wrong = wrong
        self.function = function
        self.arguments = [each.value if isinstance(each, Layout) else each for each in given]

    def reads(self) -> list[Value]:
        return [each for each in self.arguments if isinstance(each, Value)]


class Segment:
    """Instructions that run as one command list.

    `inputs` are the values that it reads from outside, `outputs` those that it makes for others.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        # Views are among them: they cost nothing inside.
        self.members: list[Instruction] = []
        self.calls: list[Call] = []
        self.checks: list[tuple[Layout, Callable[..., Any], tuple[Any, ...]]] = []
        # Gradients that leaves get, and views that others need, after the segment has run.
        self.after: list[Instruction | Check] = []
        # Memory that these will read or write.
        self.read_after: set[Value] = set()
        self.written_after: set[Value] = set()
        self.has_pending = False
        self.pointers = 0
        self.inputs: list[Value] = []
        self.outputs: list[Value] = []
        self.arena_size = 0
        self.constants: list[np.ndarray] = []
        # The dtypes of the numbers that are checked.
        self.wrong: list[np.dtype] = []

    def reads(self) -> list[Value]:
        """The values that it takes from outside."""
        return self.inputs

    @property
    def seconds(self) -> float:
        return sum(each.seconds for each in self.members)

    @property
    def scratch(self) -> int:
        return self.arena_size

    def add(self, instruction: Instruction, made: Calls) -> None:
        self.members.append(instruction)
        self.calls += made.calls
        self.checks += made.checks
        self.has_pending |= any(each.is_async for each in made.calls)
        self.pointers += sum(len(each.operands) for each in made.calls)

    def owns(self, root: Value) -> bool:
        """Whether it may write to memory: its own, or what is guarded to be as it was captured."""
        if root.kind in (STATE, GRAD):
            return True
        return any(root in each.outputs for each in self.members)

    def defer(self, instruction: Instruction) -> None:
        """An accumulated gradient: nobody reads it before the segment ends."""
        self.after.append(instruction)
        self.read_after.update(value.alias for value in instruction.reads())
        outs = [out for out in instruction.outputs if out is not None]
        self.written_after.update(value.alias for value in (*instruction.writes(), *outs))

    def conflicts(self, instruction: Instruction) -> bool:
        """Whether an instruction must come after those that are deferred."""
        if any(value.alias in self.written_after for value in instruction.reads()):
            return True
        return any(value.alias in self.read_after for value in instruction.writes())

    # -- memory ----------------------------------------------------------------------------------

    def finish(self, needed: set[Value], roots: Roots) -> None:
        """Decide where everything lies, now that it is known what others read."""
        views: list[Instruction] = []
        for member in reversed(self.members):
            if member.kind == VIEW and any(out in needed for out in member.outputs):
                views.insert(0, member)
                needed |= _with_memory(member.reads(), roots)
        checks = [
            Check(f"wrong{self.number}_{place}", function, arguments)
            for place, (_, function, arguments) in enumerate(self.checks)
        ]
        self.after = [*views, *checks, *self.after]
        made = {out for each in self.members if each.kind != VIEW for out in each.outputs}
        own = {out for out in made if out is not None}
        self.outputs = sorted(own & needed, key=lambda each: each.number)
        read: dict[Value, None] = {}
        for each in self.calls:
            for operand in each.operands:
                if isinstance(operand.root, Value) and operand.root not in own:
                    read[operand.root] = None
        self.inputs = list(read)
        self._compile()

    def _compile(self) -> None:
        places: dict[Any, Pointer] = {}
        for root in (*self.inputs, *self.outputs):
            places[root] = Pointer(len(places), 0)
        arena = len(places)
        self.arena_size = self._plan_arena(places, arena)
        constants: dict[Any, np.ndarray] = {}
        for each in self.calls:
            for operand in each.operands:
                if isinstance(operand.root, Constant) and operand.root not in places:
                    constants[operand.root] = operand.root.array
                    places[operand.root] = Pointer(arena + len(constants), 0)
        self.constants = list(constants.values())
        for wrong, _, _ in self.checks:
            places[wrong.root] = Pointer(arena + 1 + len(constants) + len(self.wrong), 0)
            self.wrong.append(wrong.dtype)
        commands = [
            Command(
                each.function, each.data,
                tuple(Pointer(places[o.root].operand, places[o.root].offset + o.offset)
                      for o in each.operands),
                each.loops.sizes, each.loops.strides, each.loops.outer,
            )
            for each in self.calls
        ]  # fmt: skip
        self.commands = CommandList(commands)

    def _plan_arena(self, places: dict[Any, Pointer], arena: int) -> int:
        """Give all other memory a place in the arena; its size."""
        first: dict[Any, int] = {}
        last: dict[Any, int] = {}
        pending: list[Any] = []
        apart = {wrong.root for wrong, _, _ in self.checks}
        for index, each in enumerate(self.calls):
            for operand in each.operands:
                root = operand.root
                if root in places or root in apart or isinstance(root, Constant):
                    continue
                first.setdefault(root, index)
                last[root] = index
                if each.is_async:
                    pending.append(root)
            if each.name == "wait":
                last.update(dict.fromkeys(pending, index))
                pending.clear()
        return _packed(first, last, places, arena)


def _packed(
    first: dict[Any, int], last: dict[Any, int], places: dict[Any, Pointer], arena: int
) -> int:
    """First fit: each block at the lowest address that is free all the while."""
    placed: list[tuple[int, int, int, int]] = []
    size = 0
    for root in sorted(first, key=lambda each: -_nbytes(each)):
        begin, end, nbytes = first[root], last[root], _nbytes(root)
        offset = 0
        for low, high, since, until in placed:
            if since <= end and begin <= until and offset < high and low < offset + nbytes:
                offset = high
        placed.append((offset, offset + nbytes, begin, end))
        placed.sort()
        places[root] = Pointer(arena, offset)
        size = max(size, offset + nbytes)
    return size


def _nbytes(root: Any) -> int:
    nbytes = root.nbytes if isinstance(root, Temporary) else root.size * root.dtype.itemsize
    return -(-max(nbytes, 1) // _ALIGNMENT) * _ALIGNMENT


# -- choosing ------------------------------------------------------------------------------------


Item = Instruction | Segment | Check


def segmented(graph: Graph, cuts: Collection[Instruction] = ()) -> list[Item]:
    """The instructions of a graph, with segments where several in a row have a native form.

    What a segment is given and makes takes memory as long as it runs: it ends before each of
    `cuts`.
    """
    roots = Roots(graph)
    items: list[Instruction | Segment] = []
    segment = Segment(0)

    def close() -> None:
        nonlocal segment
        if segment.has_pending:
            segment.add(*_wait(roots))
        if len(segment.calls) >= _FEWEST_CALLS:
            items.append(segment)
        else:
            items.extend(segment.members)
            items.extend(each for each in segment.after if isinstance(each, Instruction))
        segment = Segment(len(items))

    for instruction in graph.instructions:
        is_full = segment.pointers > MOST_POINTERS - 2 * MOST_ARGUMENTS
        if is_full or instruction in cuts or segment.conflicts(instruction):
            close()
        if instruction.kind == VIEW:
            segment.members.append(instruction)
        elif instruction.kind == ACCUMULATE and segment.calls:
            segment.defer(instruction)
        elif (made := _native(instruction, segment, roots)) is not None:
            segment.add(instruction, made)
        else:
            close()
            items.append(instruction)
    close()
    _finish(graph, items, roots)
    flat: list[Item] = []
    for item in items:
        flat.append(item)
        if isinstance(item, Segment):
            flat += item.after
    return flat


def _native(instruction: Instruction, segment: Segment, roots: Roots) -> Calls | None:
    if instruction.kind == CALL and not segment.has_pending:
        return None
    try:
        made = lowered(instruction, roots)
    except Declined:
        return None
    for out in instruction.outputs:
        # Some operations give back what they are given.
        if out is not None and (out.alias is not out or out in instruction.reads()):
            return None
        if out is not None and memory_order(out) is None:
            return None
    if instruction.kind == STORE and not segment.owns(roots[instruction.inputs[0]]):
        return None
    if any(len(each.operands) > MOST_ARGUMENTS for each in made.calls):
        return None
    if instruction.kind == CALL:
        segment.has_pending = False
    return made


def _wait(roots: Roots) -> tuple[Instruction, Calls]:
    instruction = Instruction(CALL, "wait", finish_products, (), {}, ())
    return instruction, lowered(instruction, roots)


def _finish(graph: Graph, items: Sequence[Instruction | Segment], roots: Roots) -> None:
    """Tell every segment what others read of its values, the last first: views that one makes for
    others may be views of what an earlier one made."""
    for item in reversed(items):
        if not isinstance(item, Segment):
            continue
        needed = set(graph.results)
        for other in items:
            if other is item:
                needed.update(v for each in item.after for v in each.reads())
                arguments = (each for _, _, given in item.checks for each in given)
                needed.update(each.value for each in arguments
                              if isinstance(each, Layout) and each.value is not None)  # fmt: skip
            elif isinstance(other, Segment):
                # It needs the memory; views it knows by their layout.
                needed.update(roots[v] for each in other.members for v in each.reads())
                needed.update(v for each in other.after for v in each.reads())
            else:
                needed.update(other.reads())
        item.finish(_with_memory(needed, roots), roots)


def _with_memory(values: Iterable[Value], roots: Roots) -> set[Value]:
    return {each for value in values for each in (value, roots[value])}
