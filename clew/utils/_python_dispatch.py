"""`TorchDispatchMode`: a mode that sees every operation, at the level of clew's Ops.

Where `TorchFunctionMode` sees what a program calls, this sees what that is made of, and backward.
What it gets is one `Op` (`core/op.py`), by the name that `torch.ops.aten` has for it, with the
op's own inputs and parameters. Functions that make tensors without an operation (`ones`, `randn`)
are not seen. It is an interceptor like others (`core/interception.py`): without one, operations
pay for nothing more.
"""

from __future__ import annotations

from typing import Any

from clew import errors
from clew.core.interception import Interceptor, install, remove, resume
from clew.core.op import Op
from clew.core.state import local
from clew.core.tensor import Tensor
from clew.interrupts import uninterrupted
from clew.ops.op_calls import OpCall

__all__ = [
    "TorchDispatchMode", "is_traceable_wrapper_subclass", "is_traceable_wrapper_subclass_type",
    "return_and_correct_aliasing", "transform_subclass",
]  # fmt: skip


class _Dispatching(Interceptor):
    """What stands for an active mode among the interceptors."""

    def __init__(self, mode: TorchDispatchMode) -> None:
        self.mode = mode

    def __call__(
        self, op: Any, inputs: tuple[Any, ...], params: dict[str, Any], inplace: bool = False
    ) -> Any:
        if not isinstance(op, Op):
            return params["outputs"] if self.outer is None else self.outer(op, inputs, params)
        func = OpCall(op, inplace)
        types = tuple({value.__class__: None for value in inputs if isinstance(value, Tensor)})
        kinds = tuple(kind for kind in types if kind is not Tensor)
        state = local.state
        state.intercept = self.outer
        try:
            result = self.mode.__torch_dispatch__(func, kinds, inputs, params)
        finally:
            resume(state, self)
        if result is NotImplemented:
            raise TypeError(
                f"Multiple dispatch failed for '{func}'; all __torch_dispatch__ handlers returned "
                f"NotImplemented:\n\n  - mode object {self.mode}" + errors.at_user_line()
            )
        return result


class TorchDispatchMode:
    """Sees every operation that its thread runs inside of a `with` block, backward included.

    While its `__torch_dispatch__` runs, the mode is not in effect, and the one around it is.

    Example:
        >>> from clew.utils._python_dispatch import TorchDispatchMode
        >>> class Log(TorchDispatchMode):
        ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        ...         print(func.name())
        ...         return func(*args, **(kwargs or {}))
        >>> x = clew.ones(2, requires_grad=True)
        >>> with Log():
        ...     total = (x * 2).sum()
        aten::mul
        aten::sum
    """

    def __init__(self, _dispatch_key: Any = None) -> None:
        self._entered: tuple[_Dispatching, ...] = ()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Any:
        link = _Dispatching(self)
        # A mode may be entered again, so its own `__init__` need not have been called.
        self._entered = (*getattr(self, "_entered", ()), link)
        install(link)
        return self

    @uninterrupted
    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        link = self._entered[-1]
        self._entered = self._entered[:-1]
        remove(link)

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        """Deprecated: a new mode; `with Mode():` says the same."""
        return cls(*args, **kwargs)


def _get_current_dispatch_mode_stack() -> list[TorchDispatchMode]:
    """The modes that are active, outermost first."""
    found: list[TorchDispatchMode] = []
    link = local.state.intercept
    while link is not None:
        if isinstance(link, _Dispatching):
            found.append(link.mode)
        link = link.outer
    return found[::-1]


def _get_current_dispatch_mode() -> TorchDispatchMode | None:
    """The newest mode that is active."""
    modes = _get_current_dispatch_mode_stack()
    return modes[-1] if modes else None


# -- classes -----------------------------------------------------------------------------------


def is_traceable_wrapper_subclass(t: Any) -> bool:
    """Whether an object is a tensor that says of which tensors it is made."""
    return isinstance(t, Tensor) and is_traceable_wrapper_subclass_type(type(t))


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """The same of a class: it has `__tensor_flatten__` and `__tensor_unflatten__`."""
    return (
        issubclass(t, Tensor)
        and t is not Tensor
        and hasattr(t, "__tensor_flatten__")
        and hasattr(t, "__tensor_unflatten__")
    )


def transform_subclass(
    t: Any, callback: Any, outer_size: Any = None, outer_stride: Any = None
) -> Any:
    """A tensor made of others, with each of them replaced by what a function gives.

    Args:
        t: a tensor with `__tensor_flatten__`
        callback: a function of the name and the tensor
        outer_size, outer_stride: the size and strides of the result; None keeps them

    Example:
        >>> from clew.utils._python_dispatch import is_traceable_wrapper_subclass
        >>> is_traceable_wrapper_subclass(clew.ones(2))
        False
    """
    names, context = t.__tensor_flatten__()
    parts = {name: callback(name, getattr(t, name)) for name in names}
    size = t.shape if outer_size is None else outer_size
    stride = t.stride() if outer_stride is None else outer_stride
    return type(t).__tensor_unflatten__(parts, context, size, stride)


def return_and_correct_aliasing(func: Any, args: Any, kwargs: Any, out: Any) -> Any:
    """What a handler of a wrapper class returns: of an operation in place, its first argument.

    Args:
        func: the operation
        args, kwargs: its arguments
        out: what the handler has made of them

    Example:
        >>> from clew.utils._python_dispatch import return_and_correct_aliasing
        >>> x = clew.ones(2)
        >>> return_and_correct_aliasing(clew.ops.aten.add.Tensor, (x, 1), {}, x) is x
        True
    """
    return args[0] if getattr(func, "inplace", False) else out
