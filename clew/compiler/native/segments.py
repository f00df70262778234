"""Segments: runs of instructions that are one command list, and the memory that it works in.

Values that nobody else reads lie in one arena, in which memory is used again as soon as it is free.
What an accumulated gradient, a view or a later instruction needs is an array of its own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from clew.compiler.graph import (
    ACCUMULATE,
    CALL,
    COMPUTED,
    GRAD,
    STATE,
    VIEW,
    Instruction,
    Value,
)
from clew.compiler.native.calls import Call, Calls, stop_unless_zero
from clew.compiler.native.layouts import (
    STREAM,
    Constant,
    Declined,
    Layout,
    Provided,
    Roots,
    Temporary,
)
from clew.compiler.native.optimizer_steps import OptimizerStep
from clew.core.tensor import Tensor
from clew.kernels.compiled.command_list import Command, CommandList, Pointer
from clew.kernels.runtime.command_interpreter import MOST_POINTERS

_ALIGNMENT = 64


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


def count_additions(leaves: Iterable[Tensor]) -> None:
    """Note that gradients of leaves were written to."""
    for leaf in leaves:
        assert leaf._grad is not None
        leaf._grad._storage.bump("AccumulateGrad", None)


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
        # Gradients of leaves which lie, until then, in memory that nobody else uses.
        self.given: dict[Value, Layout] = {}
        # Whether it draws random numbers: it holds the lock of the generator meanwhile.
        self.draws = False
        self.has_pending = False
        self.pointers = 0
        self.inputs: list[Value] = []
        self.outputs: list[Value] = []
        self.arena_size = 0
        self.constants: list[np.ndarray] = []
        # The dtypes of the numbers that are checked.
        self.wrong: list[np.dtype] = []
        # Steps of optimizers, which give memory to each run.
        self.steps: list[OptimizerStep] = []
        # How many of the numbers above each of them waits for.
        self.stops: list[int] = []
        # How many of them end the commands, so far.
        self.stopped = 0
        # Leaves to whose gradients something was added.
        self.added: list[Tensor] = []

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
        if instruction.kind == ACCUMULATE:
            self.added.append(instruction.detail)
        self.calls += [
            each._replace(operands=tuple(map(self._placed, each.operands))) for each in made.calls
        ]
        self.checks += made.checks
        self.draws |= made.draws
        self.has_pending |= any(each.is_async for each in made.calls)
        self.pointers += sum(len(each.operands) for each in made.calls)

    def owns(self, root: Value) -> bool:
        """Whether it may write to memory: its own, or what is guarded to be as it was captured."""
        if root.kind in (STATE, GRAD) or root in self.given:
            return True
        return any(root in each.outputs for each in self.members)

    def _placed(self, operand: Layout) -> Layout:
        """Where an operand lies while the segment runs."""
        place = self.given.get(operand.root)
        if place is None:
            return operand
        return operand._replace(root=place.root, offset=place.offset + operand.offset)

    def defer(self, instruction: Instruction, place: Layout | None) -> None:
        """An accumulated gradient: a leaf gets it when the segment has ended.

        `place` is its memory until then, which nobody else uses; None: nobody may read it.
        """
        self.after.append(instruction)
        self.read_after.update(value.alias for value in instruction.reads())
        outs = [out for out in instruction.outputs if out is not None]
        self.written_after.update(value.alias for value in (*instruction.writes(), *outs))
        if place is not None:
            self.given[outs[0]] = place

    def add_step(self, instruction: Instruction, roots: Roots) -> bool:
        """Make an optimizer's step here, if all its gradients are memory that is known."""
        given = {each.outputs[0]: each.inputs[0] for each in self._given()}
        gradients = [given.get(value, value) for value in instruction.reads()]
        after = (each.inputs[0] for each in self._given())
        # What leaves get later must not be memory that the step writes.
        if any(roots[value].kind != COMPUTED for value in after):
            return False
        if any(value.alias in self.written_after - given.keys() for value in gradients):
            return False
        step: OptimizerStep = instruction.detail
        try:
            made = step.lowered([roots.layout(value) for value in gradients])
        except Declined:
            return False
        if self.pointers + sum(len(each.operands) for each in made.calls) > MOST_POINTERS:
            return False
        self.stop()
        self.add(instruction, made)
        self.steps.append(step)
        self.stops.append(self.stopped)
        return True

    def stop(self) -> None:
        """Let nothing that follows run if one of the numbers is not zero: errors come before it."""
        stops = [stop_unless_zero(wrong) for wrong, _, _ in self.checks[self.stopped :]]
        self.calls += stops
        self.pointers += len(stops)
        self.stopped = len(self.checks)

    def _given(self) -> list[Instruction]:
        """What gives leaves gradients of their own after the segment."""
        return [each for each in self.after
                if isinstance(each, Instruction) and each.kind == ACCUMULATE
                and each.inputs[1] is None]  # fmt: skip

    # -- memory ----------------------------------------------------------------------------------

    def finish(self, needed: set[Value], roots: Roots) -> None:
        """Decide where everything lies, now that it is known what others read."""
        views: list[Instruction] = []
        for member in reversed(self.members):
            if member.kind == VIEW and any(out in needed for out in member.outputs):
                views.insert(0, member)
                needed |= roots.with_memory(member.reads())
        checks = [
            Check(f"wrong{self.number}_{place}", function, arguments)
            for place, (_, function, arguments) in enumerate(self.checks)
        ]
        self.after = [*views, *checks, *self.after]
        if self.added:
            count = functools.partial(count_additions, self.added)
            self.after.append(Instruction(CALL, "count", count, (), {}, ()))
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
        first = arena + 1 + len(constants) + len(self.wrong)
        given = [provided for step in self.steps for provided in step.provided]
        given += [STREAM] * self.draws
        for number, provided in enumerate(given, first):
            places[provided] = Pointer(number, 0)
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
        """Give all other memory a place: in that of a result that is not written to yet, or in the
        arena; its size."""
        first: dict[Any, int] = {}
        last: dict[Any, int] = {}
        begun: dict[Any, int] = {}
        pending: list[Any] = []
        apart = {wrong.root for wrong, _, _ in self.checks}
        for index, each in enumerate(self.calls):
            for operand in each.operands:
                root = operand.root
                if root in places:
                    begun.setdefault(root, index)
                if root in places or root in apart or isinstance(root, Constant | Provided):
                    continue
                first.setdefault(root, index)
                last[root] = index
                if each.is_async:
                    pending.append(root)
            if each.name == "wait":
                last.update(dict.fromkeys(pending, index))
                pending.clear()
        # Those that are free for longer are left to others as long as possible.
        outputs = sorted(self.outputs, key=lambda out: begun.get(out, 0))
        blocks = [_Block(places[out].operand, out.nbytes, begun.get(out, 0)) for out in outputs]
        blocks.append(_Block(arena))
        for root in sorted(first, key=lambda each: -_nbytes(each)):
            places[root] = next(
                pointer for block in blocks
                if (pointer := block.place(root, first[root], last[root])) is not None
            )  # fmt: skip
        return blocks[-1].used


class _Block:
    """Memory in which others find a place: until a call that needs it, up to a size."""

    def __init__(self, operand: int, size: int | None = None, until: int | None = None) -> None:
        self.operand, self.size, self.until = operand, size, until
        self.used = 0
        # What lies here: from one byte to another, from one call to another.
        self.placed: list[tuple[int, int, int, int]] = []

    def place(self, root: Any, begin: int, end: int) -> Pointer | None:
        """First fit: the lowest address that is free all the while; None if there is none."""
        if self.until is not None and end >= self.until:
            return None
        offset, nbytes = 0, _nbytes(root)
        for low, high, since, until in self.placed:
            if since <= end and begin <= until and offset < high and low < offset + nbytes:
                offset = high
        if self.size is not None and offset + nbytes > self.size:
            return None
        self.placed.append((offset, offset + nbytes, begin, end))
        self.placed.sort()
        self.used = max(self.used, offset + nbytes)
        return Pointer(self.operand, offset)


def _nbytes(root: Any) -> int:
    nbytes = root.nbytes if isinstance(root, Temporary) else root.size * root.dtype.itemsize
    return -(-max(nbytes, 1) // _ALIGNMENT) * _ALIGNMENT
