"""A trace: one captured call, compiled, with the guards under which it may be replayed."""

from __future__ import annotations

import functools
import gc
import random
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from clew import observer
from clew.backend import dtypes
from clew.backend import random as streams
from clew.compiler.capture import Capture
from clew.compiler.graph import CALL, GRAD, INPUT, STATE, Graph, Instruction, Value
from clew.compiler.instruction_costs import Meter
from clew.compiler.joint import Again, CompiledNode, Joint, capture_backward
from clew.compiler.library_events import LibraryEvents
from clew.compiler.memory_plan import (
    MemoryPlan,
    Planner,
    lean_program,
    results_with_graph,
    too_little,
)
from clew.compiler.passes import optimize
from clew.compiler.program import Mismatch, Program
from clew.compiler.reachable import Reached, TooMuch
from clew.compiler.read_numbers import plain
from clew.compiler.results import Output, escaped, is_made_by_call, is_same_tree, outputs_of
from clew.compiler.side_effects import Clear, likeness, root_of
from clew.compiler.tensor_state import TensorState
from clew.compiler.watch import Watch
from clew.core import interception, module_changes
from clew.core.state import local
from clew.core.storage import INFERENCE, Storage, next_sequence_number
from clew.core.tensor import Tensor
from clew.interrupts import is_from_handler, run_to_end, uninterrupted
from clew.kernels.gemm.products import finish
from clew.memory import MemoryBudgetError, counted_memory
from clew.nn.parameter import Parameter
from clew.source import user_where
from clew.utils._pytree import tree_flatten, tree_map, tree_unflatten


class Trace:
    """One compiled call. `matches` says whether it may be replayed, `replay` does it."""

    def __init__(
        self,
        function: Callable[..., Any],
        reached: Reached,
        capture: Capture,
        outputs: list[Output],
        spec: Any,
        joint: Joint | None,
        tensors: Sequence[Tensor],
        memory: int | None,
    ) -> None:
        self.function = function
        self.reached = reached
        self.outputs = outputs
        self.spec = spec
        self.joint = joint
        graph = capture.graph
        self.result_count = len(graph.results)
        if joint is not None:
            graph.results += joint.saved
        optimize(graph, overlap=memory is None)
        self.planner: Planner | None = None
        self.plan: MemoryPlan | None = None
        self.program = (
            lean_program(graph) if memory is None else self._planned(graph, tensors, memory)
        )
        self.graph = graph = self.program.graph
        made = {each.root for each in outputs if each.kind == "made" and each.version >= 0}
        self.saved_results = [
            (place, value.alias)
            for place, value in enumerate([] if joint is None else joint.saved)
            if value.alias in made
        ]
        self.replays = 0
        self.is_single = len(outputs) == 1 and spec.is_leaf()
        self._collect_state(capture)
        self.may_fail = any(each.may_mismatch for each in graph.instructions)
        self.is_random = any(each.is_random for each in graph.instructions)
        self.leaves = list(capture.leaves.values())
        self.has_calls = any(map(_is_final, graph.instructions))
        storage_of: dict[int, Callable[[Sequence[Tensor]], Storage]] = {}
        for tensor in (*capture.state_tensors.values(), *tensors):
            holder = capture.holder(tensor)
            storage_of[id(tensor._storage)] = functools.partial(_storage_of, holder)
            grad = capture.grads_before.get(id(tensor))
            if grad is not None:
                storage_of[grad[2]] = functools.partial(_grad_storage_of, holder)
        self.bumps = [
            (storage_of[key], record.captured)
            for key, record in capture.storages.items()
            if key in capture.before and record.captured
        ]

    def _planned(self, graph: Graph, tensors: Sequence[Tensor], memory: int) -> Program:
        """The program that fits into some memory."""
        if self.joint is not None:
            raise results_with_graph(memory)
        self.planner = Planner(graph, tensors)
        self.plan = self.planner.plan(memory)
        if self.plan is None:
            name = getattr(self.function, "__name__", type(self.function).__name__)
            raise too_little(name, memory, self.planner.least().peak)
        return self.plan.program

    def _collect_state(self, capture: Capture) -> None:
        used = {value for each in self.graph.instructions for value in each.reads()}
        used |= set(self.graph.results)
        written = {v.alias for each in self.graph.instructions for v in each.writes()}
        # Tensors with what must hold of them: array last seen, shape, dtype, strides, flags.
        states: dict[int, Tensor] = {}
        for value in used:
            if value.kind in (STATE, GRAD) and isinstance(value.source, Tensor):
                states[id(value.source)] = value.source
        for leaf in capture.leaves.values():
            states[id(leaf)] = leaf
        for tensor in capture.state_tensors.values():
            if tensor._requires_grad or id(tensor) in capture.grad_before:
                states[id(tensor)] = tensor
        self.states = [TensorState(each, capture) for each in states.values()]
        self.with_grads = [each for each in self.states if each.needs_grad]
        self._find_roots()
        self.written = [
            value
            for value in self.graph.values
            if value.kind in (STATE, GRAD, INPUT) and value.alias in written
        ]

    def _find_roots(self) -> None:
        self.roots = {root_of(each.array) for each in self.states}
        arrays = {id(each.array) for each in self.states}
        owners = {root_of(each.array) for each in self.states}
        self.has_shared = not len(arrays) == len(owners) == len(self.states)
        self.changes = module_changes.count()

    def fails_late(self) -> bool:
        """Whether a replay might notice that it is the wrong one when it is too late."""
        final = [_is_final(each) for each in self.graph.instructions]
        if True not in final:
            return False
        return any(each.may_mismatch for each in self.graph.instructions[final.index(True) :])

    # -- replaying -------------------------------------------------------------------------------

    def matches(self, tensors: Sequence[Tensor]) -> str | None:
        """Why this trace may not be replayed now, or None."""
        changed = self.reached.changed()
        if changed is not None:
            return f"{changed} has changed"
        for state in self.states:
            if not state.holds():
                if self.has_shared or not state.has_moved(self.roots):
                    return state.why()
                self._find_roots()
        if self.changes != module_changes.count():
            # Something was done to hooks.
            for state in self.states:
                if likeness(state.tensor) != state.like:
                    return state.why()
        roots = self.roots
        for tensor in tensors:
            array = tensor._array
            root = id(array) if array.base is None else root_of(array)
            if root in roots or any(state.grad_root() == root for state in self.with_grads):
                return "an argument shares memory with state of the function"
        return None

    def replay(self, tensors: Sequence[Tensor], args: Any, kwargs: Any) -> Any:
        """Run the program; raises Mismatch, with everything as it was, if values differ."""
        state = local.state
        joint = self.joint
        stream = None
        if joint is not None and self.is_random:
            stream = streams.default_generator.get_state()
        copies = []
        if self.may_fail or joint is not None:
            copies = [(each, each.copy()) for each in self._written_arrays(tensors)]
        undo = self._undo(tensors, copies) if self.may_fail else None
        grad_enabled, state.grad_enabled = state.grad_enabled, False
        try:
            try:
                arrays = self.program.run([tensor._array for tensor in tensors], tensors)
            finally:
                # First what is a plain store: a signal may come with any call.
                state.grad_enabled = grad_enabled
                finish(state.pending_products)
        except BaseException as error:
            if undo is None or (self.has_calls and not isinstance(error, Mismatch)):
                self._bump(tensors)
                raise
            run_to_end(undo)
            if not isinstance(error, Exception) or is_from_handler(error):
                raise
            # Errors are those of an eager run, which says where they come from.
            raise Mismatch from error
        if self.bumps:
            self._bump(tensors)
        self.replays += 1
        node = None
        if joint is not None:
            node = self._node(joint, arrays, tensors, args, kwargs, stream, copies)
        made = self._results(arrays, tensors, node)
        return made[0] if self.is_single else tree_unflatten(made, self.spec)

    @uninterrupted
    def _bump(self, tensors: Sequence[Tensor]) -> None:
        """Note the writes of the program."""
        versions: list[tuple[Storage, int]] = []

        def bump() -> None:
            if not versions:
                versions.extend([(each, each.version + n) for each, n in self._writes(tensors)])
            for storage, version in versions:
                storage.version = version
                storage.rewrite()

        run_to_end(bump)

    def _writes(self, tensors: Sequence[Tensor]) -> list[tuple[Storage, int]]:
        """How often the program writes to which memory."""
        found = [(storage_of(tensors), count) for storage_of, count in self.bumps]
        return [(storage, count) for storage, count in found if storage is not INFERENCE]

    def _node(
        self, joint: Joint, arrays: Any, tensors: Sequence[Tensor], args: Any, kwargs: Any,
        stream: Any, copies: list[tuple[np.ndarray, np.ndarray]],
    ) -> CompiledNode:  # fmt: skip
        saved = list(arrays[self.result_count :])
        edges = tuple([each.edge(tensors) for each in joint.boundaries])
        guards = []
        for place, value in enumerate(joint.saved):
            root = value.alias
            if root.kind == STATE:
                storage = root.source._storage
            elif root.kind == INPUT:
                storage = tensors[root.source]._storage
            else:
                continue
            guards.append((place, storage, storage.version))
        again = Again(
            lambda: self._attached_results(self.function(*args, **kwargs)),
            self._not_again, copies, self._writes(tensors),
            [each._storage for each in (*tensors, *[state.tensor for state in self.states])],
            stream,
        )  # fmt: skip
        return CompiledNode(joint, saved, edges, guards, again, user_where())

    def _not_again(self) -> str | None:
        """What keeps the call from being run once more."""
        if self.has_calls or self.leaves:
            return "a gradient or a parameter"
        return self.reached.changed()

    def _attached_results(self, result: Any) -> list[Tensor]:
        leaves, _ = tree_flatten(result)
        return [leaf for leaf, out in zip(leaves, self.outputs, strict=True) if out.number >= 0]

    def _results(self, arrays: tuple[Any, ...], tensors: Sequence[Tensor], node: Any) -> list[Any]:
        made: list[Any] = []
        storages: dict[Value | None, Storage] = {}
        for output in self.outputs:
            kind, place = output.kind, output.result
            if kind == "made":
                made.append(output.make(arrays[place], node, storages))
            elif kind == "number":
                made.append(arrays[place].item())
            elif kind == "same":
                made.append(made[place])
            elif kind == "grad":
                holder = output.constant
                made.append((tensors[holder] if isinstance(holder, int) else holder)._grad)
            else:
                made.append(tensors[place] if kind == "input" else output.constant)
        for place, root in self.saved_results:
            # What backward needs, the user may now write to.
            node.guards.append((place, storages[root], storages[root].version))
        return made

    def _written_arrays(self, tensors: Sequence[Tensor]) -> list[np.ndarray]:
        return [_array_of(value, tensors) for value in self.written]

    def _undo(
        self, tensors: Sequence[Tensor], copies: list[tuple[np.ndarray, np.ndarray]]
    ) -> Callable[[], None]:
        """A function that puts back what the program may have written before it noticed."""
        grads = [(leaf, leaf._grad) for leaf in (*self.leaves, *tensors) if leaf._requires_grad]
        versions = [(grad._storage, grad._storage.version) for _, grad in grads if grad is not None]
        stream = streams.default_generator.get_state() if self.is_random else None

        def undo() -> None:
            for array, copy in copies:
                array[...] = copy
            for leaf, grad in grads:
                leaf._grad = grad
            for storage, version in versions:
                storage.version = version
            if stream is not None:
                streams.default_generator.set_state(stream)

        return undo


def _is_final(instruction: Instruction) -> bool:
    """Whether an instruction cannot be taken back: steps cannot, dropped gradients can."""
    return instruction.kind == CALL and not isinstance(instruction.detail, Clear)


def _storage_of(holder: Tensor | int, tensors: Sequence[Tensor]) -> Storage:
    return (tensors[holder] if isinstance(holder, int) else holder)._storage


def _grad_storage_of(holder: Tensor | int, tensors: Sequence[Tensor]) -> Storage:
    grad = (tensors[holder] if isinstance(holder, int) else holder)._grad
    # Where the call itself has dropped it, nobody sees.
    return INFERENCE if grad is None else grad._storage


def _array_of(value: Value, tensors: Sequence[Tensor]) -> np.ndarray:
    if value.kind == INPUT:
        return tensors[value.source]._array
    holder = value.source
    tensor: Tensor = tensors[holder] if isinstance(holder, int) else holder
    if value.kind == STATE:
        return tensor._array
    assert tensor._grad is not None
    return tensor._grad._array


def capture_call(
    function: Callable[..., Any],
    roots: Sequence[Any],
    tensors: list[Tensor],
    args: Any,
    kwargs: Any,
    memory: int | None = None,
) -> tuple[Any, Trace | None, str | None]:
    """Run a call and compile it: its result, and a trace or the reason why there is none.

    `memory` are the bytes that replays may use.
    """
    try:
        reached = _walked(function, roots)
    except TooMuch as too_much:
        return function(*args, **kwargs), None, str(too_much)
    capture = Capture(None if memory is None else Meter())
    capture.given(tensors)
    for tensor in reached.tensors.values():
        capture.known_before(tensor)
    known = [each._array for tensor in reached.tensors.values() for each in (tensor, tensor._grad)
             if each is not None]  # fmt: skip
    if not {root_of(each._array) for each in tensors}.isdisjoint(map(root_of, known)):
        capture.refuse("an argument shares memory with state of the function")
    if any(type(each) not in (Tensor, Parameter) for each in tensors):
        capture.refuse("an argument is of a subclass of Tensor")
    outside = _outside_state()
    start = next_sequence_number()
    events = LibraryEvents(capture)
    before = tree_flatten((args, kwargs))
    watch = Watch(capture, reached)
    collects = gc.isenabled()
    try:
        # What the collector calls, at any moment, is no part of the call.
        gc.disable()
        observer.install(events)
        interception.install(capture)
        watch.start()
        with nullcontext() if memory is None else counted_memory():
            result = function(*args, **kwargs)
    finally:
        # Each also where a signal interrupts the one before it.
        try:
            watch.stop()
        finally:
            try:
                interception.remove(capture)
                run_to_end(functools.partial(observer.remove, events))
            finally:
                if collects:
                    gc.enable()
    if not is_same_tree(before, tree_flatten((args, kwargs))):
        capture.refuse("the call changes a container that it is given")
    if not is_made_by_call((args, kwargs), result, reached):
        capture.refuse("a container that was there before the call is returned")
    try:
        trace, problem = _finished(
            function, capture, reached, result, tensors, start, outside, memory
        )
    except Exception as error:
        if is_from_handler(error) or isinstance(error, MemoryBudgetError):
            raise
        # The call itself is done, and its result is right: it is only not compiled. (Such is the
        # backward of an operation that has none.)
        trace = None
        problem = f"compiling it raises {type(error).__name__}: {first_line(error)}"
    return (tree_map(plain, result) if capture.readings.all else result), trace, problem


def first_line(error: Exception) -> str:
    """The first line of an error's text."""
    return next(iter(str(error).splitlines()), "")


def _finished(
    function: Callable[..., Any], capture: Capture, reached: Reached, result: Any,
    tensors: list[Tensor], start: int, outside: Any, memory: int | None,
) -> tuple[Trace | None, str | None]:  # fmt: skip
    """The trace of a call that was captured, or the reason why there is none."""
    leaves, spec = tree_flatten(result)
    problem = capture.problem or capture.unexplained() or _changed_outside(outside)
    changed = None if problem else reached.changed_by_call()
    if changed is not None:
        problem = f"the call changes {changed}, which a compiled call would not"
    if problem is None:
        problem = escaped(capture, leaves)
    outputs: list[Output] = []
    if problem is None:
        outputs, problem = outputs_of(capture, leaves, tensors, reached)
    joint = None
    if problem is None:
        joint = _backward_of(capture, outputs, leaves, tensors, start)
        problem = capture.problem
    if problem is not None:
        return None, problem
    trace = Trace(function, reached, capture, outputs, spec, joint, tensors, memory)
    if trace.fails_late():
        return None, "a value is read after a step of an optimizer or scheduler"
    return trace, None


def _backward_of(
    capture: Capture, outputs: list[Output], leaves: list[Any], tensors: list[Tensor], start: int
) -> Joint | None:
    """The backward of the results that still have a graph, captured; None if there are none."""
    attached = [leaf for leaf, output in zip(leaves, outputs, strict=True) if output.number >= 0]
    if not attached:
        return None
    interception.install(capture)
    try:
        return capture_backward(capture, attached, tensors, start)
    finally:
        interception.remove(capture)


def _walked(function: Callable[..., Any], roots: Sequence[Any]) -> Reached:
    reached = Reached()
    reached.walk(function, getattr(function, "__name__", "the function"))
    for root in roots:
        reached.walk(root, "an argument")
    return reached


def _numpy_position() -> Any:
    """How far NumPy's global random stream is."""
    state: Any = np.random.get_state()
    return state[1].tobytes(), state[2]


def _outside_state() -> Any:
    """The random streams of Python and NumPy, and the modes of the library."""
    state = local.state
    modes = (
        state.grad_enabled, state.inference, state.autocast, dtypes.get_default_dtype(),
        state.saved_hooks, state.function_modes, state.anomaly,
    )  # fmt: skip
    return random.getstate(), _numpy_position(), modes


def _changed_outside(before: Any) -> str | None:
    now = _outside_state()
    if now[0] != before[0]:
        return "random numbers are drawn with Python's random"
    if now[1] != before[1]:
        return "random numbers are drawn with NumPy"
    return (
        None if now[2] == before[2] else "the call leaves another mode (of gradients, say) behind"
    )
