"""Memory that a tensor shares with arrays outside: noticing writes that no operation made.

While an array outside is alive, a checksum of the tensor's memory is compared whenever its version
is read, which is when a node saves it and when backward needs it; a difference is noted as a write
that autograd has not seen. PyTorch lets such writes pass; so does clew, but backward
warns when it uses a tensor that was overwritten after it was saved.

Only storages that are exposed pay for this: they are of a class of their own, whose version checks
the memory first. Making an array costs one checksum, and only if a node may have saved the tensor;
that of a large array is of a sample.
"""

from __future__ import annotations

import weakref
from functools import partial
from types import CodeType
from typing import Any
from zlib import crc32

import numpy as np

from clew.core.mirror import MIRRORS, reflect
from clew.core.node import references
from clew.core.storage import INFERENCE, DataStorage, Storage
from clew.source import user_where

# Arrays of so many bytes are compared as a whole, of others some cache lines.
_SMALL = 1 << 11
_LINE = 64
_LINES = 32
# Where elements do not follow each other in memory, so many of them.
_PLACES = 256


class Exposure:
    """A part of a storage's memory that an array outside can write to."""

    __slots__ = (
        "__weakref__", "array", "digest", "outside", "sample", "source", "storage", "where",
        "writer",
    )  # fmt: skip

    def __init__(self, storage: Storage, array: np.ndarray, writer: str) -> None:
        self.storage = weakref.ref(storage)
        self.array = array
        self.writer = writer
        self.where = user_where()
        # The checksum at the last check, and the memory that it is of; None until one is needed.
        self.digest: int | None = None
        self.sample: np.ndarray | None = None
        # The array that was handed out, or the one that the tensor was made from.
        self.outside: weakref.ref[np.ndarray] | None = None
        self.source: np.ndarray | None = None

    def is_reachable(self) -> bool:
        """Whether anybody outside can still write."""
        if self.source is not None:
            return self.source.base is not None or references(self.source) > _SOURCE_BASELINE
        return self.outside is not None and self.outside() is not None

    def update(self) -> None:
        """Check the memory, unless nothing can have written since the last check."""
        if MIRRORS:
            reflect(self.array)
        if self.is_reachable():
            self.check()
        elif self.digest is not None:
            self.check()
            self.digest = None

    def check(self) -> None:
        """Compare the checksum with the last one, and note a difference as a write."""
        if self.sample is None:
            self.sample = sample_of(self.array)
        digest = crc32(self.sample.tobytes())
        if self.digest is not None and digest != self.digest:
            storage = self.storage()
            if isinstance(storage, ExposedStorage):
                storage.bump_untracked(f"the array shared by {self.writer}", self.where)
        self.digest = digest


class ExposedStorage(Storage):
    """A storage that is shared with arrays outside; its version checks the memory first."""

    exposures: tuple[Exposure, ...]

    @property
    def version(self) -> int:  # type: ignore[override]  # an attribute elsewhere, for speed
        for exposure in self.exposures:
            exposure.update()
        return self.__dict__["version"]

    def bump(self, writer: str, where: tuple[CodeType, int] | None) -> None:
        """Note a write by an operation: what the memory held before no longer matters."""
        for exposure in self.exposures:
            exposure.digest = None
        self.__dict__["version"] += 1
        self.rewrite()
        self.writer = writer
        self.written_at = where


def _add_exposure(storage: Storage, exposure: Exposure) -> None:
    if isinstance(storage, ExposedStorage):
        storage.exposures = (*storage.exposures, exposure)
        return
    # The object must stay the same: tensors, views and nodes all refer to it.
    storage.__dict__["version"] = storage.version
    storage.__class__ = ExposedStorage
    storage.__dict__["exposures"] = (exposure,)


def _drop_exposure(storage: ExposedStorage, exposure: Exposure) -> None:
    storage.exposures = tuple(each for each in storage.exposures if each is not exposure)
    if not storage.exposures:
        storage.__class__ = Storage  # type: ignore[assignment]  # back to an ordinary one


def expose(storage: Storage, array: np.ndarray, writer: str) -> np.ndarray:
    """An array over a tensor's memory for the user, watched while it lives."""
    outside = over_memory_of(array)
    if storage is INFERENCE:
        return outside
    storage.is_resizable = False
    is_data = isinstance(storage, DataStorage)
    if isinstance(storage, DataStorage):
        storage = storage.origin()
    exposure = Exposure(storage, array, writer)
    exposure.outside = weakref.ref(outside, partial(_gone, weakref.ref(exposure)))
    _add_exposure(storage, exposure)
    if is_data or references(storage) > _STORAGE_BASELINE:
        # Somebody besides the tensor holds the storage: it may be a node that has saved it.
        exposure.check()
    return outside


def over_memory_of(array: np.ndarray) -> np.ndarray:
    """An array over the same memory, to which all its own views refer.

    A view of a view refers to the owner of the memory; one made through a memoryview is an owner
    in that sense, so that it lives as long as anybody can write through it.
    """
    if array.dtype.kind == "V":
        return array.view()  # bfloat16 is not a type that memoryviews know
    return np.asarray(memoryview(array))  # type: ignore[arg-type]  # an ndarray is a buffer


def expose_source(storage: Storage, array: np.ndarray, source: np.ndarray, writer: str) -> None:
    """Note that a tensor was made over an array which its maker may go on using."""
    if storage is INFERENCE:
        return
    exposure = Exposure(storage, array, writer)
    exposure.source = source
    _add_exposure(storage, exposure)


def _gone(reference: weakref.ref[Exposure], _: Any) -> None:
    """The array that was handed out is gone: check a last time."""
    exposure = reference()
    if exposure is None:
        return
    if exposure.digest is not None:
        exposure.check()
    storage = exposure.storage()
    if isinstance(storage, ExposedStorage):
        _drop_exposure(storage, exposure)


def sample_of(array: np.ndarray) -> np.ndarray:
    """The memory that is compared: all of a small array, some of a large one.

    Handing out an array must not take longer the larger it is. What writes to whole arrays is
    noticed all the same; single elements of large ones may be written to unseen, as in PyTorch.
    """
    if array.nbytes <= _SMALL:
        return array
    if array.flags.c_contiguous:
        flat = array.reshape(-1).view(np.uint8)
        count = flat.nbytes // _LINE
        return flat[: count * _LINE].reshape(count, _LINE)[:: count // _LINES]
    # Of each dimension about as many places, at even distances.
    places = max(int(_PLACES ** (1 / array.ndim)), 1)
    return array[tuple(slice(None, None, -(-size // places)) for size in array.shape)]


# -- how many references there are when nobody else holds one ----------------------------------
# Python versions count differently inside calls, so the counts are taken from a trial.


def _storage_baseline() -> int:
    def like_expose(storage: Storage) -> int:
        return references(storage)

    class Holder:
        storage = Storage()

    return like_expose(Holder().storage)


def _source_baseline() -> int:
    def references_of(exposure: Exposure) -> int:
        return references(exposure.source)

    exposure = Exposure(Storage(), np.empty(0), "")
    exposure.source = np.zeros(1)
    exposure.array = over_memory_of(exposure.source)
    return references_of(exposure)


_STORAGE_BASELINE = _storage_baseline()
_SOURCE_BASELINE = _source_baseline()
