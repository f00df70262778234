"""Joining tensors: cat, stack and their relatives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.op import Op
from clew.core.public import public
from clew.core.state import local
from clew.core.tensor import Tensor
from clew.kernels.numpy.arrays import at
from clew.ops.define import out_checks
from clew.ops.define.dims import numpy_names, wrap_dim
from clew.ops.define.memory_layout import joined_in_memory
from clew.ops.shape.slicing import SLICE
from clew.ops.shape.squeezing import atleast_1d, atleast_2d, atleast_3d
from clew.ops.tensor.copying import zeros

Shape = tuple[int, ...]


def _catted(*tensors: np.ndarray, dim: int, dtype: np.dtype | None) -> np.ndarray:
    try:
        return joined_in_memory(tensors, np.concatenate(tensors, dim, dtype=dtype))
    except (ValueError, np.exceptions.AxisError):
        # One-dimensional empty tensors are left out, whatever the shape of the others.
        joined = [each for each in tensors if each.shape != (0,)]
        return joined_in_memory(joined, np.concatenate(joined, dim, dtype=dtype))


def _cat_parts(
    g: Any, input_shapes: tuple[Shape, ...], needs: tuple[bool, ...], dim: int
) -> list[Any]:
    """Of a tensor or a bare array."""
    array: np.ndarray = g if type(g) is np.ndarray else g._array
    parts: list[Any] = []
    before = (slice(None),) * dim
    start = 0
    for shape, needed in zip(input_shapes, needs, strict=True):
        if shape == (0,) and array.ndim > 1:
            none = np.zeros(shape, array.dtype) if g is array else zeros(g, shape)
            parts.append(none if needed else None)
            continue
        end = start + shape[dim]
        part: Any = None
        if needed:
            params: dict[str, Any] = {"dim": dim, "start": start, "end": end, "step": 1}
            if g is array or local.state.intercept is None:
                part = array[before + (slice(start, end),)]
                if g is not array:
                    part = SLICE.view.share(g, params, part)
            else:
                part = SLICE.view(g, **params)
        parts.append(part)
        start = end
    return parts


def _stacked(*tensors: np.ndarray, dim: int, dtype: np.dtype | None) -> np.ndarray:
    shape = tensors[0].shape
    if not dim and shape:
        # Without a view of each: these are most of the time for many short ones.
        joined = np.concatenate(tensors, 0, dtype=dtype)
        if joined.flags.c_contiguous:
            return joined.reshape(len(tensors), *shape)
    place = (slice(None),) * dim + (None,)
    result = np.concatenate([each[place] for each in tensors], dim, dtype=dtype)
    return joined_in_memory(tensors, result)


def _stack_parts(g: Any, needs: tuple[bool, ...], dim: int) -> list[Any]:
    """Of a tensor or a bare array."""
    if type(g) is np.ndarray:
        first = (slice(None),) * dim
        return [g[at(*first, i, ...)] if needed else None for i, needed in enumerate(needs)]
    return [g.select(dim, index) if needed else None for index, needed in enumerate(needs)]


CAT = Op("cat", _catted, joint=_cat_parts, linear=True, bare=True)
STACK = Op("stack", _stacked, joint=_stack_parts, linear=True, bare=True)


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
    # NumPy does not convert floats to complex32 where it joins.
    lowest = dtypes.COMPLEX if want is dtypes.complex32 else dtypes.FLOAT
    return [each.to(want) if each.dtype.category < lowest else each for each in tensors]


@public(method=False, aliases=("concat", "concatenate"), out=out_checks.castable_out)
@numpy_names
def cat(tensors: Any, dim: int = 0) -> Tensor:
    """Join tensors along a dimension that they have.

    Args:
        tensors: a sequence of tensors whose sizes differ in `dim` at most; dtypes promote
        dim: the dimension that grows

    Example:
        >>> x = clew.tensor([[1, 2]])
        >>> clew.cat([x, x + 2])
        tensor([[1, 2],
                [3, 4]])
        >>> clew.cat([x, x + 2], dim=1)
        tensor([[1, 2, 3, 4]])
    """
    quick = _quick_cat(tensors, dim)
    if quick is not None:
        return quick
    listed = tensor_list("cat", tensors)
    if not listed:
        raise ValueError(
            "torch.cat(): expected a non-empty list of Tensors" + errors.at_user_line()
        )
    shape = listed[0]._array.shape
    if shape == (0,) and all(each._array.shape == shape for each in listed):
        # One-dimensional empty tensors are left out; here nothing remains to have a dimension.
        dim = 0
    elif shape and all(each._array.shape == shape for each in listed):
        dim = wrap_dim(dim, len(shape))
    else:
        dim = _checked_cat_dim(listed, dim)
    dtype = common_dtype(listed)
    return CAT(*_promoted(listed, dtype), dim=dim, dtype=dtype)


def _quick_cat(tensors: Any, dim: int) -> Tensor | None:
    """The short path for tensors of one shape and dtype; None where there is more to look at."""
    arrays = _uniform_arrays(tensors)
    if arrays is None or not arrays[0].ndim or arrays[0].shape == (0,):
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


@public(method=False, out=out_checks.castable_out, accept=out_checks.castable_parts)
@numpy_names
def stack(tensors: Any, dim: int = 0) -> Tensor:
    """Join tensors of one shape along a new dimension.

    Args:
        tensors: a sequence of tensors, all of one shape
        dim: where the new dimension goes in the result

    Example:
        >>> clew.stack([clew.tensor([1, 2]), clew.tensor([3, 4])], dim=1)
        tensor([[1, 3],
                [2, 4]])
    """
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


@public(method=False, accept=out_checks.castable_parts)
def hstack(tensors: Any) -> Tensor:
    """Join side by side: along the second dimension, vectors along their only one.

    Args:
        tensors: a sequence of tensors; numbers count as vectors

    Example:
        >>> clew.hstack([clew.tensor([1, 2]), clew.tensor([3])])
        tensor([1, 2, 3])
    """
    listed = [atleast_1d(each) for each in _not_empty("hstack", tensors)]
    return cat(listed, 0 if listed[0]._array.ndim == 1 else 1)


@public(method=False, aliases=("row_stack",), accept=out_checks.castable_parts)
def vstack(tensors: Any) -> Tensor:
    """Join as rows: along the first dimension.

    Args:
        tensors: a sequence of tensors; vectors count as matrices of one row

    Example:
        >>> clew.vstack([clew.tensor([1, 2]), clew.tensor([3, 4])])
        tensor([[1, 2],
                [3, 4]])
    """
    return cat([atleast_2d(each) for each in _not_empty("vstack", tensors)], 0)


@public(method=False, accept=out_checks.castable_parts)
def dstack(tensors: Any) -> Tensor:
    """Join along the third dimension.

    Args:
        tensors: a sequence of tensors; vectors and matrices get further dimensions of size 1

    Example:
        >>> clew.dstack([clew.tensor([1, 2]), clew.tensor([3, 4])])
        tensor([[[1, 3],
                 [2, 4]]])
    """
    return cat([atleast_3d(each) for each in _not_empty("dstack", tensors)], 2)


@public(method=False, accept=out_checks.castable_parts)
def column_stack(tensors: Any) -> Tensor:
    """Join as columns: along the second dimension, vectors as one column each.

    Args:
        tensors: a sequence of tensors

    Example:
        >>> clew.column_stack([clew.tensor([1, 2]), clew.tensor([3, 4])])
        tensor([[1, 3],
                [2, 4]])
    """
    listed = _not_empty("column_stack", tensors)
    columns = [
        each.reshape(each._array.size, 1) if each._array.ndim <= 1 else each for each in listed
    ]
    return hstack(columns)


@public(method=False, accept=out_checks.castable_parts, differentiable=None)
def _chunk_cat(tensors: Any, dim: int, num_chunks: int) -> Tensor:
    """The tensors cut into chunks along a dimension, and the chunks of each number joined.

    Args:
        tensors: of one dtype, and of equal sizes before `dim`
        dim: the dimension to cut along; zeros are appended until its size is divisible
        num_chunks: into how many chunks

    Example:
        >>> clew._chunk_cat([clew.tensor([1, 2, 3]), clew.tensor([4, 5])], 0, 2)
        tensor([[1, 2, 4],
                [3, 0, 5]])
    """
    listed = list(tensors)
    _check_chunks(listed, num_chunks)
    if dim < 0 and any(each._array.ndim != listed[0]._array.ndim for each in listed):
        raise _unfit_chunks("non-negative dim when input tensors have different ndims")
    place = wrap_dim(dim, listed[0]._array.ndim)
    lengths = [each._array.shape[: place + 1] for each in listed]
    if any(len(each) <= place for each in lengths):
        raise _unfit_chunks("dim < ndim for all input tensors")
    if any(each[:-1] != lengths[0][:-1] for each in lengths):
        raise _unfit_chunks("same sizes of 0,...,dim-1 dimensions for all tensors")
    rows = []
    for each in listed:
        shape = each._array.shape
        lacking = -shape[place] % num_chunks
        if lacking:
            filler = each.new_zeros((*shape[:place], lacking, *shape[place + 1 :]))
            each = cat([each, filler], place)
        rows.append(each.reshape(*shape[:place], num_chunks, -1))
    result: Tensor = cat(rows, place + 1)
    return result


def _check_chunks(tensors: list[Tensor], num_chunks: int) -> None:
    if not tensors:
        raise _unfit_chunks("a non-empty input tensor list")
    if num_chunks < 1:
        raise _unfit_chunks("positive num_chunks")
    if any(each.dtype is not tensors[0].dtype for each in tensors):
        raise _unfit_chunks("all input tensors with the same dtype")
    if any(not each._array.size for each in tensors):
        raise _unfit_chunks("non-empty tensor")


def _unfit_chunks(what: str) -> RuntimeError:
    return RuntimeError(f"_chunk_cat expects {what}" + errors.at_user_line())
