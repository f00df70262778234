"""Making tensors of a given size, filled with a constant or with nothing."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.backend.determinism import fill_unwritten
from clew.backend.layout import memory_format as format_type
from clew.backend.layout import preserve_format
from clew.core.public import methods, public
from clew.core.result_layout import empty_in_order
from clew.core.tensor import Tensor
from clew.ops.define import memory_layout
from clew.ops.define.options import (
    Options,
    checked_size,
    float_dtype,
    made,
    read_dtype,
    read_size,
    require_number,
    unstrided,
    without_memory,
)
from clew.ops.tensor.copying import scalar_as

Dtype = dtypes.dtype | None


@public(method=False, out=False)
def zeros(
    *sizes: Any,
    size: Any = None,
    out: Tensor | None = None,
    dtype: Dtype = None,
    **options: Unpack[Options],
) -> Tensor:
    """A tensor of zeros.

    Args:
        sizes: the lengths of the dimensions, as numbers or as one tuple
        size: the same, by name
        out: the tensor to store the result in; None makes a new one
        dtype: the dtype of the elements; None is the default float
        options: `device`, `layout`, `pin_memory`, `requires_grad`, as in `clew.tensor`

    Example:
        >>> clew.zeros(2, 3)
        tensor([[0., 0., 0.],
                [0., 0., 0.]])
        >>> clew.zeros((2,), dtype=clew.int64)
        tensor([0, 0])
    """
    shape = read_size("zeros", sizes, size)
    wanted = float_dtype("zeros", dtype, out)
    if options:
        of_layout = unstrided(shape, wanted, options)
        if of_layout is not None:
            return of_layout
    kind = wanted.np
    array = without_memory(shape, kind, options)
    return made("zeros", np.zeros(shape, kind) if array is None else array, options, out)


@public(method=False, out=False)
def ones(
    *sizes: Any,
    size: Any = None,
    out: Tensor | None = None,
    dtype: Dtype = None,
    **options: Unpack[Options],
) -> Tensor:
    """A tensor of ones.

    Args:
        sizes: the lengths of the dimensions, as numbers or as one tuple
        size: the same, by name
        out: the tensor to store the result in; None makes a new one
        dtype: the dtype of the elements; None is the default float
        options: `device`, `layout`, `pin_memory`, `requires_grad`, as in `clew.tensor`

    Example:
        >>> clew.ones(2, 3)
        tensor([[1., 1., 1.],
                [1., 1., 1.]])
    """
    shape, kind = read_size("ones", sizes, size), float_dtype("ones", dtype, out).np
    array = without_memory(shape, kind, options)
    if array is None:
        array = np.empty(shape, kind)
        array.fill(1)
    return made("ones", array, options, out)


@public(method=False, out=False)
def empty(
    *sizes: Any,
    size: Any = None,
    out: Tensor | None = None,
    dtype: Dtype = None,
    memory_format: format_type | None = None,
    **options: Unpack[Options],
) -> Tensor:
    """A tensor whose values are whatever its memory held: to be written before it is read.

    Args:
        sizes: the lengths of the dimensions, as numbers or as one tuple
        size: the same, by name
        out: the tensor to store the result in; None makes a new one
        dtype: the dtype of the elements; None is the default float
        memory_format: the order of the dimensions in memory, such as `clew.channels_last`
        options: `device`, `layout`, `pin_memory`, `requires_grad`, as in `clew.tensor`

    Example:
        >>> clew.empty(2, 3).shape
        torch.Size([2, 3])
    """
    shape = read_size("empty", sizes, size)
    wanted = float_dtype("empty", dtype, out)
    if options:
        of_layout = unstrided(shape, wanted, options)
        if of_layout is not None:
            return of_layout
    kind = wanted.np
    array = without_memory(shape, kind, options)
    if array is None:
        array = fill_unwritten(memory_layout.empty_in_format(shape, kind, memory_format))
    elif memory_format is not None:
        array = memory_layout.restrided(array, memory_format)
    return made("empty", array, options, out)


@public(method=False, out=False)
def full(
    size: Any,
    fill_value: Any,
    *,
    out: Tensor | None = None,
    dtype: Dtype = None,
    **options: Unpack[Options],
) -> Tensor:
    """A tensor of one value, whose dtype follows from the value unless given.

    Args:
        size: the lengths of the dimensions, a tuple
        fill_value: the value of every element
        out: the tensor to store the result in; None makes a new one
        dtype: the dtype of the elements; None is that of the value
        options: `device`, `layout`, `pin_memory`, `requires_grad`, as in `clew.tensor`

    Example:
        >>> clew.full((2, 2), 7)
        tensor([[7, 7],
                [7, 7]])
        >>> clew.full((2,), 0.5)
        tensor([0.5000, 0.5000])
    """
    kind = read_dtype("full", dtype)
    require_number("full", fill_value)
    if kind is None:
        kind = _dtype_of_number(fill_value) if out is None else out.dtype
    shape = checked_size("full", size)
    array = without_memory(shape, kind.np, options)
    if array is None:
        array = _filled(np.empty(shape, kind.np), fill_value, kind)
    return made("full", array, options, out)


def _dtype_of_number(value: Any) -> dtypes.dtype:
    dtype = dtypes.scalar_dtype(value.item() if isinstance(value, Tensor) else value)
    return dtypes.complex64 if dtype is dtypes.complex32 else dtype


def _filled(array: np.ndarray, value: Any, dtype: dtypes.dtype) -> np.ndarray:
    if array.flags.writeable:
        array[...] = scalar_as(value.item() if isinstance(value, Tensor) else value, dtype.np)
    return array


# -- like another tensor ---------------------------------------------------------------------


def array_like(
    function: str,
    input: Any,
    dtype: Any,
    memory_format: format_type | None,
    options: Options | None = None,
) -> np.ndarray:
    """An empty array of another tensor's shape and, unless told otherwise, dtype and layout.

    One on the meta device cannot be written to.
    """
    if not isinstance(input, Tensor):
        raise errors.wrong_argument(function, "input", 1, "Tensor", input)
    kind = read_dtype(function, dtype) or input.dtype
    found = without_memory(input._layout.shape, kind.np, options, input)
    if found is not None:
        wanted = memory_format or preserve_format
        return memory_layout.restrided(found, wanted, input._layout)
    return memory_layout.empty_like_in_memory(input._array, kind.np, memory_format)


@public(method=False, out=False)
def empty_like(
    input: Tensor,
    *,
    dtype: Dtype = None,
    memory_format: format_type | None = None,
    **options: Unpack[Options],
) -> Tensor:
    """An uninitialised tensor of another's shape.

    Args:
        input: the tensor that gives shape and dtype
        dtype: another dtype
        memory_format: the order of the dimensions in memory; None keeps that of `input`
        options: `device`, `layout`, `pin_memory`, `requires_grad`, as in `clew.tensor`

    Example:
        >>> clew.empty_like(clew.ones(2, 3)).shape
        torch.Size([2, 3])
    """
    array = fill_unwritten(array_like("empty_like", input, dtype, memory_format, options))
    return made("empty_like", array, options, like=input)


@public(method=False, out=False)
def zeros_like(
    input: Tensor,
    *,
    dtype: Dtype = None,
    memory_format: format_type | None = None,
    **options: Unpack[Options],
) -> Tensor:
    """Zeros in the shape of another tensor.

    Args:
        input: the tensor that gives shape and dtype
        dtype: another dtype
        memory_format: the order of the dimensions in memory; None keeps that of `input`
        options: `device`, `layout`, `pin_memory`, `requires_grad`, as in `clew.tensor`

    Example:
        >>> clew.zeros_like(clew.tensor([1, 2, 3]))
        tensor([0, 0, 0])
    """
    array = array_like("zeros_like", input, dtype, memory_format, options)
    if array.flags.writeable:
        array.fill(0)
    return made("zeros_like", array, options, like=input)


@public(method=False, out=False)
def ones_like(
    input: Tensor,
    *,
    dtype: Dtype = None,
    memory_format: format_type | None = None,
    **options: Unpack[Options],
) -> Tensor:
    """Ones in the shape of another tensor.

    Args:
        input: the tensor that gives shape and dtype
        dtype: another dtype
        memory_format: the order of the dimensions in memory; None keeps that of `input`
        options: `device`, `layout`, `pin_memory`, `requires_grad`, as in `clew.tensor`

    Example:
        >>> clew.ones_like(clew.tensor([1, 2, 3]), dtype=clew.float32)
        tensor([1., 1., 1.])
    """
    array = array_like("ones_like", input, dtype, memory_format, options)
    if array.flags.writeable:
        array.fill(1)
    return made("ones_like", array, options, like=input)


@public(method=False, out=False)
def full_like(
    input: Tensor,
    fill_value: Any,
    *,
    dtype: Dtype = None,
    memory_format: format_type | None = None,
    **options: Unpack[Options],
) -> Tensor:
    """One value in the shape of another tensor.

    Args:
        input: the tensor that gives shape and dtype
        fill_value: the value of every element
        dtype: another dtype
        memory_format: the order of the dimensions in memory; None keeps that of `input`
        options: `device`, `layout`, `pin_memory`, `requires_grad`, as in `clew.tensor`

    Example:
        >>> clew.full_like(clew.tensor([1, 2, 3]), 7)
        tensor([7, 7, 7])
    """
    require_number("full_like", fill_value)
    array = array_like("full_like", input, dtype, memory_format, options)
    return made(
        "full_like", _filled(array, fill_value, dtypes.of_array(array)), options, like=input
    )


def new_empty(
    self: Tensor, *sizes: Any, size: Any = None, dtype: Dtype = None, **options: Unpack[Options]
) -> Tensor:
    """An uninitialised tensor of this one's dtype.

    Args:
        sizes: the lengths of the dimensions, as numbers or as one tuple
        size: the same, by name
        dtype: another dtype
        options: `device`, `layout`, `pin_memory`, `requires_grad`, as in `clew.tensor`

    Example:
        >>> clew.tensor([1, 2]).new_empty(3).dtype
        torch.int64
    """
    kind = read_dtype("new_empty", dtype) or self.dtype
    shape = read_size("new_empty", sizes, size)
    array = without_memory(shape, kind.np, options, self)
    if array is None:
        array = fill_unwritten(np.empty(shape, kind.np))
    return made("new_empty", array, options, like=self)


def new_zeros(
    self: Tensor, *sizes: Any, size: Any = None, dtype: Dtype = None, **options: Unpack[Options]
) -> Tensor:
    """Zeros of this tensor's dtype.

    Args:
        sizes: the lengths of the dimensions, as numbers or as one tuple
        size: the same, by name
        dtype: another dtype
        options: `device`, `layout`, `pin_memory`, `requires_grad`, as in `clew.tensor`

    Example:
        >>> clew.tensor([1, 2]).new_zeros(3)
        tensor([0, 0, 0])
    """
    kind = read_dtype("new_zeros", dtype) or self.dtype
    shape = read_size("new_zeros", sizes, size)
    array = without_memory(shape, kind.np, options, self)
    array = np.zeros(shape, kind.np) if array is None else array
    return made("new_zeros", array, options, like=self)


def new_ones(
    self: Tensor, *sizes: Any, size: Any = None, dtype: Dtype = None, **options: Unpack[Options]
) -> Tensor:
    """Ones of this tensor's dtype.

    Args:
        sizes: the lengths of the dimensions, as numbers or as one tuple
        size: the same, by name
        dtype: another dtype
        options: `device`, `layout`, `pin_memory`, `requires_grad`, as in `clew.tensor`

    Example:
        >>> clew.tensor([1, 2]).new_ones(3)
        tensor([1, 1, 1])
    """
    kind = read_dtype("new_ones", dtype) or self.dtype
    shape = read_size("new_ones", sizes, size)
    array = without_memory(shape, kind.np, options, self)
    array = np.ones(shape, kind.np) if array is None else array
    return made("new_ones", array, options, like=self)


def new_full(
    self: Tensor, size: Any, fill_value: Any, *, dtype: Dtype = None, **options: Unpack[Options]
) -> Tensor:
    """One value, in this tensor's dtype.

    Args:
        size: the lengths of the dimensions, a tuple
        fill_value: the value of every element
        dtype: another dtype
        options: `device`, `layout`, `pin_memory`, `requires_grad`, as in `clew.tensor`

    Example:
        >>> clew.tensor([1., 2.]).new_full((3,), 7)
        tensor([7., 7., 7.])
    """
    require_number("new_full", fill_value)
    kind = read_dtype("new_full", dtype) or self.dtype
    shape = checked_size("new_full", size)
    array = without_memory(shape, kind.np, options, self)
    if array is None:
        array = np.empty(shape, kind.np)
    return made("new_full", _filled(array, fill_value, kind), options, like=self)


def new_empty_strided(
    self: Tensor, size: Any, stride: Any, *, dtype: Dtype = None, **options: Unpack[Options]
) -> Tensor:
    """An uninitialised tensor of this one's dtype with the given strides.

    Args:
        size: the lengths of the dimensions, a tuple
        stride: the elements between neighbours of each dimension, a tuple
        dtype: another dtype
        options: `device`, `layout`, `pin_memory`, `requires_grad`, as in `clew.tensor`

    Example:
        >>> clew.tensor([1, 2]).new_empty_strided((2, 3), (1, 2)).stride()
        (1, 2)
    """
    made_strided = empty_strided(size, stride, dtype=dtype or self.dtype, **options)
    alike: Tensor = self.alike(made_strided) if self._is_lifted else made_strided
    return alike


methods(
    new_empty=new_empty, new_zeros=new_zeros, new_ones=new_ones, new_full=new_full,
    new_empty_strided=new_empty_strided,
)  # fmt: skip


@public(method=False, out=False)
def empty_strided(
    size: Any, stride: Any, *, dtype: Dtype = None, **options: Unpack[Options]
) -> Tensor:
    """An uninitialised tensor with the given strides.

    Args:
        size: the lengths of the dimensions, a tuple
        stride: the elements between neighbours of each dimension, a tuple
        dtype: the dtype of the elements; None is the default float
        options: `device`, `layout`, `pin_memory`, `requires_grad`, as in `clew.tensor`

    Example:
        >>> clew.empty_strided((2, 3), (1, 2)).stride()
        (1, 2)
    """
    shape = checked_size("empty_strided", size)
    steps = tuple(int(step) for step in stride)
    if len(shape) != len(steps):
        raise RuntimeError(
            f"dimensionality of sizes ({len(shape)}) must match dimensionality of strides "
            f"({len(steps)})" + errors.at_user_line()
        )
    if any(step < 0 for step in steps):
        raise RuntimeError(
            f"Storage size calculation overflowed with sizes={errors.shape_list(shape)} and "
            f"strides={errors.shape_list(steps)}" + errors.at_user_line()
        )
    kind = float_dtype("empty_strided", dtype, None).np
    reach = 1 + sum((n - 1) * step for n, step in zip(shape, steps)) if 0 not in shape else 0
    held = fill_unwritten(np.empty(reach, kind))
    array: np.ndarray = np.ndarray(shape, kind, held, 0, [s * kind.itemsize for s in steps])
    return made("empty_strided", array, options)


@public(method=False, out=False)
def empty_permuted(
    size: Any, physical_layout: Any, *, dtype: Dtype = None, **options: Unpack[Options]
) -> Tensor:
    """An uninitialised tensor whose dimensions lie in memory in the given order.

    Args:
        size: the lengths of the dimensions, a tuple
        physical_layout: the dimensions from outermost to innermost in memory
        dtype: the dtype of the elements; None is the default float
        options: `device`, `layout`, `pin_memory`, `requires_grad`, as in `clew.tensor`

    Example:
        >>> clew.empty_permuted((2, 3, 5), (0, 2, 1)).stride()
        (15, 1, 3)
    """
    shape = checked_size("empty_permuted", size)
    order = tuple(int(dim) for dim in physical_layout)
    if len(order) != len(shape):
        raise RuntimeError(
            f"Number of dimensions in size does not match the length of the physical_layout; "
            f"i.e. len(size) = {len(shape)} is not equal to len(physical_layout) = {len(order)}"
            + errors.at_user_line()
        )
    for index, dim in enumerate(order):
        if not 0 <= dim < len(shape):
            raise RuntimeError(
                f"Dimension out of range (expected to be between 0 and {len(shape) - 1}, but got "
                f"{dim} at index {index}). Negative dimensions are not supported"
                + errors.at_user_line()
            )
    if len(set(order)) != len(order):
        raise RuntimeError("Duplicate dim not allowed" + errors.at_user_line())
    kind = float_dtype("empty_permuted", dtype, None)
    array = fill_unwritten(empty_in_order(shape, order, kind.np))
    return made("empty_permuted", array, options)
