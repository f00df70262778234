"""A trace: one captured call, compiled, with the guards under which it may be replayed."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from clew.backend import random as streams
from clew.compiler.capture import Capture
from clew.compiler.graph import CALL, GRAD, INPUT, STATE, Graph, Instruction, Value
from clew.compiler.guards import is_same_float
from clew.compiler.joint import Again, CompiledNode, Joint
from clew.compiler.memory_plan import (
    MemoryPlan,
    Planner,
    lean_program,
    results_with_graph,
    too_little,
)
from clew.compiler.native.optimizer_steps import OptimizerStep, steps_of
from clew.compiler.native.words import of_tensors
from clew.compiler.passes import optimize
from clew.compiler.program import Mismatch, Program
from clew.compiler.reachable import Reached
from clew.compiler.results import Output
from clew.compiler.side_effects import (
    Clear,
    likeness,
    root_of,
)
from clew.compiler.tensor_state import TensorState, array_of, grad_storage_of, storage_of
from clew.core import module_changes
from clew.core.state import local
from clew.core.storage import INFERENCE, Storage
from clew.core.tensor import Tensor
from clew.interrupts import is_from_handler, run_to_end, uninterrupted
from clew.kernels.gemm.products import finish
from clew.source import user_where
from clew.utils._pytree import tree_flatten, tree_unflatten


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
        self.graph = graph
        self.memory = memory
        self.planner: Planner | None = None
        self.plan: MemoryPlan | None = None
        # Whether `compile` is done.
        self.is_compiled = False
        self.program: Program
        self.steps: list[OptimizerStep] = []
        made = {each.root for each in outputs if each.kind == "made" and each.version >= 0}
        self.saved_results = [
            (place, value.alias)
            for place, value in enumerate([] if joint is None else joint.saved)
            if value.alias in made
        ]
        # The same program with steps of optimizers in its segments, for when they are ready.
        self.program_with_steps: Program | None = None
        # The seconds of each kind of instruction, once they were measured.
        self.times: dict[str, list[float]] = {}
        given = capture.numbers
        self.number_inputs = given.inputs
        self.fixed_numbers = [(place, given.numbers[place]) for place in sorted(given.fixed)]
        self.replays = 0
        self.is_single = len(outputs) == 1 and spec.is_leaf()
        self._collect_state(capture)
        self.may_fail = any(each.may_mismatch for each in graph.instructions)
        self.is_random = any(each.is_random for each in graph.instructions)
        self.leaves = list(capture.leaves.values())
        self.has_calls = any(map(_is_final, graph.instructions))
        storage_by_id: dict[int, Callable[[Sequence[Tensor]], Storage]] = {}
        for tensor in (*capture.state_tensors.values(), *tensors):
            holder = capture.holder(tensor)
            storage_by_id[id(tensor._storage)] = functools.partial(storage_of, holder)
            grad = capture.grads_before.get(id(tensor))
            if grad is not None:
                storage_by_id[grad[2]] = functools.partial(grad_storage_of, holder)
        self.bumps = [
            (storage_by_id[key], record.captured)
            for key, record in capture.storages.items()
            if key in capture.before and record.captured
        ]

    def compile(self, tensors: Sequence[Tensor]) -> str | None:
        """Make the program; the reason, if the trace may not be replayed.

        `tensors` are the arguments, whose memory a plan counts. Another thread may do it: all that
        is guarded is known before.
        """
        graph, memory = optimize(self.graph, overlap=self.memory is None), self.memory
        self.program = (
            lean_program(graph) if memory is None else self._planned(graph, tensors, memory)
        )
        self.graph = self.program.graph
        self.steps = steps_of(self.graph) if memory is None else []
        if self._fails_late():
            return "a value is read after a step of an optimizer or scheduler"
        self.is_compiled = True
        return None

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
        self.changes = module_changes.count()
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
        # Those of which one look tells all; gradients come and go.
        still = [each for each in self.states if each.needs_grad is None]
        self._words = of_tensors(each.tensor for each in still)
        self._changing = [each for each in self.states if each.needs_grad is not None]

    def _fails_late(self) -> bool:
        """Whether a replay might notice that it is the wrong one when it is too late."""
        final = [_is_final(each) for each in self.graph.instructions]
        if True not in final:
            return False
        return any(each.may_mismatch for each in self.graph.instructions[final.index(True) :])

    # -- replaying -------------------------------------------------------------------------------

    def matches(self, tensors: Sequence[Tensor], numbers: tuple[float, ...] = ()) -> str | None:
        """Why this trace may not be replayed now, or None."""
        for place, value in self.fixed_numbers:
            now = numbers[place]
            if not (is_same_float(now, value) or (math.isnan(now) and math.isnan(value))):
                return "a number among the arguments has changed"
        changed = self.reached.changed()
        if changed is not None:
            return f"{changed} has changed"
        words, count = self._words, module_changes.count()
        is_still = words is not None and words.are_same()
        for state in self._changing if is_still else self.states:
            if not state.holds():
                if self.has_shared or not state.has_moved(self.roots):
                    return state.why()
                self.roots.add(root_of(state.array))
        if self.changes != count:
            # Something was done to hooks.
            for state in self.states:
                if likeness(state.tensor) != state.like:
                    return state.why()
            self.changes = count
        if words is not None and not is_still:
            # Something has moved. Only now: what is watched is what was looked at.
            self._find_roots()
        roots = self.roots
        for tensor in tensors:
            array = tensor._array
            root = id(array) if array.base is None else root_of(array)
            if root in roots or any(state.grad_root() == root for state in self.with_grads):
                return "an argument shares memory with state of the function"
        return None

    def replay(
        self, tensors: Sequence[Tensor], args: Any, kwargs: Any, numbers: tuple[float, ...] = ()
    ) -> Any:
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
        program = self._with_steps() if self.steps else self.program
        grad_enabled, state.grad_enabled = state.grad_enabled, False
        try:
            try:
                arrays = program.run(self.inputs(tensors, numbers), tensors)
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

    def inputs(self, tensors: Sequence[Tensor], numbers: tuple[float, ...]) -> list[np.ndarray]:
        """What the program takes: the memory of arguments, and numbers."""
        found = [tensor._array for tensor in tensors]
        for reading, dtype in self.number_inputs:
            found.append(np.array(reading.compute(numbers), dtype))
        return found

    @property
    def running(self) -> Program:
        """The program that replays usually run."""
        return self.program_with_steps or self.program

    def _with_steps(self) -> Program:
        """The program to run now: with steps of optimizers as they were planned, if they are."""
        for step in self.steps:
            if not step.is_ready():
                return self.program
        if self.program_with_steps is None:
            graph, cuts = self.graph, self.program.cuts
            self.program_with_steps = Program(graph, cuts=cuts, with_steps=True)
        return self.program_with_steps

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
        found = [(storage(tensors), count) for storage, count in self.bumps]
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
            elif root.kind == INPUT and root.source < len(tensors):
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
        return [array_of(value, tensors) for value in self.written]

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
