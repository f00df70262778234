"""Functions for classes and modes that take over functions of tensors by `__torch_function__`.

How it works is said in `core/overrides.py`.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from clew import fft, linalg, special
from clew.core import function_modes, overrides
from clew.core.override_tables import IGNORED
from clew.core.overrides import NOTHING, every_member, no_implementation, offered, overloaded
from clew.core.state import local
from clew.core.tensor import Tensor
from clew.interrupts import uninterrupted
from clew.nn import functional

__all__ = [
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "handle_torch_function",
    "has_torch_function",
    "resolve_name",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "wrap_torch_function",
    "enable_reentrant_dispatch",
    "redispatch_function",
]

T = TypeVar("T", bound=Callable[..., Any])


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether an argument takes over functions, or a mode does.

    Args:
        relevant_args: the arguments

    Example:
        >>> class Shout:
        ...     @classmethod
        ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
        ...         return func.__name__.upper()
        >>> has = clew.overrides.has_torch_function
        >>> has((clew.ones(1), 2)), has((clew.ones(1), Shout()))
        (False, True)
    """
    state = local.state
    if state.overrides == NOTHING:
        return False
    args = tuple(relevant_args)
    if args and state.function_modes:
        return True
    if state.overrides != overrides.ENABLED or not overloaded(args):
        return False
    overrides.switch_on()
    return True


def has_torch_function_unary(value: Any) -> bool:
    """`has_torch_function` of one argument."""
    return has_torch_function((value,))


def has_torch_function_variadic(*args: Any) -> bool:
    """`has_torch_function` of arguments that are not in a tuple."""
    return has_torch_function(args)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """What the mode or the classes among some arguments make of a call of a function.

    Args:
        public_api: the function
        relevant_args: the arguments to look at
        args, kwargs: all its arguments

    Example:
        >>> class Shout:
        ...     @classmethod
        ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
        ...         return func.__name__.upper()
        >>> clew.overrides.handle_torch_function(clew.add, (Shout(),), Shout(), 1)
        'ADD'
    """
    found = overloaded(relevant_args)
    types = tuple(type(each) for each in found)
    result, asked = offered(public_api, types, found, args, kwargs)
    if result is not NotImplemented:
        return result
    name = resolve_name(public_api) or f"{public_api.__module__}.{public_api.__name__}"
    raise no_implementation(name, asked)


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[[T], T]:
    """A decorator that lets classes and modes take over a function of the program's own.

    Args:
        dispatcher: takes what the function takes, and returns the arguments to look at

    Example:
        >>> @clew.overrides.wrap_torch_function(lambda x: (x,))
        ... def double(x):
        ...     return x + x
        >>> double(clew.ones(1))
        tensor([2.])
    """

    def decorate(function: T) -> T:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return wrapped  # type: ignore[return-value]  # it takes what `function` takes

    return decorate


def is_tensor_like(inp: Any) -> bool:
    """Whether a value is a tensor, or has `__torch_function__`.

    Args:
        inp: the value

    Example:
        >>> clew.overrides.is_tensor_like(clew.ones(1)), clew.overrides.is_tensor_like(1.0)
        (True, False)
    """
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


def is_tensor_method_or_property(func: Any) -> bool:
    """Whether a function, as a handler gets it, is a method or property of tensors.

    Args:
        func: the function

    Example:
        >>> clew.overrides.is_tensor_method_or_property(clew.Tensor.sum)
        True
        >>> clew.overrides.is_tensor_method_or_property(clew.sum)
        False
    """
    return getattr(func, "__name__", "") == "__get__" or any(
        func is method for method in vars(Tensor).values()
    )


def resolve_name(f: Any) -> str | None:
    """The name of a function that can be taken over, as programs write it; None for others.

    Args:
        f: the function, as a handler gets it

    Example:
        >>> clew.overrides.resolve_name(clew.Tensor.add)
        'torch.Tensor.add'
    """
    own = overrides.SWITCHED.get(f) if inspect.isfunction(f) else None
    if own is not None:
        return own.name
    for function, func, name in every_member():
        if function is f or func == f:
            return name
    return None


def get_overridable_functions() -> dict[Any, list[Any]]:
    """The functions that classes and modes can take over, by the module or class they are in.

    Example:
        >>> functions = clew.overrides.get_overridable_functions()
        >>> clew.add in functions[clew], clew.Tensor.add in functions[clew.Tensor]
        (True, True)
    """
    places: dict[str, Any] = {"torch": sys.modules[__package__], "torch.Tensor": Tensor}
    parts = (linalg, fft, special, functional)
    places |= {"torch." + part.__name__.partition(".")[2]: part for part in parts}
    found: dict[Any, list[Any]] = {}
    for function, func, name in every_member():
        prefix, _, last = name.rpartition(".")
        if last == "__get__":
            found.setdefault(func.__self__, []).append(func)
        elif prefix in places and function is not None and last not in ("__set__", "__delete__"):
            found.setdefault(places[prefix], []).append(function)
    return found


def get_testing_overrides() -> dict[Any, Callable[..., Any]]:
    """For every function that can be taken over, one of the same signature that returns -1.

    Example:
        >>> clew.overrides.get_testing_overrides()[clew.add](1, 2)
        -1
    """

    def imitation(function: Any) -> Callable[..., Any]:
        def imitate(*args: Any, **kwargs: Any) -> int:
            return -1

        if inspect.isfunction(function):
            imitate.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]  # read by inspect
        return imitate

    listed = get_overridable_functions().values()
    return {function: imitation(function) for functions in listed for function in functions}


def get_ignored_functions() -> set[Any]:
    """The functions that nothing takes over.

    Example:
        >>> clew.is_tensor in clew.overrides.get_ignored_functions()
        True
    """
    owners = (sys.modules[__package__], Tensor)
    named = [getattr(owner, name, None) for owner in owners for name in IGNORED]
    return {function for function in named if callable(function)}


def get_default_nowrap_functions() -> set[Any]:
    """What `Tensor.__torch_function__` returns as it is, not as an object of a subclass.

    Example:
        >>> clew.Tensor.grad.__get__ in clew.overrides.get_default_nowrap_functions()
        True
    """
    return set(overrides.nowrap_functions())


def redispatch_function(
    func: Callable[..., Any], types: Iterable[type], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """A function's own implementation, in which classes and modes take over what it calls.

    Args:
        func: the function, as a handler gets it
        types: the classes among the arguments that take over functions
        args: its positional arguments
        kwargs: its keyword arguments

    Example:
        >>> clew.overrides.redispatch_function(clew.add, (), (clew.ones(1), 1), {})
        tensor([2.])
    """
    own = overrides.SWITCHED.get(func) if inspect.isfunction(func) else None
    return (func if own is None else own.implementation)(*args, **(kwargs or {}))


def enable_reentrant_dispatch() -> Any:
    """A block in which classes and modes take over functions even inside of a handler.

    Example:
        >>> with clew.overrides.enable_reentrant_dispatch():
        ...     clew.ones(1) + 1
        tensor([2.])
    """
    return function_modes.Enabled()


class TorchFunctionMode:
    """Takes over every function of tensors that its thread calls inside of a `with` block.

    While its `__torch_function__` runs, the mode is not in effect, and the one around it is.

    Example:
        >>> class Log(clew.overrides.TorchFunctionMode):
        ...     def __torch_function__(self, func, types, args=(), kwargs=None):
        ...         print(clew.overrides.resolve_name(func))
        ...         return func(*args, **(kwargs or {}))
        >>> with Log():
        ...     total = clew.ones(2) + 1
        torch.ones
        torch.Tensor.add
    """

    def __init__(self) -> None:
        pass

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Any:
        function_modes.push_mode(self)
        return self

    @uninterrupted
    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        function_modes.pop_mode()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        """Deprecated: a new mode; `with Mode():` says the same."""
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def _get_current_function_mode() -> Any:
    modes = local.state.function_modes
    return modes[-1] if modes else None


def _get_current_function_mode_stack() -> list[Any]:
    return list(local.state.function_modes)


_push_mode = function_modes.push_mode
_pop_mode = function_modes.pop_mode
