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
from clew.core.inplace import apply_inplace
from clew.core.interception import Interceptor, install, remove
from clew.core.op import Op
from clew.core.state import local
from clew.core.tensor import Tensor
from clew.interrupts import uninterrupted
from clew.ops.aten import name_of

__all__ = ["TorchDispatchMode"]


class OpCall:
    """An operation as a handler gets it: equal to its name in `torch.ops.aten`, and callable."""

    __slots__ = ("_named", "inplace", "op")

    def __init__(self, op: Op, inplace: bool) -> None:
        self.op = op
        self.inplace = inplace
        self._named = name_of(op)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return apply_inplace(self.op, *args, **kwargs) if self.inplace else self.op(*args, **kwargs)

    @property
    def __name__(self) -> str:
        stem, _, overload = self._named.__name__.partition(".")
        return f"{stem}_.{overload}" if self.inplace else self._named.__name__

    @property
    def namespace(self) -> str:
        """The library: `aten`."""
        return "aten"

    def name(self) -> str:
        """`aten::name`."""
        return f"aten::{self.__name__.partition('.')[0]}"

    def __str__(self) -> str:
        return f"aten.{self.__name__}"

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        if isinstance(other, OpCall):
            return self.op is other.op and self.inplace == other.inplace
        return not self.inplace and other is self._named

    def __hash__(self) -> int:
        return hash(self._named)


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
            state.intercept = self
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
