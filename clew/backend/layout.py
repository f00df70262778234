"""Layouts and memory formats: the constants by which programs name how a tensor lies in memory."""

from __future__ import annotations

from typing import Any


class _Named:
    """A constant that prints as PyTorch's does and pickles as itself."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> Any:
        return _of_name, (self.name,)

    def __copy__(self) -> _Named:
        return self

    def __deepcopy__(self, memo: object) -> _Named:
        return self


class layout(_Named):
    """How elements are arranged; every tensor here is `strided`.

    Example:
        >>> clew.zeros(2).layout
        torch.strided
    """

    __slots__ = ()


class memory_format(_Named):
    """In which order the dimensions of a new tensor lie in memory, e.g. `clew.channels_last`.

    Example:
        >>> x = clew.empty(1, 3, 2, 2, memory_format=clew.channels_last)
        >>> x.stride()
        (12, 1, 6, 3)
    """

    __slots__ = ()


def _of_name(name: str) -> _Named:
    """A constant from a pickle."""
    found: _Named = globals()[name]
    return found


strided = layout("strided")
sparse_coo = layout("sparse_coo")
sparse_csr = layout("sparse_csr")
sparse_csc = layout("sparse_csc")
sparse_bsr = layout("sparse_bsr")
sparse_bsc = layout("sparse_bsc")
jagged = layout("jagged")

contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last")
channels_last_3d = memory_format("channels_last_3d")
MEMORY_FORMATS = (contiguous_format, preserve_format, channels_last, channels_last_3d)
