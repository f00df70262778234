"""Activation checkpointing on a budget: which modules to checkpoint, from what they cost.

A model runs forward and backward on a sample, under a meter: the seconds of each block, and the
bytes that it saves for backward. Then the blocks are chosen (`checkpoint_choice.py`), and the
choice is measured as well, before anybody relies on it.
"""

from __future__ import annotations

import contextlib
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from time import perf_counter
from typing import Any, NamedTuple

from clew import autograd
from clew.autograd.graph import saved_tensors_hooks
from clew.backend.random import default_generator
from clew.core.state import local
from clew.core.tensor import Tensor
from clew.errors import at_user_line
from clew.forking import cached_property
from clew.kernels.numpy.strides import owner_of
from clew.memory import MemoryBudgetError, counted_memory, size_text
from clew.nn.modules.batchnorm import _BatchNorm
from clew.nn.modules.container import ModuleList, Sequential
from clew.nn.modules.module import Module
from clew.utils._pytree import tree_leaves
from clew.utils.checkpoint_choice import Block, Group, choose, peak_without

# How often a choice is made with less memory, because the last one was measured to need more.
_ATTEMPTS = 8
# The least memory is looked for to this part of it.
_PRECISION = 0.01
# So many runs are timed, the fastest counts.
_RUNS = 3
_WIDTH = 24

Checkpoint = Callable[..., Any]
Loss = Callable[[Any], Tensor]


class CurvePoint(NamedTuple):
    """One point of time against memory: bytes, seconds of forward that run again, and modules."""

    memory: int
    extra_seconds: float
    modules: list[str]


class CheckpointPlan:
    """The modules of a model to checkpoint, so that a step fits into a budget.

    `apply()` has them checkpointed from then on, `remove()` takes that back; a `with` block does
    both. `modules` are their names (several in one text run again together), `peak` the memory
    that was measured with them checkpointed, `seconds` the time of a forward, and `extra_seconds`
    what of it runs again.
    """

    def __init__(self, run: Measurement, budget: int, groups: tuple[Group, ...], peak: int) -> None:
        self.budget, self.peak = budget, peak
        self.modules = run.names(groups)
        self.extra_seconds = run.seconds_again(groups)
        self.seconds = run.seconds
        self._run, self._wrapping = run, run.wrapping(groups)

    def apply(self) -> CheckpointPlan:
        """Checkpoint the modules in all calls from now on."""
        self._wrapping.apply()
        return self

    def remove(self) -> None:
        """Let the modules be as they were."""
        self._wrapping.remove()

    @cached_property
    def curve(self) -> list[CurvePoint]:
        """Time against memory, from all memory to the least; the points between are estimates."""
        return self._run.curve()

    def __enter__(self) -> CheckpointPlan:
        return self.apply()

    def __exit__(self, *exc: object) -> None:
        self.remove()

    def __str__(self) -> str:
        names = ", ".join(self.modules) or "nothing"
        lines = [
            f"{size_text(self.peak)} of {size_text(self.budget)}, forward again for "
            f"{self.extra_seconds * 1e3:.2f} ms of {self.seconds * 1e3:.2f} ms: {names}",
            f"{'Memory':>10}  {'Again':>10}  {'Modules':>7}",
        ]
        most = max(point.memory for point in self.curve)
        for point in self.curve:
            bar = "█" * round(_WIDTH * point.memory / most)
            milliseconds = f"{point.extra_seconds * 1e3:.2f} ms"
            lines.append(
                f"{size_text(point.memory):>10}  {milliseconds:>10}  {len(point.modules):>7}  {bar}"
            )
        return "\n".join(lines)

    __repr__ = __str__


class _Wrapping:
    """Checkpointed forwards of some modules, and how to take them back."""

    def __init__(self, forwards: list[tuple[Module, Callable[..., Any]]]) -> None:
        self.forwards = forwards
        self.before: list[tuple[Module, Any]] = []

    def apply(self) -> None:
        if self.before:
            raise RuntimeError("the plan is applied already" + at_user_line())
        for module, forward in self.forwards:
            self.before.append((module, module.__dict__.get("forward")))
            module.__dict__["forward"] = forward

    def remove(self) -> None:
        while self.before:
            module, forward = self.before.pop()
            if forward is None:
                del module.__dict__["forward"]
            else:
                module.__dict__["forward"] = forward


@contextlib.contextmanager
def _counting_once(modules: Sequence[Module]) -> Iterator[None]:
    """Leave running statistics alone: they have seen the batch already."""
    norms = [
        each
        for module in modules
        for each in module.modules()
        if isinstance(each, _BatchNorm) and each.track_running_stats and each.training
    ]
    for each in norms:
        each.track_running_stats = False
    try:
        yield
    finally:
        for each in norms:
            each.track_running_stats = True


def units_of(model: Module) -> dict[Module, tuple[str, str | None]]:
    """The modules that may be checkpointed, with their names and the sequence that they are in.

    Those are the items of Sequentials and ModuleLists; where there are none, the children.
    """
    found: dict[Module, tuple[str, str | None]] = {}

    def look(module: Module, name: str) -> None:
        is_sequence = isinstance(module, Sequential) and type(module).forward is Sequential.forward
        for key, child in module.named_children():
            path = f"{name}.{key}" if name else key
            if isinstance(child, Sequential | ModuleList):
                look(child, path)
            elif isinstance(module, Sequential | ModuleList):
                found.setdefault(child, (path, name if is_sequence else None))
            else:
                look(child, path)

    look(model, "")
    if found:
        return found
    return {child: (name, None) for name, child in model.named_children()}


class Measurement:
    """A model on a sample: what its blocks cost, and what choices of them need."""

    def __init__(
        self, model: Module, sample: Any, loss: Loss | None, checkpoint: Checkpoint
    ) -> None:
        self.model, self.loss, self.checkpoint = model, loss, checkpoint
        self.args: tuple[Any, ...] = sample if isinstance(sample, tuple) else (sample,)
        self.kwargs: dict[str, Any] = {}
        if isinstance(sample, dict):
            self.args, self.kwargs = (), sample
        self.units = units_of(model)
        self.own = _sizes([*model.parameters(), *model.buffers(), *tree_leaves(sample)])
        self.resident = sum(self.own.values())
        with self._as_it_was():
            # Kernels are compiled by the first run.
            self._step()
            self.blocks = self._watched()
            for _ in range(_RUNS - 1):
                for block, other in zip(self.blocks, self._watched(), strict=True):
                    block.seconds = min(block.seconds, other.seconds)
        self.seconds = sum(block.seconds for block in self.blocks)
        self.most = self.peak(())
        # What is needed besides: gradients of values, and what operations need while they run.
        self.besides = max(0, self.most - peak_without(self.blocks))

    # -- running -----------------------------------------------------------------------------------

    def _step(self) -> None:
        self.model.zero_grad()
        self._loss(self.model(*self.args, **self.kwargs)).backward()

    def _loss(self, output: Any) -> Tensor:
        if self.loss is not None:
            return self.loss(output)
        outputs = [each for each in tree_leaves(output) if isinstance(each, Tensor)]
        parts = [each.sum() for each in outputs if each.requires_grad]
        if not parts:
            raise RuntimeError(
                "plan(): the model returns nothing that requires grad, so nothing is kept for a "
                "backward" + at_user_line()
            )
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        return total

    @contextlib.contextmanager
    def _as_it_was(self) -> Iterator[None]:
        """Put back gradients, buffers and the random stream."""
        inputs = [each for each in tree_leaves((self.args, self.kwargs)) if _is_leaf(each)]
        grads = [(each, each.grad) for each in (*self.model.parameters(), *inputs)]
        buffers = [(each, each._array.copy()) for each in self.model.buffers()]
        stream = default_generator.get_state()
        grad_enabled, local.state.grad_enabled = local.state.grad_enabled, True
        try:
            yield
        finally:
            local.state.grad_enabled = grad_enabled
            default_generator.set_state(stream)
            for buffer, array in buffers:
                buffer._array[...] = array
            for tensor, grad in grads:
                tensor.grad = grad

    def peak(self, groups: tuple[Group, ...]) -> int:
        """The memory of a step with some blocks checkpointed: measured."""
        wrapping = self.wrapping(groups)
        with self._as_it_was(), counted_memory():
            wrapping.apply()
            try:
                self.model.zero_grad()
                before = tracemalloc.get_traced_memory()[0]
                tracemalloc.reset_peak()
                self._step()
                growth = tracemalloc.get_traced_memory()[1] - before
            finally:
                wrapping.remove()
        return self.resident + growth

    def _watched(self) -> list[Block]:
        """One forward: the blocks in their order, with what they save and how long they take."""
        alive: list[Any] = []
        block = Block("")
        blocks, stack = [block], [block]
        began = 0.0
        calls: dict[Module, int] = {}

        def pack(tensor: Tensor) -> Tensor:
            alive.append(owner_of(tensor._array))
            stack[-1].saved.update(self._held([tensor]))
            return tensor

        def enter(module: Module, args: Any, kwargs: Any) -> None:
            nonlocal began
            calls[module] = calls.get(module, 0) + 1
            name, sequence = self.units[module]
            new = Block(name, sequence=sequence, may_checkpoint=len(stack) == 1)
            new.inputs = self._held(tree_leaves((args, kwargs)))
            new.gradients = sum(
                _sizes([p for p in module.parameters() if p.requires_grad]).values()
            )
            if len(stack) == 1:
                blocks.append(new)
            stack.append(new if len(stack) == 1 else stack[-1])
            began = perf_counter() if len(stack) == 2 else began

        def leave(module: Module, args: Any, kwargs: Any, output: Any) -> None:
            stack.pop()
            if len(stack) == 1:
                blocks[-1].seconds = perf_counter() - began
                stack[0] = Block("")
                blocks.append(stack[0])

        handles: list[Any] = []
        for module in self.units:
            handles.append(module.register_forward_pre_hook(enter, with_kwargs=True))
            handles.append(module.register_forward_hook(leave, with_kwargs=True))
        try:
            with saved_tensors_hooks(pack, lambda tensor: tensor):
                output = self.model(*self.args, **self.kwargs)
                blocks[-1].saved.update(self._held(tree_leaves(output)))
        finally:
            for handle in handles:
                handle.remove()
        several = {self.units[module][0] for module, count in calls.items() if count > 1}
        for each in blocks:
            each.may_checkpoint &= each.name not in several
        return _without_known([each for each in blocks if each.name or each.saved])

    def _held(self, leaves: Sequence[Any]) -> dict[int, int]:
        sizes = _sizes(leaves)
        return {key: nbytes for key, nbytes in sizes.items() if key not in self.own}

    # -- choosing ----------------------------------------------------------------------------------

    def fitting(self, budget: int) -> tuple[tuple[Group, ...], int] | None:
        """A choice that was measured to fit, and what it needs."""
        target = budget - self.besides
        for _ in range(_ATTEMPTS):
            groups = choose(self.blocks, target)
            if groups is None:
                return None
            peak = self.peak(groups)
            if peak <= budget:
                return groups, peak
            target -= max(peak - budget, 1)
        return None

    def least(self) -> tuple[tuple[Group, ...], int]:
        """The choice that needs the least memory, and what it needs."""
        low, high = 0, self.most
        best: tuple[Group, ...] = ()
        while high - low > _PRECISION * self.most:
            middle = (low + high) // 2
            groups = choose(self.blocks, middle - self.besides)
            if groups is None:
                low = middle
            else:
                best, high = groups, middle
        return min([(best, self.peak(best)), ((), self.most)], key=lambda each: each[1])

    def curve(self, points: int = 8) -> list[CurvePoint]:
        groups, least = self.least()
        found = [CurvePoint(self.most, 0.0, [])]
        for number in range(1, points - 1):
            memory = self.most - (self.most - least) * number // (points - 1)
            between = choose(self.blocks, memory - self.besides)
            if between is not None:
                found.append(CurvePoint(memory, self.seconds_again(between), self.names(between)))
        if least < self.most:
            found.append(CurvePoint(least, self.seconds_again(groups), self.names(groups)))
        return found

    def seconds_again(self, groups: tuple[Group, ...]) -> float:
        return sum(block.seconds for start, end in groups for block in self.blocks[start:end])

    def names(self, groups: tuple[Group, ...]) -> list[str]:
        """The modules of each group."""
        found = []
        for start, end in groups:
            first, last = self.blocks[start].name, self.blocks[end - 1].name
            found.append(first if end == start + 1 else f"{first} to {last}")
        return found

    def wrapping(self, groups: tuple[Group, ...]) -> _Wrapping:
        """The forwards that checkpoint some groups of blocks."""
        forwards: list[tuple[Module, Callable[..., Any]]] = []
        several: dict[str, dict[Module, int]] = {}
        for start, end in groups:
            modules = [self.model.get_submodule(b.name) for b in self.blocks[start:end]]
            sequence = self.blocks[start].sequence
            if len(modules) == 1:
                forwards.append((modules[0], self._checkpointed(modules, modules[0].forward)))
            else:
                assert sequence is not None
                several.setdefault(sequence, {})[modules[0]] = len(modules)
        for name, lengths in several.items():
            sequential = self.model.get_submodule(name) if name else self.model
            forwards.append((sequential, self._in_groups(sequential, lengths)))
        return _Wrapping(forwards)

    def _checkpointed(
        self, modules: Sequence[Module], forward: Callable[..., Any]
    ) -> Callable[..., Any]:
        """A forward that keeps nothing but its arguments."""

        def contexts() -> Any:
            return contextlib.nullcontext(), _counting_once(modules)

        def again(*args: Any, **kwargs: Any) -> Any:
            if not autograd.is_grad_enabled():
                return forward(*args, **kwargs)
            return self.checkpoint(
                forward, *args, use_reentrant=False, context_fn=contexts, **kwargs
            )

        return again

    def _in_groups(self, sequential: Module, lengths: dict[Module, int]) -> Callable[[Any], Any]:
        """The forward of a Sequential some of whose neighbours are checkpointed as one."""
        parts: list[Callable[..., Any]] = []
        modules = list(sequential.children())
        place = 0
        while place < len(modules):
            count = lengths.get(modules[place], 0)
            group = modules[place : place + max(count, 1)]
            run = _in_order(group)
            parts.append(self._checkpointed(group, run) if count else run)
            place += len(group)
        return _in_order(parts)


def _in_order(functions: Sequence[Callable[..., Any]]) -> Callable[[Any], Any]:
    def run(value: Any) -> Any:
        for function in functions:
            value = function(value)
        return value

    return run


def _is_leaf(leaf: Any) -> bool:
    return isinstance(leaf, Tensor) and leaf.is_leaf and leaf.requires_grad


def _sizes(leaves: Sequence[Any]) -> dict[int, int]:
    """The arrays behind tensors, by identity, with their bytes."""
    owners = [owner_of(each._array) for each in leaves if isinstance(each, Tensor)]
    return {id(owner): owner.nbytes for owner in owners}


def _without_known(blocks: list[Block]) -> list[Block]:
    """What several blocks hold is held by the first of them, and its neighbour."""
    older: set[int] = set()
    previous: set[int] = set()
    for block in blocks:
        mine = set(block.saved)
        block.saved = {key: size for key, size in block.saved.items() if key not in older}
        older |= previous
        previous = mine
    return blocks


def planned(
    model: Module, sample: Any, budget: int, loss: Loss | None, checkpoint: Checkpoint
) -> CheckpointPlan:
    """The plan for a model; raises MemoryBudgetError if there is none."""
    run = Measurement(model, sample, loss, checkpoint)
    found = run.fitting(budget)
    if found is None:
        found = run.least()
        if found[1] > budget:
            raise MemoryBudgetError(
                f"a step of {type(model).__name__} does not fit into {size_text(budget)}: the "
                "least memory that it can run in, with modules checkpointed, is "
                f"{size_text(found[1])} ({found[1]} bytes)" + at_user_line()
            )
    return CheckpointPlan(run, budget, *found)
