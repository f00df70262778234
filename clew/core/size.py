"""The shape of a tensor."""

from __future__ import annotations

import math
from typing import Any


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

    def numel(self) -> int:
        """The number of elements of a tensor of this shape."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    def __getitem__(self, index: Any) -> Any:
        result = tuple.__getitem__(self, index)
        return Size(result) if isinstance(index, slice) else result

    def __add__(self, other: Any) -> Size:
        return Size(tuple.__add__(self, tuple(other)))

    def __radd__(self, other: Any) -> Size:
        return Size(tuple(other) + tuple(self))

    def __mul__(self, times: Any) -> Size:
        return Size(tuple.__mul__(self, times))

    __rmul__ = __mul__

    def __reduce__(self) -> Any:
        return Size, (tuple(self),)
