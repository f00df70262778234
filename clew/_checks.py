"""`torch._check` and its companions: conditions with the error of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clew.core.tensor import Tensor

__all__ = [
    "_assert_async", "_check", "_check_index", "_check_is_size",
    "_check_not_implemented", "_check_tensor_all", "_check_tensor_all_with", "_check_type",
    "_check_value", "_check_with",
]  # fmt: skip

_DEFAULT = (
    "Expected cond to be True, but got False. (Could this error message be improved? If so, please "
    "report an enhancement request to PyTorch.)"
)


def _assert_async(input: Tensor, assert_msg: str = "") -> None:
    """Raise unless the only element of a tensor is true."""
    if not bool(input):
        raise RuntimeError(assert_msg or "Expected Tensor with single nonzero value, but got zero")


def _check_with(
    error_type: type[Exception], cond: Any, message: Callable[[], str] | None = None
) -> None:
    """Raise an error of a type unless the condition holds."""
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if cond:
        return
    if message is not None and not callable(message):
        raise TypeError("message must be a callable")
    raise error_type(_DEFAULT if message is None else str(message()))


def _check(cond: Any, message: Callable[[], str] | None = None) -> None:
    """Raise a RuntimeError unless the condition holds; `message` is called for its text."""
    _check_with(RuntimeError, cond, message)


def _check_index(cond: Any, message: Callable[[], str] | None = None) -> None:
    """Raise an IndexError unless the condition holds."""
    _check_with(IndexError, cond, message)


def _check_value(cond: Any, message: Callable[[], str] | None = None) -> None:
    """Raise a ValueError unless the condition holds."""
    _check_with(ValueError, cond, message)


def _check_type(cond: Any, message: Callable[[], str] | None = None) -> None:
    """Raise a TypeError unless the condition holds."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond: Any, message: Callable[[], str] | None = None) -> None:
    """Raise a NotImplementedError unless the condition holds."""
    _check_with(NotImplementedError, cond, message)


def _check_is_size(i: int, message: Callable[[], str] | None = None, *, max: Any = None) -> None:
    """Raise unless a number may be a size."""
    _check(i >= 0, message)
    if max is not None:
        _check(i <= max, message)


def _check_tensor_all_with(
    error_type: type[Exception], cond: Any, message: Callable[[], str] | None = None
) -> None:
    """Raise an error of a type unless all elements of a tensor are true."""
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    _check_with(error_type, bool(cond.all()), message)


def _check_tensor_all(cond: Any, message: Callable[[], str] | None = None) -> None:
    """Raise a RuntimeError unless all elements of a tensor are true."""
    _check_tensor_all_with(RuntimeError, cond, message)
