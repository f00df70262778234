"""Making tensors from what is already there: Python numbers, sequences, arrays and buffers."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.backend.device import check_device
from clew.core.exposure import expose_source, over_memory_of
from clew.core.public import methods, public
from clew.core.tensor import Tensor, wrap
from clew.observer import active
from clew.ops.create.from_memory import from_dlpack, frombuffer
from clew.ops.define.dims import require_bool
from clew.ops.define.options import (
    Options,
    cannot_pin,
    checked_number,
    made,
    read_dtype,
    require_grad,
)
from clew.ops.tensor.conversion import to_dtype
from clew.ops.tensor.copying import scalar_as
from clew.ops.tensor.to_numpy import entered_from_outside
from clew.ops.tensor.typed_storage import TypedStorage, tensor_over
from clew.ops.tensor.untyped_storage import UntypedStorage

Dtype = dtypes.dtype | None
_NUMBERS = frozenset((bool, int, float, complex))
_SCALARS = (bool, int, float, complex, np.generic)


# -- reading nested data ---------------------------------------------------------------------


def _is_sequence(value: Any) -> bool:
    if type(value) in _NUMBERS:
        return False
    return (
        isinstance(value, (list, tuple, range, np.ndarray))
        or (isinstance(value, Sequence) and not isinstance(value, (str, bytes)))
        or isinstance(value, bytearray)
    )


def _flatten(data: Any) -> tuple[tuple[int, ...], list[Any]]:
    """The shape of nested sequences and their elements in order."""
    shape: list[int] = []
    level: list[Any] = [data]
    while level and _is_sequence(level[0]) and not _is_zero_dim(level[0]):
        length = len(level[0])
        for each in level:
            if not _is_sequence(each) or _is_zero_dim(each):
                raise TypeError(
                    f"not a sequence (got {type(each).__name__} where one of length {length} is "
                    f"expected, at dim {len(shape)})" + errors.at_user_line()
                )
            if len(each) != length:
                raise ValueError(
                    f"expected sequence of length {length} at dim {len(shape)} (got {len(each)})"
                    + errors.at_user_line()
                )
        shape.append(length)
        level = list(itertools.chain.from_iterable(level))
    return tuple(shape), level


def _is_zero_dim(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == 0


def _infer_dtype(elements: list[Any]) -> dtypes.dtype:
    """The dtype that holds all elements, by the rules of promotion."""
    found: dtypes.dtype | None = None
    kinds = set(map(type, elements))
    for kind in kinds:
        if kind is Tensor or issubclass(kind, (Tensor, np.ndarray)):
            members = {e.dtype for e in elements if type(e) is kind}
        else:
            members = {_dtype_of_type(kind)}
        for member in members:
            member = member if isinstance(member, dtypes.dtype) else dtypes.BY_NUMPY[member]
            found = member if found is None else dtypes.promote_types(found, member)
    return dtypes.get_default_dtype() if found is None else found


def _dtype_of_type(kind: type) -> dtypes.dtype:
    if issubclass(kind, np.generic):
        known = dtypes.BY_NUMPY.get(np.dtype(kind))
        if known is not None:
            return known
    if issubclass(kind, bool):
        return dtypes.bool_
    if issubclass(kind, int):
        return dtypes.int64
    if issubclass(kind, float):
        return dtypes.get_default_dtype()
    if issubclass(kind, complex):
        return dtypes.default_complex()
    if issubclass(kind, str):
        raise TypeError("new(): invalid data type 'str'" + errors.at_user_line())
    if issubclass(kind, (list, tuple)):
        raise TypeError(
            f"'{kind.__name__}' object cannot be interpreted as a number: the other elements of "
            "its row are numbers" + errors.at_user_line()
        )
    raise RuntimeError(f"Could not infer dtype of {kind.__name__}" + errors.at_user_line())


def array_from_data(data: Any, dtype: dtypes.dtype | None) -> np.ndarray:
    """A new array with the values of a number, nested sequences, an array or a tensor."""
    if isinstance(data, Tensor):
        return data._array.astype(data._array.dtype if dtype is None else dtype.np)
    if isinstance(data, np.ndarray) and data.ndim:
        known = checked_ndarray(data)
        return data.astype(known.np if dtype is None else dtype.np, order="K")
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'" + errors.at_user_line())
    if not isinstance(data, _SCALARS) and not _is_sequence(data):
        dlpack_or_array = _from_protocols(data)
        if dlpack_or_array is not None:
            return array_from_data(dlpack_or_array, dtype)
    if isinstance(data, list) and data and isinstance(data[0], np.ndarray) and data[0].ndim:
        errors.warn_once(
            "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider "
            "converting the list to a single numpy.ndarray with numpy.array() before converting to "
            "a tensor."
        )
    shape, elements = _flatten(data)
    if elements and isinstance(elements[0], str):
        raise ValueError("too many dimensions 'str'" + errors.at_user_line())
    kind = _infer_dtype(elements) if dtype is None else dtype
    return _to_array(elements, kind).reshape(shape)


def _from_protocols(data: Any) -> np.ndarray | None:
    if hasattr(data, "__array__") or hasattr(data, "__array_interface__"):
        return np.asarray(data)
    return from_dlpack(data)._array if hasattr(data, "__dlpack__") else None


def _to_array(elements: list[Any], dtype: dtypes.dtype) -> np.ndarray:
    kinds = set(map(type, elements))
    for kind in kinds:
        # NumPy would read None as NaN.
        if not hasattr(kind, "__float__") and not issubclass(kind, (complex, str, list, tuple)):
            raise TypeError(f"must be real number, not {kind.__name__}" + errors.at_user_line())
    if any(issubclass(kind, (Tensor, np.ndarray)) for kind in kinds):
        elements = [_single(e) for e in elements]
    if dtype is dtypes.bool_:
        return np.array([bool(e) for e in elements], np.bool_)
    try:
        if dtype.np.kind == "u" and any(type(e) is float and e < 0 for e in elements):
            raise OverflowError  # also between -1 and 0, which NumPy lets pass
        if dtype.category < dtypes.FLOAT:
            return np.array(elements, dtype.np)
        wide = np.complex128 if dtype.is_complex else np.float64
        return np.array(elements, wide).astype(dtype.np, copy=False)
    except (OverflowError, ValueError):
        return np.array([_number(e, dtype) for e in elements], dtype.np)
    except TypeError as error:
        if any(isinstance(e, (complex, np.complexfloating)) for e in elements):
            raise TypeError("must be real number, not complex" + errors.at_user_line()) from None
        _infer_dtype(elements)
        raise TypeError(str(error) + errors.at_user_line()) from None


def _number(value: Any, dtype: dtypes.dtype) -> Any:
    if dtype is dtypes.int64 and isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise ValueError("Overflow when unpacking long long" + errors.at_user_line())
    if dtype.category == dtypes.FLOAT and isinstance(value, int):
        return float(value)
    return checked_number(value, dtype)


def _single(value: Any) -> Any:
    if not isinstance(value, (Tensor, np.ndarray)):
        return value
    array = value._array if isinstance(value, Tensor) else value
    if array.size != 1:
        raise ValueError(
            "only one element tensors can be converted to Python scalars: stack the tensors with "
            "torch.stack to keep their elements and their history" + errors.at_user_line()
        )
    return value.item()


def checked_ndarray(array: np.ndarray) -> dtypes.dtype:
    """The dtype of an ndarray that a tensor can hold as it is."""
    known = dtypes.of_array(array)
    if not array.dtype.isnative:
        raise ValueError(
            "given numpy array has byte order different from the native byte order. Conversion "
            "between byte orders is currently not supported." + errors.at_user_line()
        )
    if any(stride % array.itemsize for stride in array.strides):
        raise ValueError(
            "given numpy array strides not a multiple of the element byte size. Copy the numpy "
            "array to reallocate the memory." + errors.at_user_line()
        )
    if any(stride < 0 for stride in array.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative "
            "strides are not currently supported. (You can probably work around this by making a "
            "copy of your array  with array.copy().)" + errors.at_user_line()
        )
    return known


# -- public functions ------------------------------------------------------------------------


@public(method=False, out=False)
def tensor(
    data: Any,
    *,
    dtype: Dtype = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A new leaf with a copy of `data`."""
    if isinstance(data, Tensor):
        warnings.warn(
            "To copy construct from a tensor, it is recommended to use "
            "sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than "
            "torch.tensor(sourceTensor).",
            stacklevel=2,
        )
    return _copied("tensor", data, dtype, device, requires_grad, pin_memory)


def _copied(
    function: str, data: Any, dtype: Any, device: Any, requires_grad: bool, pin_memory: bool
) -> Tensor:
    check_device(device)
    if pin_memory:
        raise cannot_pin()
    kind = read_dtype(function, dtype)
    if isinstance(data, UntypedStorage | TypedStorage):
        result = tensor_over(data, kind or _dtype_over(data))
    else:
        result = wrap(array_from_data(data, kind))
    result._reason = entered_from_outside(f"{function}()", data)
    require_bool("requires_grad", requires_grad)
    if requires_grad:
        require_grad(result)
    observer = active.observer
    if observer is not None:
        observer.tensor_made(result)
    return result


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
    """A new leaf with a copy of `data`, of this tensor's dtype unless another is given."""
    kind = read_dtype("new_tensor", dtype) or self.dtype
    return _copied("new_tensor", data, kind, device, requires_grad, pin_memory)


methods(new_tensor=new_tensor)


@public(method=False, out=False)
def scalar_tensor(s: Any, *, dtype: Dtype = None, **options: Unpack[Options]) -> Tensor:
    """A 0-dim tensor of the default dtype, or of the one given."""
    kind = read_dtype("scalar_tensor", dtype) or dtypes.get_default_dtype()
    number = s.item() if isinstance(s, Tensor) else s
    return made("scalar_tensor", scalar_as(number, kind.np), options)


@public(method=False, out=False)
def from_numpy(array: np.ndarray, /) -> Tensor:
    """A tensor that shares memory with an ndarray."""
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
            stacklevel=3,
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
    """`data` as a tensor, sharing memory and history where no conversion is needed."""
    check_device(device)
    kind = read_dtype("as_tensor", dtype)
    if isinstance(data, Tensor):
        return data if kind is None else to_dtype(data, kind)
    if isinstance(data, np.ndarray) and data.ndim:
        known = checked_ndarray(data)
        if kind is None or kind is known:
            return _sharing(data, "as_tensor()")
    return _copied("as_tensor", data, kind, None, False, False)


@public(method=False, out=False)
def asarray(
    obj: Any,
    *,
    dtype: Dtype = None,
    device: Any = None,
    copy: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """`obj` as a tensor: shared where possible, copied where needed or asked."""
    check_device(device)
    kind = read_dtype("asarray", dtype)
    source = _alias(obj, kind)
    if source is None:
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
    if requires_grad:
        if source is obj or source.grad_fn is not None:
            source = source.detach()
        require_grad(source)
    return source


def _alias(obj: Any, dtype: dtypes.dtype | None) -> Tensor | None:
    """A tensor over the same memory, for objects that have memory to share."""
    if isinstance(obj, Tensor):
        return obj
    if isinstance(obj, np.ndarray):
        return _sharing(obj, "asarray()")
    if hasattr(obj, "__dlpack__") and not isinstance(obj, np.generic):
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
