"""Mirrors: memory that holds the conjugates or negatives of other memory, kept equal to it.

A conjugate view shares memory with its base in PyTorch, whose kernels conjugate what they read.
NumPy has no such arrays. Here the view's array lies in a `Mirror`, laid out as the memory behind
it; after a write to either, `reflect` brings the other up to date. Views of the view are ordinary
views of the mirror's memory, so an array says by its owner whether it is conjugated.

The mirror of a large view is filled when somebody asks for the view's elements, which may be never.
Until then the tensor is `Unread`.
"""

from __future__ import annotations

import sys
import threading
import weakref
from functools import partial
from typing import Any

import numpy as np

from clew.core.tensor import Tensor
from clew.forking import add_lock
from clew.kernels.numpy.strides import owner_of, restride
from clew.kernels.runtime.numpy_capi import address_of

CONJ, NEG = 1, 2

# Held while a mirror is filled. A signal handler may ask for the same elements: it is an RLock.
_filling = add_lock(sys.modules[__name__], "_filling", threading.RLock)


class Mirror(np.ndarray):
    """The owner of a conjugate or negative view's memory, as bytes."""

    # The memory that is mirrored, which is no mirror itself, and how: CONJ, NEG or both.
    source: np.ndarray
    bits: int
    # Where the source's first element has its image.
    start: int
    # Whether it holds the image yet.
    is_filled = False

    def complete(self) -> None:
        with _filling:
            if not self.is_filled:
                _copy(self.source, self.image_of_source(), self.bits)
                self.is_filled = True

    def waits(self) -> bool:
        """Whether it will be filled only later, and then with what the source holds by then."""
        if self.is_filled:
            return False
        with _filling:
            return not self.is_filled

    def image_of_source(self) -> np.ndarray:
        source = self.source
        return np.ndarray(source.shape, source.dtype, self, self.start, source.strides)

    def behind(self, array: np.ndarray) -> np.ndarray:
        """The part of the source whose image an array in this memory is."""
        offset = address_of(array) - address_of(self) - self.start
        return restride(self.source, array.shape, array.strides, offset)

    def refresh(self, written: np.ndarray) -> None:
        """Copy what has been written to the source: that part if it is one, or else everything."""
        if self.waits():
            return
        source, flags = self.source, self.source.flags
        if written.dtype is source.dtype and (flags.c_contiguous or flags.f_contiguous):
            first = address_of(written) - address_of(source)
            before, size = _extent(written)
            if written.size and before <= first <= source.nbytes - size + before:
                image = np.ndarray(written.shape, written.dtype, self, first, written.strides)
                _copy(written, image, self.bits)
                return
        _copy(source, self.image_of_source(), self.bits)


# The mirrors of each block of memory, by the identity of its owner, which a mirror keeps alive.
MIRRORS: dict[int, list[weakref.ref[Mirror]]] = {}


def _copy(source: np.ndarray, target: np.ndarray, bits: int) -> None:
    if bits & CONJ:
        np.conjugate(source, out=target)
        source = target
    if bits & NEG:
        # Not into the target itself: of some strides NumPy 2.4 then reads other elements.
        target[...] = np.negative(source)


def _memory_of(array: np.ndarray) -> int:
    """The identity of what owns an array's memory."""
    owner = owner_of(array)
    # What `as_strided` makes of memory with gaps hides the owner behind an object of its own.
    while isinstance(getattr(owner.base, "base", None), np.ndarray):
        owner = owner_of(owner.base.base)  # type: ignore[union-attr, arg-type]  # that object
    return id(owner)


def mirror_of(array: np.ndarray) -> Mirror | None:
    """The mirror that an array lies in, if it does."""
    if not MIRRORS:
        return None
    owner = owner_of(array)
    return owner if type(owner) is Mirror else None


def bits_of(array: np.ndarray) -> int:
    """How an array differs from the memory behind it: 0 if it is that memory."""
    mirror = mirror_of(array)
    return 0 if mirror is None else mirror.bits


def memory_behind(array: np.ndarray) -> np.ndarray:
    """The array itself, or for one in a mirror the memory that it stands for."""
    mirror = mirror_of(array)
    return array if mirror is None else mirror.behind(array)


def _extent(array: np.ndarray) -> tuple[int, int]:
    """The bytes before an array's first element, where strides are negative, and all of them."""
    ways = [(n - 1) * stride for n, stride in zip(array.shape, array.strides, strict=True)]
    before = -sum(way for way in ways if way < 0)
    return before, before + sum(way for way in ways if way > 0) + array.itemsize


def with_bits(array: np.ndarray, bits: int) -> np.ndarray:
    """The conjugate or negative of an array, or both, that goes on being so."""
    return filled(unfilled(array, bits))


def filled(array: np.ndarray) -> np.ndarray:
    """An array that may lie in a mirror, with its elements."""
    mirror = mirror_of(array)
    if mirror is not None:
        mirror.complete()
    return array


def unfilled(array: np.ndarray, bits: int) -> np.ndarray:
    """Where the conjugate or negative of an array will be, without its elements."""
    if not bits:
        return array
    if array.flags.c_contiguous:
        before, size = 0, array.nbytes
    else:
        before, size = _extent(array)
    mirror = Mirror(size, np.uint8)
    mirror.source = array
    mirror.bits = bits
    mirror.start = before
    # Known before it is filled: nothing that is written meanwhile is missed.
    key = _memory_of(array)
    MIRRORS.setdefault(key, []).append(weakref.ref(mirror, partial(_drop, key)))
    return mirror.image_of_source()


def flipped(array: np.ndarray, bit: int) -> np.ndarray:
    """The conjugate or negative, unfilled; the memory itself if that is what it comes to."""
    mirror = mirror_of(array)
    if mirror is None:
        return unfilled(array, bit)
    return unfilled(mirror.behind(array), mirror.bits ^ bit)


def reflect(array: np.ndarray) -> None:
    """Bring mirrors up to date after a write to an array, be it in a mirror or in front of one."""
    written = mirror_of(array)
    if written is not None:
        memory = written.behind(array)
        _copy(array, memory, written.bits)
        array = memory
    for reference in tuple(MIRRORS.get(_memory_of(array), ())):
        mirror = reference()
        if mirror is None or mirror is written or not np.may_share_memory(mirror.source, array):
            continue
        mirror.refresh(array)


def _drop(key: int, reference: Any) -> None:
    mirrors = MIRRORS.get(key)
    if mirrors is not None:
        mirrors.remove(reference)
        if not mirrors:
            MIRRORS.pop(key, None)


# -- tensors that nobody has read yet --------------------------------------------------------

# What a tensor is, as `object` says it: `Unread` gives another answer.
_class: Any = object.__dict__["__class__"]


class Unread(Tensor):
    """A conjugate or negative view whose mirror is filled when its array is first asked for.

    It then is a plain Tensor for good, and says that it is one before. `_layout` gives the array
    as it is: its shape, dtype and strides are right.
    """

    __slots__ = ()

    @property  # type: ignore[misc]  # only type(x) sees what it is
    def __class__(self) -> type[Tensor]:  # type: ignore[override]  # the same
        return Tensor

    @property
    def _array(self) -> np.ndarray:
        array = filled(self._layout)
        _class.__set__(self, Tensor)
        return array

    @_array.setter
    def _array(self, array: np.ndarray) -> None:
        _class.__set__(self, Tensor)
        self._array = array


# In texts that name the type of a value it is what it will be.
Unread.__name__, Unread.__qualname__ = Tensor.__name__, Tensor.__qualname__
Unread.__module__ = Tensor.__module__

# From this size on the elements of a view wait until they are asked for.
_LARGE = 2**14


def may_wait(array: np.ndarray) -> bool:
    """Whether the elements of a view may come later."""
    return array.size >= _LARGE and mirror_of(array) is not None


def leave_unread(tensor: Tensor) -> None:
    """Make a new view wait for its elements, if its mirror does."""
    mirror = mirror_of(tensor._layout)
    if mirror is not None and not mirror.is_filled:
        _class.__set__(tensor, Unread)
