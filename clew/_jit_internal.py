"""PyTorch's private names for marks on functions that a script compiler reads; clew has none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Dict, Final, List, Optional, Tuple, TypeVar, Union  # noqa: UP035  (programs import them from here)

from clew.jit import Future, _overload, _overload_method, export, ignore, is_scripting, unused

__all__ = [
    "Dict", "Final", "Future", "List", "Optional", "Tuple", "Union", "_copy_to_script_wrapper",
    "_overload", "_overload_method", "boolean_dispatch", "export", "ignore", "is_scripting",
    "unused", "weak_module", "weak_script", "weak_script_method",
]  # fmt: skip

T = TypeVar("T")


def _copy_to_script_wrapper(fn: T) -> T:
    """The function itself."""
    return fn


weak_module = weak_script = weak_script_method = _copy_to_script_wrapper


def boolean_dispatch(
    arg_name: str,
    arg_index: int,
    default: bool,
    if_true: Callable[..., Any],
    if_false: Callable[..., Any],
    module_name: str,
    func_name: str,
) -> Callable[..., Any]:
    """A function that calls one of two, as an argument says."""

    def function(*args: Any, **kwargs: Any) -> Any:
        chosen = default
        if arg_name in kwargs:
            chosen = kwargs[arg_name]
        elif arg_index < len(args):
            chosen = args[arg_index]
        return (if_true if chosen else if_false)(*args, **kwargs)

    function.__name__, function.__module__ = func_name, module_name
    return function
