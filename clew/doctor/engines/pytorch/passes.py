"""Backward passes: which nodes they will run, the gradients on the way, and why they fail."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import torch

from clew.core.no_history import NoHistory
from clew.doctor.engines.pytorch.seen import SeenNode, as_array, tensors_in
from clew.doctor.facts.places import here

if TYPE_CHECKING:
    from clew.doctor.engines.pytorch.hub import Hub

_HOOKED = 4000  # nodes of a graph whose gradients are looked at
_KEPT = 1 << 20  # elements of gradients that are kept until a pass ends
_SAVED = "_saved_"


class Run:
    """One backward pass, as collectors see it."""

    def __init__(
        self, retain_graph: bool, create_graph: bool, accumulate: bool, fns: list[Any],
        nodes: list[SeenNode], targets: list[SeenNode],
    ) -> None:  # fmt: skip
        self.retain_graph = retain_graph
        self.create_graph = create_graph
        self.accumulate = accumulate
        self.fns = fns
        self.nodes = dict.fromkeys(nodes)
        self.targets = dict.fromkeys(targets)
        # What nodes got and gave, in the order in which they ran.
        self.log: list[tuple[SeenNode, Any, Any]] = []


class Passes:
    """Watches `backward` and `grad`."""

    def __init__(self, hub: Hub) -> None:
        self.hub = hub
        self.world = hub.world

    def grad(self, state: Any, func: Any, args: Any, kwargs: Any) -> Any:
        """`torch.autograd.grad`."""
        given = dict(
            zip(("outputs", "inputs", "grad_outputs", "retain_graph", "create_graph"), args)
        )
        given |= kwargs
        create = bool(given.get("create_graph"))
        retain = given.get("retain_graph")
        result = self.watched(
            state, lambda: func(*args, **kwargs), given.get("outputs"),
            create if retain is None else bool(retain), create, given.get("inputs"), False,
        )  # fmt: skip
        if not create:
            reason = NoHistory("gradient", "grad() without create_graph=True", here())
            for each in tensors_in(result):
                self.world.tensor(each).reason = reason
        return result

    def watched(
        self, state: Any, run: Callable[[], Any], outputs: Any, retain: bool, create: bool,
        inputs: Any, accumulate: bool,
    ) -> Any:  # fmt: skip
        """Run a backward pass and tell of it."""
        begun = self.hub.safely(
            self._begin, state, list(tensors_in(outputs)), retain, create,
            list(tensors_in(inputs)), accumulate,
        )  # fmt: skip
        if begun is None:
            return run()
        this, handles = begun
        completed = False
        try:
            result = run()
            completed = True
            self.hub.safely(self._look_back, this)
            return result
        except RuntimeError as error:
            self.hub.safely(self._failed, this, error)
            raise
        finally:
            state.backward_runs = state.backward_runs[:-1]
            self.hub.safely(self._end, state, this, handles, completed)

    def _begin(
        self, state: Any, outputs: list[Any], retain: bool, create: bool, inputs: list[Any],
        accumulate: bool,
    ) -> Any:  # fmt: skip
        self.world.where = here()
        see = self.world.tensor
        for each in outputs:
            if not each.requires_grad:
                self.hub.tell("backward_without_history", see(each))
                return None
        nodes = [see(each)._node for each in outputs]
        fns, seen = self._reachable(outputs)
        for node in nodes:
            if node is not None and node.is_accumulator:
                seen.append(node)
        targets = [node for each in inputs if (node := see(each)._node) is not None]
        this = Run(retain, create, accumulate, fns, seen, targets)
        state.backward_runs = (*state.backward_runs, this)
        roots = [(node, 0) for node in nodes if node is not None]
        self.hub.tell("backward_begins", this, roots, [see(each) for each in outputs])
        handles = self._hook(this) if len(fns) <= _HOOKED and self.hub.wants_gradients() else []
        return this, handles

    def _reachable(self, outputs: list[Any]) -> tuple[list[Any], list[SeenNode]]:
        """The nodes that lead to leaves, as they are and as they are seen."""
        fns: list[Any] = []
        nodes: list[SeenNode] = []
        todo = [each.grad_fn for each in outputs if each.grad_fn is not None]
        seen = set(todo)
        while todo:
            fn = todo.pop()
            fns.append(fn)
            nodes.append(self.world.node(fn))
            for behind, _ in fn.next_functions:
                if behind is not None and behind not in seen:
                    seen.add(behind)
                    if hasattr(behind, "variable"):
                        nodes.append(self.world.node(behind))
                    else:
                        todo.append(behind)
        return fns, nodes

    # -- gradients on the way ----------------------------------------------------------------------

    def _hook(self, this: Run) -> list[Any]:
        """Hooks that see every gradient; those of small graphs are looked at when all are there."""
        handles = []
        is_small = sum(math.prod(node._shape) for node in this.nodes) <= _KEPT
        for fn in this.fns:
            node = self.world.node(fn)
            if not node._is_op:
                handles.append(fn.register_hook(self._seeing(node)))
                handles.append(fn.register_prehook(self._entering(node)))
            elif is_small:
                handles.append(fn.register_hook(_keeping(this.log, node)))
            else:
                handles.append(fn.register_hook(self._seeing(node)))
        return handles

    def _look_back(self, this: Run) -> None:
        """After a pass whose gradients were kept: at all of them, if there is a reason."""
        log, this.log = this.log, []
        if log and (self.hub.wants_flow() or not _ends_finite(this)):
            for node, results, grads in log:
                self._ran(node, results, grads)

    def _seeing(self, node: SeenNode) -> Callable[[Any, Any], None]:
        def see(results: Any, grads: Any) -> None:
            self.hub.safely(self._ran, node, results, grads)

        return see

    def _entering(self, node: SeenNode) -> Callable[[Any], None]:
        def enter(grads: Any) -> None:
            self.hub.in_custom += 1
            self.hub.tell("function_backward_begins", node)

        return enter

    def _ran(self, node: SeenNode, results: Any, grads: Any) -> None:
        if not node._is_op and self.hub.in_custom:
            self.hub.in_custom -= 1
            self.hub.tell("function_backward_ends", node)
        arrays = [None if g is None else as_array(g) for g in grads]
        made = [None if r is None else as_array(r) for r in results]
        if arrays and arrays[0] is not None:
            self.hub.tell("node_ran", node, arrays, made)

    def in_hook(self, func: Any, args: Any, kwargs: Any) -> Any:
        """A call while a pass runs: of a hook, or of a formula, which is not the user's."""
        result = func(*args, **kwargs)
        if isinstance(result, torch.Tensor) and result.is_floating_point():
            self.hub.safely(self._ran_in_hook, func, args, result)
        return result

    def _ran_in_hook(self, func: Any, args: Any, result: Any) -> None:
        see = self.world.tensor
        inputs = tuple(see(v) if isinstance(v, torch.Tensor) else v for v in args)
        self.hub.tell("op_ran", getattr(func, "__name__", ""), inputs, {}, see(result))

    # -- the end -----------------------------------------------------------------------------------

    def _end(self, state: Any, this: Run, handles: Any, completed: bool) -> None:
        if this.retain_graph or not completed:
            for handle in handles:
                handle.remove()  # (Those of a graph that is used up never run again.)
        this.log.clear()
        self.hub.in_custom = 0
        where = here()
        if completed and not this.retain_graph:
            for node in this.nodes:
                if node.freed_at is None:
                    node.freed_at = where
        self.hub.tell("backward_ends", this, completed)
        if completed and this.accumulate:
            state.last_backward = self.hub.next_number(), where
        this.fns = []

    def _failed(self, this: Run, error: RuntimeError) -> None:
        """An error of backward: which node could not use what it had saved, and why."""
        text = str(error)
        if "modified by an inplace operation" in text:
            for node, tensor in self._bad(this, "modified by an inplace operation"):
                writer, place = self._writer(this, node, tensor)
                self.hub.tell("saved_tensor_modified", node, writer, place)
                return
        elif "backward through the graph a second time" in text:
            for node, _ in self._bad(this, "backward through the graph a second time"):
                self.hub.tell("backward_twice", node, node.freed_at)
                return
            used = [node for node in this.nodes if node.freed_at is not None]
            if used:
                node = max(used, key=lambda each: each._seq if not each.is_accumulator else -1)
                self.hub.tell("backward_twice", node, node.freed_at)

    def _bad(self, this: Run, text: str) -> Iterator[tuple[SeenNode, str]]:
        """The nodes, newest first, that refuse to give what they saved."""
        for fn in sorted(this.fns, key=lambda each: -each._sequence_nr()):
            for name in dir(fn):
                if not name.startswith(_SAVED):
                    continue
                try:
                    getattr(fn, name)
                except RuntimeError as error:
                    if text in str(error):
                        yield self.world.node(fn), name
                        break

    def _writer(self, this: Run, node: SeenNode, name: str) -> tuple[str, Any]:
        """Who wrote last to what a node had saved."""
        found: list[tuple[int, str, Any]] = []
        for tensor in node.tensors():
            storage = tensor._storage
            if storage.written_at is not None and storage.writer is not None:
                found.append((storage.version, storage.writer, storage.written_at))
        if not found:
            for edge in node._edges:
                leaf = edge[0]._variable() if edge is not None and edge[0].is_accumulator else None
                if leaf is not None and leaf._storage.written_at is not None:
                    found.append((1, leaf._storage.writer or "", leaf._storage.written_at))
        for each in (node, *(edge[0] for edge in node._edges if edge is not None)):
            if not found and each.overwritten is not None:
                return each.overwritten
        if found:
            _, writer, place = max(found, key=lambda each: each[0])
            return writer, place
        return "an in-place operation", self.hub.last_write


def _keeping(log: list[Any], node: SeenNode) -> Callable[[Any, Any], None]:
    def keep(results: Any, grads: Any) -> None:
        log.append((node, results, grads))

    return keep


def _ends_finite(this: Run) -> bool:
    """Whether all gradients that a pass has come to are finite: one number is read."""
    grads = []
    for node in this.nodes:
        leaf = node._variable() if node.is_accumulator else None
        tensor = None if leaf is None else leaf.actual
        if tensor is not None and tensor.grad is not None:
            grads.append(tensor.grad.detach())
    try:
        norms = list(torch._foreach_norm(grads)) if grads else []
        return not norms or bool(torch.stack(norms).isfinite().all())
    except (RuntimeError, NotImplementedError):
        return False  # sparse, or of several devices


def watch_backward(hub: Hub, original: Callable[..., Any]) -> Callable[..., Any]:
    """`torch.autograd.backward`, watched."""

    def backward(
        tensors: Any, grad_tensors: Any = None, retain_graph: Any = None,
        create_graph: bool = False, grad_variables: Any = None, inputs: Any = None,
    ) -> Any:  # fmt: skip
        def run() -> Any:
            return original(
                tensors, grad_tensors, retain_graph, create_graph, grad_variables, inputs
            )

        state = hub.local.state
        if not hub.is_open or state.busy or torch._C._functorch.peek_interpreter_stack():
            return run()
        retain = create_graph if retain_graph is None else bool(retain_graph)
        return hub.passes.watched(state, run, tensors, retain, create_graph, inputs, True)

    # The function asks the modes as well, by its name, which is this one's now.
    hub.calls.own[backward] = lambda state, func, args, kwargs: original(*args, **kwargs)
    return backward


def with_mode(hub: Hub, original: Callable[..., Any]) -> Callable[..., Any]:
    """The engine, with the mode on: what runs in the backward of custom functions is seen."""

    def run_engine(*args: Any, **kwargs: Any) -> Any:
        state = hub.local.state
        if not state.backward_runs or state.busy:
            return original(*args, **kwargs)
        with hub.mode:
            return original(*args, **kwargs)

    return run_engine
