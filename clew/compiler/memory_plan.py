"""Memory on a budget: the program of a graph that fits, and what it computes again for that.

The peak of a program is known before it runs: what is there besides (parameters, state of
optimizers, arguments), the values that live at each moment, and what instructions need while they
run. Where it is above the budget, products are not started early, then values are computed again,
then segments are cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from clew.compiler.graph import (
    CALL,
    COMPUTED,
    CONSTANT,
    GRAD,
    STATE,
    VIEW,
    Graph,
    Instruction,
    Value,
)
from clew.compiler.instruction_costs import measure
from clew.compiler.memory.eviction import cheapest, smallest
from clew.compiler.memory.schedule import Problem, peak, profile, seconds_of
from clew.compiler.native.segments import Segment
from clew.compiler.passes.overlap import finish_products, overlap_products, start_product
from clew.compiler.passes.recomputation import again_until, is_step, problem_of, rescheduled
from clew.compiler.program import Program, taken_gradients
from clew.core.tensor import Tensor
from clew.forking import cached_property
from clew.kernels.numpy.strides import owner_of
from clew.memory import NO_LIMIT, MemoryBudgetError, size_text

# What Python needs for an array besides its elements, and for a call.
_PER_BLOCK, _PER_CALL = 192, 32 << 10
# How often a plan is made with less memory, because its program needs more than the plan says.
_ATTEMPTS = 6
# How much more memory segments may need than their instructions, and how often they are cut.
_TOLERATED, _TOLERATED_BYTES, _ROUNDS = 0.02, 5 << 18, 3
# The least memory is told to this part of it.
_PRECISION = 0.01


class MemoryPlan(NamedTuple):
    """The program that a budget leads to."""

    budget: int
    program: Program
    # The most memory that it needs at one time; what of that is there before it runs.
    peak: int
    resident: int
    # The instructions that run again, with the number of times.
    again: dict[str, int]
    # The time of all instructions, and of those that run again.
    seconds: float
    extra_seconds: float


class Planner:
    """Plans for one graph, which all passes but the last have seen.

    `resident` are the bytes of what is there when the program starts, and stays.
    """

    def __init__(self, graph: Graph, tensors: Sequence[Tensor]) -> None:
        self.graph = graph
        measure(graph, tensors)
        self.resident = resident_bytes(graph, tensors) + copied_bytes(graph) + _PER_CALL
        instructions = [each for each in graph.instructions if is_step(each)]
        self.problem = _padded(
            problem_of(
                instructions, graph.results, taken_gradients(graph), self.resident,
                again_until(graph),
            )
        )  # fmt: skip
        self.seconds = seconds_of(self.problem, self.problem.once)

    def plan(self, budget: int) -> MemoryPlan | None:
        """The fastest plan within a budget that was found, or None."""
        target = budget
        first = schedule = cheapest(self.problem, target) or self._smallest_within(target)
        for _ in range(_ATTEMPTS):
            if schedule is None:
                break
            found = self._fitting(schedule, budget)
            if found.peak <= budget:
                return found
            target -= found.peak - budget
            schedule = cheapest(self.problem, target)
        if first is None:
            return None
        # Without segments, memory is what the schedule says.
        program = Program(rescheduled(self.graph, first), cuts=None)
        return self._made(first, budget, program, max(memory_of(program, self.resident)))

    def least(self) -> MemoryPlan:
        """The plan that needs the least memory."""
        schedule = self._smallest
        program = Program(rescheduled(self.graph, schedule), cuts=None)
        return self._made(schedule, 0, program, max(memory_of(program, self.resident)))

    @cached_property
    def _smallest(self) -> list[int]:
        return smallest(self.problem, _PRECISION)

    def _smallest_within(self, budget: int) -> list[int] | None:
        """The schedule that needs the least memory, if it fits where no faster one was found."""
        return self._smallest if peak(self.problem, self._smallest) <= budget else None

    def curve(self, points: int = 8) -> list[MemoryPlan]:
        """Plans from all the memory that the call can use down to the least."""
        most, least = self._fitting(self.problem.once, NO_LIMIT), self.least()
        found = [most]
        for number in range(1, points - 1):
            budget = most.peak - (most.peak - least.peak) * number // (points - 1)
            plan = self.plan(budget)
            if plan is not None and plan.peak < found[-1].peak:
                found.append(plan)
        return [*found, least] if least.peak < found[-1].peak else found

    def _fitting(self, schedule: list[int], budget: int) -> MemoryPlan:
        """The first program of a schedule that fits, or the one that needs least."""
        plans = (
            self._made(schedule, budget, program, peak)
            for program, peak in self._programs(schedule, budget)
        )
        return min(plans, key=lambda each: each.peak)

    def _made(self, schedule: list[int], budget: int, program: Program, peak: int) -> MemoryPlan:
        extra = seconds_of(self.problem, schedule) - self.seconds
        again = self._again(schedule)
        return MemoryPlan(budget, program, peak, self.resident, again, self.seconds, extra)

    def _programs(self, schedule: list[int], budget: int) -> Iterator[tuple[Program, int]]:
        """The programs of a schedule with their peaks, the fastest first, until one fits."""
        graph = rescheduled(self.graph, schedule)
        overlap_products(graph)
        graph.validate()
        program = Program(graph)
        needed = memory_of(program, self.resident)
        yield program, max(needed)
        if max(needed) <= budget:
            return
        graph = rescheduled(self.graph, schedule)
        cuts: set[Instruction] = set()
        while True:
            program = Program(graph, cuts=cuts)
            needed = memory_of(program, self.resident)
            yield program, max(needed)
            if max(needed) <= budget:
                return
            parts = _parts(program, needed, budget, 2)
            if parts <= cuts:
                return
            cuts |= parts

    def _again(self, schedule: list[int]) -> dict[str, int]:
        instructions = [each for each in self.graph.instructions if is_step(each)]
        seen: set[int] = set()
        found: dict[str, int] = {}
        for number in schedule:
            name = f"{instructions[number].kind} {instructions[number].name}"
            if number in seen:
                found[name] = found.get(name, 0) + 1
            seen.add(number)
        return found


def _padded(problem: Problem) -> Problem:
    return problem._replace(sizes=[size + _PER_BLOCK for size in problem.sizes])


def memory_of(program: Program, resident: int) -> list[int]:
    """The bytes that are needed while each item of a program runs."""
    taken = taken_gradients(program.graph)
    items = _with_pending(program.items)
    problem = _padded(problem_of(items, program.graph.results, taken, resident))
    return profile(problem, problem.once) or [resident]


def _parts(program: Program, needed: list[int], limit: int, count: int) -> set[Instruction]:
    """Where to cut the segments that need more than a limit into so many parts."""
    found: set[Instruction] = set()
    for item, nbytes in zip(program.items, needed, strict=True):
        if nbytes > limit and isinstance(item, Segment):
            members = [each for each in item.members if each.kind != VIEW]
            found.update(members[len(members) * part // count] for part in range(1, count))
            found.discard(members[0])
    return found


def lean_program(graph: Graph) -> Program:
    """The program of a graph, with segments that need about as much memory as their instructions.

    What a segment is given is freed at its end, and what it makes is there from its begin.
    """
    program = Program(graph)
    steps = problem_of(graph.instructions, graph.results, taken_gradients(graph), 0)
    least = max(profile(steps, steps.once), default=0)
    limit = least + max(_TOLERATED_BYTES, int(_TOLERATED * least))
    cuts: set[Instruction] = set()
    for _ in range(_ROUNDS):
        needed = memory_of(program, 0)
        if max(needed) <= limit:
            break
        parts = _parts(program, needed, limit, 4)
        if parts <= cuts:
            break
        cuts |= parts
        program = Program(graph, cuts=cuts)
    return program


class _Wait:
    """Waiting for products: until then, workers need what they read and make."""

    outputs: tuple[Value | None, ...] = ()
    seconds, scratch = 0.0, 0

    def __init__(self, values: list[Value]) -> None:
        self.values = values

    def reads(self) -> list[Value]:
        return self.values


def _with_pending(items: Sequence[Any]) -> list[Any]:
    found: list[Any] = []
    pending: list[Value] = []
    for item in items:
        detail = item.detail if isinstance(item, Instruction) else None
        if detail is start_product:
            pending += [*item.reads(), *[out for out in item.outputs if out is not None]]
        found.append(_Wait(pending) if detail is finish_products else item)
        if detail is finish_products:
            pending = []
    return found


def resident_bytes(graph: Graph, tensors: Sequence[Tensor]) -> int:
    """The bytes of what a graph is given: arguments, state, constants, state of optimizers."""
    arrays: list[Any] = [tensor._array for tensor in tensors]
    used = {value.alias for each in graph.instructions for value in each.reads()}
    for value in graph.values:
        if value.alias in used and value.kind in (STATE, GRAD, CONSTANT):
            source = tensors[value.source] if isinstance(value.source, int) else value.source
            kept = source._grad if value.kind == GRAD else source
            arrays += [kept._array if isinstance(kept, Tensor) else kept]
    for instruction in graph.instructions:
        owner = getattr(instruction.detail, "__self__", None)
        if instruction.kind == CALL and hasattr(owner, "param_groups"):
            arrays += _of_optimizer(owner)
    owners = [owner_of(each) for each in arrays if each is not None]
    return sum({id(each): each.nbytes for each in owners}.values())


def copied_bytes(graph: Graph) -> int:
    """The bytes of state that is copied before a replay that may have to be taken back."""
    if not any(each.may_mismatch for each in graph.instructions):
        return 0
    written = {value.alias for each in graph.instructions for value in each.writes()}
    return sum(value.nbytes for value in written if value.kind != COMPUTED)


def _of_optimizer(optimizer: Any) -> list[Any]:
    """The arrays of an optimizer's parameters, and of what it remembers of them."""
    found = [each._array for group in optimizer.param_groups for each in group["params"]]
    for state in optimizer.state.values():
        found += [each._array for each in state.values() if isinstance(each, Tensor)]
    return found


def too_little(name: str, budget: int, least: int) -> MemoryBudgetError:
    """The error where no plan fits."""
    return MemoryBudgetError(
        f"{name} does not fit into {size_text(budget)}: the least memory that it can run in, with "
        f"all that can be computed again, is {size_text(least)} ({least} bytes)"
    )


def results_with_graph(budget: int) -> MemoryBudgetError:
    """The error where backward is not part of the call, and what is kept for it is not planned."""
    return MemoryBudgetError(
        f"memory={budget} is for whole steps: this call returns a result whose backward comes "
        "later\n  Compile a function that calls backward() itself, or detach what is returned."
    )
