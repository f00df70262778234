"""The shape of a tensor, and the length of a dimension whose rows differ."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from typing import Any

from clew import errors


class SymInt:
    """An integer that is no one number: the length of a dimension whose rows differ in length.

    Two are equal where the rows are of the same lengths because they are cut at the same offsets.
    Nested tensors make them; a multiple is one as well.

    Args:
        number: which tensor of offsets it belongs to
        coefficient: how many times that length it is

    Example:
        >>> rows = [clew.ones(2), clew.ones(3)]
        >>> length = clew.nested.nested_tensor(rows, layout=clew.jagged).shape[1]
        >>> isinstance(length, clew.SymInt), length == length, length == 3
        (True, True, False)
    """

    __slots__ = ("_coefficient", "_number")

    def __init__(self, number: int, coefficient: int = 1) -> None:
        self._number = number
        self._coefficient = coefficient

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, SymInt)
            and other._number == self._number
            and other._coefficient == self._coefficient
        )

    def __hash__(self) -> int:
        return hash((self._number, self._coefficient))

    def __repr__(self) -> str:
        name = f"j{self._number}"
        return name if self._coefficient == 1 else f"{self._coefficient}*{name}"

    def __mul__(self, other: Any) -> SymInt:
        if isinstance(other, SymInt):
            raise ValueError(f"unsupported: {other!r} times {self!r}" + errors.at_user_line())
        if not hasattr(type(other), "__index__"):
            return NotImplemented
        return SymInt(self._number, self._coefficient * operator.index(other))

    __rmul__ = __mul__

    def __ge__(self, other: Any) -> bool:
        return _is_at_least(self, other)

    def __le__(self, other: Any) -> bool:
        return _is_at_least(other, self)

    def __gt__(self, other: Any) -> bool:
        return not _is_at_least(other, self)

    def __lt__(self, other: Any) -> bool:
        return not _is_at_least(self, other)


def _is_at_least(one: Any, other: Any) -> bool:
    """Whether one length is at least another; a length that is no number is taken to be over 2."""
    if isinstance(one, SymInt) and isinstance(other, SymInt):
        if one._number == other._number:
            return one._coefficient >= other._coefficient
    elif isinstance(one, SymInt):
        if other <= 2:
            return True
    elif one < 2:
        return False
    raise ValueError(
        f"ge: relation is indeterminate\n  {one!r} and {other!r}: a ragged length is no one number"
        + errors.at_user_line()
    )


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


def _extent(n: Any, place: int) -> Any:
    """An element of a Size: what counts as an integer, but no tensor with dimensions."""
    if type(n) is SymInt:
        return n
    array = getattr(n, "_array", None)
    if hasattr(type(n), "__index__") and (
        array is None or (not array.ndim and array.dtype.kind in "iu")
    ):
        return operator.index(n)
    raise TypeError(
        f"torch.Size() takes an iterable of 'int' (item {place} is '{type(n).__name__}')"
        + errors.at_user_line()
    )
