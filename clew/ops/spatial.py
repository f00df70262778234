"""What operations over (N, C, *spatial) tensors share: reading sizes, unbatched inputs, errors."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from clew import errors
from clew.core.tensor import Tensor

Shape = tuple[int, ...]

# The names that PyTorch gives to one, two and three axes of space in its messages.
AXIS_LETTERS = {1: "W", 2: "HW", 3: "THW"}


def located(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel, whose errors also name the line of the user's program."""

    @functools.wraps(kernel)
    def run(*arrays: Any, **params: Any) -> Any:
        try:
            return kernel(*arrays, **params)
        except (RuntimeError, ValueError) as error:
            raise type(error)(str(error) + errors.at_user_line()) from None

    return run


def failure(text: str) -> RuntimeError:
    """A RuntimeError that names the line of the user's program."""
    return RuntimeError(text + errors.at_user_line())


def not_implemented(kernel: str, input: Tensor) -> NotImplementedError:
    """PyTorch's kernel of that name does not take the input's dtype."""
    return NotImplementedError(
        f"\"{kernel}\" not implemented for '{input.dtype.scalar_name}'" + errors.at_user_line()
    )


def integers(function: str, name: str, value: Any) -> Shape:
    """An int or a sequence of ints as a tuple; a single int gives one entry."""
    if type(value) is int:
        return (value,)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(_integer(function, name, item) for item in value)
    return (_integer(function, name, value),)


def _integer(function: str, name: str, value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(
            f"{function}(): argument '{name}' must be tuple of ints, not {type(value).__name__}"
            + errors.at_user_line()
        ) from None


def require_tensor(function: str, name: str, position: int, value: Any) -> None:
    """Refuse everything that is not a tensor."""
    if not isinstance(value, Tensor):
        raise errors.wrong_argument(function, name, position, "Tensor", value)


def batched(input: Tensor, dims: int) -> tuple[Tensor, bool]:
    """The input with a batch dimension, and whether it had one."""
    if input._array.ndim == dims + 1:
        return input.unsqueeze(0), False
    return input, True


def unbatched(result: Tensor, was_batched: bool) -> Tensor:
    """Undo `batched`."""
    return result if was_batched else result.squeeze(0)


def batch_axis(array: np.ndarray, dims: int) -> np.ndarray:
    """The array as (N, C, *spatial), where the batch dimension may be missing."""
    return array[None] if array.ndim == dims + 1 else array


def cross(values: Sequence[int]) -> str:
    """`3x8x8`."""
    return "x".join(map(str, values))
