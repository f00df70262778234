"""Results that still have a graph: the backward of a compiled forward, compiled with it.

When a captured call returns results that require grad, as a module does in training, its backward
is captured right after it, from gradients that stand for those of the results to those of the
parameters and arguments. The program of the forward then returns what the backward needs besides
its results, and each replay ends in one node that holds it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from clew.backend import random as streams
from clew.compiler.capture import Capture
from clew.compiler.graph import COMPUTED, INPUT, Graph, Value
from clew.compiler.passes import optimize
from clew.compiler.program import Mismatch, Program
from clew.core import engine, interception
from clew.core.node import Edge, Node, edge_of, live_edge
from clew.core.recording import OpNode
from clew.core.state import local
from clew.core.storage import Storage, next_sequence_number
from clew.core.tensor import Tensor, wrap
from clew.errors import Freed, backward_twice, modified_in_place, shape_list
from clew.interrupts import run_to_end
from clew.source import Place


class Boundary:
    """Where gradients leave a compiled backward: an argument, or a tensor that was there before."""

    __slots__ = ("place", "tensor")

    def __init__(self, tensor: Tensor, place: int | None) -> None:
        self.tensor = tensor
        self.place = place

    def edge(self, tensors: Sequence[Tensor]) -> Edge:
        return edge_of(self.tensor if self.place is None else tensors[self.place])


class Joint:
    """The compiled backward of a trace."""

    def __init__(
        self,
        graph: Graph,
        saved: list[Value],
        boundaries: list[Boundary],
        reached: list[int],
        metas: tuple[Any, ...],
    ) -> None:
        self.graph = optimize(graph)
        self.program = Program(self.graph)
        # The values of the forward that the program takes, before the gradients.
        self.saved = saved
        self.boundaries = boundaries
        # For each boundary, a bit for every result that depends on it.
        self.reached = reached
        self.metas = metas


class CompiledNode(Node):
    """The one node of a replayed forward."""

    __slots__ = ("again", "guards", "joint", "saved")

    def __init__(
        self,
        joint: Joint,
        saved: list[np.ndarray],
        edges: tuple[Edge, ...],
        guards: list[tuple[int, Storage, int]],
        again: Again,
        where: Place | None,
    ) -> None:
        self.joint = joint
        self.saved: Any = saved
        self.guards = guards
        # Runs the function eagerly on the same arguments, for gradients of gradients.
        self.again = again
        self._edges = edges
        self._meta = joint.metas
        self._extras = None
        self._where = where
        self._seq = next_sequence_number()
        self.module_path = local.state.module_path

    def apply_tensors(self, grads: tuple[Tensor | None, ...]) -> Sequence[Tensor | None]:
        if type(self.saved) is Freed:
            raise backward_twice(self, self.saved)
        for place, storage, version in self.guards:
            if storage.version != version:
                array = self.saved[place]
                kind = f"a tensor {shape_list(array.shape)}"
                raise modified_in_place(self, "self", kind, storage, version, None)
        given = sum(1 << i for i, grad in enumerate(grads) if grad is not None)
        state = local.state
        if state.grad_enabled or state.intercept is not None or state.anomaly:
            return self._by_operations(grads)
        seeds = [
            np.zeros(*meta) if grad is None else grad._array
            for grad, meta in zip(grads, self.joint.metas, strict=True)
        ]
        try:
            arrays = self.joint.program.run([*self.saved, *seeds], ())
        except Mismatch:
            # A formula has looked at values, which are others now.
            return self._by_operations(grads)
        return [
            wrap(array) if reached & given else None
            for array, reached in zip(arrays, self.joint.reached, strict=True)
        ]

    def _by_operations(self, grads: tuple[Tensor | None, ...]) -> Sequence[Tensor | None]:
        """The gradients through an eager run, so that they have a graph of their own."""
        state = local.state
        grad_enabled, state.grad_enabled = state.grad_enabled, True
        try:
            outputs = self.again()
        finally:
            state.grad_enabled = grad_enabled
        roots, seeds = [], []
        for out, grad in zip(outputs, grads, strict=True):
            if grad is not None:
                roots.append(edge_of(out))
                seeds.append(grad)
        found = engine.backward(
            roots, seeds, retain_graph=True, create_graph=state.grad_enabled,
            targets=list(self._edges), accumulate=False,  # type: ignore[arg-type]  # none is None
        )  # fmt: skip
        return [found.get(edge) for edge in self._edges if edge is not None]

    def release(self, freed: Freed) -> None:
        self.saved = freed

    def _name(self) -> str:
        return "CompiledFunctionBackward"


def backward_of(
    capture: Capture, attached: list[Tensor], tensors: Sequence[Tensor], start: int
) -> Joint | None:
    """The backward of the results that still have a graph, captured; None if there are none."""
    if not attached:
        return None
    interception.install(capture)
    try:
        return capture_backward(capture, attached, tensors, start)
    finally:
        interception.remove(capture)


def capture_backward(
    capture: Capture, outputs: list[Tensor], tensors: Sequence[Tensor], start: int
) -> Joint | None:
    """Capture the backward of results, from new gradients to everything before the call.

    `start` is a sequence number: nodes with lower ones were there before. None, with the reason in
    `capture.problem`, if it cannot be done.
    """
    roots = [edge_of(out) for out in outputs]
    places = _places(capture, tensors)
    ends = [end for end in _ends(capture, roots, start) if not _is_lost(end[0])]
    if any(end not in places for end in ends):
        capture.refuse("a gradient goes to a tensor that the call makes")
    problem = capture.problem
    if problem is not None:
        return None
    graph = capture.graph
    mark = len(graph.instructions)
    seeds, values = _seeds(capture, outputs)
    found = engine.backward(
        roots, seeds, retain_graph=True, create_graph=False, targets=ends, accumulate=False
    )
    if capture.problem is not None:
        return None
    used = [end for end in ends if found.get(end) is not None]
    gradients: list[Value] = []
    for end in used:
        gradient = found[end]
        assert gradient is not None
        gradients.append(capture.value_of(gradient._array))
    backward = Graph()
    backward.instructions = graph.instructions[mark:]
    del graph.instructions[mark:]
    saved = _split(graph, backward, values, gradients)
    reached = [
        sum(1 << i for i, root in enumerate(roots) if _leads_to(root[0], end[0])) for end in used
    ]
    metas = tuple((out._array.shape, out._array.dtype) for out in outputs)
    return Joint(backward, saved, [places[end] for end in used], reached, metas)


def _places(capture: Capture, tensors: Sequence[Tensor]) -> dict[Edge, Boundary]:
    """The edges of everything that was there before the call."""
    found: dict[Edge, Boundary] = {}
    for tensor in capture.state_tensors.values():
        edge = live_edge(tensor)
        if edge is not None:
            found[edge] = Boundary(tensor, None)
    for place, tensor in enumerate(tensors):
        edge = live_edge(tensor)
        if edge is not None:
            found[edge] = Boundary(tensor, place)
    return found


def _ends(capture: Capture, roots: list[Edge], start: int) -> list[Edge]:
    """The edges from nodes of this call to leaves and to older nodes."""
    ends: dict[Edge, None] = {}
    seen: set[int] = set()
    stack = [node for node, _ in roots]
    for root in roots:
        if root[0].is_accumulator or root[0]._seq < start:
            ends[root] = None
    while stack:
        node = stack.pop()
        if id(node) in seen or node.is_accumulator or node._seq < start:
            continue
        seen.add(id(node))
        if node._extras is not None:
            capture.refuse("a hook on a tensor that the call makes", node._where)
        elif not isinstance(node, OpNode):
            # It would have to run once more than the program asks for.
            capture.refuse("the backward of a custom function, outside of the call", node._where)
        for edge in node._edges:
            if edge is not None:
                if edge[0]._extras is not None:
                    capture.refuse("a hook on a tensor that gets a gradient", node._where)
                if edge[0].is_accumulator or edge[0]._seq < start:
                    ends[edge] = None
                else:
                    stack.append(edge[0])
    return list(ends)


def _is_lost(node: Any) -> Any:
    """Whether a gradient would go to a leaf that the call has made and that nobody has any more."""
    is_watched = node._extras is not None or (node.is_accumulator and node.post_accumulate_hooks)
    return node.is_accumulator and not is_watched and node._variable() is None


def _leads_to(node: Node, target: Node) -> bool:
    seen: set[int] = set()
    stack = [node]
    while stack:
        each = stack.pop()
        if each is target:
            return True
        if id(each) not in seen:
            seen.add(id(each))
            stack.extend(edge[0] for edge in each._edges if edge is not None)
    return False


def _seeds(capture: Capture, outputs: list[Tensor]) -> tuple[list[Tensor], list[Value]]:
    """Gradients that stand for those of the results: of any value, so none is folded."""
    seeds, values = [], []
    for out in outputs:
        array = np.empty(out._array.shape, out._array.dtype)
        array.fill(0.75)
        seed = wrap(array)
        values.append(capture.put(array, capture.graph.new_value(array, INPUT, None)))
        capture.follow(seed._storage)
        seeds.append(seed)
    return seeds, values


def _split(
    forward: Graph, backward: Graph, seeds: list[Value], gradients: list[Value]
) -> list[Value]:
    """Make the backward a graph of its own; the values of the forward that it takes."""
    made = {out for each in backward.instructions for out in each.outputs}
    taken: dict[Value, None] = {}
    for each in backward.instructions:
        taken.update(dict.fromkeys(v for v in each.reads() if v not in made and v not in seeds))
    taken.update(dict.fromkeys(v for v in gradients if v not in made and v not in seeds))
    saved = [value for value in taken if value.kind != "constant"]
    same: dict[Value, Value] = {}
    for place, value in enumerate([*saved, *seeds]):
        clone = Value.__new__(Value)
        for slot in Value.__slots__:
            setattr(clone, slot, getattr(value, slot))
        clone.kind, clone.source = INPUT, place
        same[value] = clone
    for value, clone in same.items():
        root = value.alias
        clone.alias = same.get(root, clone) if root in same else clone
    backward.values = [*same.values(), *[v for v in forward.values if v in made]]
    backward.values += [value for value in taken if value.kind == "constant"]
    for value in backward.values:
        if value.kind == COMPUTED and value.alias in same:
            value.alias = same[value.alias]
    backward.results = gradients
    backward.replace(same)
    return saved


class Again:
    """Runs a call once more as it ran: its results. State and streams stay as they are."""

    def __init__(
        self,
        run: Callable[[], list[Tensor]],
        changed: Callable[[], str | None],
        copies: list[tuple[np.ndarray, np.ndarray]],
        writes: list[tuple[Storage, int]],
        storages: list[Storage],
        stream: Any,
    ) -> None:
        self.run = run
        self.changed = changed
        # What the call has written to, with the values from before, and how often it did.
        self.copies = copies
        self.writes = writes
        self.versions = [(storage, storage.version) for storage in storages]
        self.stream = stream

    def __call__(self) -> list[Tensor]:
        changed = self.changed()
        if changed is None:
            for storage, version in self.versions:
                if storage.version != version:
                    changed = "a tensor that it read"
                    break
        if changed is not None:
            raise RuntimeError(
                f"gradients with a graph of a compiled call: {changed} has changed since the call"
                "\n  They are computed by an eager run of the same function. Do it before the "
                'change, or call the function under clew.compiler.set_stance("force_eager").'
            )
        generator = streams.default_generator
        position = generator.get_state()
        after = [(array, array.copy()) for array, _ in self.copies]

        def restore() -> None:
            for array, copy in after:
                array[...] = copy
            for storage, version in self.versions:
                storage.version = version
            generator.set_state(position)

        try:
            for storage, count in self.writes:
                storage.version -= count
            for array, copy in self.copies:
                array[...] = copy
            if self.stream is not None:
                generator.set_state(self.stream)
            return self.run()
        finally:
            run_to_end(restore)
