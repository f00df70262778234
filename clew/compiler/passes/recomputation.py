"""Recomputation: values that take much memory are computed again where they are needed.

What may run twice is what gives the same bits twice: no random numbers, no writes, nothing that has
read memory which was overwritten since. Views cost nothing and follow the memory that they show.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from clew.compiler.graph import (
    ACCUMULATE,
    BACKWARD,
    COMPUTE,
    COMPUTED,
    FUSED,
    VIEW,
    Graph,
    Instruction,
    Value,
    is_barrier,
    mapped,
)
from clew.compiler.memory.schedule import Problem, Step
from clew.compiler.side_effects import Clear

_PURE = frozenset({COMPUTE, FUSED, BACKWARD})


def is_step(instruction: Instruction) -> bool:
    """Whether an instruction is a step of a schedule: all are, but views of one memory."""
    if instruction.kind != VIEW or instruction.has_effect:
        return True
    reads = {value.alias for value in instruction.reads()}
    return any(out is not None and reads != {out.alias} for out in instruction.outputs)


class Blocks:
    """The blocks of memory that instructions compute, by number.

    `taken` are those that give a leaf the memory that its gradient was computed in.
    """

    def __init__(self, items: Sequence[Any], taken: Collection[Instruction]) -> None:
        self.sizes: list[int] = []
        self._numbers: dict[Value, int] = {}
        for item in items:
            for out in item.outputs:
                if out is None or out.alias is not out or out.kind != COMPUTED:
                    continue
                if item in taken:
                    self._numbers[out] = self._numbers[item.inputs[0].alias]
                elif out not in self._numbers:
                    self._numbers[out] = len(self.sizes)
                    self.sizes.append(out.nbytes)

    def of(self, values: Sequence[Value | None]) -> list[int]:
        """The blocks that some values lie in, each once."""
        roots = [value.alias for value in values if value is not None]
        return list(dict.fromkeys(self._numbers[root] for root in roots if root in self._numbers))


def problem_of(
    items: Sequence[Any],
    returned: Sequence[Value],
    taken: Collection[Instruction],
    resident: int,
    again_until: Sequence[int] | None = None,
) -> Problem:
    """Instructions (or what else reads and makes values) as steps on blocks of memory.

    `resident` are the bytes that are there besides, `again_until` says which may run again.
    """
    blocks = Blocks(items, taken)
    steps, made, results = [], set[int](), set(blocks.of(returned))
    for number, item in enumerate(items):
        makes = [each for each in blocks.of(item.outputs) if each not in made]
        made.update(makes)
        reads = tuple(each for each in blocks.of(item.reads()) if each not in makes)
        last = -1 if again_until is None or not makes else again_until[number]
        steps.append(Step(reads, tuple(makes), item.seconds, item.scratch, last))
        if isinstance(item, Instruction) and item.kind == ACCUMULATE:
            results.update(blocks.of(item.outputs))
    return Problem(steps, blocks.sizes, frozenset(results), _resident(items, resident))


def _resident(items: Sequence[Any], nbytes: int) -> list[int]:
    """Gradients of the call before are there until they are dropped."""
    found, old = [], 0
    for item in reversed(items):
        if isinstance(item, Instruction) and isinstance(item.detail, Clear):
            grads = [leaf._grad for leaf in item.detail.leaves]
            old += sum(grad._array.nbytes for grad in grads if grad is not None)
        found.append(nbytes + old)
    return found[::-1]


def again_until(graph: Graph) -> list[int]:
    """For each step the last one before which it may run again, or -1."""
    instructions = [each for each in graph.instructions if is_step(each)]
    written = {value.alias for each in graph.instructions for value in each.writes()}
    shared = {
        value.alias
        for each in graph.instructions
        for value in each.outputs
        if value is not None and is_step(each) and (value.alias is not value)
    }
    # The next step that overwrites each memory, or calls what may, seen from the end.
    overwritten: dict[Value, int] = {}
    barrier = len(instructions)
    found = []
    for number in reversed(range(len(instructions))):
        instruction = instructions[number]
        operands = set(instruction.reads())
        last = min([overwritten.get(value.alias, len(instructions)) for value in operands],
                   default=len(instructions))  # fmt: skip
        if any(value.alias.kind != COMPUTED for value in operands):
            last = min(last, barrier)
        outs = [out for out in instruction.outputs if out is not None]
        is_own = all(out.alias is out and out not in written and out not in shared for out in outs)
        is_pure = instruction.kind in _PURE and not instruction.has_effect
        again = is_pure and is_own and operands.isdisjoint(outs)
        found.append(last if again else -1)
        for value in instruction.writes():
            overwritten[value.alias] = number
        if is_barrier(instruction):
            barrier = number
    return found[::-1]


class _Rewriting:
    """Writes down the instructions of a schedule: what runs again makes values of its own."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.result = Graph()
        self.result.values = list(graph.values)
        # The present copy of each value that was made again.
        self.copies: dict[Value, Value] = {}
        self.views = {
            out: each
            for each in graph.instructions
            if not is_step(each)
            for out in each.outputs
            if out is not None
        }
        # What each view was made of when it was last written down.
        self.shown: dict[Value, list[Value]] = {}

    def run(self, schedule: Sequence[int]) -> Graph:
        instructions = [each for each in self.graph.instructions if is_step(each)]
        seen: set[int] = set()
        for number in schedule:
            self._write(instructions[number], number in seen)
            seen.add(number)
        self.result.results = [self._present(value) for value in self.graph.results]
        return self.result

    def _write(self, instruction: Instruction, is_again: bool) -> None:
        def present(leaf: object) -> object:
            return self._present(leaf) if isinstance(leaf, Value) else leaf

        inputs, params = mapped((instruction.inputs, instruction.params), present)
        outputs = instruction.outputs
        if is_again:
            outputs = tuple(None if out is None else self._copy(out) for out in outputs)
        copy = Instruction(
            instruction.kind, instruction.name, instruction.detail, inputs, params, outputs,
            instruction.where, instruction.is_random,
        )  # fmt: skip
        copy.grad_enabled = instruction.grad_enabled
        copy.seconds, copy.scratch = instruction.seconds, instruction.scratch
        self.result.instructions.append(copy)

    def _copy(self, value: Value) -> Value:
        alias = None if value.alias is value else self._present(value.alias)
        copy = self.copies[value] = self.result.copy_value(value, alias)
        return copy

    def _present(self, value: Value) -> Value:
        """The value that is there now for one of the graph as it was."""
        view = self.views.get(value)
        if view is not None:
            # A view is made when it is needed, of the memory that is there then.
            operands = [self._present(each) for each in view.reads()]
            if self.shown.get(value) != operands:
                self.shown.update((out, operands) for out in view.outputs if out is not None)
                self._write(view, operands != view.reads())
        return self.copies.get(value, value)


def rescheduled(graph: Graph, schedule: Sequence[int]) -> Graph:
    """A graph whose steps run in the order of a schedule, some of them again."""
    return _Rewriting(graph).run(schedule)
