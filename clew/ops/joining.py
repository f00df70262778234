"""Joining tensors and splitting them: cat, stack, split, chunk, unbind and their relatives."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.op import Op, ViewOp
from clew.core.public import methods, public
from clew.core.state import local
from clew.core.tensor import Tensor, wrap
from clew.ops import out_checks
from clew.ops.copying import zeros
from clew.ops.dims import is_int, numpy_names, wrap_dim
from clew.ops.memory import joined_in_memory
from clew.ops.slicing import SLICE
from clew.ops.views import atleast_1d, atleast_2d, atleast_3d

Shape = tuple[int, ...]
Grads = tuple[Tensor | None, ...]


# -- cat and stack -------------------------------------------------------------------------


def _catted(*tensors: np.ndarray, dim: int, dtype: np.dtype | None) -> np.ndarray:
    try:
        return joined_in_memory(tensors, np.concatenate(tensors, dim, dtype=dtype))
    except (ValueError, np.exceptions.AxisError):
        # One-dimensional empty tensors are left out, whatever the shape of the others.
        joined = [each for each in tensors if each.shape != (0,)]
        return joined_in_memory(joined, np.concatenate(joined, dim, dtype=dtype))


def _cat_parts(
    g: Tensor, input_shapes: tuple[Shape, ...], needs: tuple[bool, ...], dim: int
) -> list[Tensor | None]:
    parts: list[Tensor | None] = []
    before = (slice(None),) * dim
    start = 0
    for shape, needed in zip(input_shapes, needs, strict=True):
        if shape == (0,) and g._array.ndim > 1:
            parts.append(zeros(g, shape) if needed else None)
            continue
        end = start + shape[dim]
        part = None
        if needed:
            params = {"dim": dim, "start": start, "end": end, "step": 1}
            part = SLICE.view.share(g, params, g._array[before + (slice(start, end),)])
        parts.append(part)
        start = end
    return parts


def _stacked(*tensors: np.ndarray, dim: int, dtype: np.dtype | None) -> np.ndarray:
    place = (slice(None),) * dim + (None,)
    result = np.concatenate([each[place] for each in tensors], dim, dtype=dtype)
    return joined_in_memory(tensors, result)


def _stack_parts(g: Tensor, needs: tuple[bool, ...], dim: int) -> list[Tensor | None]:
    return [g.select(dim, index) if needed else None for index, needed in enumerate(needs)]


CAT = Op("cat", _catted, joint=_cat_parts, linear=True)
STACK = Op("stack", _stacked, joint=_stack_parts, linear=True)


def tensor_list(name: str, tensors: Any) -> list[Tensor]:
    """The tensors of a list argument, or PyTorch's error."""
    if not isinstance(tensors, (list, tuple)):
        raise errors.wrong_argument(name, "tensors", 1, "tuple of Tensors", tensors)
    for position, each in enumerate(tensors):
        if not isinstance(each, Tensor):
            raise TypeError(
                f"expected Tensor as element {position} in argument 0, but got "
                f"{type(each).__name__}" + errors.at_user_line()
            )
    return list(tensors)


def common_dtype(tensors: Sequence[Tensor]) -> np.dtype | None:
    """The dtype that all tensors are promoted to; None when they have it already."""
    first = tensors[0]._array.dtype
    for each in tensors:
        if each._array.dtype is not first:
            promotion = dtypes.Promotion()
            for tensor in tensors:
                promotion.add_array(tensor._array)
            return promotion.result().np
    return None


def _promoted(tensors: list[Tensor], dtype: np.dtype | None) -> list[Tensor]:
    """Integers are converted before they are joined, so that only floats are in the graph."""
    if dtype is None or dtypes.BY_NUMPY[dtype].category < dtypes.FLOAT:
        return tensors
    want = dtypes.BY_NUMPY[dtype]
    return [each.to(want) if each.dtype.category < dtypes.FLOAT else each for each in tensors]


@public(method=False, aliases=("concat", "concatenate"), out=out_checks.castable_out)
@numpy_names
def cat(tensors: Any, dim: int = 0) -> Tensor:
    """Join tensors along a dimension that they have."""
    quick = _quick_cat(tensors, dim)
    if quick is not None:
        return quick
    listed = tensor_list("cat", tensors)
    if not listed:
        raise ValueError(
            "torch.cat(): expected a non-empty list of Tensors" + errors.at_user_line()
        )
    shape = listed[0]._array.shape
    if shape and all(each._array.shape == shape for each in listed):
        dim = wrap_dim(dim, len(shape))
    else:
        dim = _checked_cat_dim(listed, dim)
    dtype = common_dtype(listed)
    return CAT(*_promoted(listed, dtype), dim=dim, dtype=dtype)


def _quick_cat(tensors: Any, dim: int) -> Tensor | None:
    """The short path for tensors of one shape and dtype; None where there is more to look at."""
    arrays = _uniform_arrays(tensors)
    if arrays is None or not arrays[0].ndim:
        return None
    dim = wrap_dim(dim, arrays[0].ndim)
    params = {"dim": dim, "dtype": None}
    joined = joined_in_memory(arrays, np.concatenate(arrays, dim))
    return CAT.output(local.state, tuple(tensors), params, joined)


def _uniform_arrays(tensors: Any) -> list[np.ndarray] | None:
    """The arrays of a list of tensors, if they have one shape and dtype and nobody looks on."""
    if type(tensors) not in (list, tuple) or local.state.intercept is not None:
        return None
    arrays: list[np.ndarray] = []
    shape = dtype = None
    for each in tensors:
        if not isinstance(each, Tensor):
            return None
        array = each._array
        if not arrays:
            shape, dtype = array.shape, array.dtype
        elif array.shape != shape or array.dtype is not dtype:
            return None
        arrays.append(array)
    return arrays or None


def _checked_cat_dim(listed: list[Tensor], dim: int) -> int:
    """The dimension to join along, when all other sizes match."""
    for position, each in enumerate(listed):
        if not each._array.ndim:
            raise RuntimeError(
                f"zero-dimensional tensor (at position {position}) cannot be concatenated"
                + errors.at_user_line()
            )
    joined = [each for each in listed if each._array.shape != (0,)] or listed
    first = joined[0]._array.shape
    dim = wrap_dim(dim, len(first))
    for each in joined:
        shape = each._array.shape
        if shape == first:
            continue
        if len(shape) != len(first):
            raise RuntimeError(
                f"Tensors must have same number of dimensions: got {len(first)} and {len(shape)}"
                + errors.at_user_line()
            )
        for i, (want, have) in enumerate(zip(first, shape, strict=True)):
            if i != dim and want != have:
                number = next(n for n, tensor in enumerate(listed) if tensor is each)
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {dim}. Expected size {want} "
                    f"but got size {have} for tensor number {number} in the list."
                    + errors.at_user_line()
                )
    return dim


@public(method=False, out=out_checks.castable_out)
@numpy_names
def stack(tensors: Any, dim: int = 0) -> Tensor:
    """Join tensors of one shape along a new dimension."""
    arrays = _uniform_arrays(tensors)
    if arrays is not None:
        params: dict[str, Any] = {"dim": wrap_dim(dim, arrays[0].ndim + 1), "dtype": None}
        return STACK.output(local.state, tuple(tensors), params, _stacked(*arrays, **params))
    listed = tensor_list("stack", tensors)
    if not listed:
        raise RuntimeError("stack expects a non-empty TensorList" + errors.at_user_line())
    first = listed[0]._array.shape
    dim = wrap_dim(dim, len(first) + 1)
    for position, each in enumerate(listed):
        if each._array.shape != first:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {errors.shape_list(first)} "
                f"at entry 0 and {errors.shape_list(each._array.shape)} at entry {position}"
                + errors.at_user_line()
            )
    dtype = common_dtype(listed)
    return STACK(*_promoted(listed, dtype), dim=dim, dtype=dtype)


def _not_empty(name: str, tensors: Any) -> list[Tensor]:
    listed = tensor_list(name, tensors)
    if not listed:
        raise RuntimeError(f"{name} expects a non-empty TensorList" + errors.at_user_line())
    return listed


@public(method=False)
def hstack(tensors: Any) -> Tensor:
    """Join along the second dimension; vectors along their only one."""
    listed = [atleast_1d(each) for each in _not_empty("hstack", tensors)]
    return cat(listed, 0 if listed[0]._array.ndim == 1 else 1)


@public(method=False, aliases=("row_stack",))
def vstack(tensors: Any) -> Tensor:
    """Join as rows."""
    return cat([atleast_2d(each) for each in _not_empty("vstack", tensors)], 0)


@public(method=False)
def dstack(tensors: Any) -> Tensor:
    """Join along the third dimension."""
    return cat([atleast_3d(each) for each in _not_empty("dstack", tensors)], 2)


@public(method=False)
def column_stack(tensors: Any) -> Tensor:
    """Join as columns."""
    listed = _not_empty("column_stack", tensors)
    columns = [
        each.reshape(each._array.size, 1) if each._array.ndim <= 1 else each for each in listed
    ]
    return hstack(columns)


# -- splitting -----------------------------------------------------------------------------


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
    parts = [
        wrap(np.zeros(shape[:dim] + (size,) + shape[dim + 1 :], dtype.np)) if part is None else part
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
    parts = [wrap(np.zeros(shape, self_dtype.np)) if part is None else part for part in g]
    return STACK(*parts, dim=dim, dtype=self_dtype.np)


SPLIT = ViewOp("split", _split_forward, grads={"self": _split_gradient}, outputs=0, linear=True)
SPLIT_WITH_SIZES = ViewOp(
    "split_with_sizes", _sizes_forward, grads={"self": _sizes_gradient}, outputs=0, linear=True
)
UNBIND = ViewOp("unbind", _unbound, grads={"self": _rebound}, outputs=0, linear=True)
UNSAFE_SPLIT = Op(
    "unsafe_split",
    lambda self, *, split_size, dim: [
        part.copy() for part in _split_forward(self, split_size=split_size, dim=dim)
    ],
    grads={"self": _split_gradient},
    outputs=0,
    linear=True,
)
UNSAFE_SPLIT_WITH_SIZES = Op(
    "unsafe_split_with_sizes",
    lambda self, *, split_sizes, dim: [part.copy() for part in _cut(self, split_sizes, dim)],
    grads={"self": _sizes_gradient},
    outputs=0,
    linear=True,
)


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
    """Views of pieces of a given size, or of several given sizes."""
    if not is_int(split_size_or_sections):
        return split_with_sizes(tensor, split_size_or_sections, dim)
    dim, size = _splittable(tensor, "split", dim), int(split_size_or_sections)
    _check_split_size(tensor, size, dim)
    return tuple(SPLIT(tensor, split_size=size, dim=dim))


def _read_sizes(name: str, sizes: Any) -> tuple[int, ...]:
    if not isinstance(sizes, (tuple, list)):
        raise errors.wrong_argument(name, "split_sizes", 2, "tuple of ints", sizes)
    return tuple(map(operator.index, sizes))


def _split_method(self: Tensor, split_size: Any, dim: int = 0) -> tuple[Tensor, ...]:
    return split(self, split_size, dim)


methods(split=_split_method)


@public(out=False)
def split_with_sizes(input: Tensor, split_sizes: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of pieces of given sizes."""
    dim = _splittable(input, "split", dim)
    sizes = _read_sizes("split_with_sizes", split_sizes)
    _check_sizes(input, sizes, dim)
    return tuple(SPLIT_WITH_SIZES(input, split_sizes=sizes, dim=dim))


@public(out=False)
def unsafe_split(input: Tensor, split_size: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Pieces of a given size that may each be written to."""
    dim = _splittable(input, "split", dim)
    _check_split_size(input, split_size, dim)
    return tuple(UNSAFE_SPLIT(input, split_size=split_size, dim=dim))


@public(out=False)
def unsafe_split_with_sizes(input: Tensor, split_sizes: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Pieces of given sizes that may each be written to."""
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


@public(out=False)
@numpy_names
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` views of nearly equal size."""
    size, dim = _chunk_size(input, chunks, dim)
    if not size:
        return split_with_sizes(input, (0,) * chunks, dim)
    return split(input, size, dim)


@public(out=False)
def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` pieces of nearly equal size that may each be written to."""
    size, dim = _chunk_size(input, chunks, dim)
    if not size:
        return unsafe_split_with_sizes(input, (0,) * chunks, dim)
    return unsafe_split(input, size, dim)


@public(out=False)
@numpy_names
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """Views at every index of a dimension, which is removed."""
    if not input._array.ndim:
        wrap_dim(dim, 0)
        raise IndexError(
            f"Dimension specified as {dim} but tensor has no dimensions" + errors.at_user_line()
        )
    return tuple(UNBIND(input, dim=wrap_dim(dim, input._array.ndim)))


Split = int | Sequence[int] | Tensor | None


@public(checked=True, out=False)
def tensor_split(
    input: Tensor, indices_or_sections: Split = None, dim: int = 0, *, sections: Split = None,
    indices: Split = None,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Views between the given indices, or of a number of nearly equal sections."""
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
    if given._array.dtype != np.int64 or given._array.ndim > 1:
        raise RuntimeError(
            "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or "
            "one-dimensional tensor, of dtype long, but got a tensor with "
            f"{given._array.ndim} dims" + errors.at_user_line()
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
            f"torch.{name} requires a tensor with at least {least} dimension"
            f"{'s' if least > 1 or name == 'hsplit' else ''}, but got a tensor with {ndim} "
            "dimensions!" + errors.at_user_line()
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
    """Split along the second dimension; vectors along their only one."""
    return _nd_split("hsplit", 1, 1, input, indices_or_sections)


@public(checked=True, out=False)
def vsplit(input: Tensor, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """Split along the first dimension."""
    return _nd_split("vsplit", 2, 0, input, indices_or_sections)


@public(checked=True, out=False)
def dsplit(input: Tensor, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """Split along the third dimension."""
    return _nd_split("dsplit", 3, 2, input, indices_or_sections)
