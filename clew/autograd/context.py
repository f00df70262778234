"""The context of a custom function, which is also its node in the graph."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from clew import errors
from clew.core.node import Edge, Meta, Node
from clew.core.saving import unpack
from clew.core.state import local
from clew.core.storage import next_sequence_number
from clew.core.tensor import NoHistory, Tensor, wrap
from clew.observer import active
from clew.source import user_where

if TYPE_CHECKING:
    from clew.autograd.function import Function


class FunctionCtx(Node):
    """What `forward` and `backward` of a custom function share; in the graph it is the node.

    Everything that `backward` needs should go through `save_for_backward`: only then do overwritten
    tensors get noticed, memory get freed, and second derivatives stay right.
    """

    # Not slots alone: user code sets attributes on its context.
    __slots__ = ("__dict__",)

    is_custom = True
    _function: type[Function]

    def __init__(self) -> None:
        self._edges: tuple[Edge | None, ...] = ()
        self._meta: tuple[Meta, ...] = ()
        self._extras = None
        self._seq = next_sequence_number()
        self._where = user_where()
        self.module_path = local.state.module_path
        self.needs_input_grad: tuple[bool, ...] = ()
        self.to_save: tuple[Any, ...] = ()
        self.saved_for_forward: tuple[Any, ...] = ()
        self.dirty_tensors: tuple[Tensor, ...] = ()
        self.non_differentiable: tuple[Tensor, ...] = ()
        self.materialize_grads = True
        self._saved: Any = ()
        self._foreign_saved = False
        self._is_input_tensor: tuple[bool, ...] = ()
        # Why what forward computes has no history: marks the tensors that come from its inputs.
        self._cut: NoHistory | None = None

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors (inputs, outputs, or others) for `backward`. Call it once, in `forward`."""
        for tensor in tensors:
            if tensor is not None and not isinstance(tensor, Tensor):
                raise TypeError(
                    "save_for_backward can only save variables, but argument is of type "
                    f"{type(tensor).__name__}. Keep other values as attributes of ctx."
                )
        self.to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for `jvp`."""
        self.saved_for_forward = tensors

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors given to `save_for_backward`."""
        if type(self._saved) is errors.Freed:
            raise errors.backward_twice(self, self._saved)
        if not self._saved and self.to_save:
            return self.to_save
        if not self._saved and self.saved_for_forward:
            return self.saved_for_forward
        return tuple(
            unpack(value, self, f"saved_tensors[{index}]")
            for index, value in enumerate(self._saved)
        )

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Say which inputs `forward` writes to. They must be returned as outputs."""
        self.dirty_tensors = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Say which outputs have no gradient, such as indices."""
        self.non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether gradients that are absent reach `backward` as zeros (the default) or None."""
        self.materialize_grads = value

    def name(self) -> str:
        return type(self).__name__

    # -- backward --------------------------------------------------------------------------

    def apply(self, grads: tuple[Tensor | None, ...]) -> Sequence[Tensor | None]:
        if type(self._saved) is errors.Freed:
            raise errors.backward_twice(self, self._saved)
        if local.state.grad_enabled:
            self._warn_of_lost_paths()
        given: list[Any] = list(grads)
        if self.materialize_grads:
            given = [
                wrap(np.zeros(*self._meta[index])) if grad is None else grad
                for index, grad in enumerate(given)
            ]
        versions = [None if g is None else g._storage.version for g in given]
        observer = active.observer
        if observer is not None:
            observer.function_backward_begins(self)
        try:
            results = self._function._backward_of()(self, *given)
        finally:
            if observer is not None:
                observer.function_backward_ends(self)
        for grad, version in zip(given, versions, strict=True):
            if grad is not None and grad._storage.version != version:
                self._warn_of_written_gradient(grad)
        return self._checked(results if isinstance(results, tuple) else (results,))

    def _warn_of_written_gradient(self, grad: Tensor) -> None:
        storage = grad._storage
        warnings.warn(
            f"{self.name()}: backward wrote to the gradient that it was given (`{storage.writer}` "
            f"at {errors.describe(storage.written_at)}). Other paths of the graph may share its "
            "memory and then get a wrong gradient: write to a clone.",
            stacklevel=2,
        )

    def _warn_of_lost_paths(self) -> None:
        """A gradient of this gradient misses what went through values computed in forward."""
        if getattr(self._function.backward, "_once_differentiable", False):
            return
        lost = "a tensor that is neither an input nor an output of its forward"
        if not self._foreign_saved:
            name = next(filter(self._holds_lost_path, vars(self).keys() - _OWN_ATTRIBUTES), None)
            if name is None:
                return
            lost = f"`ctx.{name}`, {lost}, without save_for_backward"
        warnings.warn(
            f"{self.name()} saved {lost}; the gradient of its gradient does not flow through that "
            "tensor. Return it as an output, recompute it in backward, or mark backward with "
            f"@once_differentiable. The function was applied at {errors.describe(self._where)}",
            stacklevel=2,
        )

    def _holds_lost_path(self, name: str) -> bool:
        value = vars(self)[name]
        return any(map(self._is_lost_path, value if isinstance(value, list | tuple) else [value]))

    def _is_lost_path(self, value: Any) -> bool:
        """Whether a tensor was computed by forward from inputs that require grad."""
        return (
            isinstance(value, Tensor)
            and value._reason is not None
            and value._reason is self._cut
            and value.dtype.is_floating_point
        )

    def _checked(self, results: tuple[Any, ...]) -> tuple[Any, ...]:
        expected = len(self._edges)
        extra = results[expected:]
        if len(results) < expected or any(value is not None for value in extra):
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients (expected "
                f"{expected}, got {len(results)})\n  It was applied at "
                f"{errors.describe(self._where)}"
            )
        for index, value in enumerate(results[:expected]):
            if value is None:
                continue
            if not isinstance(value, Tensor):
                raise RuntimeError(
                    f"expected Variable or None (got {type(value).__name__})\n"
                    f"  It is gradient {index} of {self.name()}, applied at "
                    f"{errors.describe(self._where)}"
                )
            if not self._is_input_tensor[index]:
                raise RuntimeError(
                    f"function {self.name()} returned a gradient different than None at position "
                    f"{index + 1}, but the corresponding forward input was not a Variable"
                )
            self._check_shape(index, value)
        return results[:expected]

    def _check_shape(self, index: int, grad: Tensor) -> None:
        edge = self._edges[index]
        if edge is None:
            return
        shape = edge[0]._meta[edge[1]][0]
        try:
            fits = np.broadcast_shapes(shape, grad._array.shape) == grad._array.shape
        except ValueError:
            fits = False
        if not fits:
            raise RuntimeError(
                f"Function {self.name()} returned an invalid gradient at index {index} - got "
                f"{errors.shape_list(grad._array.shape)} but expected shape compatible with "
                f"{errors.shape_list(shape)}"
            )

    def release(self, freed: errors.Freed) -> None:
        self.to_save = ()
        if self._saved:
            self._saved = freed


_OWN_ATTRIBUTES = frozenset(vars(FunctionCtx()))
