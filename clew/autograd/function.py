"""Custom functions: `autograd.Function`, whose forward and backward are written by hand."""

from __future__ import annotations

import functools
import inspect
import sys
import warnings
from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

import numpy as np

from clew import errors
from clew.autograd import function_errors, function_vmap
from clew.autograd.context import ForwardCut, FunctionCtx, SavedIntermediate
from clew.core.inplace import rebase
from clew.core.interception import resume
from clew.core.node import AccumulateGrad, Edge, Meta, Node, live_edge
from clew.core.saving import SavedObject, save
from clew.core.state import State, local
from clew.core.storage import next_sequence_number
from clew.core.tensor import Tensor, alias, forbid_view_write
from clew.ops.batching.level import innermost
from clew.ops.define import vmap_errors
from clew.source import user_where

_NO_META: Meta = ((), np.dtype(np.float32))


class FunctionMeta(type):
    """Gives each function its own context class, named as PyTorch names it."""

    _context_class: type[FunctionCtx]
    # The same by PyTorch's name.
    _backward_cls: type[FunctionCtx]

    def __init__(cls, name: str, bases: tuple[type, ...], members: dict[str, Any]) -> None:
        super().__init__(name, bases, members)
        cls._context_class = type(f"{name}Backward", (FunctionCtx,), {"_function": cls})
        cls._backward_cls = cls._context_class


class Function(metaclass=FunctionMeta):
    """Base of operations whose backward is written by hand.

    Define static methods `forward(ctx, *args)` and `backward(ctx, *grad_outputs)`, or `forward`
    without a context and `setup_context(ctx, inputs, output)`. Call `MyFunction.apply(*args)`.

    Example:
        >>> class Square(clew.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.save_for_backward(x)
        ...         return x * x
        ...     @staticmethod
        ...     def backward(ctx, grad_output):
        ...         (x,) = ctx.saved_tensors
        ...         return 2 * x * grad_output
        >>> x = clew.tensor(3., requires_grad=True)
        >>> Square.apply(x).backward()
        >>> x.grad
        tensor(6.)
    """

    generate_vmap_rule = False
    # Whether `backward(ctx, grads)` takes the gradients as one list, from which it may take them
    # out to free them early.
    boxed_grads_call = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all "
            "static, so you should invoke them on the class itself.",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use "
            "new-style autograd function with static forward method."
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """The operation; it takes a context first, unless there is `setup_context`."""
        raise NotImplementedError(
            "You must implement the forward function for custom autograd.Function."
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Keep in `ctx` what `backward` needs, when `forward` takes no context."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """The gradient of each argument of `forward`, or None, from those of its outputs."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom "
            "autograd.Function to use it with backward mode AD."
        )

    # `vjp` is another name that a subclass may use for `backward`.
    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """The tangent of each output, from those of the arguments: for forward mode."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with "
            "forward mode AD."
        )

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *args: Any) -> Any:
        """The outputs for many examples at once, and the dimensions that count them there."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap static method "
            "or set generate_vmap_rule=True."
        )

    @classmethod
    def _backward_of(cls) -> Callable[..., Any]:
        own_vjp = cls.vjp is not Function.vjp
        if own_vjp and cls.backward is not Function.backward:
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You "
                "should only implement one of them."
            )
        return cls.vjp if own_vjp else cls.backward

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run `forward` and connect its outputs to `backward`."""
        separate = cls.setup_context is not Function.setup_context
        if kwargs or separate:
            signature, positions = _parameters(cls.forward, separate)
            if kwargs:
                function_vmap.refuse_keyword_tensors(signature, kwargs)
            if kwargs or len(args) < positions:
                args = _bind(signature, args, kwargs)
        state = local.state
        if state.transforms and not separate:
            raise vmap_errors.function_without_context(cls)
        ctx = cls._context_class()
        tensors = [value for value in args if isinstance(value, Tensor)]
        ctx._is_input_tensor = tuple(isinstance(value, Tensor) for value in args)
        edges = tuple(_edge_of(value) for value in args)
        ctx.needs_input_grad = tuple(edge is not None for edge in edges)
        versions = [v._storage.version if isinstance(v, Tensor) else 0 for v in args]
        output = _run_forward(cls, ctx, args, state)
        outputs = output if isinstance(output, tuple) else (output,)
        recorded = state.grad_enabled and any(ctx.needs_input_grad)
        _check_marks(ctx, tensors, outputs)
        if separate:
            _check_saved(ctx, tensors, outputs)
        if recorded:
            _check_undeclared(ctx, args, versions, outputs)
            ctx._edges = edges
        outputs = _connect(ctx, tensors, outputs, recorded, state)
        try:
            _pack_saved(ctx, tensors, outputs, recorded)
            if state.intercept is not None:
                outputs = state.intercept(cls, args, {"ctx": ctx, "outputs": outputs})
        finally:
            # A node that knew its outputs would keep itself alive.
            ctx.dirty_tensors = ctx.non_differentiable = ()
        return outputs if isinstance(output, tuple) else outputs[0]


class InplaceFunction(Function):
    """Base of functions with an `inplace` option, kept for programs that derive from it."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


def _edge_of(value: Any) -> Edge | None:
    """Where an argument's gradient goes; inside vmap, histories from outside do not count."""
    if not isinstance(value, Tensor):
        return None
    level = innermost()
    return live_edge(value) if level is None or level.owns(value) else None


@functools.cache
def _parameters(forward: Any, separate: bool) -> tuple[inspect.Signature, int]:
    """The signature of a forward without its context, and how many positions it has."""
    signature = inspect.signature(forward)
    given = list(signature.parameters.values())
    if not separate:
        given = given[1:] if given and given[0].kind is not given[0].VAR_POSITIONAL else given
        signature = signature.replace(parameters=given)
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return signature, sum(each.kind in kinds for each in given)


def _bind(
    signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, ...]:
    """All arguments by position, with defaults for those that are not given."""
    known = signature.parameters
    takes_any = any(each.kind is each.VAR_KEYWORD for each in known.values())
    for name in kwargs:
        if name not in known and not takes_any:
            raise TypeError(f"forward() got an unexpected keyword argument '{name}'")
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        text = str(error)
        if text.startswith("multiple values"):
            raise TypeError(f"forward() got {text}") from None
        name = text.rpartition("'")[0].rpartition("'")[2]
        if name not in known:
            raise TypeError(f"forward() {text}") from None
        position = list(known).index(name)
        raise TypeError(
            f"forward() missing required argument: '{name}' (position {position})"
        ) from None
    bound.apply_defaults()
    return bound.args


def _run_forward(cls: type[Function], ctx: FunctionCtx, args: tuple[Any, ...], state: State) -> Any:
    """Forward runs without recording: its history is the function's own node."""
    grad_enabled, reason = state.grad_enabled, state.no_grad_reason
    intercept = state.intercept
    if intercept is not None:
        state.intercept = intercept.inside_function()
    try:
        level = innermost()
        output, batched = None, False
        if level is not None and function_vmap.belongs_to(level, args):
            output, batched = function_vmap.run_batched(level, cls, Function, args), True
        state.grad_enabled = False
        state.no_grad_reason = ctx._cut = ForwardCut(f"{cls.__name__}.forward", ctx._where)
        if batched:
            cls.setup_context(ctx, args, output)
            return output
        if cls.setup_context is Function.setup_context:
            return cls.forward(ctx, *args)
        output = cls.forward(*args)
        cls.setup_context(ctx, args, output)
        return output
    finally:
        state.grad_enabled, state.no_grad_reason = grad_enabled, reason
        resume(state, intercept)


def _is_among(tensor: Any, group: Sequence[Any]) -> bool:
    return any(tensor is member for member in group)


def _check_marks(ctx: FunctionCtx, tensors: list[Tensor], outputs: tuple[Any, ...]) -> None:
    for tensor in ctx.dirty_tensors:
        if not _is_among(tensor, outputs):
            raise function_errors.dirty_not_returned(ctx)
        if not _is_among(tensor, tensors):
            if tensor._view is not None:
                raise RuntimeError(function_errors.dirty_not_input(ctx))
            warnings.warn(function_errors.dirty_not_input(ctx), stacklevel=3)
    for tensor in ctx.non_differentiable:
        if not _is_among(tensor, outputs):
            function_errors.warn_marked_not_output(ctx)


def _check_saved(ctx: FunctionCtx, tensors: list[Tensor], outputs: tuple[Any, ...]) -> None:
    """An input that is an output as well is two tensors in the graph: which one is meant?"""
    for tensor in (*ctx.to_save, *ctx.saved_for_forward):
        if (
            tensor is not None
            and _is_among(tensor, tensors)
            and _is_among(tensor, outputs)
            and not _is_among(tensor, ctx.dirty_tensors)
        ):
            raise function_errors.saved_as_is(ctx)


def _check_undeclared(
    ctx: FunctionCtx, args: tuple[Any, ...], versions: list[int], outputs: tuple[Any, ...]
) -> None:
    """An input that forward wrote to must be marked, if gradients or outputs depend on it."""
    for index, version in enumerate(versions):
        tensor = args[index]
        if not isinstance(tensor, Tensor) or tensor._storage.version == version:
            continue
        if any(tensor._storage is dirty._storage for dirty in ctx.dirty_tensors):
            continue
        if (returned := _is_among(tensor, outputs)) or ctx.needs_input_grad[index]:
            function_errors.say_undeclared_write(ctx, index, tensor, returned)


def _connect(
    ctx: FunctionCtx,
    inputs: list[Tensor],
    outputs: tuple[Any, ...],
    recorded: bool,
    state: State,
) -> tuple[Any, ...]:
    """Give the outputs their history: this node."""
    ctx._meta = tuple(
        (out._layout.shape, out._layout.dtype) if isinstance(out, Tensor) else _NO_META
        for out in outputs
    )
    ctx._is_output_tensor = tuple(isinstance(out, Tensor) for out in outputs)
    ctx._differentiable = tuple(
        isinstance(out, Tensor)
        and is_differentiable(out)
        and not _is_among(out, ctx.non_differentiable)
        for out in outputs
    )
    if ctx._is_pure_view and (len(outputs) > 1 or len(inputs) > 1):
        raise RuntimeError(
            "Pure view custom Function can only have one input Tensor and one output Tensor. Open "
            "an issue if you need to support more." + errors.at_user_line()
        )
    connected: list[Any] = []
    for number, out in enumerate(outputs):
        if not isinstance(out, Tensor):
            if recorded and isinstance(out, list | dict):
                _warn_of_container(ctx, out)
            connected.append(out)
        elif _is_among(out, ctx.dirty_tensors) and not _is_among(out, ctx.non_differentiable):
            if recorded and len(outputs) > 1 and out._view is not None:
                raise function_errors.dirty_view_among_others(ctx)
            connected.append(_connect_dirty(ctx, out, number, recorded, state))
        else:
            connected.append(_connect_output(ctx, inputs, out, number, recorded))
    return tuple(connected)


def _warn_of_container(ctx: FunctionCtx, out: Any) -> None:
    values = out.values() if isinstance(out, dict) else out
    if any(map(ctx._is_lost_path, values)):
        warnings.warn(
            f"{ctx._name()}: forward returned a {type(out).__name__} of tensors, which get no "
            "history: backward will never be called for them. Return a tensor or a tuple of "
            "tensors.",
            stacklevel=4,
        )


def _connect_dirty(
    ctx: FunctionCtx, out: Tensor, number: int, recorded: bool, state: State
) -> Tensor:
    storage = out._storage
    storage.bump(storage.writer or ctx._name(), storage.written_at or ctx._where)
    if recorded:
        forbid_view_write(out)
        if out.requires_grad:
            _check_leaf(ctx, out)
        rebase(state, out, ctx, number)
    return out


def _check_leaf(ctx: FunctionCtx, out: Tensor) -> None:
    view = out._view
    base = out if view is None else view.base
    if base._requires_grad and (base._node is None or base._node.is_accumulator):
        raise errors.leaf_in_place(ctx._name(), view is not None, tense="has been")


def _connect_output(
    ctx: FunctionCtx, inputs: list[Tensor], out: Tensor, number: int, recorded: bool
) -> Tensor:
    if recorded and out._node is ctx:
        # Returned twice: one tensor, which is the last of the outputs.
        out._output_nr = number
        return out
    marked = _is_among(out, ctx.non_differentiable)
    if marked and _is_among(out, inputs):
        return out.detach()
    has_history = out._requires_grad and (out._view is None or not out._view.borrows)
    if _is_among(out, inputs) or has_history:
        # An input handed through: the result is another tensor over the same memory.
        out = _view_of_input(out) if recorded or local.state.grad_enabled else alias(out)
    connected = recorded and is_differentiable(out) and not marked
    if connected:
        out._requires_grad, out._node, out._output_nr = True, ctx, number
        out._reason = None
    if out._view is not None:
        # Writing to it would replace this node in the history of what it is a view of.
        # What forward wrote to that memory is what the function computes.
        out._view = copy(out._view)
        out._view.made = out._view.seen = out._storage.changes
        out._view.kind = _view_kind(ctx, connected)
        if connected:
            out._view.borrows = False
    return out


def _view_kind(ctx: FunctionCtx, connected: bool) -> str | None:
    """Why a view that a function returned may not be written to; None if it may."""
    if ctx._is_pure_view:
        return None
    return "multi" if connected and sum(ctx._differentiable) > 1 else "custom"


def is_differentiable(tensor: Tensor) -> bool:
    return tensor.dtype.is_floating_point or tensor.dtype.is_complex


def _view_of_input(tensor: Tensor) -> Tensor:
    state = local.state
    grad_enabled, state.grad_enabled = state.grad_enabled, False
    try:
        return tensor.view_as(tensor)
    finally:
        state.grad_enabled = grad_enabled


def _pack_saved(
    ctx: FunctionCtx, inputs: list[Tensor], outputs: tuple[Any, ...], recorded: bool
) -> None:
    if not recorded:
        return
    saved: list[Any] = []
    tensors, ctx.to_save = ctx.to_save, ()
    for tensor in tensors:
        if tensor is None:
            saved.append(None)
            continue
        is_output = _is_among(tensor, outputs)
        # A view that was written to has its history from its base: in the graph it is an output
        # all the same, and must not keep itself alive.
        is_own = is_output and (tensor._node is ctx or _is_among(tensor, ctx.dirty_tensors))
        kept: Any = save(tensor, output_of=True) if is_own else SavedObject(tensor)
        if not is_output and not _is_among(tensor, inputs) and ctx._is_lost_path(tensor):
            kept = SavedIntermediate(kept)
        saved.append(kept)
    ctx._saved = tuple(saved)
    ctx.keep_attributes()
    # Numbered after saving, as other nodes are: writes before this moment do no harm.
    ctx._seq = next_sequence_number()


class Error(Node):
    """Stands behind gradients of a function that may be differentiated only once."""

    __slots__ = ()

    def __init__(self, gradients: Sequence[Any]) -> None:
        like = [each if isinstance(each, Tensor) else None for each in gradients]
        self._edges = tuple(None if each is None else (AccumulateGrad(each), 0) for each in like)
        arrays = [np.empty(0) if each is None else each._array for each in like]
        self._meta = tuple((array.shape, array.dtype) for array in arrays)
        self._extras = None
        self._seq = next_sequence_number()
        self._where = user_where()
        self.module_path = None

    def _name(self) -> str:
        return "torch::autograd::Error"

    def apply_tensors(self, grads: tuple[Tensor | None, ...]) -> Sequence[Tensor | None]:
        raise RuntimeError(
            "trying to differentiate twice a function that was marked with @once_differentiable"
        )


def once_differentiable(function: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a `backward` that is not made of differentiable operations."""

    @functools.wraps(function)
    def wrapper(ctx: Any, *args: Any) -> Any:
        state = local.state
        grad_enabled, state.grad_enabled = state.grad_enabled, False
        try:
            outputs = function(ctx, *args)
        finally:
            state.grad_enabled = grad_enabled
        tracked = any(isinstance(arg, Tensor) and arg.requires_grad for arg in args)
        if not (grad_enabled and tracked):
            return outputs
        as_tuple = outputs if isinstance(outputs, tuple) else (outputs,)
        node = Error(as_tuple)
        marked = tuple(_forbid_twice(value, node, nr) for nr, value in enumerate(as_tuple))
        return marked if isinstance(outputs, tuple) else marked[0]

    wrapper._once_differentiable = True  # type: ignore[attr-defined]  # read by FunctionCtx
    return wrapper


def _forbid_twice(value: Any, node: Error, nr: int) -> Any:
    if not isinstance(value, Tensor):
        return value
    result = alias(value)
    result._requires_grad, result._node, result._output_nr = True, node, nr
    return result


# Where `typing.get_type_hints` looks for what annotations of FunctionCtx call Function.
vars(sys.modules["clew.autograd.context"])["Function"] = Function
