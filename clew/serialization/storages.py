"""Storages in files: their type names, and tensors made again over them."""

from __future__ import annotations

from typing import Any

import numpy as np

from clew.backend import dtypes
from clew.core.meta import memory as meta_memory
from clew.core.mirror import CONJ, NEG, with_bits
from clew.core.tensor import Tensor, alias, retyped, wrap
from clew.nn.parameter import Parameter
from clew.ops.tensor.pickling import names_of_slots, set_object_state
from clew.ops.tensor.typed_storage import TypedStorage
from clew.ops.tensor.untyped_storage import storage_of


class StorageType:
    """The name by which files say how a storage's elements are to be read."""

    __slots__ = ("dtype", "name")

    def __init__(self, name: str, dtype: dtypes.dtype | None) -> None:
        self.name = name
        # None: bytes, which the tensors over them give a type.
        self.dtype = dtype

    @property
    def itemsize(self) -> int:
        return 1 if self.dtype is None else self.dtype.itemsize


UNTYPED = StorageType("torch.storage.UntypedStorage", None)
# These have no typed storages in PyTorch: their tensors lie over bytes.
WITHOUT_TYPE = frozenset(
    {dtypes.uint16, dtypes.uint32, dtypes.uint64, dtypes.complex32, *dtypes.FLOAT8}
)
OF_DTYPE: dict[dtypes.dtype, StorageType] = {
    dtype: StorageType(f"torch.{dtype.scalar_name}Storage", dtype)
    for dtype in dtypes.ALL_DTYPES
    if dtype not in WITHOUT_TYPE
}


class LoadedStorage(TypedStorage):
    """A storage read from a file; the tensors of the file that share it are made over it."""

    def __init__(self, array: np.ndarray, kind: StorageType) -> None:
        self.bytes = array
        self.whole = wrap(array if kind.dtype is None else array.view(kind.dtype.np))
        super().__init__(
            wrap_storage=storage_of(self.whole), dtype=kind.dtype or dtypes.uint8, _internal=True
        )
        self.kind = kind
        # The bytes of copies that were made of it.
        self.copied = 0


def swapped(array: np.ndarray, kind: StorageType) -> np.ndarray:
    """The bytes of a storage in the other byte order."""
    if kind.dtype is None:
        raise RuntimeError(
            "the file was written on a machine with another byte order, and has a storage without "
            "a type, whose bytes cannot be put into this machine's order"
        )
    if kind.dtype.is_complex:
        return array.view(kind.dtype.to_real().np).byteswap().view(np.uint8)
    return array.view(kind.dtype.np).byteswap().view(np.uint8)


_TOO_LARGE = 1 << 63
# By their names in files: how a tensor may differ from the memory behind it.
BITS = {"conj": CONJ, "neg": NEG}
# Such tensors have memory of their own, which is limited.
_MOST_COPIES = 4


def _lengths(values: Any, what: str) -> tuple[int, ...]:
    if not isinstance(values, tuple | list) or not all(
        type(n) is int and 0 <= n < _TOO_LARGE for n in values
    ):
        raise ValueError(f"a tensor's {what} should be numbers from 0 on, below 2**63")
    return tuple(values)


def _over(storage: Any, dtype: dtypes.dtype, offset: Any, size: Any, stride: Any) -> Tensor:
    if not isinstance(storage, LoadedStorage):
        raise TypeError(f"a tensor needs a storage, got {type(storage).__name__}")
    (start,) = _lengths((offset,), "offset")
    shape, steps = _lengths(size, "size"), _lengths(stride, "stride")
    if len(shape) != len(steps):
        raise ValueError(f"a tensor has size {shape} and stride {steps}")
    last = start + sum((n - 1) * step for n, step in zip(shape, steps)) if all(shape) else start - 1
    available = len(storage.bytes) // dtype.itemsize
    if last >= available:
        raise ValueError(
            f"setStorage: sizes {list(shape)}, strides {list(steps)}, storage offset {start} need "
            f"a storage of {last + 1} elements, but this one has {available}"
        )
    array: np.ndarray = np.ndarray(
        shape,
        dtype.np,
        buffer=storage.bytes,
        # An empty tensor may start behind the end.
        offset=min(start * dtype.itemsize, len(storage.bytes)),
        strides=[step * dtype.itemsize for step in steps],
    )
    return alias(storage.whole, array)


def _finish(storage: LoadedStorage, tensor: Tensor, requires_grad: Any, metadata: Any) -> Tensor:
    known = metadata if isinstance(metadata, dict) else {}
    bits = sum(bit for name, bit in BITS.items() if known.get(name))
    if bits & CONJ and not tensor.dtype.is_complex:
        raise ValueError(f"a tensor of {tensor.dtype!r} cannot be conjugated")
    if bits:
        storage.copied += tensor._array.nbytes
        if storage.copied > _MOST_COPIES * len(storage.bytes):
            raise ValueError("the conjugated tensors are much larger than their storage")
        tensor = alias(tensor, with_bits(tensor._array, bits))
    if requires_grad and not (tensor.dtype.is_floating_point or tensor.dtype.is_complex):
        raise ValueError(f"a tensor of {tensor.dtype!r} cannot require gradients")
    tensor._requires_grad = bool(requires_grad)
    return tensor


# The functions by which files say how a tensor is made; their names are PyTorch's.


def rebuild_tensor(storage: Any, storage_offset: Any, size: Any, stride: Any) -> Tensor:
    return rebuild_tensor_v2(storage, storage_offset, size, stride, False, None)


def rebuild_tensor_v2(
    storage: Any,
    storage_offset: Any,
    size: Any,
    stride: Any,
    requires_grad: Any,
    backward_hooks: Any,
    metadata: Any = None,
) -> Tensor:
    dtype = storage.kind.dtype if isinstance(storage, LoadedStorage) else None
    tensor = _over(storage, dtype or dtypes.uint8, storage_offset, size, stride)
    return _finish(storage, tensor, requires_grad, metadata)


def rebuild_tensor_v3(
    storage: Any,
    storage_offset: Any,
    size: Any,
    stride: Any,
    requires_grad: Any,
    backward_hooks: Any,
    dtype: Any,
    metadata: Any = None,
) -> Tensor:
    if not isinstance(dtype, dtypes.dtype):
        raise TypeError(f"a tensor needs a dtype, got {type(dtype).__name__}")
    tensor = _over(storage, dtype, storage_offset, size, stride)
    return _finish(storage, tensor, requires_grad, metadata)


def rebuild_meta_tensor(dtype: Any, size: Any, stride: Any, requires_grad: Any) -> Tensor:
    if not isinstance(dtype, dtypes.dtype):
        raise TypeError(f"a tensor needs a dtype, got {type(dtype).__name__}")
    strides = [int(step) * dtype.itemsize for step in stride]
    tensor = wrap(meta_memory.empty([int(n) for n in size], dtype.np, strides))
    tensor._requires_grad = bool(requires_grad)
    return tensor


def rebuild_parameter(data: Any, requires_grad: Any, backward_hooks: Any) -> Tensor:
    if not isinstance(data, Tensor):
        raise TypeError(f"a parameter needs a tensor, got {type(data).__name__}")
    parameter: Tensor = Parameter(data, bool(requires_grad))
    return parameter


def rebuild_parameter_with_state(
    data: Any, requires_grad: Any, backward_hooks: Any, state: Any
) -> Tensor:
    return with_state(rebuild_parameter(data, requires_grad, backward_hooks), state)


def as_type(tensor: Tensor, kind: type[Tensor]) -> Tensor:
    """The tensor as an object of another tensor class."""
    if kind is type(tensor):
        return tensor
    result = retyped(tensor, kind)
    result._requires_grad = tensor._requires_grad
    return result


def with_state(tensor: Tensor, state: Any) -> Tensor:
    """The tensor with what the program had set on it."""
    if not hasattr(tensor, "__setstate__"):
        parts = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
        if not all(part is None or isinstance(part, dict) for part in parts):
            kind = next(type(p) for p in parts if not (p is None or isinstance(p, dict)))
            raise TypeError(f"a tensor's attributes come in a dict, got {kind.__name__}")
        declared = names_of_slots(type(tensor))
        for name in parts[1] or ():
            if name not in declared:
                raise ValueError(f"{type(tensor).__name__} has no slot {name!r}")
        state = parts[0], parts[1] or {}
    return set_object_state(tensor, state)


def rebuild_sparse_tensor(layout: Any, data: Any) -> Tensor:
    """A sparse tensor of a layout and its parts."""
    from clew.serialization.sparse import rebuild_sparse_tensor as rebuild

    return rebuild(layout, data)


class NestedTensorInFiles:
    """Stands for the class of nested tensors of the jagged layout, which files name."""


def rebuild_njt(parts: Any) -> Tensor:
    """A nested tensor of the jagged layout."""
    from clew.serialization.nested import rebuild_jagged

    return rebuild_jagged(parts)


def rebuild_nested_tensor(buffer: Any, sizes: Any, strides: Any, offsets: Any) -> Tensor:
    """A nested tensor of the strided layout."""
    from clew.serialization.nested import rebuild_strided

    return rebuild_strided(buffer, sizes, strides, offsets)
