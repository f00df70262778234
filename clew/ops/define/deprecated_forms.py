"""Factors of sums: also as tensors, and by position, as PyTorch took them before 1.5.

`x.add_(0.9, g)` is today's `x.add_(g, alpha=0.9)`. Programs of that time are full of such calls,
and PyTorch still takes them, with a warning.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from clew import errors
from clew.core.tensor import Tensor

F = TypeVar("F", bound=Callable[..., Any])

_NUMBERS = (int, float, complex, np.number, np.bool_)


def number(function: str, argument: str, value: Any) -> Any:
    """A factor as a number: that of a tensor without dimensions or history is read."""
    if isinstance(value, _NUMBERS):
        return value
    if not isinstance(value, Tensor) or value._array.ndim or value.requires_grad:
        raise errors.wrong_argument(function, argument, None, "Number", value)
    return value.item()


def number_first(*factors: str) -> Callable[[F], F]:
    """Also accept the named factors of a function by position, before the tensors."""

    def decorate(function: F) -> F:
        accepting: Any = _accepting(function, factors, function.__name__)
        # The in-place method speaks of itself by its own name.
        accepting.under_name = functools.partial(_accepting, function, factors)
        return accepting

    return decorate


def _accepting(
    function: Callable[..., Any], factors: Sequence[str], name: str
) -> Callable[..., Any]:
    parameters = inspect.signature(function).parameters.values()
    count = sum(p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters)

    @functools.wraps(function)
    def accepting(*args: Any, **kwargs: Any) -> Any:
        for factor in factors:
            if factor in kwargs:
                kwargs[factor] = number(name, factor, kwargs[factor])
        if len(args) <= count:
            return function(*args, **kwargs)
        tensors, given = sorted_out(name, args, count, factors)
        return function(*tensors, **given, **kwargs)

    return accepting


def sorted_out(
    name: str, args: Sequence[Any], count: int, factors: Sequence[str]
) -> tuple[list[Tensor], dict[str, Any]]:
    """The tensors of an old call, in order, and its factors by name."""
    tensors = [each for each in args if isinstance(each, Tensor)]
    numbers = [each for each in args if isinstance(each, _NUMBERS)]
    fits = len(tensors) == count and len(args) == count + len(numbers)
    if not fits or len(numbers) > len(factors) or tensors[-1] is not args[-1]:
        raise TypeError(
            f"{name}() takes {count} positional arguments but {len(args)} were given"
            + errors.at_user_line()
        )
    given = dict(zip(factors, numbers))
    today = ", ".join(f"{factor}={value}" for factor, value in given.items())
    errors.warn_once(
        f"This overload of {name} is deprecated: factors are given by name, after the tensors. "
        f"Write {today} at the end of the call.",
        about="overloads",
    )
    return tensors, given
