"""The context of a custom function, which is also its node in the graph."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from clew import errors
from clew.autograd import function_errors
from clew.core.interception import note_constant
from clew.core.no_history import NoHistory
from clew.core.node import Edge, Meta, Node
from clew.core.saving import restore_like, unpack
from clew.core.state import local
from clew.core.storage import INFERENCE, next_sequence_number
from clew.core.tensor import Tensor, every_value, wrap
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
    is_boxed = property(lambda self: self._function.boxed_grads_call)
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
        # The tensors that forward set as attributes, as they were when it was done.
        self._attributes: tuple[Kept, ...] = ()
        # While backward runs for a graph of the gradient.
        self._makes_graph = False
        self._is_input_tensor: tuple[bool, ...] = ()
        self._is_output_tensor: tuple[bool, ...] = ()
        self._differentiable: tuple[bool, ...] = ()
        # Set by functions that only make a view of their one input: its own history is the same.
        self._is_pure_view = False
        self._materialize_non_diff_grads = True
        self._runs_jvp = False
        # Why what forward computes has no history: marks the tensors that come from its inputs.
        self._cut: ForwardCut | None = None

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors (inputs, outputs, or others) for `backward`. Call it once, in `forward`."""
        for index, tensor in enumerate(tensors):
            if tensor is not None and not isinstance(tensor, Tensor):
                raise function_errors.not_a_tensor_to_save(index, tensor)
        self.to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for `jvp`."""
        self.saved_for_forward = tensors

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors given to `save_for_backward`."""
        if self._runs_jvp:
            return self.saved_for_forward
        if type(self._saved) is errors.Freed:
            raise errors.backward_twice(self, self._saved)
        if not self._saved and self.to_save:
            return self.to_save
        return tuple(
            self._unpack(value, f"saved_tensors[{index}]")
            for index, value in enumerate(self._saved)
        )

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        """The old name of `saved_tensors`."""
        warnings.warn(
            "'saved_variables' is deprecated; use 'saved_tensors'",
            DeprecationWarning,
            stacklevel=2,
        )
        return self.saved_tensors

    def _unpack(self, value: Any, name: str) -> Any:
        cut = type(value) is SavedIntermediate
        tensor = unpack(value.saved if cut else value, self, name)
        return _through_forward(self, tensor, name) if cut and self._makes_graph else tensor

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Say which inputs `forward` writes to. They must be returned as outputs."""
        for index, tensor in enumerate(tensors):
            if not isinstance(tensor, Tensor):
                raise function_errors.not_a_tensor_to_mark(
                    f"mark_dirty can only accept variables, but argument {index} is of type",
                    tensor,
                )
        self.dirty_tensors += tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Say which outputs have no gradient, such as indices."""
        for tensor in tensors:
            if not isinstance(tensor, Tensor):
                raise function_errors.not_a_tensor_to_mark(
                    "mark_non_differentiable only accepts variable arguments, but got", tensor
                )
        self.non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether gradients that are absent reach `backward` as zeros (the default) or None."""
        if not isinstance(value, bool):
            raise TypeError(
                "set_materialize_grads received an invalid combination of arguments - got "
                f"({type(value).__name__}), but expected (bool)" + errors.at_user_line()
            )
        self.materialize_grads = value

    # -- backward --------------------------------------------------------------------------

    def apply_tensors(self, grads: tuple[Tensor | None, ...]) -> Sequence[Tensor | None]:
        given: list[Any] = list(grads)
        # A boxed list is all that holds the gradients: whoever takes them out frees them.
        del grads
        if self.materialize_grads:
            given = [
                note_constant(wrap(np.zeros(*self._meta[index])))
                if grad is None and self._has_zero_grad(index)
                else grad
                for index, grad in enumerate(given)
            ]
        boxed = self._function.boxed_grads_call
        versions = [None if g is None or boxed else g._storage.version for g in given]
        observer = active.observer
        if observer is not None:
            observer.function_backward_begins(self)
        try:
            results = self._run_backward(given)
        finally:
            if observer is not None:
                observer.function_backward_ends(self)
        for grad, version in zip(given, () if boxed else versions, strict=not boxed):
            if grad is not None and grad._storage.version != version:
                self._gradient_was_written(grad)
        return self._checked(results if isinstance(results, tuple) else (results,))

    def apply(self, *grads: Any) -> Any:
        """What `backward` returns for these gradients, as the program itself may ask."""
        return self._call(self._function._backward_of(), list(grads))

    def _has_zero_grad(self, index: int) -> bool:
        """Whether an output without a gradient has one of zeros."""
        if not self._materialize_non_diff_grads and not self._differentiable[index]:
            return False
        return self._is_output_tensor[index]

    def _run_backward(self, given: list[Any]) -> Any:
        backward = self._function._backward_of()
        for kept in self._attributes:
            kept.check(self)
        if local.state.grad_enabled:
            results = self._run_for_graph(backward, given)
        else:
            results = self._call(backward, given)
        if self._attributes:
            # What backward itself writes to its attributes is its own affair.
            self.keep_attributes()
        return results

    def _call(self, backward: Callable[..., Any], given: list[Any]) -> Any:
        return backward(self, given) if self._function.boxed_grads_call else backward(self, *given)

    def _run_for_graph(self, backward: Callable[..., Any], given: list[Any]) -> Any:
        before, self._makes_graph = self._makes_graph, True
        replaced = self._link_attributes()
        try:
            return self._call(backward, given)
        finally:
            vars(self).update(replaced)
            self._makes_graph = before

    def _gradient_was_written(self, grad: Tensor) -> None:
        """Harmless if nobody else sees that memory; that depends on what else the graph holds."""
        for run in local.state.backward_runs:
            for other in run.pending_gradients():
                if np.may_share_memory(other, grad._array):
                    raise function_errors.shared_gradient_written(self, grad._storage)
        function_errors.warn_gradient_written(self, grad._storage)

    # -- tensors as attributes -------------------------------------------------------------

    def keep_attributes(self) -> None:
        """Remember the versions of the tensors that are attributes of this context."""
        own = vars(self)
        if len(own) == len(_OWN_ATTRIBUTES):
            return
        self._attributes = tuple(
            [
                Kept(name, tensor, tensor._requires_grad or self._is_lost_path(tensor))
                for name in own.keys() - _OWN_ATTRIBUTES
                for tensor in _tensors_in(own[name])
                if tensor._storage is not INFERENCE
            ]
        )

    def _link_attributes(self) -> dict[str, Any]:
        """Let gradients find out that forward's intermediate results have no history."""
        replaced = {}
        for name in vars(self).keys() - _OWN_ATTRIBUTES:
            value = vars(self)[name]
            if any(map(self._is_lost_path, _tensors_in(value))):
                replaced[name] = value
                vars(self)[name] = self._linked(value, f"ctx.{name}")
        return replaced

    def _linked(self, value: Any, name: str) -> Any:
        if type(value) in (list, tuple):
            return type(value)([self._linked(each, name) for each in value])
        return _through_forward(self, value, name) if self._is_lost_path(value) else value

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
            raise function_errors.wrong_number_of_gradients(self, expected, len(results))
        for index, value in enumerate(results[:expected]):
            if value is None:
                continue
            if not isinstance(value, Tensor):
                raise function_errors.gradient_of_wrong_type(self, index, value)
            if not self._is_input_tensor[index]:
                raise function_errors.gradient_of_no_tensor(self, index)
            self._check_fits(index, value)
        return results[:expected]

    def _check_fits(self, index: int, grad: Tensor) -> None:
        edge = self._edges[index]
        if edge is None:
            return
        shape, dtype = edge[0]._meta[edge[1]]
        try:
            fits = np.broadcast_shapes(shape, grad._layout.shape) == grad._layout.shape
        except ValueError:
            fits = False
        if not fits:
            raise function_errors.gradient_of_wrong_shape(self, index, grad._layout.shape, shape)
        is_complex = grad.dtype.is_complex
        if (
            dtype is not None
            and is_complex != (dtype.kind in "cW")
            and not grad.dtype.is_floating_point
        ):
            raise function_errors.gradient_of_wrong_dtype(self, index, is_complex)

    def release(self, freed: errors.Freed) -> None:
        self.to_save = ()
        self._saved = freed


_OWN_ATTRIBUTES = frozenset(vars(FunctionCtx()))


def _tensors_in(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    if not isinstance(value, (list, tuple)):  # a union would be made every time
        return []
    return [each for each in value if isinstance(each, Tensor)]


class Kept:
    """A tensor that is an attribute of a context, and the version it had."""

    __slots__ = ("is_differentiated", "name", "shape", "storage", "version")

    def __init__(self, name: str, tensor: Tensor, is_differentiated: bool) -> None:
        self.name = name
        self.shape = tensor._layout.shape
        self.storage = tensor._storage
        self.version = tensor._storage.version
        # Buffers and the like may change on purpose; what gradients are computed from may not.
        self.is_differentiated = is_differentiated

    def check(self, node: FunctionCtx) -> None:
        if self.storage.version != self.version:
            if self.is_differentiated:
                raise function_errors.attribute_overwritten(
                    node, self.name, self.shape, self.storage
                )
            function_errors.warn_attribute_overwritten(node, self.name, self.storage)


class ForwardCut(NoHistory):
    """Why what a custom forward computes has no history: it is the function's own business."""

    __slots__ = ("_of_step",)

    def __init__(self, function: str, where: Any) -> None:
        super().__init__("no_grad", function, where)
        self._of_step: NoHistory | None = None

    @property
    def of_step(self) -> NoHistory:
        """For a mask, a sign: whoever differentiates through it misses nothing."""
        if self._of_step is None:
            self._of_step = _ForwardStep(self.kind, self.op, self.where)
            self._of_step.ancestor = self.ancestor
        return self._of_step

    def written(self, target: Tensor, sources: tuple[Any, ...]) -> None:
        """Values that come from the function's inputs may also be copied into a tensor."""
        if any(
            isinstance(each, Tensor) and (each._requires_grad or each._reason is self)
            for each in sources
        ):
            base = target if target._view is None else target._view.base
            base._reason = target._reason = self


class _ForwardStep(NoHistory):
    __slots__ = ()
    is_step = True


class SavedIntermediate:
    """A saved tensor that forward computed from inputs that require grad."""

    __slots__ = ("saved",)

    def __init__(self, saved: Any) -> None:
        self.saved = saved


class _LostPath(Node):
    """Stands behind an intermediate result of a custom forward, which has no history.

    A gradient that arrives here should go on to the inputs of the function, and cannot.
    """

    __slots__ = ("function", "saved_as")

    def __init__(self, function: FunctionCtx, tensor: Tensor, saved_as: str) -> None:
        self._edges = function._edges
        self._meta = ((tensor._layout.shape, tensor._layout.dtype),)
        self._extras = None
        self._seq = next_sequence_number()
        self._where = function._where
        self.module_path = function.module_path
        self.function = function._name()
        self.saved_as = saved_as

    def apply_tensors(self, grads: tuple[Tensor | None, ...]) -> Sequence[Tensor | None]:
        if grads[0] is not None and every_value(grads[0]).any():
            raise function_errors.intermediate_saved(self, self.function, self.saved_as)
        return (None,) * len(self._edges)


def _through_forward(function: FunctionCtx, tensor: Tensor, saved_as: str) -> Tensor:
    return restore_like(tensor, _LostPath(function, tensor, saved_as), 0)
