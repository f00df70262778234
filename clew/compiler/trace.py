"""A trace: one captured call, compiled, with the guards under which it may be replayed."""

from __future__ import annotations

import gc
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from clew import observer
from clew.backend import random as streams
from clew.compiler.capture import Capture
from clew.compiler.graph import CHECK, GRAD, INPUT, STATE, Instruction, Value
from clew.compiler.guards import Reached, TooMuch
from clew.compiler.joint import CompiledNode, Joint, capture_backward, replayed_again
from clew.compiler.library_events import LibraryEvents
from clew.compiler.passes import optimize
from clew.compiler.program import Mismatch, Program
from clew.compiler.read_numbers import plain, reading_of
from clew.compiler.side_effects import likeness
from clew.core import interception
from clew.core.node import Node, restore
from clew.core.state import local
from clew.core.storage import Storage, next_sequence_number
from clew.core.tensor import Tensor
from clew.errors import Freed, backward_twice
from clew.kernels.gemm.products import finish
from clew.source import Place, user_where
from clew.utils._pytree import tree_flatten, tree_map, tree_unflatten

# Operations whose result has another shape for other values.
DATA_DEPENDENT = frozenset({
    "nonzero", "masked_select", "unique", "unique_consecutive", "bincount", "repeat_interleave",
    "argwhere", "_unique2", "index",
})  # fmt: skip


class SpentNode(Node):
    """The history of a result whose graph a backward inside of the function has used up."""

    __slots__ = ("freed",)

    def __init__(self, array: np.ndarray, where: Place | None) -> None:
        self._edges = ()
        self._outputs = None
        self._shape, self._dtype = array.shape, array.dtype
        self._extras = None
        self._where = where
        self._seq = 0
        self.module_path = None
        self.freed = Freed(where)

    def apply_tensors(self, grads: tuple[Tensor | None, ...]) -> Sequence[Tensor | None]:
        raise backward_twice(self, self.freed)

    def name(self) -> str:
        return "CompiledFunctionBackward"


class Output:
    """How one result of the function is made again."""

    __slots__ = ("constant", "kind", "number", "requires_grad", "result", "where")

    def __init__(self, kind: str, constant: Any = None, result: int = -1) -> None:
        # "constant" (any object), "input" (the tensor given), "state" (a tensor that was there),
        # "made" (a new tensor around a result of the program), "number" (that is read from one)
        self.kind = kind
        self.constant = constant
        self.result = result
        self.requires_grad = False
        self.where: Place | None = None
        # Its place among the results that still have a graph, or -1.
        self.number = -1


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
        optimize(graph)
        self.graph = graph
        self.program = Program(graph)
        self.replays = 0
        self.is_single = len(outputs) == 1 and spec.is_leaf()
        self._collect_state(capture)
        names = [each.name for each in graph.instructions]
        kinds = {each.kind for each in graph.instructions}
        self.may_fail = CHECK in kinds or not DATA_DEPENDENT.isdisjoint(names)
        self.is_random = any(each.is_random for each in graph.instructions)
        self.leaves = list(capture.leaves.values())
        self.bumps = [
            (record.storage, record.captured)
            for key, record in capture.storages.items()
            if key in capture.before and record.captured
        ]

    def _collect_state(self, capture: Capture) -> None:
        used = {value for each in self.graph.instructions for value in each.reads()}
        used |= set(self.graph.results)
        written = {v.alias for each in self.graph.instructions for v in each.writes()}
        # Tensors with what must hold of them: array last seen, shape, dtype, strides, flags.
        states: dict[int, Tensor] = {}
        for value in used:
            if value.kind in (STATE, GRAD):
                states[id(value.source)] = value.source
        for leaf in capture.leaves.values():
            states[id(leaf)] = leaf
        for tensor in capture.state_tensors.values():
            if tensor._requires_grad:
                states[id(tensor)] = tensor
        self.states = [_State(each, capture) for each in states.values()]
        self.state_storages = {id(each.tensor._storage) for each in self.states}
        self.written = [value for value in written if value.kind in (STATE, GRAD, INPUT)]

    # -- replaying -------------------------------------------------------------------------------

    def matches(self, tensors: Sequence[Tensor]) -> str | None:
        """Why this trace may not be replayed now, or None."""
        changed = self.reached.changed()
        if changed is not None:
            return f"{changed} has changed"
        for state in self.states:
            if not state.holds():
                return state.why()
        storages = self.state_storages
        for tensor in tensors:
            if id(tensor._storage) in storages:
                return "an argument shares memory with state of the function"
        return None

    def replay(self, tensors: Sequence[Tensor], args: Any, kwargs: Any) -> Any:
        """Run the program; raises Mismatch, with everything as it was, if values differ."""
        state = local.state
        joint = self.joint
        stream = None
        if joint is not None and self.is_random:
            stream = streams.default_generator.get_state()
        undo = self._undo(tensors) if self.may_fail else None
        grad_enabled, state.grad_enabled = state.grad_enabled, False
        try:
            arrays = self.program.run([tensor._array for tensor in tensors], tensors)
        except Mismatch:
            if undo is not None:
                undo()
            raise
        finally:
            finish(state.pending_products)
            state.grad_enabled = grad_enabled
        for storage, count in self.bumps:
            storage.version += count
            storage.rewrite()
        self.replays += 1
        node = None
        if joint is not None:
            node = self._node(joint, arrays, tensors, args, kwargs, stream)
        made = [self._result(each, arrays, tensors, node) for each in self.outputs]
        return made[0] if self.is_single else tree_unflatten(made, self.spec)

    def _node(
        self, joint: Joint, arrays: Any, tensors: Sequence[Tensor], args: Any, kwargs: Any,
        stream: Any,
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
        written = [_array_of(value, tensors) for value in self.written]
        again = replayed_again(self.function, args, kwargs, self._attached_results, written, stream)
        return CompiledNode(joint, saved, edges, guards, again, user_where())

    def _attached_results(self, result: Any) -> list[Tensor]:
        leaves, _ = tree_flatten(result)
        return [leaf for leaf, out in zip(leaves, self.outputs, strict=True) if out.number >= 0]

    def _result(
        self, output: Output, arrays: tuple[Any, ...], tensors: Sequence[Tensor], node: Any
    ) -> Any:
        if output.kind == "made":
            result = restore(arrays[output.result], Storage(), None, 0)
            if output.number >= 0:
                result._node, result._output_nr = node, output.number
                result._requires_grad = True
            elif output.requires_grad:
                result._node = SpentNode(result._array, output.where)
                result._requires_grad = True
            return result
        if output.kind == "number":
            return arrays[output.result].item()
        return tensors[output.result] if output.kind == "input" else output.constant

    def _undo(self, tensors: Sequence[Tensor]) -> Callable[[], None]:
        """A function that puts back what the program may have written before it noticed."""
        copies = []
        for value in self.written:
            array = _array_of(value, tensors)
            copies.append((array, array.copy()))
        grads = [(leaf, leaf._grad) for leaf in self.leaves]
        stream = streams.default_generator.get_state() if self.is_random else None

        def undo() -> None:
            for array, copy in copies:
                array[...] = copy
            for leaf, grad in grads:
                leaf._grad = grad
            if stream is not None:
                streams.default_generator.set_state(stream)

        return undo


def _array_of(value: Value, tensors: Sequence[Tensor]) -> np.ndarray:
    if value.kind == INPUT:
        return tensors[value.source]._array
    tensor: Tensor = value.source
    if value.kind == STATE:
        return tensor._array
    assert tensor._grad is not None
    return tensor._grad._array


class _State:
    """A tensor that a trace refers to, and what must hold of it."""

    __slots__ = ("array", "hooks", "like", "needs_grad", "tensor")

    def __init__(self, tensor: Tensor, capture: Capture) -> None:
        self.tensor = tensor
        self.array = tensor._array
        self.like = likeness(tensor)
        # Whether `.grad` must be there before the call (True), must not (False), or is cleared.
        self.needs_grad = capture.grad_before.get(id(tensor))

    def holds(self) -> bool:
        tensor = self.tensor
        if tensor._array is not self.array or tensor._requires_grad is not self.like[3]:
            if likeness(tensor) != self.like:
                return False
            self.array = tensor._array
        needs = self.needs_grad
        return needs is None or (tensor._grad is not None) is needs

    def why(self) -> str:
        if likeness(self.tensor) != self.like:
            return "a parameter or buffer has another shape, dtype or requires_grad"
        return "a gradient " + ("is missing" if self.needs_grad else "was not there before")


def capture_call(
    function: Callable[..., Any],
    roots: Sequence[Any],
    tensors: list[Tensor],
    args: Any,
    kwargs: Any,
) -> tuple[Any, Trace | None, str | None]:
    """Run a call and compile it: its result, and a trace or the reason why there is none."""
    try:
        reached = _walked(function, roots)
    except TooMuch as too_much:
        return function(*args, **kwargs), None, str(too_much)
    capture = Capture()
    capture.given(tensors)
    for tensor in reached.tensors.values():
        capture.known_before(tensor)
    if any(id(each) in reached.tensors for each in tensors):
        capture.refuse("an argument is also state of the function")
    outside = _outside_state()
    start = next_sequence_number()
    events = LibraryEvents(capture)
    with observer.observing(events):
        interception.install(capture)
        try:
            result = function(*args, **kwargs)
        finally:
            interception.remove(capture)
            capture.readings.stop()
    try:
        trace, problem = _finished(function, capture, reached, result, tensors, start, outside)
    except Exception as error:
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
    tensors: list[Tensor], start: int, outside: Any,
) -> tuple[Trace | None, str | None]:  # fmt: skip
    """The trace of a call that was captured, or the reason why there is none."""
    leaves, spec = tree_flatten(result)
    problem = capture.problem or capture.unexplained() or _changed_outside(outside)
    changed = None if problem else reached.changed()
    if changed is not None:
        problem = f"the call changes {changed}, which a compiled call would not"
    if problem is None:
        problem = _escaped(capture, leaves)
    outputs: list[Output] = []
    if problem is None:
        outputs, problem = _outputs_of(capture, leaves, tensors)
    joint = None
    if problem is None:
        joint = _backward_of(capture, outputs, leaves, tensors, start)
        problem = capture.problem
    if problem is not None:
        return None, problem
    return Trace(function, reached, capture, outputs, spec, joint), None


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
    """The random streams of Python and NumPy."""
    return random.getstate(), _numpy_position()


def _changed_outside(before: Any) -> str | None:
    if random.getstate() != before[0]:
        return "random numbers are drawn with Python's random"
    return "random numbers are drawn with NumPy" if _numpy_position() != before[1] else None


def _outputs_of(
    capture: Capture, leaves: list[Any], tensors: list[Tensor]
) -> tuple[list[Output], str | None]:
    outputs: list[Output] = []
    unused: set[Instruction] = set()
    given = {id(tensor): place for place, tensor in enumerate(tensors)}
    for leaf in leaves:
        reading = reading_of(leaf)
        if reading is not None:
            outputs.append(Output("number", result=len(capture.graph.results)))
            capture.graph.results.append(reading.value)
            unused.add(reading.check)
        elif not isinstance(leaf, Tensor):
            outputs.append(Output("constant", plain(leaf)))
        elif id(leaf) in given:
            outputs.append(Output("input", result=given[id(leaf)]))
        elif id(leaf) in capture.state_tensors:
            outputs.append(Output("state", leaf))
        else:
            value = capture.values.get(id(leaf._array))
            if value is None:
                return outputs, "a result whose origin is not known"
            output = Output("made", result=len(capture.graph.results))
            capture.graph.results.append(value)
            if leaf.requires_grad:
                output.requires_grad = True
                output.where = user_where()
                if not is_spent(leaf):
                    output.number = sum(each.number >= 0 for each in outputs)
            outputs.append(output)
    graph = capture.graph
    # What is read only to be returned is read anew.
    graph.instructions = [each for each in graph.instructions if each not in unused]
    return outputs, None


def is_spent(tensor: Tensor) -> bool:
    """Whether the graph of a tensor was used up by a backward."""
    node: Any = tensor._node
    seen = 0
    while node is not None and seen < 64:
        if type(getattr(node, "saved", None)) is Freed:
            return True
        edge = next((edge for edge in node._edges if edge is not None), None)
        node = None if edge is None else edge[0]
        seen += 1
    return False


def _escaped(capture: Capture, leaves: list[Any]) -> str | None:
    """A tensor that was made in the call and lives on where nobody would update it."""
    known = {id(leaf) for leaf in leaves if isinstance(leaf, Tensor)}
    known |= {
        id(leaf._view.base)
        for leaf in leaves
        if isinstance(leaf, Tensor) and leaf._view is not None
    }
    known |= {id(leaf._grad) for leaf in capture.leaves.values() if leaf._grad is not None}
    for collect in (False, True):
        if collect:
            gc.collect()
        alive = [made() for made in capture.made]
        left = [each for each in alive if each is not None and id(each) not in known]
        if not left:
            return None
    shape = list(left[0]._array.shape)
    return f"a tensor of shape {shape} that the call makes is kept somewhere"
