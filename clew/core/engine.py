"""The backward engine: walks the graph from its roots and hands each node its gradient.

Nodes run in the order of their sequence numbers, newest first, each when all gradients for it have
arrived. The walk uses a heap and counts, never recursion, so depth does not matter.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.anomaly import NanChecks
from clew.core.new_stack import in_another_thread
from clew.core.node import Edge, Extras, Node, restore
from clew.core.state import State, local
from clew.core.storage import next_sequence_number
from clew.core.tensor import Tensor, _ndarray
from clew.kernels.gemm.products import finish
from clew.observer import active
from clew.source import Place, user_where

_add = np.add

# Tensors; in a run without graphs of the gradients, bare arrays as well.
Grads = list[Any]


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
        # Who watches this pass. Gradients are shown as soon as they are there, so that none of them
        # is left to another thread.
        self.observer = active.observer
        self.accounts = open_accounts([node for node, _ in roots])
        self.targets: dict[Node, set[int]] = {}
        self.captured: dict[Edge, Tensor | None] = {}
        self.needed: set[Node] | None = None
        self.checks: NanChecks | None = None
        if targets is not None:
            for node, number in targets:
                self.targets.setdefault(node, set()).add(number)
            self.needed = nodes_leading_to(set(self.targets), self.accounts)

    def run(self, roots: Sequence[Edge], grads: Sequence[Tensor], where: Place | None) -> None:
        for (node, number), seed in zip(roots, grads, strict=True):
            self.receive(self.accounts[node], node, number, seed)
        accounts, needed = self.accounts, self.needed
        heap = [(-node._seq, node) for node in {node for node, _ in roots} if not accounts[node][0]]
        heapq.heapify(heap)
        # The last node that became ready waits here: in a chain it is the next, and the heap stays
        # empty.
        held: Node | None = None
        state = local.state
        observer = self.observer
        freed = None if self.keep_graph else errors.Freed(where)
        watched = needed is not None
        if state.anomaly and state.anomaly_check_nan:
            self.checks = NanChecks(state, grads)
        checks = self.checks
        bare = not self.create_graph and state.intercept is None
        # Leaves take their gradient as soon as it is complete, in the order of their edges.
        leaves: deque[Node] = deque()
        results: Sequence[Any] = ()
        grad: Any = None
        array: Any = None
        while heap or held is not None or leaves:
            if leaves:
                node = leaves.popleft()
            elif held is not None:
                node = heapq.heappushpop(heap, (-held._seq, held))[1] if heap else held
                held = None
            else:
                node = heapq.heappop(heap)[1]
            account = accounts[node]
            # Letting go of what the last node returned lets a leaf see that it may keep its
            # gradient without a copy.
            results = ()
            array = None
            grad = account[GRAD]
            if watched or node._extras is not None or grad is None or not (bare and node.is_bare):
                grad = None
                results = self.step(state, node, account, freed)
            else:
                account[GRAD] = None
                if type(grad) is not _ndarray:
                    grad = grad._array
                if checks is not None and node.is_accumulator and checks.late:
                    checks.before_leaf(node)
                if node.may_be_late and self.leads_to_leaf(node):
                    results = node.apply_late(grad, freed)
                    if checks is not None:
                        checks.returned_late(
                            node, results, None if account[OWNED] or checks.nan_given else grad
                        )
                elif account[OWNED] and node.is_accumulator:
                    node.keep(grad)
                else:
                    results = node.apply_bare(grad, freed)
                    if checks is not None and results:
                        checks.returned(
                            node, results, None if account[OWNED] or checks.nan_given else grad
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
                account = accounts[following]
                if grad is not None:
                    if account[GRAD] is None and following._outputs is None:
                        array = grad if type(grad) is _ndarray else grad._array
                        if array.shape != following._shape or array.dtype is not following._dtype:
                            grad = fit_output(grad, following)
                        account[GRAD] = grad
                    elif account[OWNED] and following._outputs is None:
                        # A sum that this run has begun goes on in place.
                        array = grad if type(grad) is _ndarray else grad._array
                        if array.shape != following._shape or array.dtype is not following._dtype:
                            grad = fit_output(grad, following)
                            array = grad._array
                        _add(account[GRAD], array, account[GRAD])
                    else:
                        self.receive(account, following, number, grad)
                account[WAITING] = left = account[WAITING] - 1
                if not left:
                    if following.is_accumulator:
                        leaves.append(following)
                    else:
                        if held is not None:
                            heapq.heappush(heap, (-held._seq, held))
                        held = following
        if checks is not None:
            checks.settle()

    def leads_to_leaf(self, node: Any) -> bool:
        """Whether the gradient of a node that may be late goes to a leaf that will just keep it.

        On the way nothing may look at its elements or add to it.
        """
        may_be_late = node.plan.late and self.observer is None and local.state.multithreading
        edge = node._edges[node.plan.late_edge] if may_be_late else None
        if edge is None:
            return False
        following: Any = edge[0]
        account = self.accounts[following]
        if following.moves_only and following._edges[0] is not None:
            if not waits_for_first(account) or following._extras is not None:
                return False
            following = following._edges[0][0]
            account = self.accounts[following]
        if not (following.is_accumulator and waits_for_first(account) and following.is_plain()):
            return False
        # From now on the memory is the run's own.
        account[OWNED] = 1
        return True

    def step(
        self, state: State, node: Node, account: Account, freed: errors.Freed | None
    ) -> Sequence[Any]:
        """Run one node over tensors, with its hooks, captures, and the checks on its results."""
        if node._extras is not None or node.is_custom:
            # What comes is the user's code, which may look at gradients.
            finish(state.late)
            if self.checks is not None:
                self.checks.settle()
        grads = [tensor_of(grad) for grad in account[GRAD:]]
        # From here on the node may keep the gradients, or hand them on.
        account[GRAD:] = [None] * len(grads)
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
        watcher = state.intercept
        results: Sequence[Any]
        if watcher is not None:
            results = watcher.run_node(node, tuple(grads))
        elif node.is_boxed:
            results = node.apply(self.handed_over(grads, extras))
        elif self.needed is None:
            results = node.apply(tuple(grads))
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
        for account in self.accounts.values():
            yield from (array_of(grad) for grad in account[GRAD:] if grad is not None)
        yield from (array_of(grad) for grad in self.captured.values() if grad is not None)

    def capture(self, node: Node, grads: Grads) -> None:
        for number in self.targets[node]:
            self.captured[node, number] = grads[number]

    def will_reach(self, node: Node) -> bool:
        """Whether a gradient for `node` is computed in this run."""
        return node in (self.accounts if self.needed is None else self.needed)

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

    def receive(self, account: Account, node: Node, number: int, grad: Tensor | np.ndarray) -> None:
        """Add a gradient to what has arrived for an output of `node`."""
        shape, dtype = node._meta[number]
        array = array_of(grad)
        if array.shape != shape or array.dtype is not dtype:
            grad = fit(tensor_of(grad), shape, dtype, node)
        have = account[GRAD + number]
        if have is None:
            account[GRAD + number] = grad
        elif self.create_graph or local.state.intercept is not None:
            account[GRAD + number] = have + grad
        elif account[OWNED] >> number & 1:
            np.add(have, array_of(grad), have)
        else:
            account[GRAD + number] = np.asarray(array_of(have) + array_of(grad))
            account[OWNED] |= 1 << number


# What a run knows of a node, in a list because the walk lives on reading it: how many gradients
# it still waits for; a bit for each sum of gradients whose memory the run made itself, so that
# more may be added in place (all others may be seen by somebody else); and from GRAD on what has
# arrived for each output.
Account = list[Any]
WAITING, OWNED, GRAD = range(3)


def open_accounts(roots: list[Node]) -> dict[Node, Account]:
    """An account for each reachable node, with the number of gradients it will get."""
    accounts: dict[Node, Account] = {node: new_account(node, 0) for node in roots}
    stack = list(accounts)
    while stack:
        for edge in stack.pop()._edges:
            if edge is not None:
                node = edge[0]
                account = accounts.get(node)
                if account is not None:
                    account[WAITING] += 1
                else:
                    accounts[node] = [1, 0, None] if node._outputs is None else new_account(node, 1)
                    stack.append(node)
    return accounts


def new_account(node: Node, waiting: int) -> Account:
    return [waiting, 0] + [None] * len(node._meta)


def waits_for_first(account: Account) -> bool:
    """Whether one gradient is to come, and none has."""
    return account[WAITING] == 1 and account[GRAD] is None


def array_of(grad: Tensor | np.ndarray) -> np.ndarray:
    return grad if type(grad) is _ndarray else grad._array  # type: ignore[union-attr]


def tensor_of(grad: Any) -> Any:
    """A gradient as a tensor, if it is a bare array."""
    return restore(grad, local.state.new_storage(), None, 0) if type(grad) is _ndarray else grad


def nodes_leading_to(targets: set[Node], nodes: dict[Node, Account]) -> set[Node]:
    """The nodes from which a target can be reached; sequence numbers order them."""
    needed = targets & nodes.keys()
    for node in sorted(nodes, key=lambda n: -1 if n.is_accumulator else n._seq):
        if node not in needed and any(e is not None and e[0] in needed for e in node._edges):
            needed.add(node)
    return needed


def fit_output(grad: Tensor | np.ndarray, node: Node) -> Tensor:
    """A gradient in the shape and dtype of a node's only output."""
    return fit(tensor_of(grad), node._shape, node._dtype, node)


def fit(grad: Tensor, shape: tuple[int, ...], dtype: np.dtype | None, node: Node | None) -> Tensor:
    """A gradient in the shape and dtype of what it is the gradient of."""
    if grad._array.shape != shape:
        grad = sum_to_shape(grad, shape, node)
    if dtype is None:
        # A leaf whose `grad_dtype` is None takes gradients as they come.
        return grad
    want = dtypes.BY_NUMPY[dtype]
    have = dtypes.BY_NUMPY[grad._array.dtype]
    if have is not want:
        if have.is_complex and not want.is_complex:
            grad = grad.real
        grad = grad.to(want)
    return grad


def fitted(node: Node, results: Sequence[Any]) -> list[Tensor | None]:
    """What a node returned, each in the shape and dtype of what it is the gradient of."""
    return [
        grad if grad is None or edge is None else fit(grad, *edge[0]._meta[edge[1]], edge[0])
        for edge, grad in zip(node._edges, results, strict=True)
    ]


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
        # One of several outputs may have no gradient: its hooks are called with None.
        grad = grads[number]
        for hook in list(hooks.values()):
            result = hook(grad)
            if result is not None:
                check_replacement(hook, result, grad)
                grad = result
        grads[number] = grad
    for number, reference in extras.retained.items():
        tensor, grad = reference(), grads[number]
        # (Gradients of many examples at once do not fit a tensor that is outside of their vmap.)
        if tensor is not None and grad is not None and tensor._is_lifted >= grad._is_lifted:
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


def backward(
    roots: Sequence[Edge],
    grads: Sequence[Tensor],
    *,
    keep_graph: bool,
    create_graph: bool,
    targets: Sequence[Edge] | None = None,
    accumulate: bool = True,
    outputs: Sequence[Any] = (),
) -> dict[Edge, Tensor | None]:
    """Run backward; the gradients that arrived at `targets` are returned by edge.

    `outputs` are the tensors whose edges the roots are, for whoever watches.
    """
    state = local.state
    if len(state.backward_runs) % MOST_NESTED == MOST_NESTED - 1:
        arguments = roots, grads, keep_graph, create_graph, targets, accumulate, outputs
        return in_another_thread(state, _backward, arguments)
    return _backward(roots, grads, keep_graph, create_graph, targets, accumulate, outputs)


# How many backward passes may run inside of each other in one thread, before Python's limit on
# nested calls comes near.
MOST_NESTED = 20


def _backward(
    roots: Sequence[Edge],
    grads: Sequence[Tensor],
    keep_graph: bool,
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
        keep_graph=keep_graph,
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
        completed = True
    finally:
        state.grad_enabled, state.backward_runs = grad_enabled, runs
        # Hooks that the user's code in backward has entered and not left end with it.
        state.saved_hooks = saved_hooks
        finish(state.late)
        if observer is not None:
            observer.backward_ends(run, completed)
    return run.captured
