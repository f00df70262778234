"""FloatStorage and its like: classes of typed storages, one for each dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from clew import errors
from clew.backend import device as devices
from clew.backend import dtypes
from clew.ops.tensor.storage_memory import copied_buffer
from clew.ops.tensor.typed_storage import EXPECTED, TypedStorage, typed, warn_of_removal
from clew.ops.tensor.untyped_storage import UntypedStorage


class LegacyStorageType(type):
    """The class of FloatStorage and its like: calling one makes a typed storage of its dtype."""

    element: dtypes.dtype

    @property
    def dtype(cls) -> dtypes.dtype:
        """The dtype of the elements."""
        warn_of_removal()
        return cls.element

    @property
    def _dtype(cls) -> dtypes.dtype:
        return cls.element

    def __call__(
        cls,
        *args: Any,
        wrap_storage: Any = None,
        dtype: Any = None,
        device: Any = None,
        _internal: bool = False,
    ) -> TypedStorage:
        if not _internal:
            warn_of_removal()
        for name, value in (("device", device), ("dtype", dtype)):
            if value is not None:
                raise RuntimeError(
                    f"{cls}.__new__ {EXPECTED}Keyword argument '{name}' cannot be specified"
                    + errors.at_user_line()
                )
        if cls is LegacyStorage:
            raise RuntimeError(
                "Only child classes of _LegacyStorage can be instantiated" + errors.at_user_line()
            )
        return TypedStorage(*args, wrap_storage=wrap_storage, dtype=cls.element, _internal=True)

    def __instancecheck__(cls, instance: Any) -> bool:
        if not isinstance(instance, TypedStorage):
            return False
        return cls is LegacyStorage or instance.dtype is cls.element

    def __repr__(cls) -> str:
        return f"<class 'torch.{cls.__name__}'>"


class LegacyStorage(TypedStorage, metaclass=LegacyStorageType):
    """What FloatStorage and its like derive from."""

    element: Any

    @classmethod
    def from_file(cls, filename: Any, shared: bool = False, size: int = 0) -> TypedStorage:
        """Elements of a file that is mapped into memory.

        Args:
            filename: the file
            shared: whether writes go to the file, which is made or made longer where it must be
            size: how many elements of it
        """
        warn_of_removal()
        kind = cls.element
        untyped = UntypedStorage.from_file(filename, shared, size * kind.itemsize)
        return typed(untyped, kind)

    @classmethod
    def from_buffer(
        cls, buffer: Any, byte_order: str = "native", count: int = -1, offset: int = 0
    ) -> TypedStorage:
        """A copy of the elements of an object that has Python's buffer protocol.

        Args:
            buffer: the object
            byte_order: "native", "little" or "big": how its elements are written
            count: how many elements; by default all
            offset: how many bytes to leave out
        """
        warn_of_removal()
        kind = cls.element
        data = copied_buffer(buffer, byte_order, count, offset, dtype=kind)
        return typed(UntypedStorage._over(data), kind)


WITH_CLASSES = tuple(
    dtype
    for dtype in dtypes.ALL_DTYPES
    if dtype not in (dtypes.uint16, dtypes.uint32, dtypes.uint64) and dtype.itemsize
)
LEGACY_CLASSES: dict[str, LegacyStorageType] = {
    f"{dtype.scalar_name}Storage": LegacyStorageType(
        f"{dtype.scalar_name}Storage",
        (LegacyStorage,),
        {"element": dtype, "__module__": "torch", "__doc__": f"Storages of {dtype!r} elements."},
    )
    for dtype in WITH_CLASSES
}


def _not_for_cuda(name: str) -> Callable[..., NoReturn]:
    def method(*args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(f"{name}: Not available for CUDA storage" + errors.at_user_line())

    return method


class CudaStorageType(type):
    """The class of legacy classes for storages on a GPU: calling one raises, and nothing is one."""

    def __new__(cls, name: str, dtype: dtypes.dtype) -> CudaStorageType:
        return super().__new__(cls, name, (), {"__module__": "torch.cuda", "dtype": dtype})

    def __init__(cls, name: str, dtype: dtypes.dtype) -> None:
        super().__init__(name, (), {})

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        raise devices.no_such_device(devices.device("cuda"))

    def __instancecheck__(cls, instance: Any) -> bool:
        return False

    from_buffer = _not_for_cuda("from_buffer")
    _new_with_weak_ptr = _not_for_cuda("_new_with_weak_ptr")
    _new_shared_filename = _not_for_cuda("_new_shared_filename")


CUDA_CLASSES: dict[str, CudaStorageType] = {
    name: CudaStorageType(name, kind.element) for name, kind in LEGACY_CLASSES.items()
}
