"""The shape of a tensor."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from typing import Any

from clew import errors


class Size(tuple[int, ...]):
    """The shape of a tensor: a tuple that prints and slices as PyTorch's does.

    Args:
        iterable: the lengths of the dimensions

    Example:
        >>> clew.zeros(2, 3).shape
        torch.Size([2, 3])
        >>> clew.Size([2, 3]).numel()
        6
    """

    def __new__(cls, iterable: Iterable[Any] = ()) -> Size:
        sizes = tuple(iterable)
        for n in sizes:
            if type(n) is not int:
                return tuple.__new__(cls, [_extent(n, i) for i, n in enumerate(sizes)])
        return tuple.__new__(cls, sizes)

    def numel(self) -> int:
        """The number of elements of a tensor of this shape."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    def __getitem__(self, index: Any) -> Any:
        result = tuple.__getitem__(self, index)
        return Size(result) if isinstance(index, slice) else result

    def __add__(self, other: Any) -> Any:
        if isinstance(other, tuple):
            return Size(tuple.__add__(self, other))
        if hasattr(type(other), "__radd__"):
            return NotImplemented
        raise TypeError(f"can only concatenate tuple (not {type(other).__name__}) to torch.Size")

    def __radd__(self, other: Any) -> Any:
        return Size(other + tuple(self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, times: Any) -> Any:
        product = tuple.__mul__(self, times) if hasattr(type(times), "__index__") else None
        return NotImplemented if product is None else Size(product)

    __rmul__ = __mul__

    def __reduce__(self) -> Any:
        return Size, (tuple(self),)


def _extent(n: Any, place: int) -> int:
    """An element of a Size: what counts as an integer, but no tensor with dimensions."""
    array = getattr(n, "_array", None)
    if hasattr(type(n), "__index__") and (
        array is None or (not array.ndim and array.dtype.kind in "iu")
    ):
        return operator.index(n)
    raise TypeError(
        f"torch.Size() takes an iterable of 'int' (item {place} is '{type(n).__name__}')"
        + errors.at_user_line()
    )
