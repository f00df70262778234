"""Node: one step of the computation, seen from backward.

A node knows its operation, the edges to the nodes that made its inputs, what it saved, the line of
the user's program that asked for it and the module that was running. It never refers to its own
outputs, so that a dropped result frees its graph at once.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any

import numpy as np

from clew import errors, observed
from clew.core.accumulating import accumulate_array, accumulate_into, own
from clew.core.hooks import Extras, Hooks, RemovableHandle
from clew.core.state import local
from clew.core.storage import Storage, next_sequence_number
from clew.core.tensor import Tensor, WeakTensorRef, _ndarray, _new, refuse_lost, sync
from clew.forking import add_lock
from clew.kernels.gemm.products import finish
from clew.observed import ACCUMULATE_SEQUENCE as ACCUMULATE_SEQUENCE
from clew.source import user_where

Edge = tuple["Node", int]
Meta = tuple[tuple[int, ...], np.dtype]
NO_META: Meta = (), np.dtype(np.float32)

# Without reference counts, all memory counts as shared: a copy more, never wrong.
_getrefcount = getattr(sys, "getrefcount", lambda _: 1 << 30)


class Node(observed.Node):
    """One step of the graph. Subclasses say what its backward does.

    Example:
        >>> y = clew.ones(2, requires_grad=True) * 2
        >>> y.grad_fn.name(), [node.name() for node, _ in y.grad_fn.next_functions if node]
        ('MulBackward0', ['torch::autograd::AccumulateGrad'])
    """

    # Kept flat, because a tuple for every pair would cost more than the arithmetic of a small
    # operation; and private, because a custom function's context is a node that users write to.
    __slots__ = (
        "__weakref__", "_code", "_dtype", "_edges", "_extras", "_lasti", "_outputs", "_seq",
        "_shape", "module_path",
    )  # fmt: skip

    # Whether it runs as soon as its gradient is complete, before all that waits.
    comes_first = False
    # Whether the engine may call `apply_bare` when no graph of the gradient is asked for.
    is_bare = False
    # Whether the gradient for one of its edges may be computed asynchronously.
    may_defer = False
    # Whether the gradient for its edge is a view of the incoming one, with the axes permuted.
    grad_is_view = False
    # Whether the gradient may be a view of the incoming one.
    gives_view = False
    # Whether backward is user code, which may read any gradient.
    is_custom = False
    # Whether backward takes over the gradients that it is given: nobody else then holds them.
    is_boxed = False

    _edges: tuple[Edge | None, ...]
    # The shape and dtype of the output; where there are several, `_outputs` has all of them.
    _shape: tuple[int, ...]
    _dtype: np.dtype
    _outputs: tuple[Meta, ...] | None
    _extras: Extras | None
    _seq: int
    # The user's line: code object and offset of the instruction.
    _code: CodeType | None
    _lasti: int
    module_path: str | None

    def apply_tensors(self, grads: tuple[Tensor | None, ...]) -> Sequence[Tensor | None]:
        """Gradients of the inputs, one per edge, from the gradients of the outputs."""
        raise NotImplementedError(f"{type(self).__name__} does not define a backward")

    def apply_some(self, grads: tuple[Tensor | None, ...], wanted: int) -> Sequence[Tensor | None]:
        """The same, where only gradients for edges with their bit in `wanted` are of use."""
        return self.apply_tensors(grads)

    def apply_bare(self, g: np.ndarray, freed: errors.Freed | None) -> Sequence[np.ndarray | None]:
        """The same over bare arrays, and `release`, where `is_bare`: no graph of the gradient."""
        raise NotImplementedError(f"{type(self).__name__} has no backward over bare arrays")

    def apply_deferred(
        self, g: np.ndarray, freed: errors.Freed | None
    ) -> Sequence[np.ndarray | None]:
        """The same, where `may_defer`: one of the gradients may not be computed yet."""
        return self.apply_bare(g, freed)

    def needs(self, name: str) -> bool:
        """Whether a gradient that goes anywhere is made of what was saved under a name."""
        return True

    def steal(self, g: np.ndarray) -> None:
        """Take over a gradient whose memory the engine owns, where `is_accumulator`."""
        raise NotImplementedError(f"{type(self).__name__} is not the end of a path")

    def release(self, freed: errors.Freed) -> None:
        """Drop what was saved; `freed` says which backward did it."""

    @property
    def _where(self) -> tuple[CodeType, int] | None:
        """The user's line that asked for this step."""
        return None if self._code is None else (self._code, self._lasti)

    @_where.setter
    def _where(self, place: tuple[CodeType, int] | None) -> None:
        self._code, self._lasti = place or (None, 0)

    @property
    def _meta(self) -> tuple[Meta, ...]:
        """Shape and dtype of each output."""
        return ((self._shape, self._dtype),) if self._outputs is None else self._outputs

    @_meta.setter
    def _meta(self, outputs: tuple[Meta, ...]) -> None:
        self._shape, self._dtype = outputs[0] if outputs else NO_META
        self._outputs = None if len(outputs) == 1 else outputs

    def __call__(self, *grads: Tensor | None) -> Any:
        if len(grads) != len(self._meta):
            raise TypeError(
                f"expected {len(self._meta)} arguments, got {len(grads)} instead"
                + errors.at_user_line()
            )
        results = self.apply_tensors(grads)
        return results[0] if len(results) == 1 else tuple(results)

    def name(self) -> str:
        """The name that PyTorch gives to nodes of this kind."""
        return self._name()

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        return tuple((None, 0) if edge is None else edge for edge in self._edges)

    def more(self) -> Extras:
        if self._extras is None:
            self._extras = Extras()
        return self._extras

    @property
    def metadata(self) -> dict[str, Any]:
        """A dict for the program's own notes."""
        return self.more().metadata

    @property
    def _input_metadata(self) -> list[Meta]:
        return list(self._meta)

    def _sequence_nr(self) -> int:
        return self._seq

    def register_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(grad_inputs, grad_outputs)` after this node's backward."""
        return self.more().post_hooks.add(hook)

    def register_prehook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(grad_outputs)` before this node's backward."""
        return self.more().pre_hooks.add(hook)

    def __repr__(self) -> str:
        return f"<{self._name().rpartition('::')[2]} object at {hex(id(self))}>"


_accumulate_lock = add_lock(sys.modules[__name__], "_accumulate_lock", threading.Lock)


class AccumulateGrad(Node):
    """The end of a path: adds a gradient into a leaf's `.grad`.

    It refers to its leaf weakly. A leaf's `.grad` may itself have a graph (create_graph=True) that
    ends here; a strong reference would close that cycle and leak the whole graph.
    """

    __slots__ = (
        "_array", "_storage", "_variable", "has_grad_dtype", "post_accumulate_hooks", "reached_by",
    )  # fmt: skip

    is_accumulator = True
    comes_first = True
    is_bare = True

    def __init__(self, variable: Tensor) -> None:
        self._edges = ()
        self._meta = ((variable._layout.shape, variable._layout.dtype),)
        self._extras = None
        # Newer than every other node; among themselves leaves come in the order of first use.
        self._seq = ACCUMULATE_SEQUENCE - next_sequence_number()
        # The line that first used the leaf, and the last backward that reached it.
        self._where = user_where()
        self.reached_by: Any = None
        self.module_path = None
        self.post_accumulate_hooks = Hooks()
        # Whether the dtype of its gradients was set, and need not be the leaf's.
        self.has_grad_dtype = False
        self.follow(variable)

    def _name(self) -> str:
        return "torch::autograd::AccumulateGrad"

    def follow(self, variable: Tensor) -> None:
        """Point at a leaf, also after its `.data` was replaced."""
        self._variable = WeakTensorRef(variable)
        self._array = variable.without_history() if variable._is_unstrided else variable._array
        self._storage = variable._storage

    def for_data_of(self, variable: Tensor) -> AccumulateGrad:
        """The node of a leaf that got other data: a new one with the same hooks, if it must."""
        same_dtype = self.has_grad_dtype or self._dtype == variable._array.dtype
        if self._shape == variable._array.shape and same_dtype:
            self.follow(variable)
            return self
        return self.anew(variable)

    def anew(self, variable: Tensor) -> AccumulateGrad:
        """Another node for the leaf, with the same hooks."""
        node = AccumulateGrad(variable)
        node._extras = self._extras
        if self.has_grad_dtype:
            node._dtype, node.has_grad_dtype = self._dtype, True
        node.post_accumulate_hooks = self.post_accumulate_hooks
        return node

    def takes(self, variable: Tensor) -> bool:
        """Whether a leaf still wants its gradient: it may have been frozen after the forward."""
        node = variable._node
        if node is not None and not node.is_accumulator:
            raise errors.leaf_moved_inside(self, node)
        refuse_lost(variable)
        return variable._requires_grad

    @property
    def variable(self) -> Tensor:
        """The leaf. If the user's object is gone, an equal one around the same memory."""
        tensor = self._variable()
        if tensor is None:
            if isinstance(self._array, Tensor):
                tensor = self._array.with_history(self, 0)
            else:
                tensor = restore(self._array, self._storage, self, 0)
            self._variable = WeakTensorRef(tensor)
        return tensor

    def apply_tensors(self, grads: tuple[Tensor | None, ...]) -> tuple[()]:
        variable = self._variable()
        if grads[0] is None:
            if variable is not None:
                self.takes(variable)
            return ()
        if variable is None:
            if not self.post_accumulate_hooks:
                return ()
            variable = self.variable
        if self.takes(variable):
            with _accumulate_lock:
                accumulate_into(variable, grads[0])
            self.reached_by = local.state.last_backward
        self.run_post_hooks(variable)
        return ()

    def run_post_hooks(self, variable: Tensor) -> None:
        for hook in list(self.post_accumulate_hooks.values()):
            result = hook(variable)
            if result is None or result is variable:
                continue
            if not isinstance(result, Tensor):
                kind = type(result).__name__
                raise TypeError(f"expected Variable, but hook returned '{kind}'")
            raise RuntimeError("Tensor post accumulate grad hooks should return None.")

    def apply_bare(
        self, g: np.ndarray, freed: errors.Freed | None
    ) -> tuple[np.ndarray | None, ...]:
        variable = self._variable()
        is_own = variable is not None and variable._node is self and variable._view is None
        if variable is None or not is_own or not variable._requires_grad or variable._is_unstrided:
            return self.apply_tensors((restore(g, Storage(), None, 0),))
        leaf = variable._array
        with _accumulate_lock:
            if variable._grad is not None:
                if not accumulate_array(variable, g):
                    accumulate_into(variable, restore(g, Storage(), None, 0))
            elif _getrefcount(g) <= UNSHARED and g.strides == leaf.strides and _is_whole(g):
                # Nothing else refers to this memory: the leaf steals it.
                variable._grad = restore(g, Storage(), None, 0)
            else:
                variable._grad = own(restore(g, Storage(), None, 0), leaf)
        self.reached_by = local.state.last_backward
        if self.post_accumulate_hooks:
            finish(local.state.pending_products)
            self.run_post_hooks(variable)
        return ()

    def steal(self, g: np.ndarray) -> None:
        """Take over a gradient whose memory the engine owns; it may be deferred."""
        variable = self._variable()
        with _accumulate_lock:
            if (
                variable is not None
                and variable._grad is None
                and not self.post_accumulate_hooks
                and variable._node is self
                and variable._requires_grad
                and variable._view is None
                and not variable._is_unstrided
                and g.strides == variable._array.strides
            ):
                variable._grad = restore(g, Storage(), None, 0)
                self.reached_by = local.state.last_backward
                return
        finish(local.state.pending_products)
        self.apply_bare(g, None)

    def reset_grad(self) -> None:
        """Drop the gradient that a leaf got in this backward, before which it had none."""
        variable = self._variable()
        if variable is not None:
            variable._grad = None

    def is_plain(self) -> bool:
        """Whether a first gradient is expected, and no hook."""
        variable = self._variable()
        return (
            variable is not None
            and variable._grad is None
            and variable._requires_grad
            and self._extras is None
            and not self.post_accumulate_hooks
        )


class Nowhere(AccumulateGrad):
    """The node of a tensor that requires grad but is in no graph, where its edge is asked for.

    Such are views that require grad only because their base does (`View.borrows`).
    """

    __slots__ = ()

    def apply_tensors(self, grads: tuple[Tensor | None, ...]) -> tuple[()]:
        return ()

    def apply_bare(
        self, g: np.ndarray, freed: errors.Freed | None
    ) -> tuple[np.ndarray | None, ...]:
        return ()

    def steal(self, g: np.ndarray) -> None:
        return


def references(value: object) -> int:
    """The reference count of an object, with those of the calls that lead here."""
    return int(_getrefcount(value))


def _references_when_unshared() -> tuple[int, int]:
    """The reference counts of an array that only a caller's variable holds, and of its base that
    only the array and a variable hold; Pythons differ."""
    array = np.zeros(2)
    unshared = references(array)
    view = array[::-1]
    del array
    base = view.base
    assert base is not None
    return unshared, references(base)


UNSHARED, BASE_UNSHARED = _references_when_unshared()


def _is_whole(g: np.ndarray) -> bool:
    """Whether an array that is referred to once owns its memory, or is all of its base."""
    base = g.base
    if base is None:
        return True
    return type(base) is np.ndarray and base.size == g.size and references(base) <= BASE_UNSHARED


def edge_of(tensor: Tensor) -> Edge:
    """Where a gradient for this tensor goes. The tensor must require grad."""
    node = tensor._node
    if node is None:
        if tensor._view is not None and tensor._view.borrows:
            return Nowhere(tensor), 0
        node = tensor._node = AccumulateGrad(tensor)
    return node, tensor._output_nr


def recorded_edge(tensor: Tensor) -> Edge | None:
    """The same for a node that is being made: None where gradients would go nowhere."""
    view = tensor._view
    return None if view is not None and view.borrows else edge_of(tensor)


def retain(tensor: Tensor) -> None:
    """Have a non-leaf's gradient retained in its `.grad`."""
    node, number = edge_of(tensor)
    if not node.is_accumulator:
        node.more().retained[number] = WeakTensorRef(tensor)


def restore(array: np.ndarray, storage: Storage, node: Node | None, output_nr: int) -> Tensor:
    """A tensor around saved memory, connected to its place in the graph."""
    tensor: Tensor = _new(Tensor)
    tensor._array = array
    tensor._storage = storage
    tensor._requires_grad = node is not None
    tensor._node = node
    tensor._output_nr = output_nr
    tensor._view = None
    tensor._reason = None
    tensor._grad = None
    return tensor


def live_edge(tensor: Tensor) -> Edge | None:
    """The edge of a tensor, after bringing a view's history up to date; None without history."""
    if tensor._view is not None:
        sync(tensor)
    return edge_of(tensor) if tensor._requires_grad else None


# Where `typing.get_type_hints` looks for what annotations of Tensor call Node.
vars(sys.modules["clew.core.tensor"])["Node"] = Node


def array_of(grad: Tensor | np.ndarray) -> np.ndarray:
    # What is no array is a tensor: mypy does not follow `type(...) is`, which is the quickest.
    return grad if type(grad) is _ndarray else grad._array  # type: ignore[union-attr]


def tensor_of(grad: Any) -> Any:
    """A gradient as a tensor, if it is a bare array."""
    return restore(grad, local.state.new_storage(), None, 0) if type(grad) is _ndarray else grad
