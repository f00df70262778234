"""`load`: PyTorch's files, read without PyTorch and without running anything they name."""

from __future__ import annotations

import mmap
import os
import pickle
import struct
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from typing import IO, Any

import numpy as np

from clew import errors
from clew.backend.device import _TYPES as DEVICE_TYPES
from clew.backend.device import device
from clew.core.mirror import reflect
from clew.ops.tensor.typed_storage import TypedStorage
from clew.ops.tensor.untyped_storage import UntypedStorage
from clew.serialization import allowed, container_sources, making
from clew.serialization.archive import ArchiveReader, is_archive, read_fully
from clew.serialization.options import default_byte_order, weights_only_by_environment
from clew.serialization.safetensors import is_safetensors
from clew.serialization.safetensors import load_from as load_safetensors
from clew.serialization.saving import MAGIC_NUMBER, PROTOCOL_VERSION
from clew.serialization.storages import LoadedStorage, StorageType, swapped
from clew.serialization.unpickler import Unpickler, UnpicklingError

_MAGIC_PICKLE = pickle.dumps(MAGIC_NUMBER, 2)
_HIGHEST_ARCHIVE_VERSION = 10
Locations = Callable[[Any, str], Any] | device | str | dict[Any, Any] | None

# What interpreting a damaged or foreign pickle can raise.
GARBAGE = (
    UnpicklingError,
    TypeError, ValueError, KeyError, IndexError, AttributeError, OverflowError, MemoryError,
    RecursionError, struct.error,
)  # fmt: skip


class _FromUser(Exception):
    """Carries an error of the user's `map_location` past the handling of damaged files."""

    def __init__(self, error: Exception) -> None:
        self.error = error


# -- where storages go -----------------------------------------------------------------------------


def default_restore_location(storage: Any, location: str) -> Any:
    """The storage, if it belongs on a device that this machine has; RuntimeError if not.

    Args:
        storage: a storage of a file
        location: the device that it was saved from, such as "cpu" or "cuda:0"

    Example:
        >>> storage = clew.ones(2).untyped_storage()
        >>> clew.serialization.default_restore_location(storage, "cpu") is storage
        True
    """
    kind, _, index = location.partition(":")
    if kind == "cpu":
        return storage
    if kind in DEVICE_TYPES and (not index or index.isdigit()):
        raise RuntimeError(
            f"Attempting to deserialize object on a {kind.upper()} device but "
            f"torch.{kind}.is_available() is False. If you are running on a CPU-only machine, "
            "please use torch.load with map_location=torch.device('cpu') to map your storages to "
            "the CPU." + errors.at_user_line()
        )
    raise RuntimeError(
        "don't know how to restore data location of torch.storage.UntypedStorage (tagged with "
        f"{location})" + errors.at_user_line()
    )


def _restorer(map_location: Locations) -> Callable[[LoadedStorage, str], LoadedStorage]:
    """How storages are moved, from any of the forms that `map_location` may have."""
    if map_location is None:
        return default_restore_location
    if isinstance(map_location, dict):
        mapping = map_location
        return lambda storage, location: default_restore_location(
            storage, str(mapping.get(location, location))
        )
    if isinstance(map_location, str | device):
        wanted = str(map_location)
        return lambda storage, location: default_restore_location(storage, wanted)
    if not callable(map_location):
        raise TypeError(
            "map_location should be a device, its name, a dict from names to names, or a function "
            f"of a storage and a name; '{type(map_location).__name__}' object is not callable"
            + errors.at_user_line()
        )
    function = map_location

    def by_function(storage: LoadedStorage, location: str) -> LoadedStorage:
        try:
            result = function(storage._untyped_storage, location)
        except Exception as error:  # the function is the program's own
            raise _FromUser(error) from error
        if result is None:
            return default_restore_location(storage, location)
        if not isinstance(result, UntypedStorage | TypedStorage):
            raise _FromUser(
                TypeError(
                    "map_location should return a storage or None, got "
                    f"{type(result).__name__}" + errors.at_user_line()
                )
            )
        # Tensors are made over the memory that was read: there is no other device to have it.
        return storage

    return by_function


# -- what a pickle may do --------------------------------------------------------------------------


class _Contents:
    """The policy for one file: allowed names, and storages by their keys."""

    call = staticmethod(making.call)
    make = staticmethod(making.make)

    def __init__(
        self,
        restore: Callable[[LoadedStorage, str], LoadedStorage],
        weights_only: bool,
        read: Callable[[str, StorageType, int], np.ndarray],
        swap_bytes: bool = False,
    ) -> None:
        self._restore = restore
        self._weights_only = weights_only
        self._read = read
        self._swap_bytes = swap_bytes
        self.storages: dict[str, LoadedStorage] = {}
        self._parts: dict[str, LoadedStorage] = {}

    def find(self, module: str, name: str) -> Any:
        try:
            return allowed.find(module, name, self._weights_only)
        except KeyError:
            raise UnpicklingError(_unsupported(module, name, self._weights_only)) from None

    def give_state(self, instance: Any, state: Any) -> None:
        # `numpy.dtype` makes objects of the classes in numpy.dtypes: these must be named as well.
        if self._weights_only and isinstance(instance, np.dtype):
            making.require_added(type(instance))
        making.give_state(instance, state)

    def load_persistent(self, identity: Any) -> Any:
        if isinstance(identity, tuple) and len(identity) == 4 and identity[0] == "module":
            container_sources.compare(*identity[1:])
            return identity[1]
        if not isinstance(identity, tuple) or len(identity) not in (5, 6):
            found = identity[0] if isinstance(identity, tuple) and identity else identity
            raise UnpicklingError(
                f"Only persistent_load of storage is allowed, but got {type(found)}"
            )
        tag, kind, key, location, count = identity[:5]
        is_storage = isinstance(tag, str | bytes) and tag in ("storage", b"storage")
        if not is_storage or not isinstance(kind, StorageType):
            raise UnpicklingError(
                f"Only persistent_load of storage is allowed, but got {type(tag)}, {type(kind)}"
            )
        if not (isinstance(key, str) and isinstance(location, str) and type(count) is int):
            raise UnpicklingError("a storage's description makes no sense")
        found = self.storages.get(key)
        if found is None:
            array = self._read(key, kind, count)
            if self._swap_bytes:
                array = swapped(array, kind)
            found = self._restore(LoadedStorage(array, kind), location)
            self.storages[key] = found
        if found.kind is not kind:
            raise UnpicklingError(f"storage {key} has two types")
        part = identity[5] if len(identity) == 6 else None
        return found if part is None else self._part(found, part)

    def _part(self, whole: LoadedStorage, part: Any) -> LoadedStorage:
        """A part of a storage that shares its memory, as in files before PyTorch 0.4."""
        if not (isinstance(part, tuple) and [type(each) for each in part] == [str, int, int]):
            raise UnpicklingError("a part of a storage is described in a way that makes no sense")
        key, offset, count = part
        size = whole.kind.itemsize
        if offset < 0 or count < 0 or (offset + count) * size > len(whole.bytes):
            raise UnpicklingError("a part of a storage is not inside it")
        if key not in self._parts:
            # Through a memoryview it is an array that begins here: nothing lies before it.
            memory = whole.bytes.data[offset * size : (offset + count) * size]
            self._parts[key] = LoadedStorage(np.frombuffer(memory, np.uint8), whole.kind)
        return self._parts[key]


def _unsupported(module: str, name: str, weights_only: bool) -> str:
    full = name if module in ("builtins", "__builtin__") else f"{module}.{name}"
    if allowed.is_blocked(module):
        return f"Trying to load unsupported GLOBAL {full} whose module {module} is blocked."
    text = f"Unsupported global: GLOBAL {full} was not an allowed global by default. "
    if weights_only and allowed.is_allowed(module, name, weights_only=False):
        return text + (
            "Pass weights_only=False to read it: clew then also makes plain data and objects of "
            "its own classes and your program's, and still runs no code that the file chooses."
        )
    return text + (
        "If you trust this class or function, allow it by "
        f"`torch.serialization.add_safe_globals([{name}])`, or inside "
        f"`with torch.serialization.safe_globals([{name}]):`. Without that, clew makes only "
        "objects whose making runs no code that the file chooses, also with weights_only=False. "
        "A model's class is one of them once the module that defines it is imported."
    )


def explained(error: Exception) -> Exception:
    """An error of the interpreter, in the words by which programs recognise it."""
    why = str(error) if isinstance(error, UnpicklingError) else f"{type(error).__name__}: {error}"
    return UnpicklingError(
        f"Weights only load failed. WeightsUnpickler error: {why}" + errors.at_user_line()
    )


# -- load ------------------------------------------------------------------------------------------


def load(
    f: str | os.PathLike[str] | IO[bytes],
    map_location: Locations = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Read what `save`, PyTorch's `torch.save` or safetensors wrote.

    No code from the file runs, whatever `weights_only` says: False only widens what is read to
    plain data of NumPy and the standard library, and to objects of clew's own classes (whole
    modules) and of those that your program has imported or defined before: classes derived from
    clew's, and classes of nothing but attributes. Others must be named with `add_safe_globals`.

    Args:
        f: a path, or a file open for reading bytes
        map_location: where tensors go: a device, a dict of names of devices, or a function; "cpu"
            reads files from machines with a GPU
        pickle_module: the standard pickle module, or None
        weights_only: False also reads whole modules and NumPy data
        mmap: map the file into memory instead of reading it; for paths only
        pickle_load_args: `encoding`, for files that Python 2 wrote

    Example:
        >>> clew.save({"weight": clew.ones(2), "epoch": 3}, "checkpoint.pt")
        >>> clew.load("checkpoint.pt")
        {'weight': tensor([1., 1.]), 'epoch': 3}
    """
    if pickle_module is not None and (weights_only or pickle_module is not pickle):
        raise RuntimeError(
            "Can not safely load weights when explicit pickle_module is specified"
            + errors.at_user_line()
        )
    weights_only = weights_only_by_environment(weights_only)
    if weights_only is None:
        weights_only = pickle_module is None
    encoding = _read_pickle_arguments(pickle_load_args)
    restore = _restorer(map_location)
    with opened(f) as file:
        beginning = peek(file)
        if is_archive(beginning):
            if mmap and not isinstance(f, (str, os.PathLike)):
                raise ValueError(
                    "f must be a file path in order to use the mmap argument"
                    + errors.at_user_line()
                )
            archive = ArchiveReader(file, map_into_memory=bool(mmap))
            read = partial(_load_archive, archive)
        elif is_safetensors(beginning):
            restore(_NOWHERE, "cpu")
            return load_safetensors(file, f if mmap and isinstance(f, (str, os.PathLike)) else None)
        elif mmap:
            name = f"{f}, " if isinstance(f, str) else ""
            raise RuntimeError(
                "mmap can only be used with files saved with "
                f"`torch.save({name}_use_new_zipfile_serialization=True), please torch.save your "
                "checkpoint with this option in order to use mmap." + errors.at_user_line()
            )
        else:
            read = partial(_load_legacy, file, beginning)
        try:
            return read(restore, weights_only, encoding)
        except _FromUser as error:
            raise error.error from None
        except GARBAGE as error:
            raise explained(error) from error


_NOWHERE = LoadedStorage(np.empty(0, np.uint8), StorageType("", None))


def loads(data: bytes) -> Any:
    """The object of a bare pickle without tensors. No code in it is run."""

    def no_storage(key: str, kind: StorageType, count: int) -> np.ndarray:
        raise UnpicklingError("the pickle refers to a storage, and has none")

    contents = _Contents(lambda storage, location: storage, False, no_storage)
    try:
        return Unpickler(data, contents, len(data)).load()
    except Exception as error:
        raise explained(error) from None


def _read_pickle_arguments(arguments: dict[str, Any]) -> str:
    unknown = set(arguments) - {"encoding", "errors", "fix_imports"}
    if unknown:
        raise TypeError(
            f"load() got an unexpected keyword argument '{min(unknown)}'" + errors.at_user_line()
        )
    encoding = arguments.get("encoding", "utf-8")
    return "ascii" if encoding == "ASCII" else str(encoding)


def opened(f: Any) -> AbstractContextManager[IO[bytes]]:
    if isinstance(f, str | os.PathLike):
        return open(f, "rb")
    for needed in ("read", "seek", "tell"):
        if not hasattr(f, needed):
            raise AttributeError(
                f"'{type(f).__name__}' object has no attribute '{needed}'. You can only torch.load "
                "from a file that is seekable. Please pre-load the data into a buffer like "
                "io.BytesIO and try to load from it instead." + errors.at_user_line()
            )
    return nullcontext(f)


def peek(file: IO[bytes]) -> bytes:
    """The first bytes from where the file is; it stays there."""
    position = file.tell()
    beginning = file.read(512)
    file.seek(position)
    if not beginning:
        raise EOFError(
            "Ran out of input: there is nothing to load"
            + (". Call f.seek(0) to read what was written before." if position else "")
            + errors.at_user_line()
        )
    return beginning


def _load_archive(
    archive: ArchiveReader,
    restore: Callable[[LoadedStorage, str], LoadedStorage],
    weights_only: bool,
    encoding: str,
) -> Any:
    if "constants.pkl" in archive:
        raise RuntimeError(
            "Cannot use ``weights_only=True`` with TorchScript archives passed to ``torch.load``: "
            "such a file holds a program. In PyTorch, save the state_dict() of the module."
            + errors.at_user_line()
        )
    if "version" in archive and (version := _archive_version(archive)) > _HIGHEST_ARCHIVE_VERSION:
        raise RuntimeError(
            f"Attempted to read a PyTorch file with version {version}, but the maximum supported "
            f"version for reading is {_HIGHEST_ARCHIVE_VERSION}." + errors.at_user_line()
        )

    def read(key: str, kind: StorageType, count: int) -> np.ndarray:
        array = archive.array(f"data/{key}")
        if len(array) != count * kind.itemsize:
            raise RuntimeError(
                f"record size ({len(array)} bytes) does not match expected size "
                f"({count * kind.itemsize} bytes, {count} elements of {kind.itemsize}): storage "
                f"{key} is damaged" + errors.at_user_line()
            )
        return array

    order = default_byte_order()
    if "byteorder" in archive:
        order = archive.read("byteorder").decode()
    if order not in ("little", "big"):
        raise ValueError(f"Unknown endianness type: {order}")
    contents = _Contents(restore, weights_only, read, swap_bytes=order != sys.byteorder)
    body = archive.read("data.pkl")
    return Unpickler(body, contents, archive.length, encoding=encoding).load()


def _archive_version(archive: ArchiveReader) -> int:
    text = archive.read("version").strip()
    if not text.isdigit():
        raise RuntimeError(f"the file's version {text[:20]!r} is not a number")
    return int(text)


def _load_legacy(
    file: IO[bytes],
    beginning: bytes,
    restore: Callable[[LoadedStorage, str], LoadedStorage],
    weights_only: bool,
    encoding: str,
) -> Any:
    """Pickles one after the other: magic number, version, system, object, keys; then storages."""
    if beginning[257:262] == b"ustar":
        raise RuntimeError(
            "Cannot use ``weights_only=True`` with files saved in the legacy .tar format. Load and "
            "save it again with a newer PyTorch." + errors.at_user_line()
        )
    data, start = _mapped(file, beginning)
    # Where the file has what is at the beginning of `data`.
    before = file.tell() - start
    if data[start : start + len(_MAGIC_PICKLE)] != _MAGIC_PICKLE:
        raise UnpicklingError(
            "Invalid magic number; corrupt file? It begins as neither a file of torch.save nor one "
            "of safetensors"
        )

    taken = 0

    def describe(key: str, kind: StorageType, count: int) -> np.ndarray:
        nonlocal taken
        taken += count * kind.itemsize
        if count < 0 or taken > len(data):
            raise UnpicklingError(f"storage {key} is larger than the file")
        # Its values follow after all pickles: the tensors are made over memory that is filled then.
        return np.zeros(count * kind.itemsize, np.uint8)

    contents = _Contents(restore, weights_only, describe)
    position = start + len(_MAGIC_PICKLE)
    values = []
    for _ in range(4):
        unpickler = Unpickler(data, contents, len(data), position, encoding)
        values.append(unpickler.load())
        position = unpickler.position
    version, system, result, keys = values
    if type(version) is not int or type(system) is not dict or type(keys) is not list:
        raise UnpicklingError("what precedes and follows the object is not of a legacy file")
    if version != PROTOCOL_VERSION:
        raise RuntimeError(f"Invalid protocol version: {version}" + errors.at_user_line())
    swap = not system["little_endian"] if sys.byteorder == "little" else system["little_endian"]
    file.seek(before + position)
    _fill(file, contents.storages, keys, swap)
    return result


def _mapped(file: IO[bytes], beginning: bytes) -> tuple[Any, int]:
    """What is in a file, and where in that the file stands; mapped into memory where possible.

    The pickles are at the beginning: what follows them is not read here.
    """
    position = file.tell()
    with suppress(OSError, ValueError, AttributeError):
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        # A file that unpacks what is in another one has the other's number.
        if data[position : position + len(beginning)] == beginning:
            return data, position
    contents = file.read()
    file.seek(position)
    return contents, 0


def _fill(file: IO[bytes], storages: dict[str, LoadedStorage], keys: Any, swap: bool) -> None:
    """Read the values that follow the pickles into the storages."""
    if sorted(keys) != sorted(storages):
        raise UnpicklingError("the file's storages are not those that its tensors need")
    for key in keys:
        storage = storages[key]
        size = np.zeros(8, np.uint8)
        is_there = read_fully(file, size) == 8
        count = int(size.view(">i8" if swap else "<i8")[0])
        if count * storage.kind.itemsize != len(storage.bytes):
            is_there = False
        if not is_there or read_fully(file, storage.bytes) != len(storage.bytes):
            raise UnpicklingError(f"the file ends inside storage {key}, or its size is wrong")
        if swap:
            storage.bytes[:] = swapped(storage.bytes, storage.kind)
        reflect(storage.bytes)
