"""`save`: files that PyTorch reads, replaced whole or not at all."""

from __future__ import annotations

import codecs
import io
import os
import pickle
import struct
import sys
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import IO, Any, ClassVar

import numpy as np

from clew import aliasing, errors
from clew.backend.dtypes import dtype, uint8
from clew.backend.layout import layout, memory_format
from clew.core.meta.memory import is_meta
from clew.core.mirror import bits_of, memory_behind
from clew.core.tensor import Tensor
from clew.kernels.numpy.strides import owner_of
from clew.kernels.runtime.numpy_capi import address_of
from clew.nn.parameter import Parameter, is_lazy
from clew.ops.define import memory_layout
from clew.ops.tensor.pickling import object_state
from clew.ops.tensor.storage_memory import bytes_of
from clew.ops.tensor.typed_storage import TypedStorage
from clew.ops.tensor.untyped_storage import UntypedStorage
from clew.serialization import allowed, container_sources, making, names, storages
from clew.serialization.archive import ALIGNMENT, ArchiveWriter, write_fully
from clew.serialization.atomic import replacing
from clew.serialization.storages import OF_DTYPE, UNTYPED, WITHOUT_TYPE, StorageType

DEFAULT_PROTOCOL = 2
MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001
FORMAT_VERSION = b"1"
ARCHIVE_VERSION = b"3\n"


# What pickles refer to by a name.
_BY_NAME = (StorageType, dtype, memory_format)


class _Storage:
    """Memory that tensors of the saved object lie in."""

    def __init__(self, owner: np.ndarray, kind: StorageType, key: str) -> None:
        self.owner = owner
        self.kind = kind
        self.key = key
        self.bytes = bytes_of(owner)

    @property
    def count(self) -> int:
        return len(self.bytes) // self.kind.itemsize


# The pickler that is written in Python: it asks before it writes a name. Type checkers know only
# its public methods.
_Base: Any = pickle._Pickler


class _Pickler(_Base):
    """Pickles tensors as PyTorch does, and clew's classes under PyTorch's names."""

    def __init__(self, file: IO[bytes], protocol: int, legacy: bool) -> None:
        super().__init__(file, protocol)
        self._legacy = legacy
        # The legacy format has no storages without a type: bytes stand for them.
        self._untyped = OF_DTYPE[uint8] if legacy else UNTYPED
        self._by_owner: dict[int, _Storage] = {}
        self._with_source: list[type] = []

    @property
    def storages(self) -> list[_Storage]:
        return list(self._by_owner.values())

    def persistent_id(self, obj: Any) -> Any:
        if self._legacy and container_sources.is_container(obj) and obj not in self._with_source:
            self._with_source.append(obj)
            return ("module", obj, *container_sources.source_of(obj))
        if isinstance(obj, TypedStorage):
            kind = OF_DTYPE.get(obj._dtype, self._untyped)
            obj = self._storage(obj._untyped_storage._owner, kind)
        elif isinstance(obj, UntypedStorage):
            obj = self._storage(obj._owner, self._untyped)
        if not isinstance(obj, _Storage):
            return None
        identity = ("storage", obj.kind, obj.key, "cpu", obj.count)
        return (*identity, None) if self._legacy else identity

    def _storage(self, array: np.ndarray, kind: StorageType) -> _Storage:
        owner = owner_of(array)
        storage = self._by_owner.get(id(owner))
        if storage is None:
            storage = _Storage(owner, kind, str(len(self._by_owner)))
            self._by_owner[id(owner)] = storage
        if storage.kind is not kind:
            raise RuntimeError(
                "Cannot save multiple tensors or storages that view the same data as different "
                f"types: {storage.kind.name} and {kind.name}. Save a clone() of one of them."
            )
        return storage

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, Tensor):
            return self._reduce_tensor(obj)
        if isinstance(obj, _BY_NAME):
            return obj.name
        if type(obj).__module__ == "clew.ops.define.return_types":
            return type(obj), (tuple(obj), {})
        if isinstance(obj, layout):
            return making.get_layout, (repr(obj),)
        if type(obj) is bytes and not obj and self.proto < 3:
            # PyTorch reads bytes that are written as text, but not this protocol's `bytes()`.
            return codecs.encode, ("", "latin1")
        return NotImplemented

    def _reduce_tensor(self, tensor: Tensor) -> Any:
        kind = tensor.__class__
        if is_lazy(tensor):
            return kind, (tensor.requires_grad,)
        if tensor._is_unstrided and tensor.is_nested:
            from clew.serialization.nested import description

            kinds = making.rebuild_from_type_v2, storages.rebuild_njt, storages.NestedTensorInFiles
            return description(tensor, kinds, storages.rebuild_nested_tensor)
        if tensor._is_unstrided:
            from clew.serialization.sparse import parts_of

            return storages.rebuild_sparse_tensor, parts_of(tensor)
        state = object_state(tensor)
        if issubclass(kind, Parameter):
            data = _Rebuilt(self._plain(tensor, requires_grad=False))
            common: tuple[Any, ...] = (data, tensor.requires_grad, OrderedDict())
            if state is None:
                return storages.rebuild_parameter, common
            return storages.rebuild_parameter_with_state, (*common, state)
        plain = self._plain(tensor, tensor.requires_grad)
        if kind is Tensor and state is None:
            return plain
        return making.rebuild_from_type_v2, (plain[0], kind, plain[1], state)

    def _plain(self, tensor: Tensor, requires_grad: bool) -> tuple[Any, tuple[Any, ...]]:
        """The function and arguments that make a tensor's values and layout again."""
        array, dtype = memory_behind(tensor._array), tensor.dtype
        if is_meta(array):
            strides = memory_layout.strides_in_elements(array)
            return storages.rebuild_meta_tensor, (dtype, array.shape, strides, requires_grad)
        is_typed = dtype not in WITHOUT_TYPE
        storage = self._storage(array, OF_DTYPE[dtype] if is_typed else self._untyped)
        offset = address_of(array) - address_of(storage.bytes) if array.size else 0
        strides = memory_layout.strides_in_elements(array)
        shared = (storage, offset // array.itemsize, tuple(array.shape), strides)
        rest: tuple[Any, ...] = (requires_grad, OrderedDict())
        bits = bits_of(tensor._array)
        metadata = {name: True for name, bit in storages.BITS.items() if bits & bit}
        last = (metadata,) if metadata else ()
        if is_typed:
            return storages.rebuild_tensor_v2, (*shared, *rest, *last)
        return storages.rebuild_tensor_v3, (*shared, *rest, dtype, *last)

    def save_global(self, obj: Any, name: str | None = None) -> None:
        full = _name_in_files(obj)
        if full is None:
            super().save_global(obj, name)
            return
        module, _, own_name = full.rpartition(".")
        if self.proto >= 4:
            self.save(module)
            self.save(own_name)
            self.write(pickle.STACK_GLOBAL)
        else:
            self.write(pickle.GLOBAL + f"{module}\n{own_name}\n".encode())
        self.memoize(obj)

    dispatch: ClassVar[dict[Any, Any]] = {**_Base.dispatch, FunctionType: save_global}


class _Rebuilt:
    """Stands for a tensor that is described by a function and its arguments."""

    def __init__(self, description: tuple[Any, tuple[Any, ...]]) -> None:
        self.description = description

    def __reduce__(self) -> Any:
        return self.description


def _name_in_files(obj: Any) -> str | None:
    """PyTorch's name for something of clew's; None for what belongs to others."""
    known = allowed.NAMES.get(id(obj))
    if known is not None:
        return known
    if isinstance(obj, FunctionType):
        return names.name_of(obj)
    if obj is Tensor:  # in torch, by its module, under `clew run`
        return "torch.Tensor"
    if not isinstance(obj, type) or not aliasing.is_own(obj.__module__):
        return None
    full = names.canonical(obj.__module__, obj.__qualname__)
    if not issubclass(obj, Tensor) and names.find_own(full) is not obj:
        # A file with something that `load` would refuse helps nobody.
        raise TypeError(f"cannot pickle '{obj.__qualname__}' object")
    return full


def save(
    obj: object,
    f: str | os.PathLike[str] | IO[bytes],
    pickle_module: Any = pickle,
    pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Write an object to a file that `load`, and PyTorch's, can read.

    A path is replaced atomically: a kill at any moment leaves the old file or the new one whole.

    Args:
        obj: tensors, dicts and lists of them, modules, and what pickle can write
        f: a path, or a file open for writing bytes
        pickle_module: the standard pickle module
        pickle_protocol: pickle's protocol

    Example:
        >>> model = nn.Linear(2, 1)
        >>> clew.save(model.state_dict(), "model.pt")
        >>> model.load_state_dict(clew.load("model.pt"))
        <All keys matched successfully>
    """
    if pickle_module is not pickle:
        raise ValueError(
            f"pickle_module={pickle_module!r}: files are "
            "written in the format that load reads without running code, which only the standard "
            "pickle module's is. Leave pickle_module out." + errors.at_user_line()
        )
    if not isinstance(f, str | os.PathLike) and not hasattr(f, "write"):
        raise AttributeError(
            "expected 'f' to be string, path, or a file-like object with a 'write' attribute, got "
            f"{type(f).__name__}" + errors.at_user_line()
        )
    body = io.BytesIO()
    pickler = _Pickler(body, pickle_protocol, legacy=not _use_new_zipfile_serialization)
    pickler.dump(obj)
    with _opened(f) as file:
        if _use_new_zipfile_serialization:
            byteorder = None if _disable_byteorder_record else sys.byteorder.encode()
            _write_archive(file, body.getvalue(), pickler.storages, byteorder)
        else:
            _write_legacy(file, body.getvalue(), pickler.storages, pickle_protocol)
        if hasattr(file, "flush"):
            # Whoever opens the same file by its name finds all of it.
            file.flush()


def dumps(obj: object) -> bytes:
    """An object without tensors as a bare pickle, which `loads` and PyTorch can read."""
    body = io.BytesIO()
    _Pickler(body, 4, legacy=False).dump(obj)
    return body.getvalue()


@contextmanager
def _opened(f: Any) -> Iterator[IO[bytes]]:
    if not isinstance(f, str | os.PathLike):
        yield f
        return
    with replacing(f) as path, open(path, "wb") as file:
        yield file


def _write_archive(
    file: IO[bytes], body: bytes, parts: list[_Storage], byteorder: bytes | None
) -> None:
    """The format of today: a zip archive."""
    with ArchiveWriter(file) as archive:
        archive.write("data.pkl", body)
        archive.write(".format_version", FORMAT_VERSION)
        archive.write(".storage_alignment", str(ALIGNMENT).encode())
        if byteorder is not None:
            archive.write("byteorder", byteorder)
        for part in parts:
            archive.write(f"data/{part.key}", part.bytes.data)
        archive.write("version", ARCHIVE_VERSION)


def _write_legacy(file: IO[bytes], body: bytes, parts: list[_Storage], protocol: int) -> None:
    """The format before PyTorch 1.6: pickles one after the other, then the storages."""
    system = {
        "protocol_version": PROTOCOL_VERSION,
        "little_endian": sys.byteorder == "little",
        "type_sizes": {"short": 2, "int": 4, "long": 4},
    }
    for value in (MAGIC_NUMBER, PROTOCOL_VERSION, system):
        write_fully(file, pickle.dumps(value, protocol))
    write_fully(file, body)
    parts = sorted(parts, key=lambda part: part.key)
    write_fully(file, pickle.dumps([part.key for part in parts], protocol))
    for part in parts:
        write_fully(file, struct.pack("=q", part.count))
        write_fully(file, part.bytes.data)
