"""The backward engine: a topological walk of the graph from its roots.

Nodes run in the order of their sequence numbers, newest first, each when no dependency is left: all
gradients for it have arrived. The walk uses a ready queue (a heap) and counts, never recursion, so
depth does not matter.
"""

from __future__ import annotations

import heapq
import operator
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from clew import errors
from clew.core.accumulating import fit, fitted, is_unstrided, sum_bare_to_shape
from clew.core.anomaly import NanChecks
from clew.core.hooks import Extras, after_node, run_pre_hooks, run_tensor_hooks
from clew.core.node import Edge, Node, array_of, tensor_of
from clew.core.state import State, in_another_thread, local
from clew.core.storage import next_sequence_number
from clew.core.tensor import Tensor, _ndarray
from clew.kernels.compiled.threaded_ufuncs import SERIAL_THRESHOLD, threaded
from clew.kernels.gemm.products import finish
from clew.observer import active
from clew.source import Place, user_where

_add = np.add
_sequence_number = operator.attrgetter("_seq")

# Tensors; in a run without graphs of the gradients, bare arrays as well.
Grads = list[Any]


class Run:
    """One backward pass."""

    def __init__(
        self,
        roots: Sequence[Edge],
        *,
        retain_graph: bool,
        create_graph: bool,
        targets: Sequence[Edge] | None = None,
        accumulate: bool = True,
    ) -> None:
        self.retain_graph = retain_graph
        self.create_graph = create_graph
        self.accumulate = accumulate
        # Observers see every gradient as soon as a node returns it: while there is one, nothing is
        # deferred.
        self.observer = active.observer
        # The reachable nodes, with their pending gradients.
        self.nodes = count_dependencies([node for node, _ in roots])
        self.targets: dict[Node, set[int]] = {}
        self.captured: dict[Edge, Tensor | None] = {}
        self.needed: set[Node] | None = None
        self.checks: NanChecks | None = None
        # What `queue_callback` was given: called when all gradients are there.
        self.callbacks: list[Callable[[], Any]] = []
        if targets is not None:
            for node, number in targets:
                self.targets.setdefault(node, set()).add(number)
            self.needed = nodes_leading_to(set(self.targets), self.nodes)

    def run(self, roots: Sequence[Edge], grads: Sequence[Tensor], where: Place | None) -> None:
        for (node, number), seed in zip(roots, grads, strict=True):
            self.receive(self.nodes[node], node, number, seed)
        nodes, needed = self.nodes, self.needed
        begins = {node for node, _ in roots}
        if needed is not None and len(roots) > 1:
            # Where there is nothing to find, nothing runs. One root alone gets its hooks.
            begins &= needed
        heap = [(-node._seq, node) for node in begins if not nodes[node][0]]
        heapq.heapify(heap)
        # The last node that became ready: in a chain it is the next, and the heap stays empty.
        ready: Node | None = None
        state = local.state
        observer = self.observer
        freed = None if self.retain_graph else errors.Freed(where)
        captures = needed is not None
        # Whether leaves keep their `.grad` as it is.
        ends_here = captures and not self.accumulate
        if state.anomaly and state.anomaly_check_nan:
            self.checks = NanChecks(state, grads)
        checks = self.checks
        bare = not self.create_graph and state.intercept is None
        # Whether a node without hooks is all that runs at a step.
        alone = state.intercept is None and observer is None and checks is None
        # Leaves, and nodes that refuse, take their gradient as soon as it is complete, in the order
        # of their edges.
        leaves: deque[Node] = deque()
        results: Sequence[Any] = ()
        grad: Any = None
        array: Any = None
        while heap or ready is not None or leaves:
            if leaves:
                node = leaves.popleft()
            elif ready is not None:
                node = heapq.heappushpop(heap, (-ready._seq, ready))[1] if heap else ready
                ready = None
            else:
                node = heapq.heappop(heap)[1]
            pending = nodes[node]
            # Without these references a leaf may steal its gradient: see `AccumulateGrad`.
            results = ()
            array = None
            grad = pending[GRAD]
            if ends_here and node.is_accumulator and node._extras is None:
                # What was asked for is kept, and nothing else is done with it.
                if node in self.targets:
                    self.captured[node, 0] = tensor_of(grad)
                pending[GRAD] = None
                continue
            if (
                (captures and not self.leads_on(node))
                or node._extras is not None
                or not (bare and node.is_bare)
                or (node._outputs is not None and not of_first_alone(pending))
                or (type(grad) is not _ndarray and (grad is None or grad._is_unstrided))
            ):
                if (
                    alone
                    and grad is not None
                    and node._is_op
                    and node._extras is None
                    and node._outputs is None
                    and (not captures or self.leads_on(node))
                ):
                    pending[GRAD] = None
                    given = (tensor_of(grad),)
                    grad = None
                    results = node.apply_tensors(given)
                    if freed is not None:
                        node.release(freed)
                else:
                    grad = None
                    results = self.step(state, node, pending, freed)
            else:
                pending[GRAD] = None
                if type(grad) is not _ndarray:
                    grad = grad._array  # type: ignore[union-attr]  # it is a tensor
                if checks is not None and node.is_accumulator and checks.deferred:
                    checks.before_leaf(node)
                if node.may_defer and not captures and self.leads_to_leaf(node):
                    results = node.apply_deferred(grad, freed)
                    if checks is not None:
                        checks.returned_deferred(
                            node, results, None if pending[OWNED] or checks.nan_given else grad
                        )
                elif pending[OWNED] and node.is_accumulator:
                    node.steal(grad)
                else:
                    results = node.apply_bare(grad, freed)
                    if checks is not None and results:
                        checks.returned(
                            node, results, None if pending[OWNED] or checks.nan_given else grad
                        )
                    if observer is not None and results:
                        observer.node_ran(node, (grad,), results)
            # Nodes return one gradient per edge; `strict=True` would double the cost of this line.
            for edge, grad in zip(node._edges, results):
                if edge is None:
                    continue
                following, number = edge
                if needed is not None and following not in needed:
                    continue
                pending = nodes[following]
                if grad is not None:
                    if pending[GRAD] is None and following._outputs is None:
                        array = grad if type(grad) is _ndarray else grad._layout
                        if array.shape != following._shape or array.dtype is not following._dtype:
                            grad = fit_output(grad, following, node)
                        pending[GRAD] = grad
                    elif (
                        pending[OWNED]
                        and following._outputs is None
                        and (type(grad) is _ndarray or not grad._is_unstrided)
                    ):
                        # The sum is in memory of this run: add in place.
                        array = grad if type(grad) is _ndarray else grad._array
                        if array.shape != following._shape or array.dtype is not following._dtype:
                            grad = fit_output(grad, following, node)
                            array = array_of(grad)
                        if array.size < SERIAL_THRESHOLD:
                            _add(pending[GRAD], array, pending[GRAD])
                        else:
                            threaded(_add, pending[GRAD], array, pending[GRAD])
                    else:
                        self.receive(pending, following, number, grad, node)
                pending[DEPENDENCIES] = left = pending[DEPENDENCIES] - 1
                if not left:
                    if following.comes_first:
                        leaves.append(following)
                    else:
                        if ready is not None:
                            heapq.heappush(heap, (-ready._seq, ready))
                        ready = following
        if checks is not None:
            checks.settle()

    def leads_on(self, node: Node) -> bool:
        """Whether a run for given inputs wants all of what a node returns, and not its input."""
        needed, targets = self.needed or (), self.targets
        if node in targets or node not in needed:
            return False
        for edge in node._edges:
            if edge is not None:
                following = edge[0]
                # What is returned is a view where PyTorch's is: bare arrays do not say so.
                if following not in needed or (node.gives_view and following in targets):
                    return False
        return True

    def leads_to_leaf(self, node: Any) -> bool:
        """Whether a deferred gradient goes to a leaf that will just keep it.

        On the way nothing may read its elements or add to it.
        """
        may_defer = node.plan.deferred and self.observer is None and local.state.multithreading
        edge = node._edges[node.plan.deferred_edge] if may_defer else None
        if edge is None:
            return False
        following: Any = edge[0]
        pending = self.nodes[following]
        if following.grad_is_view and following._edges[0] is not None:
            if not waits_for_first(pending) or following._extras is not None:
                return False
            following = following._edges[0][0]
            pending = self.nodes[following]
        if not (following.is_accumulator and waits_for_first(pending) and following.is_plain()):
            return False
        # The gradient will be in memory of this run.
        pending[OWNED] = 1
        return True

    def step(
        self, state: State, node: Node, pending: Pending, freed: errors.Freed | None
    ) -> Sequence[Any]:
        """Run one node over tensors, with its hooks, captures, and the checks on its results."""
        if node._extras is not None or node.is_custom:
            # User code runs next, and may read gradients.
            finish(state.pending_products)
            if self.checks is not None:
                self.checks.settle()
        grads = [tensor_of(grad) for grad in pending[GRAD:]]
        # From here on the node owns the gradients.
        pending[GRAD:] = [None] * len(grads)
        extras = node._extras
        runs = self.needed is None or self.should_run(node)
        if runs and node in self.targets:
            # As in PyTorch: hooks change what is captured only where the walk ends.
            self.capture(node, grads)
        if extras is not None:
            run_tensor_hooks(extras, grads)
        if not runs:
            if node in self.targets:
                self.capture(node, grads)
            return (None,) * len(node._edges)
        if extras is not None:
            run_pre_hooks(extras, grads)
        interceptor = state.intercept
        results: Sequence[Any]
        if interceptor is not None:
            results = interceptor.run_node(node, tuple(grads))
        elif node.is_boxed:
            results = node.apply_tensors(self.handed_over(grads, extras))
        elif self.needed is None:
            results = node.apply_tensors(tuple(grads))
        else:
            results = node.apply_some(tuple(grads), self.wanted(node))
        if self.observer is not None and results:
            self.observer.node_ran(node, grads, results)
        if extras is not None and extras.post_hooks:
            results = after_node(extras, fitted(node, results), grads)
        if self.checks is not None:
            self.checks.returned(node, results)
        if freed is not None:
            node.release(freed)
        return results

    def handed_over(self, grads: Grads, extras: Extras | None) -> tuple[Any, ...]:
        """The gradients for a node that may free them, unless hooks or an observer come after."""
        given = tuple(grads)
        if self.observer is None and (extras is None or not extras.post_hooks):
            grads.clear()
        return given

    def pending_gradients(self) -> Iterator[np.ndarray]:
        """The gradients that this run still holds: for nodes to come, and those captured."""
        for pending in self.nodes.values():
            yield from (array_of(grad) for grad in pending[GRAD:] if grad is not None)
        yield from (array_of(grad) for grad in self.captured.values() if grad is not None)

    def capture(self, node: Node, grads: Grads) -> None:
        for number in self.targets[node]:
            self.captured[node, number] = grads[number]

    def will_reach(self, node: Node) -> bool:
        """Whether a gradient for `node` is computed in this run."""
        return node in (self.nodes if self.needed is None else self.needed)

    def should_run(self, node: Node) -> bool:
        """In a run for given inputs, a node runs only if one of them lies behind it."""
        if node.is_accumulator:
            return self.accumulate and node in self.targets
        needed = self.needed
        if self.accumulate and node in self.targets:
            return True
        return needed is None or any(e is not None and e[0] in needed for e in node._edges)

    def wanted(self, node: Node) -> int:
        """A bit for each edge of a node behind which one of the given inputs lies."""
        needed = self.needed or ()
        return sum(
            1 << number
            for number, edge in enumerate(node._edges)
            if edge is not None and edge[0] in needed
        )

    def receive(
        self,
        pending: Pending,
        node: Node,
        number: int,
        grad: Tensor | np.ndarray,
        source: Node | None = None,
    ) -> None:
        """Add a gradient, which `source` returned, to what has arrived for an output of `node`."""
        shape, dtype = node._meta[number]
        array = grad if isinstance(grad, _ndarray) else grad._layout
        if array.shape != shape or array.dtype is not dtype:
            grad = fit(tensor_of(grad), shape, dtype, node, source)
        have = pending[GRAD + number]
        if have is None:
            pending[GRAD + number] = grad
        elif self.create_graph or local.state.intercept is not None:
            pending[GRAD + number] = have + grad
        elif is_unstrided(have) or is_unstrided(grad):
            # One of them is sparse: so is the sum, or it is new.
            pair = tensor_of(have), tensor_of(grad)
            pending[GRAD + number] = pair[1] + pair[0] if is_unstrided(have) else pair[0] + pair[1]
            pending[OWNED] &= ~(1 << number)
        elif pending[OWNED] >> number & 1:
            threaded(_add, have, array_of(grad), have)
        else:
            pending[GRAD + number] = np.asarray(threaded(_add, array_of(have), array_of(grad)))
            pending[OWNED] |= 1 << number


# The pending gradients of a node, in a list for speed: its dependencies, which are the gradients
# that have not arrived; a bit for each sum whose memory this run has allocated, so that more may be
# added in place (other memory may be shared); and from GRAD on the sum for each output.
Pending = list[Any]
DEPENDENCIES, OWNED, GRAD = range(3)


def count_dependencies(roots: list[Node]) -> dict[Node, Pending]:
    """The reachable nodes, with the number of gradients that each will get."""
    nodes: dict[Node, Pending] = {node: new_pending(node, 0) for node in roots}
    stack = list(nodes)
    while stack:
        for edge in stack.pop()._edges:
            if edge is not None:
                node = edge[0]
                pending = nodes.get(node)
                if pending is not None:
                    pending[DEPENDENCIES] += 1
                else:
                    nodes[node] = [1, 0, None] if node._outputs is None else new_pending(node, 1)
                    stack.append(node)
    return nodes


def new_pending(node: Node, waiting: int) -> Pending:
    return [waiting, 0] + [None] * len(node._meta)


def of_first_alone(pending: Pending) -> bool:
    """Whether no other output than the first has a gradient."""
    return all([grad is None for grad in pending[GRAD + 1 :]])


def waits_for_first(pending: Pending) -> bool:
    """Whether one gradient will arrive in all, and has not yet."""
    return pending[DEPENDENCIES] == 1 and pending[GRAD] is None


def fit_output(grad: Any, node: Node, source: Node) -> Any:
    """A gradient, a tensor or a bare array, in the shape and dtype of a node's only output."""
    if type(grad) is _ndarray and grad.dtype is node._dtype and active.observer is None:
        summed = sum_bare_to_shape(grad, node._shape)
        if summed is not None:
            return summed
    return fit(tensor_of(grad), node._shape, node._dtype, node, source)


def reachable(roots: list[Node]) -> Iterator[Node]:
    """Every node that the roots lead to, each once, without recursion."""
    seen: set[int] = set()
    stack = list(roots)
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        stack.extend(edge[0] for edge in node._edges if edge is not None)


def nodes_leading_to(targets: set[Node], nodes: dict[Node, Pending]) -> set[Node]:
    """The nodes from which a target can be reached; sequence numbers order them."""
    needed = targets & nodes.keys()
    for node in sorted([node for node in nodes if node._edges], key=_sequence_number):
        if node not in needed:
            for edge in node._edges:
                if edge is not None and edge[0] in needed:
                    needed.add(node)
                    break
    return needed


def backward(
    roots: Sequence[Edge],
    grads: Sequence[Tensor],
    *,
    retain_graph: bool,
    create_graph: bool,
    targets: Sequence[Edge] | None = None,
    accumulate: bool = True,
    outputs: Sequence[Any] = (),
) -> dict[Edge, Tensor | None]:
    """Run backward; the gradients that arrived at `targets` are returned by edge.

    `outputs` are the tensors whose edges the roots are, for observers.
    """
    state = local.state
    if len(state.backward_runs) % MOST_NESTED == MOST_NESTED - 1:
        arguments = roots, grads, retain_graph, create_graph, targets, accumulate, outputs
        return in_another_thread(state, _backward, arguments)
    return _backward(roots, grads, retain_graph, create_graph, targets, accumulate, outputs)


# How many backward passes may run inside of each other in one thread, before Python's limit on
# nested calls comes near.
MOST_NESTED = 20


def _backward(
    roots: Sequence[Edge],
    grads: Sequence[Tensor],
    retain_graph: bool,
    create_graph: bool,
    targets: Sequence[Edge] | None,
    accumulate: bool,
    outputs: Sequence[Any],
) -> dict[Edge, Tensor | None]:
    state = local.state
    where = user_where()
    if accumulate and not state.backward_runs:
        state.last_backward = next_sequence_number(), where
    run = Run(
        roots,
        retain_graph=retain_graph,
        create_graph=create_graph,
        targets=targets,
        accumulate=accumulate,
    )
    grad_enabled, runs = state.grad_enabled, state.backward_runs
    saved_hooks = state.saved_hooks
    observer, completed = run.observer, False
    state.grad_enabled, state.backward_runs = create_graph, (*runs, run)
    try:
        if observer is not None:
            observer.backward_begins(run, roots, outputs)
        run.run(roots, grads, where)
        if run.callbacks:
            finish(state.pending_products)
            # A callback may add others.
            for callback in run.callbacks:
                callback()
        completed = True
    finally:
        state.grad_enabled, state.backward_runs = grad_enabled, runs
        # Hooks that the user's code in backward has entered and not left end with it.
        state.saved_hooks = saved_hooks
        finish(state.pending_products)
        if observer is not None:
            observer.backward_ends(run, completed)
    return run.captured
