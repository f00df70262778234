"""Questions about `__torch_function__`, a way of taking over operations that clew does not have."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from clew.core.tensor import Tensor

__all__ = ["has_torch_function", "is_tensor_like", "is_tensor_method_or_property"]


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether an argument takes over operations: none can.

    Args:
        relevant_args: the arguments

    Example:
        >>> clew.overrides.has_torch_function((clew.ones(1), 2))
        False
    """
    return False


has_torch_function_unary = has_torch_function_variadic = lambda *args: False


def is_tensor_like(inp: Any) -> bool:
    """Whether a value is a tensor, or has `__torch_function__`.

    Args:
        inp: the value

    Example:
        >>> clew.overrides.is_tensor_like(clew.ones(1)), clew.overrides.is_tensor_like(1.0)
        (True, False)
    """
    return isinstance(inp, Tensor) or hasattr(inp, "__torch_function__")


def is_tensor_method_or_property(func: Any) -> bool:
    """Whether a function is a method of tensors.

    Args:
        func: the function

    Example:
        >>> clew.overrides.is_tensor_method_or_property(clew.Tensor.sum)
        True
    """
    return any(func is method for method in vars(Tensor).values())
