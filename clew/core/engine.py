"""The backward engine: walks the graph from its roots and hands each node its gradient.

Nodes run in the order of their sequence numbers, newest first, each when all gradients for it have
arrived. The walk uses a heap and counts, never recursion, so depth does not matter.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.node import Edge, Extras, Node, restore
from clew.core.state import State, local
from clew.core.storage import Storage, next_sequence_number
from clew.core.tensor import Tensor
from clew.source import Place, user_where

Grads = list[Tensor | None]


class Run:
    """One backward pass."""

    def __init__(
        self,
        roots: Sequence[Edge],
        *,
        keep_graph: bool,
        create_graph: bool,
        targets: Sequence[Edge] | None = None,
        accumulate: bool = True,
    ) -> None:
        self.keep_graph = keep_graph
        self.create_graph = create_graph
        self.accumulate = accumulate
        self.buffers: dict[Node, Grads] = {}
        # A bit for each waiting gradient whose memory this run made itself: more may be added
        # in place. All other gradients may be seen by somebody else.
        self.owned: dict[Node, int] = {}
        self.dependencies = count_dependencies([node for node, _ in roots])
        self.targets: dict[Node, set[int]] = {}
        self.captured: dict[Edge, Tensor | None] = {}
        self.needed: set[Node] | None = None
        if targets is not None:
            for node, number in targets:
                self.targets.setdefault(node, set()).add(number)
            self.needed = nodes_leading_to(set(self.targets), self.dependencies)

    def run(self, roots: Sequence[Edge], grads: Sequence[Tensor], where: Place | None) -> None:
        for (node, number), seed in zip(roots, grads, strict=True):
            self.receive(node, number, seed)
        waiting, buffers, needed = self.dependencies, self.buffers, self.needed
        heap = [(-node.seq, node) for node in buffers if not waiting[node]]
        heapq.heapify(heap)
        # The last node that became ready waits here: in a chain it is the next, and the heap stays
        # empty.
        held: tuple[int, Node] | None = None
        state = local.state
        freed = None if self.keep_graph else errors.Freed(where)
        watched = needed is not None or state.anomaly
        bare = not self.create_graph and state.intercept is None
        # Leaves take their gradient as soon as it is complete, in the order of their edges.
        leaves: deque[Node] = deque()
        results: Sequence[Any] = ()
        grad: Any = None
        array: Any = None
        total: Any = None
        while heap or leaves or held:
            if leaves:
                node = leaves.popleft()
            elif held:
                node = heapq.heappushpop(heap, held)[1] if heap else held[1]
                held = None
            else:
                node = heapq.heappop(heap)[1]
            if watched or node.extras is not None or node not in buffers:
                results = self.step(state, node, freed)
            else:
                # Nothing to watch: straight to the node's own backward. Letting go of what the
                # last one returned lets a leaf see that it may keep its gradient without a copy.
                results = ()
                grad = array = None
                if self.owned:
                    self.owned.pop(node, None)
                if bare and node.is_bare:
                    results = node.apply_bare(buffers.pop(node)[0])
                else:
                    results = node.apply(tuple(buffers.pop(node)))
                if freed is not None:
                    node.release(freed)
            # Nodes return one gradient per edge; `strict=True` would double the cost of this line.
            for edge, grad in zip(node.edges, results):
                if edge is None:
                    continue
                following, number = edge
                if needed is not None and following not in needed:
                    continue
                if grad is not None:
                    meta = following.meta
                    if len(meta) == 1 and following not in buffers:
                        shape, dtype = meta[0]
                        array = grad._array
                        if array.shape != shape or array.dtype is not dtype:
                            grad = fit(grad, shape, dtype, following)
                        buffers[following] = [grad]
                    elif bare and len(meta) == 1 and following in self.owned:
                        # A sum that this run has begun goes on in place.
                        shape, dtype = meta[0]
                        array = grad._array
                        if array.shape != shape or array.dtype is not dtype:
                            array = fit(grad, shape, dtype, following)._array
                        total = buffers[following][0]
                        np.add(total._array, array, total._array)
                        total = None
                    else:
                        self.receive(following, number, grad)
                left = waiting[following] - 1
                waiting[following] = left
                if not left:
                    if following.is_accumulator:
                        leaves.append(following)
                    else:
                        if held:
                            heapq.heappush(heap, held)
                        held = (-following.seq, following)

    def step(self, state: State, node: Node, freed: errors.Freed | None) -> Sequence[Any]:
        """Run one node with its hooks, captures, and the checks on what it returns."""
        grads = self.buffers.pop(node, None)
        if grads is None:
            grads = [None] * len(node.meta)
        # From here on the node may keep the gradients, or hand them on.
        self.owned.pop(node, None)
        extras = node.extras
        runs = self.needed is None or self.should_run(node)
        if runs and node in self.targets:
            # As in PyTorch: hooks change what is captured only where the walk ends.
            self.capture(node, grads)
        if extras is not None:
            run_tensor_hooks(extras, grads)
        if not runs:
            if node in self.targets:
                self.capture(node, grads)
            return (None,) * len(node.edges)
        if extras is not None:
            run_pre_hooks(extras, grads)
        results: Sequence[Any] = node.apply(tuple(grads))
        if state.anomaly:
            check_finite(state, node, results)
        if extras is not None and extras.post_hooks:
            results = after_node(extras, results, grads)
        if freed is not None:
            node.release(freed)
        return results

    def capture(self, node: Node, grads: Grads) -> None:
        for number in self.targets[node]:
            self.captured[node, number] = grads[number]

    def will_reach(self, node: Node) -> bool:
        """Whether a gradient for `node` is computed in this run."""
        return node in (self.dependencies if self.needed is None else self.needed)

    def should_run(self, node: Node) -> bool:
        """In a run for given inputs, a node runs only if one of them lies behind it."""
        if node.is_accumulator:
            return self.accumulate and node in self.targets
        needed = self.needed
        return needed is None or any(e is not None and e[0] in needed for e in node.edges)

    def receive(self, node: Node, number: int, grad: Tensor) -> None:
        """Add a gradient to what has arrived for an output of `node`."""
        shape, dtype = node.meta[number]
        array = grad._array
        if array.shape != shape or array.dtype is not dtype:
            grad = fit(grad, shape, dtype, node)
        grads = self.buffers.get(node)
        if grads is None:
            grads = self.buffers[node] = [None] * len(node.meta)
        have = grads[number]
        if have is None:
            grads[number] = grad
        elif self.create_graph or local.state.intercept is not None:
            grads[number] = have + grad
        else:
            owned = self.owned.get(node, 0)
            if owned >> number & 1:
                np.add(have._array, grad._array, have._array)
            else:
                grads[number] = restore(np.asarray(have._array + grad._array), Storage(), None, 0)
                self.owned[node] = owned | 1 << number


def count_dependencies(roots: list[Node]) -> dict[Node, int]:
    """How many gradients each reachable node waits for."""
    counts: dict[Node, int] = dict.fromkeys(roots, 0)
    stack = list(counts)
    while stack:
        for edge in stack.pop().edges:
            if edge is not None:
                node = edge[0]
                if node in counts:
                    counts[node] += 1
                else:
                    counts[node] = 1
                    stack.append(node)
    return counts


def nodes_leading_to(targets: set[Node], nodes: dict[Node, int]) -> set[Node]:
    """The nodes from which a target can be reached; sequence numbers order them."""
    needed = targets & nodes.keys()
    for node in sorted(nodes, key=lambda n: -1 if n.is_accumulator else n.seq):
        if node not in needed and any(e is not None and e[0] in needed for e in node.edges):
            needed.add(node)
    return needed


def fit(grad: Tensor, shape: tuple[int, ...], dtype: np.dtype, node: Node | None) -> Tensor:
    """A gradient in the shape and dtype of what it is the gradient of."""
    if grad._array.shape != shape:
        grad = sum_to_shape(grad, shape, node)
    want = dtypes.BY_NUMPY[dtype]
    have = dtypes.BY_NUMPY[grad._array.dtype]
    if have is not want:
        if have.is_complex and not want.is_complex:
            grad = grad.real
        grad = grad.to(want)
    return grad


def sum_to_shape(grad: Tensor, shape: tuple[int, ...], node: Node | None) -> Tensor:
    have = grad._array.shape
    extra = len(have) - len(shape)
    dims = list(range(extra))
    if extra >= 0:
        dims += [extra + i for i, n in enumerate(shape) if n == 1 and have[extra + i] != 1]
    if extra < 0 or any(have[extra + i] != n and n != 1 for i, n in enumerate(shape)):
        name = "" if node is None else node.name()
        raise RuntimeError(
            f"Function {name} returned an invalid gradient at index 0 - got "
            f"{errors.shape_list(have)} but expected shape compatible with "
            f"{errors.shape_list(shape)}"
        )
    if dims:
        grad = grad.sum(dims, keepdim=True)
    return grad.reshape(shape) if extra else grad


def run_tensor_hooks(extras: Extras, grads: Grads) -> None:
    """Hooks of the tensors whose gradients these are, then the gradients they retain."""
    for number, hooks in extras.tensor_hooks.items():
        grad = grads[number]
        if grad is None:
            continue
        for hook in list(hooks.values()):
            result = hook(grad)
            if result is not None:
                check_replacement(hook, result, grad)
                grad = result
        grads[number] = grad
    for number, reference in extras.retained.items():
        tensor, grad = reference(), grads[number]
        if tensor is not None and grad is not None:
            tensor._grad = grad.clone() if tensor._grad is None else tensor._grad + grad


def run_pre_hooks(extras: Extras, grads: Grads) -> None:
    for hook in list(extras.pre_hooks.values()):
        result = hook(tuple(grads))
        if result is not None:
            grads[:] = replaced_all(hook, result, grads)


def hook_name(hook: Any) -> str:
    return str(getattr(hook, "__name__", "<unknown>"))


def check_replacement(hook: Any, result: Any, grad: Tensor | None) -> None:
    """A hook may return another gradient, of the same shape and dtype."""
    if not isinstance(result, Tensor):
        raise TypeError(
            f"expected Variable, but hook returned '{type(result).__name__}'\n"
            f"  The hook is '{hook_name(hook)}'."
        )
    if grad is None:
        raise RuntimeError(f"hook '{hook_name(hook)}' has replaced a None value with a Tensor")
    if result._array.shape != grad._array.shape:
        raise RuntimeError(
            f"hook '{hook_name(hook)}' has changed the size of value\n"
            f"  It got {errors.shape_list(grad._array.shape)} and returned "
            f"{errors.shape_list(result._array.shape)}."
        )
    if result._array.dtype != grad._array.dtype:
        raise RuntimeError(
            f"hook '{hook_name(hook)}' has changed the type of value (was {grad.dtype} got "
            f"{result.dtype})"
        )


def replaced_all(hook: Any, result: Any, grads: Sequence[Any]) -> tuple[Any, ...]:
    """The gradients that a node's hook returned in place of others, checked one by one."""
    if not isinstance(result, tuple):
        raise TypeError(
            f"expected tuple, but hook returned '{type(result).__name__}'\n"
            f"  The hook is '{hook_name(hook)}'."
        )
    if len(result) != len(grads):
        raise RuntimeError(
            f"hook '{hook_name(hook)}' has returned an incorrect number of values (got "
            f"{len(result)}, but expected {len(grads)})"
        )
    for each, grad in zip(result, grads, strict=True):
        if each is not None:
            check_replacement(hook, each, grad)
    return result


def after_node(extras: Extras, results: Sequence[Any], grads: Grads) -> Sequence[Any]:
    for hook in list(extras.post_hooks.values()):
        replaced = hook(tuple(results), tuple(grads))
        if replaced is not None:
            results = replaced_all(hook, replaced, results)
    return results


def check_finite(state: State, node: Node, results: Sequence[Any]) -> None:
    """Anomaly mode: the first NaN that backward produces names the forward line it came from."""
    if not state.anomaly_check_nan:
        return
    for number, grad in enumerate(results):
        if grad is not None and np.isnan(grad._array).any():
            raise RuntimeError(
                f"Function '{node.name()}' returned nan values in its {number}th output.\n"
                f"  The forward call was {errors.describe(node.where)}"
                + (f" in module {node.module_path}" if node.module_path else "")
            )


def backward(
    roots: Sequence[Edge],
    grads: Sequence[Tensor],
    *,
    keep_graph: bool,
    create_graph: bool,
    targets: Sequence[Edge] | None = None,
    accumulate: bool = True,
) -> dict[Edge, Tensor | None]:
    """Run backward; the gradients that arrived at `targets` are returned by edge."""
    state = local.state
    where = user_where()
    if accumulate and not state.backward_runs:
        state.last_backward = next_sequence_number(), where
    run = Run(
        roots,
        keep_graph=keep_graph,
        create_graph=create_graph,
        targets=targets,
        accumulate=accumulate,
    )
    grad_enabled, state.grad_enabled = state.grad_enabled, create_graph
    state.backward_runs.append(run)
    try:
        run.run(roots, grads, where)
    finally:
        state.grad_enabled = grad_enabled
        state.backward_runs.pop()
    return run.captured
