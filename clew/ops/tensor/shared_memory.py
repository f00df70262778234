"""Tensors in memory that several processes share."""

from __future__ import annotations

import mmap
import os
from pickle import DEFAULT_PROTOCOL
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.public import methods
from clew.core.result_layout import memory_order
from clew.core.tensor import Tensor, retyped, wrap
from clew.kernels.numpy.strides import owner_of
from clew.kernels.runtime.numpy_capi import address_of


class SharedMemory(mmap.mmap):
    """Memory in a file without a name: processes that get the descriptor see the same bytes."""

    file: int = -1

    def __new__(cls, file: int, size: int) -> SharedMemory:
        """Map an open file; the mapping owns the descriptor from then on."""
        mapping = super().__new__(cls, file, size)
        mapping.file = file
        return mapping

    @classmethod
    def allocate(cls, size: int) -> SharedMemory:
        """New memory, filled with zeros. A mapping cannot be empty: it has one byte at least."""
        file = _nameless_file()
        os.ftruncate(file, max(size, 1))
        return cls(file, max(size, 1))

    def __del__(self) -> None:
        # Whoever has mapped or received the file keeps it alive.
        if self.file >= 0:
            os.close(self.file)


def _nameless_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("clew-shared")
    import tempfile

    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def shared_memory_of(array: np.ndarray) -> SharedMemory | None:
    """The shared memory that an array lies in, if it does."""
    base: Any = owner_of(array).base
    holder = base.obj if isinstance(base, memoryview) else base
    return holder if isinstance(holder, SharedMemory) else None


def share_memory_(self: Tensor) -> Tensor:
    """Move the tensor to memory that other processes can share, and return it.

    Forked processes share it from then on; others do when they receive the tensor as an argument
    or through a queue. Views that were made before keep the old memory.

    Example:
        >>> x = clew.zeros(3).share_memory_()
        >>> x.is_shared()
        True
    """
    if shared_memory_of(self._array) is not None:
        return self
    if self._view is not None:
        raise RuntimeError(
            "share_memory_: this tensor is a view, and its base would stay where it is. Call "
            "share_memory_() on the base, or on a clone() of the view." + errors.at_user_line()
        )
    # Late: with Python's multiprocessing comes a good part of its library.
    from multiprocessing.reduction import ForkingPickler

    array = self._array
    order = memory_order(array)
    block = SharedMemory.allocate(array.nbytes)
    flat = np.frombuffer(block, array.dtype, array.size)
    laid_out = flat.reshape([array.shape[dim] for dim in order])
    shared = laid_out.transpose(np.argsort(order)) if order else laid_out
    shared[...] = array
    self._array = shared
    kinds: set[type] = {Tensor, type(self)}
    for kind in kinds:
        ForkingPickler.register(kind, reduce_tensor)
    return self


def place_in(block: SharedMemory, array: np.ndarray) -> tuple[int, tuple[int, ...]]:
    """Where an array lies in its shared memory: offset and strides in bytes."""
    start = address_of(np.frombuffer(block, np.uint8))
    return address_of(array) - start, array.strides


def tensor_in(
    block: SharedMemory,
    kind: type[Tensor],
    dtype: dtypes.dtype,
    shape: tuple[int, ...],
    place: tuple[int, tuple[int, ...]],
) -> Tensor:
    """A tensor over shared memory."""
    offset, strides = place
    flat = np.frombuffer(block, np.uint8)
    array = np.ndarray(shape, dtype.np, buffer=flat, offset=offset, strides=strides)
    return retyped(wrap(array), kind)


def reduce_tensor(tensor: Tensor) -> Any:
    """What `multiprocessing` sends for a tensor: its memory if that is shared, or else a copy."""
    from multiprocessing.reduction import DupFd

    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd "
            "does not support crossing process boundaries.\n  Send tensor.detach() for the values."
        )
    block = shared_memory_of(tensor._array)
    if block is None:
        return tensor.__reduce_ex__(DEFAULT_PROTOCOL)
    return _rebuild_shared, (
        DupFd(block.file), len(block), type(tensor), tensor.dtype,
        tuple(tensor._array.shape), place_in(block, tensor._array), tensor.requires_grad,
        dict(tensor.__dict__),
    )  # fmt: skip


def _rebuild_shared(
    file: Any,
    size: int,
    kind: type[Tensor],
    dtype: dtypes.dtype,
    shape: tuple[int, ...],
    place: tuple[int, tuple[int, ...]],
    requires_grad: bool,
    attributes: dict[str, Any],
) -> Tensor:
    result = tensor_in(SharedMemory(file.detach(), size), kind, dtype, shape, place)
    result._requires_grad = requires_grad
    result.__dict__.update(attributes)
    return result


methods(share_memory_=share_memory_)
