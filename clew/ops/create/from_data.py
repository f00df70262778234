"""Making tensors from what is already there: Python numbers, sequences, arrays and buffers."""

from __future__ import annotations

import warnings
from typing import Any, Unpack

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.backend.device import names_meta
from clew.core.exposure import expose_source, over_memory_of
from clew.core.interception import note_constant
from clew.core.meta import memory as meta_memory
from clew.core.public import methods, public
from clew.core.state import local
from clew.core.tensor import Tensor, wrap
from clew.observer import active
from clew.ops.create.from_memory import from_dlpack, frombuffer, is_capsule
from clew.ops.create.nested_data import array_from_data, checked_ndarray
from clew.ops.define.dims import require_bool
from clew.ops.define.options import (
    Options,
    cannot_pin,
    made,
    read_dtype,
    require_grad,
)
from clew.ops.tensor.conversion import to_dtype
from clew.ops.tensor.copying import scalar_as
from clew.ops.tensor.to_numpy import entered_from_outside
from clew.ops.tensor.typed_storage import TypedStorage, tensor_over
from clew.ops.tensor.untyped_storage import UntypedStorage
from clew.source import user_stacklevel

Dtype = dtypes.dtype | None


def _warn_of_copy(data: Any, function: str) -> None:
    if isinstance(data, Tensor):
        warnings.warn(
            "To copy construct from a tensor, it is recommended to use "
            "sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than "
            f"{function}(sourceTensor).",
            stacklevel=user_stacklevel(),
        )


@public(method=False, out=False)
def tensor(
    data: Any,
    *,
    dtype: Dtype = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A new leaf with a copy of `data`.

    Args:
        data: a number, nested sequences of numbers, an ndarray
        dtype: the dtype of the elements; None takes the one that follows from `data`
        device: the CPU, or None
        requires_grad: whether autograd records what is done with it
        pin_memory: raises if true: memory is pinned for accelerators only

    Example:
        >>> clew.tensor([[1, 2], [3, 4]])
        tensor([[1, 2],
                [3, 4]])
        >>> clew.tensor([1, 2], dtype=clew.float64, requires_grad=True)
        tensor([1., 2.], dtype=torch.float64, requires_grad=True)
    """
    _warn_of_copy(data, "torch.tensor")
    return _copied("tensor", data, dtype, device, requires_grad, pin_memory)


def _copied(
    function: str, data: Any, dtype: Any, device: Any, requires_grad: bool, pin_memory: bool
) -> Tensor:
    is_meta = names_meta(device)
    if pin_memory:
        raise cannot_pin()
    kind = read_dtype(function, dtype)
    if isinstance(data, UntypedStorage | TypedStorage):
        result = tensor_over(data, kind or _dtype_over(data))
    else:
        result = wrap(array_from_data(data, kind))
        if result.dtype is dtypes.complex32:
            errors.warn_of_complex32()
    result._reason = entered_from_outside(f"{function}()", data)
    if is_meta:
        result._array = meta_memory.like(result._array)
    require_bool("requires_grad", requires_grad)
    if requires_grad:
        require_grad(result)
    if local.state.intercept is not None and _is_numbers(data):
        note_constant(result)
    observer = active.observer
    if observer is not None:
        observer.tensor_made(result)
    return result


def _is_numbers(data: Any) -> bool:
    """Whether data is a Python number, or nested lists and tuples of them."""
    if type(data) is list or type(data) is tuple:
        return all(map(_is_numbers, data))
    return isinstance(data, (bool, int, float, complex))


def _dtype_over(storage: UntypedStorage | TypedStorage) -> dtypes.dtype:
    """The dtype of a tensor over a storage where none is given, as PyTorch has it."""
    is_filled = isinstance(storage, UntypedStorage) and storage.nbytes() > 0
    return dtypes.int64 if is_filled else dtypes.get_default_dtype()


def new_tensor(
    self: Tensor,
    data: Any,
    *,
    dtype: Dtype = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A new leaf with a copy of `data`, of this tensor's dtype unless another is given.

    Args:
        data: a number, nested sequences of numbers, an ndarray
        dtype: another dtype
        device: the CPU, or None
        requires_grad: whether autograd records what is done with it
        pin_memory: raises if true: memory is pinned for accelerators only

    Example:
        >>> clew.tensor([0.5]).new_tensor([1, 2])
        tensor([1., 2.])
    """
    kind = read_dtype("new_tensor", dtype) or self.dtype
    _warn_of_copy(data, "tensor.new_tensor")
    return _copied("new_tensor", data, kind, device, requires_grad, pin_memory)


methods(new_tensor=new_tensor)


@public(method=False, out=False)
def scalar_tensor(s: Any, *, dtype: Dtype = None, **options: Unpack[Options]) -> Tensor:
    """A 0-dim tensor of the default dtype, or of the one given.

    Args:
        s: a number, or a tensor of one element
        dtype: the dtype; None is the default float
        options: `device`, `layout`, `pin_memory`, `requires_grad`, as in `clew.tensor`

    Example:
        >>> clew.scalar_tensor(3)
        tensor(3.)
    """
    kind = read_dtype("scalar_tensor", dtype) or dtypes.get_default_dtype()
    number = s.item() if isinstance(s, Tensor) else s
    return made("scalar_tensor", scalar_as(number, kind.np), options)


@public(method=False, out=False)
def from_numpy(array: np.ndarray, /) -> Tensor:
    """A tensor that shares memory with an ndarray: what is written to one is seen in the other.

    Args:
        array: an ndarray, of a dtype that tensors have

    Example:
        >>> import numpy as np
        >>> array = np.zeros(3)
        >>> tensor = clew.from_numpy(array)
        >>> array[0] = 7
        >>> tensor
        tensor([7., 0., 0.], dtype=torch.float64)
    """
    if not isinstance(array, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(array).__name__})" + errors.at_user_line())
    return _sharing(array, "from_numpy()")


def _sharing(array: np.ndarray, writer: str) -> Tensor:
    checked_ndarray(array)
    if not array.flags.writeable:
        warnings.warn(
            "The given NumPy array is not writable, and PyTorch does not support non-writable "
            "tensors. This means writing to this tensor will result in undefined behavior: here "
            "NumPy will refuse the write.",
            stacklevel=user_stacklevel(),
        )
    result = wrap(over_memory_of(array))
    result._reason = entered_from_outside(writer, array)
    expose_source(result._storage, result._array, array, writer)
    observer = active.observer
    if observer is not None:
        observer.tensor_made(result)
    return result


@public(method=False, out=False)
def as_tensor(data: Any, dtype: Dtype = None, device: Any = None) -> Tensor:
    """`data` as a tensor, sharing memory and history where no conversion is needed.

    Args:
        data: a tensor, an ndarray, a number, nested sequences of numbers
        dtype: the dtype of the elements; None takes the one that follows from `data`
        device: the CPU, or None

    Example:
        >>> x = clew.tensor([1., 2.])
        >>> clew.as_tensor(x) is x
        True
        >>> clew.as_tensor([1, 2])
        tensor([1, 2])
    """
    is_meta = names_meta(device)
    kind = read_dtype("as_tensor", dtype)
    if isinstance(data, Tensor):
        return data.to(dtype=kind, device=device)
    if isinstance(data, np.ndarray) and not is_meta:
        known = checked_ndarray(data)
        if kind is None or kind is known:
            return _sharing(data, "as_tensor()")
    return _copied("as_tensor", data, kind, device, False, False)


@public(method=False, out=False)
def asarray(
    obj: Any,
    *,
    dtype: Dtype = None,
    device: Any = None,
    copy: bool | None = None,
    requires_grad: bool | None = None,
) -> Tensor:
    """`obj` as a tensor: shared where possible, copied where needed or asked.

    Args:
        obj: a tensor, an ndarray, a buffer, an object with `__dlpack__`, nested sequences of
            numbers
        dtype: the dtype of the elements; None takes the one that follows from `obj`
        device: the CPU, or None
        copy: True: always copy; False: raise where a copy is needed; None: copy where needed
        requires_grad: whether autograd records what is done with the result; None leaves a tensor
            as it is

    Example:
        >>> x = clew.tensor([1., 2.])
        >>> clew.asarray(x) is x, clew.asarray(x, copy=True) is x
        (True, False)
    """
    is_meta = names_meta(device)
    kind = read_dtype("asarray", dtype)
    source = _alias(obj, kind)
    if source is None:
        if copy is False and isinstance(obj, np.generic):
            raise RuntimeError(
                "can't alias NumPy scalars. \n  Leave out copy=False, or make it an array: "
                "np.asarray(x)" + errors.at_user_line()
            )
        if copy is False:
            raise ValueError(
                f"can't alias arbitrary sequence into a tensor: got {type(obj).__name__}"
                + errors.at_user_line()
            )
        source = _copied("asarray", obj, kind, None, False, False)
    elif copy or (kind is not None and source.dtype is not kind):
        if copy is False and kind is not None:
            raise ValueError(
                f"can't alias tensor with dtype '{source.dtype.scalar_name}' into dtype "
                f"'{kind.scalar_name}'." + errors.at_user_line()
            )
        source = to_dtype(source, kind or source.dtype, copy=True)
    if is_meta and not source.is_meta:
        source = source.to("meta")
    if requires_grad is False and source.requires_grad:
        return source.detach()
    if requires_grad is None and isinstance(obj, Tensor) and obj.requires_grad:
        errors.warn_once(
            "torch.asarray: unspecified requires_grad now defaults to obj.requires_grad instead of "
            "False. Pass requires_grad=False explicitly to get the old behavior and silence this "
            "warning."
        )
    if requires_grad and not source.requires_grad:
        require_grad(source)
    return source


def _alias(obj: Any, dtype: dtypes.dtype | None) -> Tensor | None:
    """A tensor over the same memory, for objects that have memory to share."""
    if isinstance(obj, Tensor):
        return obj
    if isinstance(obj, np.ndarray):
        # A number is copied, as in PyTorch, whatever was asked for.
        return _sharing(obj if obj.ndim else obj.copy(), "asarray()")
    if (hasattr(obj, "__dlpack__") or is_capsule(obj)) and not isinstance(obj, np.generic):
        return from_dlpack(obj)
    if isinstance(obj, (bytes, bytearray, memoryview)):
        return frombuffer(obj, dtype=dtype or dtypes.get_default_dtype())
    return None


def _array_wrap(
    self: Tensor, array: np.ndarray, context: Any = None, return_scalar: bool = False
) -> Tensor:
    # NumPy calls this with the result of a ufunc, so that np.exp(tensor) is a tensor.
    result = np.asarray(array)
    return from_numpy(result.astype(np.uint8) if result.dtype == np.bool_ else result)


methods(__array_wrap__=_array_wrap)
