"""Other memory for a tensor: resize_, resize_as_, set_."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from clew import errors
from clew.backend.determinism import fill_unwritten
from clew.backend.layout import contiguous_format, preserve_format
from clew.backend.layout import memory_format as format_type
from clew.core.inplace import check_write, note_write, rebase
from clew.core.mirror import memory_behind
from clew.core.node import AccumulateGrad
from clew.core.op import Op
from clew.core.public import methods, public
from clew.core.recording import NOT_IMPLEMENTED, edges_of, record
from clew.core.state import local
from clew.core.storage import INFERENCE
from clew.core.tensor import Tensor, WeakTensorRef, wrap
from clew.kernels.numpy.strides import owner_of
from clew.kernels.runtime.numpy_capi import address_of
from clew.ops.define import memory_layout
from clew.ops.define.dims import shape_argument
from clew.ops.shape.strided import AS_STRIDED, geometry_of
from clew.ops.tensor.storage_memory import bytes_of
from clew.ops.tensor.typed_storage import TypedStorage, checked_storage, keep_storage
from clew.ops.tensor.untyped_storage import UntypedStorage, over_storage, storage_of
from clew.source import _getframe, user_stacklevel

_MOST = (1 << 63) - 1
# The count of an object that one other refers to: that of asking comes to it.
_ONE_REFERENCE = 2
# References to a storage that one tensor has: its own, a local variable, and an argument.
_BY_ONE_TENSOR = 3
Ints = tuple[int, ...]


def _last(shape: Ints, strides: Ints, offset: int) -> int:
    """One after the last place in memory that is used."""
    if 0 in shape:
        return 0
    return offset + sum((n - 1) * step for n, step in zip(shape, strides, strict=True)) + 1


def _strides_in(shape: Ints, wanted: format_type) -> Ints:
    """The strides of a tensor of that shape in one of the memory formats."""
    if wanted is contiguous_format:
        return tuple(math.prod(max(n, 1) for n in shape[dim + 1 :]) for dim in range(len(shape)))
    return memory_layout.strides_in_elements(
        memory_layout.empty_in_format(shape, np.dtype(np.uint8), wanted)
    )


def _make_room(tensor: Tensor, count: int) -> None:
    """See to it that so many elements fit between the beginning of the storage and its end."""
    # Views, and what `detach()` and `.data` give, refer to the array. To look for all tensors of a
    # program would take as long as the program is large.
    is_alone = tensor._storage.untyped is None and sys.getrefcount(tensor._array) == _ONE_REFERENCE
    needed = count * tensor._array.itemsize
    memory = bytes_of(owner_of(memory_behind(tensor._array)))
    if tensor._storage.untyped is None and needed <= len(memory):
        return
    storage = storage_of(tensor)
    if needed <= storage.nbytes():
        return
    before = storage.nbytes()
    storage._resize(needed, [tensor] if is_alone and tensor._array is storage._owner else None)
    fill_unwritten(storage._bytes[before:needed].view(tensor._array.dtype))


def resize_(self: Tensor, *args: Any, size: Any = None, memory_format: Any = None) -> Tensor:
    """Give this tensor another size; its memory grows when it must.

    The elements stay in memory as they are; the values of new ones are not defined.

    Args:
        size: the new shape: a tuple, or as arguments of their own
        memory_format: the order of the dimensions in memory; row by row unless given

    Example:
        >>> clew.tensor([[1, 2], [3, 4]]).resize_(3)
        tensor([1, 2, 3])
    """
    shape = shape_argument(args, size, "resize_", "size")
    if self.requires_grad and not local.state.inference:
        raise RuntimeError("cannot resize variables that require grad" + errors.at_user_line())
    if memory_format is not None and not isinstance(memory_format, format_type):
        raise errors.wrong_argument(
            "resize_", "memory_format", 2, "torch.memory_format", memory_format
        )
    if memory_format is preserve_format:
        raise RuntimeError("Unsupported memory formatPreserve" + errors.at_user_line())
    if self._array.shape == shape and memory_format is None:
        return self
    _check_size(shape, self._array.itemsize)
    if memory_format is None:
        memory_format = contiguous_format
    _reshape_memory(self, shape, _strides_in(shape, memory_format))
    note_write(self, "resize_")
    return self


def _reshape_memory(self: Tensor, shape: Ints, strides: Ints) -> None:
    """Give a tensor another shape and strides where it lies; its memory grows when it must.

    The version is for the caller to change, who may have more to write.
    """
    before = geometry_of(self._array)
    _place(self, _offset(self), shape, strides)
    storage = self._storage
    is_shared = sys.getrefcount(storage) > _BY_ONE_TENSOR
    if is_shared and self._view is None and storage is not INFERENCE and not self._is_lifted:
        # Views of what it was find their place again from here.
        back = {"part": before, "whole": geometry_of(self._array)}
        undo = (storage.version + 1, WeakTensorRef(self), AS_STRIDED, back)
        storage.inplace_views = (*storage.inplace_views, undo)


def _offset(tensor: Tensor) -> int:
    """Where a tensor begins in its memory, in elements."""
    array = memory_behind(tensor._array)
    return (address_of(array) - address_of(owner_of(array))) // array.itemsize


def _check_size(shape: Ints, itemsize: int) -> None:
    """Refuse sizes whose elements cannot be counted, or not their bytes."""
    listed = errors.shape_list(shape)
    if any(n < 0 for n in shape) or math.prod(shape) > _MOST:
        text = f"numel: integer multiplication overflow: a tensor cannot have the size {listed}"
    elif math.prod(max(n, 1) for n in shape[1:]) > _MOST:
        text = f"Stride calculation overflowed for the size {listed}"
    elif math.prod(shape) * itemsize > _MOST:
        text = f"Storage size calculation overflowed with sizes={listed}"
    else:
        return
    raise RuntimeError(text + errors.at_user_line())


def _place(self: Tensor, offset: int, shape: Ints, strides: Ints) -> None:
    """Let a tensor lie at a place of its own memory, which grows where it must."""
    _make_room(self, _last(shape, strides, offset))
    array = memory_behind(self._array)
    memory = bytes_of(owner_of(array))
    itemsize = array.itemsize
    self._array = np.ndarray(
        shape,
        array.dtype,
        memory,
        offset * itemsize if 0 not in shape else 0,
        tuple(step * itemsize for step in strides),
    )


@public(out=False)
def resize_as_(self: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
    """Give this tensor the size of another; see `resize_`.

    Args:
        the_template: the tensor whose size it gets
        memory_format: the order of the dimensions in memory; `preserve_format` means as in
            `the_template`

    Example:
        >>> clew.tensor([[1, 2], [3, 4]]).resize_as_(clew.zeros(3))
        tensor([1, 2, 3])
    """
    array = the_template._array
    if memory_format is preserve_format:
        memory_format = memory_layout.format_of(array)
    return resize_(self, array.shape, memory_format=memory_format)


@public(function=False, name="resize")
def _resize(self: Tensor, *sizes: Any) -> Tensor:
    """The tensor in another shape of as many elements; deprecated, write `reshape`.

    Args:
        sizes: the shape

    Example:
        >>> clew.tensor([[1, 2], [3, 4]]).resize(4)
        tensor([1, 2, 3, 4])
    """
    warnings.warn("non-inplace resize is deprecated", stacklevel=user_stacklevel())
    shape = shape_argument(sizes, None, "resize", "sizes")
    if math.prod(shape) != self._array.size:
        have = "x".join(map(str, self._array.shape))
        raise RuntimeError(
            f"requested resize to {'x'.join(map(str, shape))} ({math.prod(shape)} elements in "
            f"total), but the given tensor has a size of {have} ({self._array.size} elements). "
            "autograd's resize can only change the shape of a given tensor, while preserving the "
            "number of elements. " + errors.at_user_line()
        )
    return self.reshape(shape)


@public(function=False, name="resize_as")
def _resize_as(self: Tensor, tensor: Tensor) -> Tensor:
    """The tensor in the shape of another of as many elements; deprecated, write `reshape`.

    Args:
        tensor: the tensor whose shape it gets

    Example:
        >>> clew.tensor([1, 2]).resize_as(clew.zeros(2, 1))
        tensor([[1],
                [2]])
    """
    warnings.warn("non-inplace resize_as is deprecated", stacklevel=user_stacklevel())
    return self.reshape(tensor._array.shape)


def _no_derivative(g: Tensor) -> Tensor:
    raise RuntimeError("derivative for set_ is not implemented" + errors.at_user_line())


# Only its node is used: memory that is taken over has no gradient.
SET = Op(
    "set_",
    lambda self, source: source,
    grads={"self": _no_derivative, "source": _no_derivative},
    node=NOT_IMPLEMENTED,
)


def set_(
    self: Tensor,
    source: Any = None,
    storage_offset: Any = None,
    size: Any = None,
    stride: Any = None,
) -> Tensor:
    """Let this tensor share another's memory, or lie anywhere in a storage.

    Args:
        source: a tensor of the same dtype, or a storage; without one this tensor becomes empty
        storage_offset: how many elements into the storage the tensor begins
        size: its shape
        stride: for each dimension, how many elements lie between neighbours; row by row unless
            given

    Example:
        >>> x, y = clew.zeros(2), clew.tensor([1., 2., 3.])
        >>> x.set_(y)
        tensor([1., 2., 3.])
        >>> x.data_ptr() == y.data_ptr()
        True
        >>> x.set_(y.untyped_storage(), 1, (2,))
        tensor([2., 3.])
    """
    state = local.state
    inputs = (self, source if isinstance(source, Tensor) else None)
    mask = check_write(state, "set_", inputs, may_overlap=True)
    edges = edges_of(inputs)
    if source is None:
        source = wrap(np.empty(0, self._array.dtype))
    elif not isinstance(source, Tensor | TypedStorage | UntypedStorage) or (
        (storage_offset is None) != (size is None)
    ):
        raise TypeError(
            f"set_() received an invalid combination of arguments - got "
            f"({type(source).__name__}, ...), but expected nothing, a tensor, or a storage, and "
            "with one of these an offset and a size, or neither" + errors.at_user_line()
        )
    if isinstance(source, Tensor) and source._array.dtype is not self._array.dtype:
        raise RuntimeError(
            f"Could not set tensor of type {source.dtype.c_name} to "
            f"a tensor of type {self.dtype.c_name}" + errors.at_user_line()
        )
    # As with `.data`, the version counter stays with the tensor.
    if isinstance(source, Tensor) and size is None:
        self._array = source._array
    else:
        _set_to_storage(self, source, storage_offset, size, stride)
    if isinstance(self._node, AccumulateGrad):
        # Graphs made before lead to the data that the leaf had then.
        self._node = self._node.anew(self)
    note_write(self, "set_")
    if mask and SET.can_differentiate(self):
        node = record(
            state, SET.plan(mask), SET.node_class, inputs, {}, (self,), edges, _getframe(1)
        )
        rebase(state, self, node, is_step=True)
    return self


def _set_to_storage(self: Tensor, source: Any, storage_offset: Any, size: Any, stride: Any) -> None:
    dtype = self.dtype
    if isinstance(source, Tensor):
        storage = storage_of(source)
    else:
        storage = checked_storage(source, dtype)
    if size is None:
        storage_offset, size = 0, (storage.nbytes() // dtype.itemsize,)
    shape = shape_argument((size,))
    strides = _strides_in(shape, contiguous_format) if stride is None else shape_argument((stride,))
    _check_place(shape, strides, storage_offset)
    needed = _last(shape, strides, storage_offset) * dtype.itemsize
    if needed > storage.nbytes():
        here = self._array.shape, memory_layout.strides_in_elements(self._array)
        if (shape, strides) == here:
            # Only another size makes a storage grow.
            raise out_of_bounds(shape, strides, storage_offset, dtype.itemsize, storage.nbytes())
        storage.resize_(needed)
    self._array = over_storage(storage, dtype, storage_offset, shape, strides)
    keep_storage(self, storage)


def _check_place(shape: Ints, strides: Ints, offset: int) -> None:
    if len(shape) != len(strides):
        raise RuntimeError(
            f"unequal size length ({len(shape)}) and stride length ({len(strides)})"
            + errors.at_user_line()
        )
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}" + errors.at_user_line())
    if any(n < 0 for n in (*shape, *strides)) or _last(shape, strides, offset) > _MOST:
        raise RuntimeError(
            f"Storage size calculation overflowed with sizes={errors.shape_list(shape)} and "
            f"strides={errors.shape_list(strides)}" + errors.at_user_line()
        )


def out_of_bounds(
    shape: Sequence[int], strides: Sequence[int], offset: int, itemsize: int, available: int
) -> RuntimeError:
    """The error for a place that lies behind the end of the storage."""
    needed = _last(tuple(shape), tuple(strides), offset) * itemsize
    return RuntimeError(
        f"setStorage: sizes {errors.shape_list(shape)}, strides {errors.shape_list(strides)}, "
        f"storage offset {offset}, and itemsize {itemsize} requiring a storage size of {needed} "
        f"are out of bounds for storage of size {available}" + errors.at_user_line()
    )


methods(resize_=resize_, set_=set_, _reshape_memory=_reshape_memory)
