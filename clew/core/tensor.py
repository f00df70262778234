"""Tensor: one ndarray, and what autograd knows about it.

This file holds the object and its history. Operations are attached as methods by `clew.ops`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from clew import errors, observed
from clew.backend import dtypes
from clew.core.no_history import NoHistory
from clew.core.size import Size as Size
from clew.core.state import local
from clew.core.storage import INFERENCE, Storage
from clew.observed import WeakTensorRef as WeakTensorRef

if TYPE_CHECKING:
    from clew.core.node import Node
    from clew.core.op import Op
    from clew.core.tensor_methods import TensorMethods

    class _Base(observed.Tensor, TensorMethods):
        """What `clew.ops` attaches to tensors, for type checkers and editors."""

else:
    _Base = observed.Tensor

_new = object.__new__
# A Size of what is a tuple of ints already.
_sized = tuple.__new__
_ndarray = np.ndarray


# An operation, its parameters, and which of its outputs, where there are several.
ViewStep = tuple["Op", dict[str, Any], int | None]


class View:
    """How a view was made from its base: a chain of view operations, to replay when needed."""

    __slots__ = (
        "base", "borrows", "index", "kind", "made", "op", "params", "parent", "seen", "version",
    )  # fmt: skip

    base: Tensor
    parent: View | None
    op: Op
    params: dict[str, Any]
    # Which output of `op` this is, where there are several.
    index: int | None
    # Views of these kinds ("no_grad", "inference", "multi") refuse writes that need a history.
    kind: str | None
    # Whether the view requires grad only because its base does: gradients for it go nowhere.
    borrows: bool
    # The storage's count of changes when this view last looked, and when its history was made.
    seen: int
    made: int
    # The version at the beginning.
    version: int

    def steps(self) -> list[ViewStep]:
        """The operations that lead from the base to this view."""
        steps: list[ViewStep] = []
        first = self
        link: View | None = self
        while link is not None:
            steps.append((link.op, link.params, link.index))
            first, link = link, link.parent
        # What `t_` and the like have done to the base since then is undone first.
        base = self.base
        for version, owner, op, params in base._storage.inplace_views:
            is_own = owner is base._level if base._is_lifted else _is_to(owner, base)
            if version > first.version and is_own:
                steps.append((op, params, None))
        return steps[::-1]

    def replay(self, base: Tensor) -> Tensor:
        """The same view of another tensor of the base's shape."""
        return take_steps(base, self.steps())


def take_steps(tensor: Tensor, steps: Iterable[ViewStep]) -> Tensor:
    """What a chain of view operations makes of a tensor."""
    for op, params, index in steps:
        result = op(tensor, **params)
        tensor = result if index is None else result[index]
    return tensor


def _is_to(reference: Any, tensor: Tensor) -> bool:
    return type(reference) is WeakTensorRef and reference() is tensor


class Tensor(_Base):
    """A multi-dimensional array with PyTorch's API and a history for backward.

    Made by `clew.tensor` and the other functions that make tensors; operations are its methods.

    Example:
        >>> x = clew.tensor([1., 2.], requires_grad=True)
        >>> (x * x).sum().backward()
        >>> x.grad
        tensor([2., 4.])
    """

    __slots__ = (
        "__dict__",
        "__weakref__",
        "_array",
        "_grad",
        "_node",
        "_output_nr",
        "_reason",
        "_requires_grad",
        "_storage",
        "_tangent",
        "_view",
    )

    # Whether it is more than its array, as inside vmap, and makes its own copies; has none at all.
    _is_lifted = _is_unstrided = False

    # NumPy must leave `ndarray * tensor` to Tensor.__rmul__.
    __array_priority__ = 1000

    _array: np.ndarray
    # The same slot, for its shape, dtype and strides: the elements may still be missing (`Unread`).
    _layout: np.ndarray
    _storage: Storage
    _requires_grad: bool
    _node: Node | None
    _output_nr: int
    _view: View | None
    _reason: NoHistory | None
    _grad: Tensor | None
    _tangent: dict[Any, Tensor] | None

    if TYPE_CHECKING:
        # What is attached is in `tensor_methods.pyi`, but for private names.
        def __getattr__(self, name: str) -> Any: ...

    def __hash__(self) -> int:
        return id(self)

    # -- what the array says ---------------------------------------------------------------

    @property
    def shape(self) -> Size:
        """The lengths of the dimensions.

        Example:
            >>> clew.zeros(2, 3).shape
            torch.Size([2, 3])
        """
        return _sized(Size, self._layout.shape)

    @property
    def dtype(self) -> dtypes.dtype:
        """The type of the elements.

        Example:
            >>> clew.tensor([1, 2]).dtype
            torch.int64
        """
        return dtypes.BY_NUMPY[self._layout.dtype]

    @property
    def ndim(self) -> int:
        """The number of dimensions.

        Example:
            >>> clew.zeros(2, 3).ndim
            2
        """
        return self._layout.ndim

    # -- history ---------------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        """Whether autograd records what is done with the tensor; may be set on leaves.

        Example:
            >>> x = clew.tensor([1., 2.], requires_grad=True)
            >>> x.requires_grad, (x * 2).requires_grad, x.detach().requires_grad
            (True, True, False)
        """
        view = self._view
        if view is not None:
            if view.kind is not None and view.seen != self._storage.changes:
                # It may have lost its history; only asking for `grad_fn` raises.
                has_own = self._requires_grad and not view.borrows
                return has_own or view.base._requires_grad
            sync(self)
        return self._requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self._set_requires_grad(value)

    @requires_grad.deleter
    def requires_grad(self) -> None:
        raise RuntimeError("requires_grad must be a bool" + errors.at_user_line())

    @property
    def grad_fn(self) -> Node | None:
        """The node of the operation that made the tensor; None for leaves.

        Example:
            >>> x = clew.tensor([1., 2.], requires_grad=True)
            >>> x.grad_fn, (x * 2).grad_fn.name()
            (None, 'MulBackward0')
        """
        if self._view is not None:
            sync(self)
        node = self._node
        return None if node is None or node.is_accumulator else node

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded operation made the tensor. Backward fills `.grad` of leaves only.

        Example:
            >>> x = clew.tensor([1., 2.], requires_grad=True)
            >>> x.is_leaf, (x * 2).is_leaf
            (True, False)
        """
        return self.grad_fn is None

    @property
    def output_nr(self) -> int:
        """Which output of its node the tensor is.

        Example:
            >>> x = clew.tensor([1., 2.], requires_grad=True)
            >>> [part.output_nr for part in x.split(1)]
            [0, 1]
        """
        return self._output_nr

    @property
    def _base(self) -> Tensor | None:
        return None if self._view is None else self._view.base

    @property
    def _version(self) -> int:
        if self._storage is INFERENCE:
            raise RuntimeError("Inference tensors do not track version counter.")
        return self._storage.version

    def is_inference(self) -> bool:
        """Whether the tensor was made in inference mode.

        Example:
            >>> with clew.inference_mode():
            ...     x = clew.zeros(2)
            >>> x.is_inference()
            True
        """
        return self._storage.is_inference


Tensor._layout = Tensor.__dict__["_array"]


def wrap(array: Any, reason: NoHistory | None = None) -> Tensor:
    """A tensor without history around a fresh array."""
    if type(array) is not _ndarray:
        array = np.asarray(array)
    tensor: Tensor = _new(Tensor)
    tensor._array = array
    state = local.state
    tensor._storage = INFERENCE if state.inference else state.new_storage()
    tensor._requires_grad = False
    tensor._node = None
    tensor._output_nr = 0
    tensor._view = None
    tensor._reason = reason
    tensor._grad = None
    return tensor


def alias(tensor: Tensor, array: np.ndarray | None = None) -> Tensor:
    """A tensor without history that shares memory, version counter and writer with another."""
    if tensor._is_lifted:
        lifted: Tensor = tensor.without_history()
        return lifted
    result: Tensor = _new(Tensor)
    result._array = tensor._array if array is None else array
    result._storage = tensor._storage
    result._requires_grad = False
    result._node = None
    result._output_nr = 0
    result._view = None
    result._reason = tensor._reason
    result._grad = None
    return result


def retyped(plain: Tensor, cls: type[Tensor]) -> Tensor:
    """The same memory without history, as an object of a subclass."""
    result: Tensor = object.__new__(cls)
    result._array, result._storage = plain._array, plain._storage
    result._requires_grad, result._node, result._output_nr = False, None, 0
    result._view, result._reason, result._grad = None, plain._reason, None
    return result


def placed(tensor: Tensor, node: Node | None, output_nr: int) -> Tensor:
    """An object of a tensor class at another place in a graph, with its attributes."""
    result = retyped(tensor, type(tensor))
    result.__dict__.update(tensor.__dict__)
    result._requires_grad = node is not None
    result._node, result._output_nr = node, output_nr
    return result


def constant(tensor: Tensor) -> Tensor:
    """The same value, with the same tangents, and without its history."""
    result = alias(tensor)
    for level, tangent in tangents_of(tensor).items():
        level.give(result, tangent)
    return result


def every_value(tensor: Tensor) -> np.ndarray:
    """All values behind a tensor, for checks on them: inside vmap, those of every example."""
    interceptor = local.state.intercept
    if interceptor is not None:
        interceptor.looked_at(tensor)
    while tensor._is_lifted:
        tensor = tensor._physical
    return tensor._array


def of_values(function: Callable[..., Any], *tensors: Tensor) -> Any:
    """What a function says of all values behind tensors: a decision that a program depends on."""
    interceptor = local.state.intercept
    if interceptor is not None:
        return interceptor.decide(function, tensors)
    return function(*[every_value(tensor) for tensor in tensors])


def tangents_of(tensor: Any) -> dict[Any, Tensor]:
    """The forward-mode tangents by dual level; the slot is only ever filled inside of one."""
    return getattr(tensor, "_tangent", None) or NO_TANGENTS


def tangent_of(tensor: Any) -> Tensor | None:
    """The tangent of the newest dual level, if there is one."""
    tangents = tangents_of(tensor)
    return next(reversed(tangents.values())) if tangents else None


NO_TANGENTS: dict[Any, Tensor] = {}


def sync(tensor: Tensor) -> None:
    """Bring a view's history up to date after its base (or a sibling) was written to."""
    view = tensor._view
    if view is not None and view.seen != tensor._storage.changes:
        follow_base(tensor, view)


def sync_unless_lost(tensor: Tensor) -> None:
    """The same, but where the view's history is lost, it stays as it was and nothing is raised."""
    view = tensor._view
    if view is not None and view.kind is None:
        sync(tensor)


def follow_base(tensor: Tensor, view: View) -> None:
    """Bring a view up to date: something about its base has changed since it last looked.

    Its `grad_fn` is that of the operation that made it, until the memory is written to; then the
    view operations are replayed from the base, whose history says what was written.
    """
    storage = tensor._storage
    has_history = tensor._node is not None and not tensor._node.is_accumulator
    if storage.written > view.made and (has_history or view.base._requires_grad):
        if view.kind is not None:
            if local.state.grad_enabled:
                raise _lost(tensor, view)
            return
        source = _history_source(view)
        # Of integers no view with a history can be made; theirs leads nowhere in any case.
        of_integers = tensor._layout.dtype.kind in "iub"
        from_base = source if of_integers else replay_history(view, source)
        retained = take_retained(tensor)
        tensor._node = from_base._node if of_integers else view.op.in_one_node(view, from_base)
        tensor._output_nr = from_base._output_nr
        tensor._requires_grad = True
        view.borrows = False
        if retained and tensor._node is not None:
            tensor._node.more().retained[tensor._output_nr] = WeakTensorRef(tensor)
        view.made = storage.changes
    elif not has_history:
        borrow_flag(tensor)
    view.seen = storage.changes


def refuse_lost(tensor: Tensor) -> None:
    """Raise if a view has lost its history to a write to its base; in backward as well."""
    view, node = tensor._view, tensor._node
    if view is None or view.kind is None or tensor._storage.written <= view.made:
        return
    if view.base._requires_grad or (node is not None and not node.is_accumulator):
        raise _lost(tensor, view)


def _lost(tensor: Tensor, view: View) -> RuntimeError:
    what = "its base or another view of its base has been"
    return errors.forbidden_view(view, tensor, what)


def borrow_flag(tensor: Tensor) -> None:
    """Let a view without `grad_fn` require grad if its base does, as in PyTorch.

    Unless it was asked to require grad itself, gradients for it then go nowhere.
    """
    view = tensor._view
    if view is None or (tensor._requires_grad and not view.borrows):
        return
    if view.borrows != view.base._requires_grad:
        tensor._node = None
        tensor._requires_grad = view.borrows = view.base._requires_grad


def take_retained(tensor: Tensor) -> bool:
    """Whether a tensor retains its gradient; if so, its node forgets it."""
    extras = None if tensor._node is None else tensor._node._extras
    if extras is None:
        return False
    reference = extras.retained.get(tensor._output_nr)
    if reference is None or reference() is not tensor:
        return False
    del extras.retained[tensor._output_nr]
    return True


def _history_source(view: View) -> Tensor:
    """The base; if it requires no grad, a stand-in for it from which gradients go nowhere.

    So views of a leaf that is a view itself lose the leaf, as in PyTorch.
    """
    base = view.base
    if base._requires_grad:
        return base
    stand_in = alias(base)
    stand_in._view = copy(view)
    stand_in._requires_grad = stand_in._view.borrows = True
    stand_in._view.seen = base._storage.changes
    return stand_in


def replay_history(view: View, source: Tensor) -> Tensor:
    """The view once more, made of the base as it is now or of a stand-in for it."""
    state = local.state
    grad_enabled, state.grad_enabled = state.grad_enabled, True
    intercept, state.intercept = state.intercept, None
    if source._is_lifted:
        state.intercept = view.base._level
    try:
        return view.replay(source)
    finally:
        state.grad_enabled, state.intercept = grad_enabled, intercept


def forbid_view_write(tensor: Tensor) -> None:
    """Raise when writing to this view would need a history that it cannot have."""
    view = tensor._view
    if view is not None and view.kind is not None:
        raise errors.forbidden_view(view, tensor, "is being")
