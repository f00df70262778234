"""Making one batch of a list of samples."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.tensor import Tensor
from clew.ops.create.from_data import as_tensor, tensor
from clew.ops.shape.joining import stack

CollateMap = dict[type | tuple[type, ...], Callable[..., Any]]

np_str_obj_array_pattern = re.compile(r"[SaUO]")
default_collate_err_msg_format = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)


def _rebuilt(original: Any, values: dict[Any, Any]) -> Any:
    """A mapping of the type of `original` with other values; a dict if there is no such way."""
    try:
        if isinstance(original, MutableMapping):
            # A copy keeps what a subclass holds besides its items.
            result = copy.copy(original)
            result.update(values)
            return result
        return type(original)(values)
    except TypeError:
        return values


def _rebuilt_sequence(original: Any, values: list[Any]) -> Any:
    """A sequence of the type of `original` with other elements; a list if there is no such way."""
    try:
        if isinstance(original, MutableSequence):
            result = copy.copy(original)
            for place, value in enumerate(values):
                result[place] = value
            return result
        return type(original)(values)
    except TypeError:
        return values


def default_convert(data: Any) -> Any:
    """Arrays of NumPy as tensors, inside tuples, lists and dictionaries too; all else as it is.

    Args:
        data: a sample

    Example:
        >>> import numpy as np
        >>> from clew.utils.data import default_convert
        >>> default_convert((np.array([1, 2]), "text"))
        [tensor([1, 2]), 'text']
    """
    if isinstance(data, Tensor):
        return data
    if type(data).__module__ == "numpy" and isinstance(data, (np.ndarray, np.generic)):
        if isinstance(data, np.ndarray) and np_str_obj_array_pattern.search(data.dtype.str):
            return data
        return as_tensor(data)
    if isinstance(data, Mapping):
        return _rebuilt(data, {key: default_convert(data[key]) for key in data})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(default_convert(each) for each in data))
    if isinstance(data, tuple):
        return [default_convert(each) for each in data]
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _rebuilt_sequence(data, [default_convert(each) for each in data])
    return data


def collate(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """One batch of a list of samples, by a function for each type of sample.

    Mappings and sequences are taken apart: each of their fields is a batch of its own.
    """
    first = batch[0]
    kind = type(first)
    if collate_fn_map is not None:
        if kind in collate_fn_map:
            return collate_fn_map[kind](batch, collate_fn_map=collate_fn_map)
        for known in collate_fn_map:
            if isinstance(first, known):
                return collate_fn_map[known](batch, collate_fn_map=collate_fn_map)

    def field(samples: Any) -> Any:
        return collate(samples, collate_fn_map=collate_fn_map)

    if isinstance(first, Mapping):
        return _rebuilt(first, {key: field([sample[key] for sample in batch]) for key in first})
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return kind(*(field(samples) for samples in zip(*batch)))
    if isinstance(first, Sequence):
        return _collate_sequences(batch, field)
    raise TypeError(default_collate_err_msg_format.format(kind))


def _collate_sequences(batch: Any, field: Callable[[Any], Any]) -> Any:
    first = batch[0]
    lengths = [len(sample) for sample in batch]
    if any(length != lengths[0] for length in lengths):
        raise RuntimeError(
            "each element in list of batch should be of equal size\n"
            f"  The samples have {sorted(set(lengths))} elements"
        )
    fields = [field(samples) for samples in zip(*batch)]
    return fields if isinstance(first, tuple) else _rebuilt_sequence(first, fields)


def collate_tensor_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Tensor:
    """Tensors, stacked."""
    if batch[0]._is_unstrided and batch[0].is_nested:
        raise RuntimeError(
            "Batches of nested tensors are not currently supported by the default collate_fn; "
            "please provide a custom collate_fn to handle them appropriately."
            + errors.at_user_line()
        )
    return stack(batch, 0)


def collate_numpy_array_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """Arrays of NumPy as tensors, stacked; arrays of text are refused."""
    if np_str_obj_array_pattern.search(batch[0].dtype.str) is not None:
        raise TypeError(default_collate_err_msg_format.format(batch[0].dtype))
    return collate([as_tensor(each) for each in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Tensor:
    """Numbers of NumPy as one tensor."""
    return as_tensor(batch)


def collate_float_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Tensor:
    """Numbers as one tensor of float64."""
    return tensor(batch, dtype=dtypes.float64)


def collate_int_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Tensor:
    """Integers as one tensor."""
    return tensor(batch)


def collate_str_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """The list of texts itself."""
    return batch


default_collate_fn_map: CollateMap = {
    Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def default_collate(batch: Any) -> Any:
    """One batch of a list of samples: tensors are stacked, numbers become tensors.

    Tuples, lists and dictionaries are collated part by part.

    Args:
        batch: the samples

    Example:
        >>> from clew.utils.data import default_collate
        >>> default_collate([(clew.zeros(2), 0), (clew.ones(2), 1)])
        [tensor([[0., 0.],
                [1., 1.]]), tensor([0, 1])]
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)
