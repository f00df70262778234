"""`UntypedStorage`: the bytes that a tensor and its views lie in.

A tensor holds its array, not its storage. So a storage is made when it is first asked for, and the
owner of the array's memory leads from every other tensor over that memory to the same object. Where
a storage gets other memory, all tensors that lie in it are found and moved.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.backend.device import CPU, META, check_device
from clew.backend.device import device as device_type
from clew.core.meta.memory import is_meta
from clew.core.mirror import memory_behind, reflect
from clew.core.storage import INFERENCE
from clew.core.tensor import Tensor, wrap
from clew.kernels.numpy.strides import owner_of
from clew.kernels.runtime.numpy_capi import address_of
from clew.ops.define.options import cannot_pin
from clew.ops.tensor.shared_memory import SharedMemory, shared_memory_of
from clew.ops.tensor.storage_memory import (
    bytes_of,
    copied_buffer,
    is_integer,
    mapped_file,
    move,
    new_memory,
    place_of,
    tensors_in,
)

# By the identity of the memory's owner, which the storage keeps alive.
_KNOWN: weakref.WeakValueDictionary[int, UntypedStorage] = weakref.WeakValueDictionary()


class UntypedStorage:
    """The bytes that a tensor and its views share.

    Args:
        size: how many bytes, with unspecified contents; or the bytes themselves, as a sequence
        device: the CPU

    Example:
        >>> x = clew.tensor([1., 2.])
        >>> storage = x.untyped_storage()
        >>> storage.nbytes()
        8
        >>> storage.fill_(0).tolist()
        [0, 0, 0, 0, 0, 0, 0, 0]
        >>> x
        tensor([0., 0.])
    """

    # The array that owns the memory, the memory as bytes, and how many of them count: a storage
    # that was made smaller keeps its memory.
    _owner: np.ndarray
    _bytes: np.ndarray
    _nbytes: int
    _is_fixed: bool
    _filename: str | None = None
    # Whether it is the memory of a file, to which writes may or may not go.
    _is_file: bool = False
    is_cuda = is_hpu = is_sparse = is_sparse_csr = False

    def __new__(cls, *args: Any, device: Any = None) -> UntypedStorage:
        check_device(device)
        if len(args) > 1:
            kinds = ", ".join(type(each).__name__ for each in args)
            raise TypeError(
                f"torch.UntypedStorage() received an invalid combination of arguments - got "
                f"({kinds}), but expected none, a size, or a sequence of bytes"
                + errors.at_user_line()
            )
        return cls._over(new_memory(args[0]) if args else np.empty(0, np.uint8))

    @classmethod
    def _over(cls, owner: np.ndarray, fixed: bool = False) -> UntypedStorage:
        """The storage of the memory that an array owns."""
        storage = object.__new__(cls)
        storage._move_to(owner)
        storage._is_fixed = fixed or not owner.flags.owndata
        return storage

    def _move_to(self, owner: np.ndarray) -> None:
        self._owner = owner
        self._bytes = bytes_of(owner)
        self._nbytes = len(self._bytes)
        _KNOWN[id(owner)] = self

    @property
    def _content(self) -> np.ndarray:
        return self._bytes[: self._nbytes]

    # -- what it is ----------------------------------------------------------------------------

    @property
    def device(self) -> device_type:
        return META if is_meta(self._bytes) else CPU

    @property
    def filename(self) -> str | None:
        """The file that writes to the memory go to, if they do."""
        return self._filename

    @property
    def _cdata(self) -> int:
        return id(self)

    def data_ptr(self) -> int:
        """The address of the memory; 0 when there is none."""
        return address_of(self._bytes) if self._nbytes and not is_meta(self._bytes) else 0

    def nbytes(self) -> int:
        """How many bytes there are."""
        return self._nbytes

    def size(self) -> int:
        """How many bytes there are."""
        return self._nbytes

    def __len__(self) -> int:
        return self._nbytes

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self._nbytes

    def element_size(self) -> int:
        """The bytes of one element: one."""
        return 1

    def get_device(self) -> int | None:
        """The index of the device: None, because it is the CPU."""
        return CPU.index

    def type(self) -> str:
        """The name of the class."""
        return "torch.storage.UntypedStorage"

    def is_shared(self) -> bool:
        """Whether other processes can share the memory."""
        return shared_memory_of(self._owner) is not None or self._is_file

    def is_pinned(self, device: Any = "cuda") -> bool:
        """Whether the memory is pinned for a GPU: it never is."""
        return False

    def pin_memory(self, device: Any = "cuda") -> UntypedStorage:
        """Raises: memory is pinned for transfers to an accelerator."""
        raise cannot_pin()

    def resizable(self) -> bool:
        """Whether the size can change: not if others than tensors know the memory."""
        return not self._is_fixed

    def untyped(self) -> UntypedStorage:
        """The storage itself."""
        return self

    def _fix_weakref(self) -> None:
        """Nothing to do: references count as they do for any object of Python's."""

    # -- elements ------------------------------------------------------------------------------

    def _position(self, index: int) -> int:
        position = index + self._nbytes if index < 0 else index
        if not 0 <= position < self._nbytes:
            raise IndexError(
                f"index {index} out of range for storage of size {self._nbytes}"
                + errors.at_user_line()
            )
        return position

    def _part(self, index: slice) -> np.ndarray:
        start, stop, step = index.indices(self._nbytes)
        if step != 1:
            raise RuntimeError(
                f"Trying to slice with a step of {step}, but only a step of 1 is supported"
                + errors.at_user_line()
            )
        return self._bytes[start : max(start, stop)]

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            # Memory of its own for whoever asks for its owner.
            return UntypedStorage._over(np.asarray(memoryview(self._part(index))))  # type: ignore[arg-type]  # an ndarray is a buffer
        if not is_integer(index):
            raise TypeError(
                f"can't index a torch.UntypedStorage with {type(index).__name__}"
                + errors.at_user_line()
            )
        return int(self._bytes[self._position(index)])

    def __setitem__(self, index: Any, value: Any) -> None:
        if not is_integer(value):
            raise RuntimeError(
                "can only set storage content with a int types, but got "
                f"{type(value).__name__} instead" + errors.at_user_line()
            )
        if isinstance(index, slice):
            self._part(index)[...] = value & 255
        elif is_integer(index):
            self._bytes[self._position(index)] = value & 255
        else:
            raise TypeError(
                f"can't index a torch.UntypedStorage with {type(index).__name__}"
                + errors.at_user_line()
            )
        reflect(self._bytes)

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    def tolist(self) -> list[int]:
        """The bytes as a list of numbers."""
        values: list[int] = self._content.tolist()
        return values

    def __repr__(self) -> str:
        lines = " " + "\n ".join(str(value) for value in self.tolist())
        return f"{lines}\n[torch.storage.UntypedStorage(device=cpu) of size {self._nbytes}]"

    # -- copies --------------------------------------------------------------------------------

    def clone(self) -> UntypedStorage:
        """A copy."""
        return UntypedStorage._over(self._content.copy())

    __copy__ = clone

    def __deepcopy__(self, memo: dict[Any, Any]) -> UntypedStorage:
        return storage_of(copied_memory(self._owner, memo), self._content)

    def __reduce__(self) -> Any:
        return _restored, (self._content.tobytes(),)

    def new(self) -> UntypedStorage:
        """An empty storage."""
        return UntypedStorage()

    def copy_(self, source: Any, non_blocking: bool | None = None) -> UntypedStorage:
        """Write the bytes of another storage of this size into this one."""
        other = source.untyped() if hasattr(source, "untyped") else source
        if not isinstance(other, UntypedStorage):
            raise errors.wrong_argument("copy_", "source", 1, "Storage", source)
        if other._nbytes != self._nbytes:
            raise RuntimeError(
                f"size does not match, self was {self._nbytes} bytes but src was {other._nbytes} "
                "bytes" + errors.at_user_line()
            )
        self._content[...] = other._content
        reflect(self._bytes)
        return self

    def fill_(self, value: int) -> UntypedStorage:
        """Set every byte."""
        if not is_integer(value):
            raise RuntimeError(
                f"fill_ expects int, but got {type(value).__name__}" + errors.at_user_line()
            )
        self[:] = value
        return self

    def byteswap(self, dtype: dtypes.dtype) -> None:
        """Reverse the bytes of every element of a dtype, in place.

        Args:
            dtype: how many bytes belong together
        """
        part = dtype.to_real() if dtype.is_complex else dtype
        whole = self._nbytes - self._nbytes % part.itemsize
        rows = self._bytes[:whole].reshape(-1, part.itemsize)
        rows[...] = rows[:, ::-1].copy()

    def cpu(self) -> UntypedStorage:
        """The storage itself: it is on the CPU."""
        return self

    def to(self, *, device: Any, non_blocking: bool = False) -> UntypedStorage:
        """The storage on a device.

        Args:
            device: the CPU
            non_blocking: ignored
        """
        check_device(device)
        return self

    def cuda(self, device: Any = None, non_blocking: bool = False) -> UntypedStorage:
        """Raises: tensors live on the CPU."""
        return self.to(device="cuda")

    def share_memory_(self) -> UntypedStorage:
        """Move the bytes to memory that other processes can share."""
        if not self.is_shared():
            block = SharedMemory.allocate(self._nbytes)
            shared = np.frombuffer(block, np.uint8, self._nbytes)
            shared[...] = self._content
            self._replace(shared)
            self._is_fixed = True
        return self

    # -- size ----------------------------------------------------------------------------------

    def resize_(self, size: int) -> UntypedStorage:
        """Change the number of bytes; what fits stays, new bytes have unspecified values.

        Args:
            size: the new number
        """
        return self._resize(size, None)

    def _resize(self, size: int, tensors: list[Tensor] | None) -> UntypedStorage:
        """The same; `tensors` are all that lie in it, if that is known."""
        if not self.resizable():
            raise RuntimeError(
                "Trying to resize storage that is not resizable: its memory is shared with others "
                "than tensors, who would not see the change" + errors.at_user_line()
            )
        if size < 0:
            raise RuntimeError(f"a storage cannot have {size} bytes" + errors.at_user_line())
        if size > len(self._bytes):
            # Zeros cost nothing before they are written to.
            grown = np.zeros(size, np.uint8)
            grown[: self._nbytes] = self._content
            self._replace(grown, tensors)
        self._nbytes = size
        return self

    def _swap_data_ptr_(self, other: UntypedStorage) -> None:
        """Exchange the memory of two storages, and with it what their tensors show."""
        if other is self:
            return
        if self._nbytes and other._nbytes and self._nbytes != other._nbytes:
            raise RuntimeError(
                "_swap_data_ptr_: both storages must have the same nbytes, or one must be empty: "
                f"got {self._nbytes} and {other._nbytes}" + errors.at_user_line()
            )
        mine, theirs = self._owner, other._owner
        moved = [(tensor, theirs) for tensor in tensors_in(mine)]
        moved += [(tensor, mine) for tensor in tensors_in(theirs)]
        sizes = self._nbytes, other._nbytes
        places = [place_of(tensor) for tensor, _ in moved]
        for (tensor, owner), place in zip(moved, places, strict=True):
            move(tensor, place, bytes_of(owner))
        self._move_to(theirs)
        other._move_to(mine)
        other._nbytes, self._nbytes = sizes

    def _replace(self, owner: np.ndarray, tensors: list[Tensor] | None = None) -> None:
        """Go on with other memory, together with all tensors that lie in the present one."""
        for tensor in tensors_in(self._owner) if tensors is None else tensors:
            move(tensor, place_of(tensor), owner)
        _KNOWN.pop(id(self._owner), None)
        self._move_to(owner)

    # -- files and buffers ---------------------------------------------------------------------

    @classmethod
    def from_file(cls, filename: Any, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """A storage over a file that is mapped into memory.

        Args:
            filename: the file
            shared: whether writes go to the file, which is made or made longer where it must be
            nbytes: how many bytes of it
        """
        storage = cls._over(mapped_file(filename, shared, nbytes), fixed=True)
        storage._filename = os.fspath(filename) if shared else None
        storage._is_file = True
        return storage

    @classmethod
    def from_buffer(cls, *args: Any, **kwargs: Any) -> UntypedStorage:
        """A storage with a copy of the memory of an object that has Python's buffer protocol."""
        return cls._over(copied_buffer(*args, **kwargs))


def _restored(data: bytes) -> UntypedStorage:
    return UntypedStorage._over(np.frombuffer(data, np.uint8).copy())


# -- storages of tensors -----------------------------------------------------------------------


def storage_of(tensor: Tensor, content: np.ndarray | None = None) -> UntypedStorage:
    """The storage that a tensor lies in; `content` says how much of the memory counts."""
    array, shared = tensor._array, tensor._storage
    storage: UntypedStorage | None = shared.untyped
    if storage is not None and content is None and shared.is_resizable:
        known = storage._owner
        if array is known or array.base is known:
            return storage
    owner = owner_of(memory_behind(array))
    if storage is None or storage._owner is not owner:
        storage = _KNOWN.get(id(owner))
        if storage is None:
            storage = UntypedStorage._over(owner)
        if content is not None:
            storage._nbytes = len(content)
        if shared is not INFERENCE:
            # Attributes and the class of the object stay while there is a tensor.
            shared.untyped = storage
    if not shared.is_resizable:
        storage._is_fixed = True
    return storage


def over_storage(
    storage: UntypedStorage,
    dtype: dtypes.dtype,
    offset: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
) -> np.ndarray:
    """An array inside a storage, placed in elements of a dtype."""
    return np.ndarray(
        shape,
        dtype.np,
        storage._bytes,
        # Without an element the offset may lie anywhere.
        offset * dtype.itemsize if 0 not in shape else 0,
        tuple(stride * dtype.itemsize for stride in strides),
    )


def copied_memory(owner: np.ndarray, memo: dict[Any, Any]) -> Tensor:
    """A copy of memory as a tensor of bytes; for one memo it is copied only once."""
    key = "storage", id(owner)
    if key not in memo:
        memo[key] = wrap(bytes_of(owner).copy())
        # The identity is a name for the owner only while the owner lives.
        memo.setdefault(id(memo), []).append(owner)
    copied: Tensor = memo[key]
    return copied
