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
from clew.ops.tensor.dlpack_capsules import from_bfloat16
from clew.ops.tensor.to_numpy import entered_from_outside, refuse_export
from clew.ops.tensor.typed_storage import tensor_over
from clew.ops.tensor.untyped_storage import UntypedStorage
from clew.source import user_stacklevel

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
    """A 1-dim tensor over the memory of an object that has Python's buffer protocol.

    Args:
        buffer: the object, such as a bytearray
        dtype: the dtype of the elements
        count: how many elements; -1 takes all
        offset: how many bytes to skip at the beginning
        requires_grad: whether autograd records what is done with it

    Example:
        >>> clew.frombuffer(bytearray([1, 0, 2, 0]), dtype=clew.int16)
        tensor([1, 2], dtype=torch.int16)
    """
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
            stacklevel=user_stacklevel(),
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
        options: `requires_grad`, and `device`, `layout`, `pin_memory` as in other functions

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
    """A tensor that shares memory with any object that has the DLPack protocol.

    Args:
        ext_tensor: the object, or the capsule that its `__dlpack__` gave
        device: the CPU
        copy: whether to copy: None means if it must be

    Example:
        >>> import numpy
        >>> array = numpy.zeros(2)
        >>> x = clew.from_dlpack(array)
        >>> array[0] = 1
        >>> x
        tensor([1., 0.], dtype=torch.float64)
    """
    check_device(device)
    if isinstance(ext_tensor, Tensor):
        refuse_export(ext_tensor)
        own = ext_tensor.detach()
        return own.clone() if copy else own
    if is_capsule(ext_tensor) and (device is not None or copy is not None):
        raise AssertionError(
            "device and copy kwargs not supported when ext_tensor is already a DLPack capsule."
            + errors.at_user_line()
        )
    array = _exchanged(ext_tensor, copy)
    result = wrap(array)
    result._reason = entered_from_outside("from_dlpack()", array)
    return result


def is_capsule(obj: Any) -> bool:
    """Whether an object is what `__dlpack__` gives."""
    return type(obj).__name__ == "PyCapsule"


class _Producer:
    """What NumPy asks for a capsule: the object that makes one, or only the capsule."""

    def __init__(self, source: Any) -> None:
        self.source = source
        self.of_bfloat16 = False

    def __dlpack__(self, **options: Any) -> Any:
        of_object = not is_capsule(self.source)
        capsule = self.source.__dlpack__(**options) if of_object else self.source
        self.of_bfloat16 = from_bfloat16(capsule)
        return capsule

    def __dlpack_device__(self) -> Any:
        return (1, 0) if is_capsule(self.source) else self.source.__dlpack_device__()


def _exchanged(source: Any, copy: bool | None) -> np.ndarray:
    producer = _Producer(source)
    if is_capsule(source):
        array = _of_capsule(producer)
    elif hasattr(source, "__dlpack__"):
        array = np.from_dlpack(producer, copy=copy)
    else:
        raise RuntimeError(
            "from_dlpack received an invalid capsule: it takes a capsule, or an object that has "
            f"__dlpack__, got {type(source).__name__}" + errors.at_user_line()
        )
    if not array.flags.writeable:
        # NumPy marks what comes in a capsule of the older kind so.
        array = np.array(array) if copy else _writable(array)
    return array.view(dtypes.bfloat16.np) if producer.of_bfloat16 else array


def _of_capsule(producer: _Producer) -> np.ndarray:
    try:
        return np.from_dlpack(producer)
    except (ValueError, RuntimeError) as error:
        raise RuntimeError(
            "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed "
            "only once, so you might have already constructed a tensor from it once."
            + errors.at_user_line()
        ) from error


def _writable(array: np.ndarray) -> np.ndarray:
    """The same memory as an array that may be written to."""
    place = {**array.__array_interface__, "data": (array.__array_interface__["data"][0], False)}

    class Memory:
        __array_interface__ = place
        kept = array

    return np.asarray(Memory())
