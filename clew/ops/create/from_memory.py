"""Tensors over memory that is there already: buffers, files, and what DLPack hands over."""

from __future__ import annotations

import warnings
from typing import Any, Unpack

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.backend.device import check_device
from clew.core.public import public
from clew.core.tensor import Tensor, wrap
from clew.ops.define.options import Options, check_options, read_dtype, require_grad
from clew.ops.tensor.to_numpy import entered_from_outside, refuse_bits
from clew.ops.tensor.typed_storage import tensor_over
from clew.ops.tensor.untyped_storage import UntypedStorage

Dtype = dtypes.dtype | None


@public(method=False, out=False)
def frombuffer(
    buffer: Any,
    *,
    dtype: dtypes.dtype,
    count: int = -1,
    offset: int = 0,
    requires_grad: bool = False,
) -> Tensor:
    """A 1-dim tensor over the memory of an object that has Python's buffer protocol."""
    try:
        view = memoryview(buffer)
    except TypeError:
        raise ValueError(
            "object does not implement Python buffer protocol." + errors.at_user_line()
        ) from None
    kind = read_dtype("frombuffer", dtype) or dtypes.get_default_dtype()
    if view.readonly:
        warnings.warn(
            "The given buffer is not writable, and PyTorch does not support non-writable tensors. "
            "This means you can write to the underlying (supposedly non-writable) buffer using the "
            "tensor: here NumPy will refuse the write.",
            stacklevel=2,
        )
    _check_buffer(view.nbytes, kind.itemsize, count, offset)
    array = np.frombuffer(buffer, kind.np, count, offset)
    result = wrap(array)
    if requires_grad:
        require_grad(result)
    return result


def _check_buffer(length: int, itemsize: int, count: int, offset: int) -> None:
    text = None
    if length == 0 or count == 0:
        text = f"both buffer length ({length}) and count ({count}) must not be 0"
    elif not 0 <= offset < length:
        text = (
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length "
            f"({length} bytes) minus 1"
        )
    elif count > 0 and offset + count * itemsize > length:
        text = (
            f"requested buffer length ({count} * {itemsize} bytes) after offset ({offset} bytes) "
            f"must not be greater than actual buffer length ({length} bytes)"
        )
    elif count < 0 and (length - offset) % itemsize:
        text = (
            f"buffer length ({length - offset} bytes) after offset ({offset} bytes) must be a "
            f"multiple of element size ({itemsize})"
        )
    if text is not None:
        raise ValueError(text + errors.at_user_line())


@public(method=False, out=False)
def from_file(
    filename: Any,
    shared: bool | None = None,
    size: int | None = 0,
    *,
    dtype: Dtype = None,
    **options: Unpack[Options],
) -> Tensor:
    """A tensor whose memory is a file that is mapped into memory.

    Args:
        filename: the file
        shared: whether writes go to the file, which is made or made longer where it must be
        size: how many elements of it
        dtype: their dtype; the default one unless given

    Example:
        >>> x = clew.from_file("numbers", shared=True, size=3).copy_(clew.arange(3.))
        >>> clew.from_file("numbers", size=2)
        tensor([0., 1.])
    """
    kind = read_dtype("from_file", dtype) or dtypes.get_default_dtype()
    check_options("from_file", options)
    storage = UntypedStorage.from_file(filename, bool(shared), (size or 0) * kind.itemsize)
    result = tensor_over(storage, kind)
    if options.get("requires_grad"):
        require_grad(result)
    return result


@public(method=False, out=False)
def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor that shares memory with any object that has the DLPack protocol."""
    check_device(device)
    if not hasattr(ext_tensor, "__dlpack__"):
        raise RuntimeError(
            "from_dlpack received an invalid capsule: it takes an object that has __dlpack__, got "
            f"{type(ext_tensor).__name__}" + errors.at_user_line()
        )
    if isinstance(ext_tensor, Tensor):
        refuse_bits(ext_tensor)
        ext_tensor = ext_tensor.detach().numpy()
    array = np.from_dlpack(ext_tensor, copy=copy)
    result = wrap(array)
    result._reason = entered_from_outside("from_dlpack()", array)
    return result
