"""Reading data into arrays: Python numbers, nested sequences, ndarrays, tensors."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.tensor import Tensor
from clew.ops.create.from_memory import from_dlpack
from clew.ops.define.options import checked_number

_NUMBERS = frozenset((bool, int, float, complex))
_MOST_DIMS = 64  # of NumPy's arrays
_SCALARS = (bool, int, float, complex, np.generic)


def _is_sequence(value: Any) -> bool:
    if type(value) in _NUMBERS:
        return False
    return (
        isinstance(value, (list, tuple, range, np.ndarray))
        or (isinstance(value, Sequence) and not isinstance(value, (str, bytes)))
        or isinstance(value, bytearray)
    )


def _has_items(value: Any) -> bool:
    """Whether an object is a sequence for PyTorch: also one that is registered nowhere."""
    if type(value) in _NUMBERS or isinstance(value, (str, bytes, dict, Tensor, np.generic)):
        return False
    kind = type(value)
    return _is_sequence(value) or (hasattr(kind, "__getitem__") and hasattr(kind, "__len__"))


def _items(sequence: Any) -> Any:
    if _is_sequence(sequence):
        return sequence
    try:
        return [sequence[i] for i in range(len(sequence))]
    except Exception as error:  # whatever an object of the user's raises
        raise ValueError(
            f"could not determine the shape of object type '{type(sequence).__name__}'"
            + errors.at_user_line()
        ) from error


def _flatten(data: Any) -> tuple[tuple[int, ...], list[Any]]:
    """The shape of nested sequences and their elements in order."""
    shape: list[int] = []
    level: list[Any] = [data]
    while level and _has_items(level[0]) and not _is_zero_dim(level[0]):
        if len(shape) == _MOST_DIMS:
            raise ValueError(
                f"too many dimensions '{type(level[0]).__name__}'" + errors.at_user_line()
            )
        length = len(level[0])
        for each in level:
            if not _has_items(each) or _is_zero_dim(each):
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
        level = list(itertools.chain.from_iterable(map(_items, level)))
    return tuple(shape), level


def _is_zero_dim(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == 0


def _infer_dtype(elements: list[Any]) -> dtypes.dtype:
    """The dtype that holds all elements, by the rules of promotion."""
    found: dtypes.dtype | None = None
    kinds = set(map(type, elements))
    if not kinds.isdisjoint((list, tuple)):
        raise _row_among_numbers(elements, None)
    for kind in kinds:
        if kind is Tensor or issubclass(kind, (Tensor, np.ndarray)):
            members = {e.dtype for e in elements if type(e) is kind}
        else:
            members = {_dtype_of_type(kind)}
        for member in members:
            member = member if isinstance(member, dtypes.dtype) else dtypes.BY_NUMPY[member]
            found = member if found is None else dtypes.promote_types(found, member)
    return dtypes.get_default_dtype() if found is None else found


def _row_among_numbers(elements: list[Any], dtype: dtypes.dtype | None) -> TypeError:
    rows = [each for each in elements if type(each) in (list, tuple)]
    name = type(rows[0]).__name__
    if dtype is None and any(item is row for row in rows for item in row):
        text = "new(): self-referential lists are incompatible"
    elif dtype is None and all(isinstance(each, (int, list, tuple)) for each in elements):
        text = f"'{name}' object cannot be interpreted as an integer"
    else:
        text = f"must be real number, not {name}"
    return TypeError(
        f"{text}\n  The other elements of its row are numbers." + errors.at_user_line()
    )


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
    if not kinds.isdisjoint((list, tuple)):
        raise _row_among_numbers(elements, dtype)
    for kind in kinds:
        # NumPy would read None as NaN.
        if not hasattr(kind, "__float__") and not issubclass(kind, (complex, str)):
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
    if array.flags.c_contiguous and array.size and 1 not in array.shape:
        return known
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
