"""Questions about `__torch_function__`, a way of taking over operations that clew does not have."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from clew.core.tensor import Tensor

__all__ = ["has_torch_function", "is_tensor_like", "is_tensor_method_or_property"]


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether an argument takes over operations: none can."""
    return False


has_torch_function_unary = has_torch_function_variadic = lambda *args: False


def is_tensor_like(inp: Any) -> bool:
    """Whether a value is a tensor, or has `__torch_function__`."""
    return isinstance(inp, Tensor) or hasattr(inp, "__torch_function__")


def is_tensor_method_or_property(func: Any) -> bool:
    """Whether a function is a method of tensors."""
    return any(func is method for method in vars(Tensor).values())
