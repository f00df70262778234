"""Splitting tensors: split, chunk, unbind, tensor_split and their relatives."""

from __future__ import annotations

import inspect
import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from clew import errors
from clew.core.op import Op
from clew.core.public import methods, public
from clew.core.state import local
from clew.core.tensor import Tensor, wrap
from clew.core.view_op import ViewOp
from clew.ops.define.dims import is_int, numpy_names, refuse_flag, wrap_dim
from clew.ops.shape.joining import CAT, STACK
from clew.ops.shape.slicing import SLICE
from clew.ops.tensor.copying import zeros

Shape = tuple[int, ...]
Grads = tuple[Tensor | None, ...]


def _cut(self: np.ndarray, sizes: Sequence[int], dim: int) -> list[np.ndarray]:
    before = (slice(None),) * dim
    parts = []
    start = 0
    for size in sizes:
        parts.append(self[before + (slice(start, start + size),)])
        start += size
    return parts


def piece_sizes(n: int, split_size: int) -> list[int]:
    """The sizes of pieces of equal size; the last may be smaller, and there is at least one."""
    if not split_size:
        return [n]
    count = max(-(-n // split_size), 1)
    return [split_size] * (count - 1) + [n - split_size * (count - 1)]


def _rejoined(g: Grads, sizes: Sequence[int], shape: Shape, dtype: Any, dim: int) -> Tensor:
    like = next(part for part in g if part is not None)
    parts = [
        zeros(like, shape[:dim] + (size,) + shape[dim + 1 :]) if part is None else part
        for part, size in zip(g, sizes, strict=True)
    ]
    return CAT(*parts, dim=dim, dtype=dtype.np)


def _split_gradient(
    g: Grads, self_shape: Shape, self_dtype: Any, split_size: int, dim: int
) -> Tensor:
    return _rejoined(g, piece_sizes(self_shape[dim], split_size), self_shape, self_dtype, dim)


def _sizes_gradient(
    g: Grads, self_shape: Shape, self_dtype: Any, split_sizes: Shape, dim: int
) -> Tensor:
    return _rejoined(g, split_sizes, self_shape, self_dtype, dim)


def _split_forward(self: np.ndarray, *, split_size: int, dim: int) -> list[np.ndarray]:
    return _cut(self, piece_sizes(self.shape[dim], split_size), dim)


def _sizes_forward(self: np.ndarray, *, split_sizes: Shape, dim: int) -> list[np.ndarray]:
    return _cut(self, split_sizes, dim)


def _unbound(self: np.ndarray, *, dim: int) -> list[np.ndarray]:
    before = (slice(None),) * dim
    return [self[before + (index, ...)] for index in range(self.shape[dim])]


def _rebound(g: Grads, self_shape: Shape, self_dtype: Any, dim: int) -> Tensor:
    shape = self_shape[:dim] + self_shape[dim + 1 :]
    like = next(part for part in g if part is not None)
    parts = [zeros(like, shape) if part is None else part for part in g]
    return STACK(*parts, dim=dim, dtype=self_dtype.np)


SPLIT = ViewOp("split", _split_forward, grads={"self": _split_gradient}, outputs=0, linear=True)
SPLIT_WITH_SIZES = ViewOp(
    "split_with_sizes", _sizes_forward, grads={"self": _sizes_gradient}, outputs=0, linear=True
)
UNBIND = ViewOp("unbind", _unbound, grads={"self": _rebound}, outputs=0, linear=True)


class UnsafeSplit(Op):
    """Pieces that share memory with what was split, each with a version counter of its own.

    Interceptors, which take every result for new memory, get copies.
    """

    def __init__(self, name: str, cut: Callable[..., list[np.ndarray]], gradient: Any) -> None:
        def forward(self: np.ndarray, **params: Any) -> list[np.ndarray]:
            return [part.copy() for part in cut(self, **params)]

        # `inspect` reads this attribute, which mypy does not know of.
        forward.__signature__ = inspect.signature(cut)  # type: ignore[attr-defined]
        self.cut = cut
        super().__init__(name, forward, grads={"self": gradient}, outputs=0, linear=True)

    def __call__(self, *inputs: Any, **params: Any) -> Any:
        state = local.state
        if state.intercept is not None:
            return state.intercept(self, inputs, params)
        parts = self.cut(inputs[0]._array, **params)
        return self.finish_many(state, inputs, params, tuple([wrap(part) for part in parts]))


UNSAFE_SPLIT = UnsafeSplit("unsafe_split", _split_forward, _split_gradient)
UNSAFE_SPLIT_WITH_SIZES = UnsafeSplit("unsafe_split_with_sizes", _sizes_forward, _sizes_gradient)


def _splittable(tensor: Tensor, name: str, dim: int) -> int:
    if not tensor._array.ndim:
        raise RuntimeError(
            f"{name} expects at least a 1-dimensional tensor" + errors.at_user_line()
        )
    return wrap_dim(dim, tensor._array.ndim)


def _check_split_size(tensor: Tensor, split_size: int, dim: int) -> None:
    if split_size < 0:
        raise RuntimeError(
            f"split expects split_size be non-negative, but got split_size={split_size}"
            + errors.at_user_line()
        )
    if not split_size and tensor._array.shape[dim]:
        raise RuntimeError(
            "split_size can only be 0 if dimension size is 0, but got dimension size of "
            f"{tensor._array.shape[dim]}" + errors.at_user_line()
        )


def _check_sizes(tensor: Tensor, sizes: Shape, dim: int) -> None:
    n = tensor._array.shape[dim]
    if any(size < 0 for size in sizes):
        raise RuntimeError(
            "split_with_sizes expects split_sizes have only non-negative entries, but got "
            f"split_sizes={errors.shape_list(sizes)}" + errors.at_user_line()
        )
    if sum(sizes) != n:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {n} (input tensor's size at "
            f"dimension {dim}), but got split_sizes={errors.shape_list(sizes)}"
            + errors.at_user_line()
        )


@public(out=False)
def split(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of pieces of a given size, or of several given sizes.

    Args:
        tensor: what to split
        split_size_or_sections: the size of each piece (the last may be smaller), or a list of sizes
        dim: the dimension to split

    Example:
        >>> clew.split(clew.arange(5), 2)
        (tensor([0, 1]), tensor([2, 3]), tensor([4]))
        >>> clew.split(clew.arange(5), [1, 4])
        (tensor([0]), tensor([1, 2, 3, 4]))
    """
    if not is_int(split_size_or_sections):
        return split_with_sizes(tensor, split_size_or_sections, dim)
    dim, size = _splittable(tensor, "split", dim), int(split_size_or_sections)
    _check_split_size(tensor, size, dim)
    return tuple(SPLIT(tensor, split_size=size, dim=dim))


def _read_sizes(name: str, sizes: Any) -> tuple[int, ...]:
    if not isinstance(sizes, (tuple, list)):
        raise errors.wrong_argument(name, "split_sizes", 2, "tuple of ints", sizes)
    if sizes:
        refuse_flag("split_sizes", sizes[0])
    return tuple(map(operator.index, sizes))


def _split_method(self: Tensor, split_size: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of pieces of a given size, or of several given sizes.

    Args:
        split_size: the size of each piece (the last may be smaller), or a list of sizes
        dim: the dimension to split

    Example:
        >>> clew.arange(5).split(2)
        (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
    return split(self, split_size, dim)


methods(split=_split_method)


@public(out=False)
def split_with_sizes(input: Tensor, split_sizes: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of pieces of given sizes.

    Args:
        input: what to split
        split_sizes: the size of each piece; they add up to the size of `dim`
        dim: the dimension to split

    Example:
        >>> clew.split_with_sizes(clew.arange(5), [1, 4])
        (tensor([0]), tensor([1, 2, 3, 4]))
    """
    dim = _splittable(input, "split", dim)
    sizes = _read_sizes("split_with_sizes", split_sizes)
    _check_sizes(input, sizes, dim)
    return tuple(SPLIT_WITH_SIZES(input, split_sizes=sizes, dim=dim))


@public(out=False)
def unsafe_split(input: Tensor, split_size: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Pieces of a given size that may each be written to.

    Autograd does not know them as views of one tensor: write to `input` or to the pieces, not both.

    Args:
        input: what to split
        split_size: the size of each piece; the last may be smaller
        dim: the dimension to split

    Example:
        >>> clew.unsafe_split(clew.arange(5), 2)
        (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
    dim = _splittable(input, "split", dim)
    _check_split_size(input, split_size, dim)
    return tuple(UNSAFE_SPLIT(input, split_size=split_size, dim=dim))


@public(out=False)
def unsafe_split_with_sizes(input: Tensor, split_sizes: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Pieces of given sizes that may each be written to; see `unsafe_split`.

    Args:
        input: what to split
        split_sizes: the size of each piece; they add up to the size of `dim`
        dim: the dimension to split

    Example:
        >>> clew.unsafe_split_with_sizes(clew.arange(5), [1, 4])
        (tensor([0]), tensor([1, 2, 3, 4]))
    """
    dim = _splittable(input, "split", dim)
    sizes = _read_sizes("unsafe_split_with_sizes", split_sizes)
    _check_sizes(input, sizes, dim)
    return tuple(UNSAFE_SPLIT_WITH_SIZES(input, split_sizes=sizes, dim=dim))


def _chunk_size(input: Tensor, chunks: int, dim: int) -> tuple[int, int]:
    if not input._array.ndim:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor" + errors.at_user_line())
    if chunks <= 0:
        raise RuntimeError(
            f"chunk expects `chunks` to be greater than 0, got: {chunks}" + errors.at_user_line()
        )
    dim = wrap_dim(dim, input._array.ndim)
    return -(-input._array.shape[dim] // operator.index(chunks)), dim


@public(out=False, checked=True)
@numpy_names
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` views of equal size; the last one may be smaller.

    Args:
        input: what to split
        chunks: how many pieces; there may be fewer, since all have the size of the first
        dim: the dimension to split

    Example:
        >>> clew.chunk(clew.arange(6), 4)
        (tensor([0, 1]), tensor([2, 3]), tensor([4, 5]))
    """
    size, dim = _chunk_size(input, chunks, dim)
    if not size:
        return split_with_sizes(input, (0,) * chunks, dim)
    return split(input, size, dim)


@public(out=False)
def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` pieces of equal size that may each be written to; see `unsafe_split`.

    Args:
        input: what to split
        chunks: how many pieces; there may be fewer, since all have the size of the first
        dim: the dimension to split

    Example:
        >>> clew.unsafe_chunk(clew.arange(5), 2)
        (tensor([0, 1, 2]), tensor([3, 4]))
    """
    size, dim = _chunk_size(input, chunks, dim)
    if not size:
        return unsafe_split_with_sizes(input, (0,) * chunks, dim)
    return unsafe_split(input, size, dim)


@public(out=False)
@numpy_names
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """Views at every index of a dimension, which is removed.

    Args:
        input: at least one dimension
        dim: the dimension to remove

    Example:
        >>> clew.unbind(clew.tensor([[1, 2], [3, 4]]))
        (tensor([1, 2]), tensor([3, 4]))
    """
    if not input._array.ndim:
        wrap_dim(dim, 0)
        raise errors.no_dimensions(dim)
    return tuple(UNBIND(input, dim=wrap_dim(dim, input._array.ndim)))


Split = int | Sequence[int] | Tensor | None


@public(checked=True, out=False)
def tensor_split(
    input: Tensor, indices_or_sections: Split = None, dim: int = 0, *, sections: Split = None,
    indices: Split = None,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Views between the given indices, or of a number of nearly equal sections.

    Args:
        input: at least one dimension
        indices_or_sections: where to cut, or how many sections; the first ones may be larger by one
        dim: the dimension to split
        sections: how many sections, by this name
        indices: where to cut, by this name

    Example:
        >>> clew.tensor_split(clew.arange(5), 2)
        (tensor([0, 1, 2]), tensor([3, 4]))
        >>> clew.tensor_split(clew.arange(5), (1, 3))
        (tensor([0]), tensor([1, 2]), tensor([3, 4]))
    """
    given: Any = indices_or_sections
    for other in (sections, indices):
        given = other if given is None else given
    if given is None:
        raise TypeError(
            "tensor_split() received an invalid combination of arguments: give the indices or the "
            "number of sections" + errors.at_user_line()
        )
    if not input._array.ndim:
        raise RuntimeError(
            "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims"
            + errors.at_user_line()
        )
    dim = wrap_dim(dim, input._array.ndim)
    n = input._array.shape[dim]
    if isinstance(given, Tensor):
        given = _split_tensor(given)
    if isinstance(given, (int, np.integer)):
        bounds = _section_bounds(n, int(given))
    else:
        bounds = [operator.index(index) for index in given]
    edges = [0, *bounds, n]
    places = [slice(a, b).indices(n) for a, b in itertools.pairwise(edges)]
    return tuple(SLICE.view(input, dim=dim, start=a, end=max(a, b), step=1) for a, b, _ in places)


def _split_tensor(given: Tensor) -> Any:
    if given._array.ndim > 1:
        raise RuntimeError(
            "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or "
            f"one-dimensional tensor, but got a tensor with {given._array.ndim} dims"
            + errors.at_user_line()
        )
    if given._array.dtype != np.int64:
        raise RuntimeError(
            "tensor_split expected tensor_indices_or_sections to have dtype of long, but got "
            f"{given.dtype.scalar_name}" + errors.at_user_line()
        )
    return given._array.tolist()


def _section_bounds(n: int, sections: int) -> list[int]:
    if sections <= 0:
        raise RuntimeError(
            f"number of sections must be larger than 0, got {sections}" + errors.at_user_line()
        )
    size, larger = divmod(n, sections)
    return [size * i + min(i, larger) for i in range(1, sections)]


def _nd_split(name: str, least: int, dim: int, input: Tensor, given: Any) -> tuple[Tensor, ...]:
    ndim = input._array.ndim
    if ndim < least:
        raise RuntimeError(
            f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor "
            f"with {ndim} dimensions!" + errors.at_user_line()
        )
    dim = dim if ndim > 1 or name != "hsplit" else 0
    if not isinstance(given, (list, tuple)) and (given <= 0 or input._array.shape[dim] % given):
        raise RuntimeError(
            f"torch.{name} attempted to split along dimension {dim}, but the size of the "
            f"dimension {input._array.shape[dim]} is not divisible by the split_size {given}!"
            + errors.at_user_line()
        )
    return tensor_split(input, given, dim)


@public(checked=True, out=False)
def hsplit(input: Tensor, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """Split along the second dimension; vectors along their only one.

    Args:
        input: at least one dimension
        indices_or_sections: where to cut, or how many equal sections

    Example:
        >>> clew.hsplit(clew.tensor([[1, 2], [3, 4]]), 2)
        (tensor([[1],
                [3]]), tensor([[2],
                [4]]))
    """
    return _nd_split("hsplit", 1, 1, input, indices_or_sections)


@public(checked=True, out=False)
def vsplit(input: Tensor, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """Split along the first dimension.

    Args:
        input: at least two dimensions
        indices_or_sections: where to cut, or how many equal sections

    Example:
        >>> clew.vsplit(clew.tensor([[1, 2], [3, 4]]), 2)
        (tensor([[1, 2]]), tensor([[3, 4]]))
    """
    return _nd_split("vsplit", 2, 0, input, indices_or_sections)


@public(checked=True, out=False)
def dsplit(input: Tensor, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """Split along the third dimension.

    Args:
        input: at least three dimensions
        indices_or_sections: where to cut, or how many equal sections

    Example:
        >>> [part.shape for part in clew.dsplit(clew.zeros(2, 3, 4), [1, 2])]
        [torch.Size([2, 3, 1]), torch.Size([2, 3, 1]), torch.Size([2, 3, 2])]
    """
    return _nd_split("dsplit", 3, 2, input, indices_or_sections)
