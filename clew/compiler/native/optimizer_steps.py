"""An optimizer's step as part of a segment: its kernels are called from the command list.

The memory of parameters and state is given to each run by the step itself, which first looks
whether they are still what the kernels were planned for; the numbers that the kernels take (the
learning rate, corrections that depend on the number of the step) are computed anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from clew.compiler.graph import CALL, Graph, Instruction, Value
from clew.compiler.native.calls import Call, Calls
from clew.compiler.native.layouts import Declined, Layout, Loops, Provided, row_major
from clew.compiler.native.words import Words
from clew.core.mirror import MIRRORS
from clew.core.storage import Storage
from clew.interrupts import run_to_end
from clew.kernels.compiled.foreach import TYPES
from clew.optim import optimizer as base
from clew.optim.parameterwise import ParameterwiseOptimizer
from clew.optim.step_plan import GroupPlan, StepPlan
from clew.source import Place

_ITEM = np.ndarray.item
_STORAGE = attrgetter("_storage")


class OptimizerStep:
    """The step of one optimizer in a graph. Called, it is a step as Python makes it."""

    def __init__(self, optimizer: Any, where: Place | None) -> None:
        # As a bound method has it.
        self.__self__ = optimizer
        self.where = where
        self.plan: StepPlan | None = None
        # What a program was compiled for: the kernel, dtype and parameters of each group.
        self.form: list[Any] = []
        # The optimizer's state, and the memory in which all that is.
        self.states: Any = None
        self.words: Words | None = None

    def __call__(self) -> None:
        self.__self__.step()

    def is_ready(self) -> bool:
        """Whether a step would now be what its plan says."""
        optimizer = self.__self__
        plan = getattr(optimizer, "_plan", None)
        if plan is not self.plan and not self._takes(plan):
            return False
        if plan is None or not plan.has_groups(optimizer) or _has_hooks(optimizer):
            return False
        if MIRRORS:
            return False
        if optimizer.state is not self.states or self.words is None or not self.words.are_same():
            if not all(group.holds(optimizer.state) for group in plan.groups):
                return False
            self._remember(plan)
        for group, counts in zip(plan.groups, self.counts, strict=True):
            numbers = list(map(_ITEM, counts))
            if not group.take_options() or numbers.count(numbers[0] if numbers else 0) != len(
                counts
            ):
                return False
        return True

    def _takes(self, plan: StepPlan | None) -> bool:
        """Work on the memory of another plan, if its kernels are the same."""
        optimizer = self.__self__
        own_step = "step" in vars(optimizer) or type(optimizer).step is not _STEP
        if plan is None or own_step or any(each.fused.of_step is None for each in plan.groups):
            return False
        form = [(each.fused, each.dtype, each.params) for each in plan.groups]
        if self.form and not _is_same(form, self.form):
            return False
        self.form, self.plan, self.states = form, plan, None
        return True

    def _remember(self, plan: StepPlan) -> None:
        """Keep what a plan works on, and watch it."""
        self.states = self.__self__.state
        self.counts = [_counts(each) for each in plan.groups]
        self.arrays = [array for each in plan.groups for array in each.arrays]
        tensors = [tensor for each in plan.groups for tensor in each.tensors]
        tensors += [s["step"] for each in plan.groups if each.fused.counts for s in each.states]
        self.tensors = tensors
        self.writers = [each._storage for group in plan.groups for each in group.params]
        words = Words()
        watched = [words.attribute(each, "_array") for each in tensors]
        watched += [words.list(each.group["params"]) for each in plan.groups]
        watched += [words.dict(state) for each in plan.groups for state in each.states]
        self.words = words if all(watched) and words.dict(self.states) else None

    # -- in a segment ----------------------------------------------------------------------------

    def lowered(self, gradients: Sequence[Layout]) -> Calls:
        """The calls of the kernels, which take these gradients."""
        c, number = Calls(), 0
        assert self.plan is not None
        self.provided = [Provided() for _ in (*self.plan.groups, *self.arrays)]
        memory = iter(self.provided[len(self.plan.groups) :])
        for place, group in enumerate(self.plan.groups):
            count = len(group.params)
            own = [
                Layout(
                    next(memory), 0, each.shape, row_major(each.shape, each.itemsize), each.dtype
                )
                for each in group.arrays
            ]
            dtype = own[0].dtype
            operands = [Layout(self.provided[place], 0, (), (), dtype)]
            for param in range(count):
                gradient, number = gradients[number], number + 1
                mine = own[param]
                if gradient.dtype is not dtype or gradient.shape != mine.shape:
                    raise Declined("a gradient of another form")
                if not gradient.is_contiguous:
                    raise Declined("a gradient with gaps")
                operands += [mine, gradient, *own[param + count :: count]]
            sizes = (count, group.total, *[each.size for each in own[:count]])
            loops = Loops(sizes, (0,), ())
            kernel = group.fused.kernel
            function = kernel.loop(TYPES[dtype])
            c.calls.append(Call(kernel.name, function, 0, tuple(operands), loops, 0))
        return c

    def begin(self) -> tuple[np.ndarray, ...]:
        """What a run is given: the numbers of each group, then the memory of all of them."""
        assert self.plan is not None
        made, steps = [], []
        for group, counts in zip(self.plan.groups, self.counts, strict=True):
            group.take_options()
            step = counts[0].item() + 1 if counts else 0.0
            steps.append(step)
            assert group.fused.of_step is not None
            made.append(np.array(group.fused.of_step(step, group.options), group.arrays[0].dtype))
        self.steps = steps
        return (*made, *self.arrays)

    def end(self) -> None:
        """Note the step, after a run; once more if a signal has interrupted it."""
        optimizer = self.__self__
        optimizer._opt_called = True
        for counts, step in zip(self.counts, self.steps, strict=True):
            for each in counts:
                each.fill(step)
        where = self.where
        for storage in map(_STORAGE, self.tensors):
            if type(storage) is Storage:
                storage.version += 1
                storage.written = storage.changes = storage.changes + 1
                storage.writer = "optimizer"
                storage.written_at = where
            else:
                storage.bump("optimizer", where)
        # The error of a backward that comes too late then says what to do.
        writer = f"{type(optimizer).__name__} optimizer"
        for storage in self.writers:
            storage.writer = writer


_STEP = ParameterwiseOptimizer.step


def _whole(root: Provided, array: np.ndarray) -> Layout:
    """An array without gaps."""
    strides = row_major(array.shape, array.itemsize)
    return Layout(root, 0, array.shape, strides, array.dtype)


def _counts(group: GroupPlan) -> list[np.ndarray]:
    """The arrays that count the steps of a group's parameters."""
    return [each["step"]._array for each in group.states] if group.fused.counts else []


def _is_same(form: list[Any], before: list[Any]) -> bool:
    return len(form) == len(before) and all(
        mine[:2] == other[:2]
        and len(mine[2]) == len(other[2])
        and all(a is b for a, b in zip(mine[2], other[2], strict=True))
        for mine, other in zip(form, before, strict=True)
    )


def _has_hooks(optimizer: Any) -> bool:
    return bool(
        optimizer._optimizer_step_pre_hooks
        or optimizer._optimizer_step_post_hooks
        or base._global_pre_hooks
        or base._global_post_hooks
        or optimizer._is_scaled()
        or optimizer._stepping
    )


def steps_of(graph: Graph) -> list[OptimizerStep]:
    """The steps of a graph that may be native: not those of an optimizer that makes several."""
    found = [each.detail for each in graph.instructions if is_step(each)]
    owners = [id(each.__self__) for each in found]
    is_whole = len(set(owners)) == len(owners)
    known = all(each.inputs for each in graph.instructions if is_step(each))
    return found if is_whole and known else []


def is_step(instruction: Instruction) -> bool:
    """Whether an instruction is an optimizer's step."""
    return instruction.kind == CALL and isinstance(instruction.detail, OptimizerStep)


def gradients_of(optimizer: Any, values: dict[int, Value]) -> tuple[Value, ...]:
    """The values of the gradients that a step is about to use; none if one is not known."""
    found = []
    for group in optimizer.param_groups:
        for param in group["params"]:
            grad = param._grad
            is_known = grad is not None and not grad._is_unstrided
            value = values.get(id(grad._array)) if is_known else None
            if value is None:
                return ()
            found.append(value)
    return tuple(found)


def run_with_steps(
    run: Callable[[tuple[np.ndarray, ...], int], None], operands: tuple[np.ndarray, ...],
    address: int, steps: Sequence[tuple[OptimizerStep, Sequence[np.ndarray]]],
) -> None:  # fmt: skip
    """Run the commands of a segment, and note its steps, unless what they wait for is wrong.

    `run` is a C function: no signal comes between `try` and its end.
    """
    try:
        run(operands, address)
    finally:
        for step, wrong in steps:
            if not any(wrong):
                run_to_end(step.end)
