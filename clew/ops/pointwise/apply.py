"""Python functions applied element by element: slow, for the odd case that has no operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clew import errors
from clew.core.elementwise import NUMBER
from clew.core.inplace import bump_version, check_write
from clew.core.public import methods
from clew.core.state import local
from clew.core.tensor import Tensor


def _write(self: Tensor, name: str, values: Any) -> Tensor:
    if self._array.dtype.kind != "b":
        values = map(_number, values)
    array = np.fromiter(values, self._array.dtype, self._array.size)
    np.copyto(self._array, array.reshape(self._array.shape))
    bump_version(self, name)
    return self


def _number(value: Any) -> Any:
    """NumPy would read numbers out of text."""
    if not isinstance(value, (*NUMBER, Tensor)):
        raise TypeError(
            f"'{type(value).__name__}' object cannot be interpreted as a number: must be real "
            f"number, not {type(value).__name__}" + errors.at_user_line()
        )
    return value


def _check(self: Tensor, name: str, *others: Tensor) -> None:
    if any(each.requires_grad for each in (self, *others)):
        raise RuntimeError(
            f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() "
            "instead." + errors.at_user_line()
        )
    check_write(local.state, name, (self,))
    names = ("'other'",) if len(others) == 1 else ("argument 'x'", "argument 'y'")
    for other, what in zip(others, names, strict=False):
        if other.dtype is not self.dtype:
            raise TypeError(
                f"{name}: expected {self.type()} for {what} (got {other.type()})"
                + errors.at_user_line()
            )


def apply_(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Replace every element by what a Python function makes of it. Slow: for what has no operation.

    Args:
        callable: a function from one number to one number

    Example:
        >>> clew.tensor([1., 2.]).apply_(lambda x: x * 10)
        tensor([10., 20.])
    """
    _check(self, "apply_")
    return _write(self, "apply_", map(callable, self._array.ravel().tolist()))


def map_(self: Tensor, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Replace every element by what a Python function makes of it and another tensor's element.

    Args:
        tensor: the other tensor; broadcasts to the shape of this one
        callable: a function from two numbers to one

    Example:
        >>> clew.tensor([1., 2.]).map_(clew.tensor([5., 3.]), lambda x, y: max(x, y))
        tensor([5., 3.])
    """
    return _mapped(self, "map_", callable, tensor)


def map2_(self: Tensor, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Tensor:
    """Replace every element by what a function makes of it and of two other tensors' elements.

    Args:
        x: the first other tensor; broadcasts to the shape of this one
        y: the second
        callable: a function from three numbers to one

    Example:
        >>> a = clew.tensor([1., 2.])
        >>> a.map2_(clew.tensor([5., 3.]), clew.tensor([0., 9.]), lambda x, y, z: y if x > z else z)
        tensor([5., 9.])
    """
    return _mapped(self, "map2_", callable, x, y)


def _mapped(self: Tensor, name: str, callable: Callable[..., Any], *others: Tensor) -> Tensor:
    _check(self, name, *others)
    shape = self._array.shape
    columns = [each.expand(shape)._array.ravel().tolist() for each in (self, *others)]
    return _write(self, name, map(callable, *columns))


methods(apply_=apply_, map_=map_, map2_=map2_)
