"""`TypedStorage`: a storage seen as elements of a dtype. PyTorch has deprecated it, and warns."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.backend.device import check_device
from clew.backend.device import device as device_type
from clew.core.public import FUNCTIONS
from clew.core.tensor import Tensor, wrap
from clew.ops.define.options import cannot_pin
from clew.ops.tensor.conversion import to_dtype
from clew.ops.tensor.storage_memory import is_integer
from clew.ops.tensor.untyped_storage import UntypedStorage, over_storage, storage_of
from clew.source import user_stacklevel


class _Warnings:
    always = False
    given = False


def warn_of_removal() -> None:
    """Warn that typed storages will go: once in a process, or each time where that is asked."""
    if _Warnings.always or not _Warnings.given:
        _Warnings.given = True
        warnings.warn(
            "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will "
            "be the only storage class. This should only matter to you if you are using storages "
            "directly.  To access UntypedStorage directly, use tensor.untyped_storage() instead of "
            "tensor.storage()",
            UserWarning,
            stacklevel=user_stacklevel(),
        )


def reset_warning() -> None:
    """Let the next use warn again."""
    _Warnings.given = False


def always_warns() -> bool:
    """Whether each use warns."""
    return _Warnings.always


def set_always_warns(always_warn: bool) -> None:
    """Let each use warn, or only the first."""
    _Warnings.always = always_warn


class TypedStorage:
    """The elements that a tensor and its views share. Deprecated: use `UntypedStorage`.

    Args:
        size: how many elements, with unspecified values; or the elements themselves
        dtype: the dtype of the elements; the default one unless given
        device: the CPU
        wrap_storage: the bytes to see as elements, instead of new memory

    Example:
        >>> import warnings
        >>> warnings.simplefilter("ignore")
        >>> storage = clew.TypedStorage([1, 2, 3], dtype=clew.int16)
        >>> storage[1], storage.size(), storage.nbytes()
        (2, 3, 6)
    """

    dtype: Any
    _untyped_storage: UntypedStorage
    is_sparse = False

    def __init__(
        self,
        *args: Any,
        device: Any = None,
        dtype: Any = None,
        wrap_storage: Any = None,
        _internal: bool = False,
    ) -> None:
        if not _internal:
            warn_of_removal()
        if wrap_storage is not None:
            problem = _wrong_wrap(args, device, dtype, wrap_storage)
        else:
            problem = _wrong_data(args)
        if problem is not None:
            raise problem
        if wrap_storage is None:
            if device is not None and device_type(device).type == "xla":
                raise RuntimeError(f"Storage device not recognized: {device}")
            check_device(device)
        self.dtype = dtypes.get_default_dtype() if dtype is None else dtype
        self._untyped_storage = wrap_storage or _new_elements(args, self.dtype)

    # -- without the warning, for the library ----------------------------------------------------

    @property
    def _dtype(self) -> dtypes.dtype:
        kind: dtypes.dtype = self.dtype
        return kind

    @property
    def _cdata(self) -> int:
        return self._untyped_storage._cdata

    def _element_size(self) -> int:
        return self._dtype.itemsize

    def _nbytes(self) -> int:
        return self._untyped_storage.nbytes()

    def _size(self) -> int:
        return self._nbytes() // self._element_size()

    def _data_ptr(self) -> int:
        return self._untyped_storage.data_ptr()

    def _is_shared(self) -> bool:
        return self._untyped_storage.is_shared()

    def _share_memory_(self) -> TypedStorage:
        self._untyped_storage.share_memory_()
        return self

    def _resize_(self, size: int) -> None:
        self._untyped_storage.resize_(size * self._element_size())

    def _elements(self) -> np.ndarray:
        return over_storage(self._untyped_storage, self._dtype, 0, (self._size(),), (1,))

    def _getitem(self, index: Any) -> Any:
        if isinstance(index, slice):
            raise RuntimeError(
                "slices are only supported in UntypedStorage.__getitem__" + errors.at_user_line()
            )
        self._check_index(index)
        size = self._size()
        if not -size <= index < size:
            raise IndexError(
                f"index {index} out of range for storage of size {size}" + errors.at_user_line()
            )
        return wrap(self._elements())[index].item()

    def _setitem(self, index: Any, value: Any) -> None:
        if not isinstance(index, slice):
            self._check_index(index)
        if isinstance(value, TypedStorage | UntypedStorage):
            raise RuntimeError(
                f"cannot set item with value type {type(value)}" + errors.at_user_line()
            )
        wrap(self._elements())[index] = value

    def _check_index(self, index: Any) -> None:
        if not isinstance(index, int):
            raise RuntimeError(
                f"can't index a {type(self)} with {type(index)}" + errors.at_user_line()
            )

    def _pickle_storage_type(self) -> str:
        return f"{self._dtype.scalar_name}Storage"

    def _deepcopy(self, memo: dict[Any, Any]) -> TypedStorage:
        return typed(self._untyped_storage.__deepcopy__(memo), self._dtype)

    # -- what it is ----------------------------------------------------------------------------

    @property
    def device(self) -> device_type:
        warn_of_removal()
        return self._untyped_storage.device

    @property
    def is_cuda(self) -> bool:
        warn_of_removal()
        return False

    @property
    def filename(self) -> str | None:
        """The file that the memory is mapped from, if it is."""
        return self._untyped_storage.filename

    def untyped(self) -> UntypedStorage:
        """The bytes."""
        warn_of_removal()
        return self._untyped_storage

    def element_size(self) -> int:
        """The bytes of one element."""
        warn_of_removal()
        return self._element_size()

    def size(self) -> int:
        """How many elements there are."""
        warn_of_removal()
        return self._size()

    def nbytes(self) -> int:
        """How many bytes there are."""
        warn_of_removal()
        return self._nbytes()

    def data_ptr(self) -> int:
        """The address of the memory; 0 when there is none."""
        warn_of_removal()
        return self._data_ptr()

    def resizable(self) -> bool:
        """Whether the size can change."""
        warn_of_removal()
        return self._untyped_storage.resizable()

    def is_shared(self) -> bool:
        """Whether other processes can share the memory."""
        warn_of_removal()
        return self._is_shared()

    def is_pinned(self, device: Any = "cuda") -> bool:
        """Whether the memory is pinned for a GPU: it never is."""
        warn_of_removal()
        return False

    def get_device(self) -> int | None:
        """The index of the device: None, because it is the CPU."""
        warn_of_removal()
        return self._untyped_storage.get_device()

    def type(self) -> str:
        """The name of the legacy class for this dtype."""
        warn_of_removal()
        return f"torch.{self._pickle_storage_type()}"

    def pickle_storage_type(self) -> str:
        """The name of the class in files."""
        warn_of_removal()
        return self._pickle_storage_type()

    def __len__(self) -> int:
        warn_of_removal()
        return self._size()

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self._nbytes()

    def __repr__(self) -> str:
        lines = " " + "\n ".join(str(value) for value in self._elements().tolist())
        return (
            f"{lines}\n[torch.storage.TypedStorage(dtype={self.dtype}, device=cpu) of size "
            f"{self._size()}]"
        )

    # -- elements ------------------------------------------------------------------------------

    def __getitem__(self, index: Any) -> Any:
        warn_of_removal()
        return self._getitem(index)

    def __setitem__(self, index: Any, value: Any) -> None:
        warn_of_removal()
        self._setitem(index, value)

    def __iter__(self) -> Iterator[Any]:
        warn_of_removal()
        return iter(self._elements().tolist())

    def tolist(self) -> list[Any]:
        """The elements as a list of numbers."""
        warn_of_removal()
        values: list[Any] = self._elements().tolist()
        return values

    def fill_(self, value: Any) -> TypedStorage:
        """Set every element."""
        warn_of_removal()
        self._setitem(slice(0, self._size()), value)
        return self

    def copy_(self, source: Any, non_blocking: bool | None = None) -> TypedStorage:
        """Write the bytes of another storage of this size into this one."""
        warn_of_removal()
        bare = source._untyped_storage if isinstance(source, TypedStorage) else source
        self._untyped_storage.copy_(bare, non_blocking)
        return self

    def pin_memory(self, device: Any = "cuda") -> TypedStorage:
        """Raises: memory is pinned for transfers to an accelerator."""
        raise cannot_pin()

    def resize_(self, size: int) -> None:
        """Change the number of elements."""
        warn_of_removal()
        self._resize_(size)

    def share_memory_(self) -> TypedStorage:
        """Move the elements to memory that other processes can share."""
        warn_of_removal()
        return self._share_memory_()

    # -- copies --------------------------------------------------------------------------------

    def clone(self) -> TypedStorage:
        """A copy."""
        warn_of_removal()
        return typed(self._untyped_storage.clone(), self._dtype)

    def __copy__(self) -> TypedStorage:
        return typed(self._untyped_storage.clone(), self._dtype)

    def __deepcopy__(self, memo: dict[Any, Any]) -> TypedStorage:
        warn_of_removal()
        return self._deepcopy(memo)

    def __reduce__(self) -> Any:
        return typed, (self._untyped_storage, self.dtype)

    def cpu(self) -> TypedStorage:
        """The storage itself: it is on the CPU."""
        warn_of_removal()
        return self

    def to(self, *, device: Any, non_blocking: bool = False) -> TypedStorage:
        """The storage on a device.

        Args:
            device: the CPU
            non_blocking: ignored
        """
        warn_of_removal()
        check_device(device)
        return self

    def cuda(self, device: Any = None, non_blocking: bool = False) -> TypedStorage:
        """Raises: tensors live on the CPU."""
        return self.to(device="cuda")


def typed(storage: UntypedStorage, dtype: dtypes.dtype) -> TypedStorage:
    """Bytes as elements of a dtype, without a warning."""
    return TypedStorage(wrap_storage=storage, dtype=dtype, _internal=True)


EXPECTED = (
    "received an invalid combination of arguments. Expected no arguments, a size, a sequence of "
    "data, or wrap_storage=\n"
)


def _wrong_wrap(args: Any, device: Any, dtype: Any, wrap_storage: Any) -> Exception | None:
    kind: type[Exception] = RuntimeError
    if args:
        text = "No positional arguments should be given when using 'wrap_storage'"
    elif dtype is None:
        text = "Argument 'dtype' must be specified"
    elif not isinstance(dtype, dtypes.dtype):
        kind, text = TypeError, f"Argument 'dtype' must be torch.dtype, not {type(dtype)}"
    elif device is not None:
        text = "Argument 'device' should not be specified when 'wrap_storage' is given"
    elif not isinstance(wrap_storage, UntypedStorage):
        kind = TypeError
        text = f"Argument 'wrap_storage' must be UntypedStorage, but got {type(wrap_storage)}"
    else:
        return None
    return kind(f"TypedStorage.__init__ {EXPECTED}{text}{errors.at_user_line()}")


def _wrong_data(args: tuple[Any, ...]) -> Exception | None:
    kind: type[Exception] = RuntimeError
    if len(args) > 1:
        text = "Too many positional arguments"
    elif args and not is_integer(args[0]) and not isinstance(args[0], Sequence):
        kind, text = TypeError, f"Argument type not recognized: {type(args[0])}"
    else:
        return None
    return kind(f"TypedStorage.__init__ {EXPECTED}{text}{errors.at_user_line()}")


def _new_elements(args: tuple[Any, ...], dtype: dtypes.dtype) -> UntypedStorage:
    if not args:
        return UntypedStorage(0)
    if is_integer(args[0]):
        return UntypedStorage(int(args[0]) * dtype.itemsize)
    return storage_of(FUNCTIONS["tensor"](args[0], dtype=dtype))


# -- other dtypes ------------------------------------------------------------------------------


def _converting(dtype: dtypes.dtype) -> Callable[[Any], TypedStorage]:
    def convert(self: Any) -> TypedStorage:
        is_typed = isinstance(self, TypedStorage)
        if is_typed:
            warn_of_removal()
        elements = self._elements() if is_typed else self._content
        converted = to_dtype(wrap(elements), dtype, copy=True)
        return typed(storage_of(converted), dtype)

    convert.__doc__ = f"A copy with elements of {dtype!r}."
    return convert


_CASTS = {
    "float": dtypes.float32, "double": dtypes.float64, "half": dtypes.float16,
    "bfloat16": dtypes.bfloat16, "long": dtypes.int64, "int": dtypes.int32,
    "short": dtypes.int16, "char": dtypes.int8, "byte": dtypes.uint8, "bool": dtypes.bool_,
    "complex_float": dtypes.complex64, "complex_double": dtypes.complex128,
}  # fmt: skip
for _name, _dtype in _CASTS.items():
    for _kind in (TypedStorage, UntypedStorage):
        setattr(_kind, _name, _converting(_dtype))


# -- tensors over storages --------------------------------------------------------------------


def tensor_over(storage: Any, dtype: dtypes.dtype) -> Tensor:
    """A tensor over all of a storage's memory, whose elements must be of the dtype if it is typed.

    Args:
        storage: typed or untyped
        dtype: the dtype of the tensor
    """
    untyped = checked_storage(storage, dtype)
    shape = (untyped.nbytes() // dtype.itemsize,)
    result = wrap(over_storage(untyped, dtype, 0, shape, (1,)))
    keep_storage(result, untyped)
    return result


def keep_storage(tensor: Tensor, storage: UntypedStorage) -> None:
    """Let a tensor that lies in a storage give back this very object."""
    if not tensor.is_inference():
        tensor._storage.untyped = storage


def checked_storage(storage: Any, dtype: dtypes.dtype) -> UntypedStorage:
    """The bytes of a storage; an error if its elements are of another dtype."""
    if isinstance(storage, UntypedStorage):
        return storage
    if storage.dtype is not dtype:
        raise RuntimeError(
            f"Expected a Storage of type {dtype.scalar_name} or an UntypedStorage, but got type "
            f"{storage.dtype.scalar_name} for argument 1 'storage'" + errors.at_user_line()
        )
    bare: UntypedStorage = storage._untyped_storage
    return bare
