"""Memory of the meta device: arrays with shape, dtype and strides, and no elements.

Whether a tensor is on the meta device is a fact about where its memory lies. All its arrays begin
at one address: a range of the address space that is reserved and that nobody pays for. So views,
reshapes and whatever else only looks at shapes and strides needs nothing of its own.
"""

from __future__ import annotations

import math
import mmap
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from clew.core.result_layout import memory_order
from clew.interrupts import uninterrupted
from clew.kernels.numpy.strides import is_gapless
from clew.kernels.runtime.numpy_capi import address_of

# As much as a program may ask for in one tensor. Linux has 128 TiB of addresses for a process.
_LARGEST = 1 << 44


class _Range:
    """The reserved range: where it begins and ends, and how many arrays live in it."""

    def __init__(self) -> None:
        self.start = self.end = 0
        self.alive = 0
        self.memory: Any = None
        # Called when the first array is made and when the last one is gone.
        self.watchers: tuple[Callable[[bool], None], ...] = ()

    def reserve(self) -> None:
        size = _LARGEST
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
        while self.memory is None:
            try:
                self.memory = mmap.mmap(-1, size, flags=flags, prot=mmap.PROT_READ)
            except (OSError, ValueError):
                if size < 1 << 20:
                    raise
                size //= 4
        self.start = address_of(np.frombuffer(self.memory, np.uint8, 1))
        self.end = self.start + size

    # When Python ends, modules have no names any more.
    is_ending = staticmethod(sys.is_finalizing)

    def tell_of_last(self) -> None:
        """Tell whoever watches that no array is left."""
        if not self.alive and not self.is_ending():
            for watcher in self.watchers:
                watcher(False)


RANGE = _Range()


class _Lease:
    """What an array of the range holds on to, and with it all views of the array."""

    # Held by the lease, because a module has no names any more when Python ends; None until the
    # array is counted.
    range: _Range | None = None

    def __init__(self, nbytes: int) -> None:
        if nbytes > RANGE.end - RANGE.start:
            raise RuntimeError(
                f"a tensor of {nbytes} bytes is larger than the addresses that the meta device "
                f"could reserve: {RANGE.end - RANGE.start} bytes"
            )
        self.__array_interface__ = {
            "version": 3, "shape": (max(nbytes, 1),), "typestr": "|u1",
            "data": (RANGE.start, True),
        }  # fmt: skip
        RANGE.alive += 1
        self.range = RANGE

    @uninterrupted
    def __del__(self) -> None:
        held = self.range
        if held is None:
            return
        held.alive -= 1
        try:
            held.tell_of_last()
        except BaseException:
            # A signal has come meanwhile, and Python drops what is raised here.
            held.tell_of_last()
            raise


def empty(
    shape: Sequence[int], dtype: np.dtype, strides: Sequence[int] | None = None
) -> np.ndarray:
    """An array without elements; strides are in bytes, and None means row by row."""
    if RANGE.memory is None:
        RANGE.reserve()
    shape = tuple(shape)
    if strides is None or 0 in shape:
        nbytes = math.prod(shape) * dtype.itemsize
    else:
        nbytes = dtype.itemsize + sum(
            (n - 1) * stride for n, stride in zip(shape, strides, strict=True)
        )
    memory = np.asarray(_Lease(nbytes))
    for watcher in RANGE.watchers:
        watcher(True)
    return np.ndarray(shape, dtype, memory, 0, None if strides is None else tuple(strides))


def like(array: np.ndarray) -> np.ndarray:
    """An array without elements of another's shape, dtype and strides."""
    return empty(array.shape, array.dtype, array.strides)


def is_meta(array: np.ndarray) -> bool:
    """Whether an array has no elements."""
    return RANGE.alive > 0 and RANGE.start <= address_of(array) < RANGE.end


def dense_strides(shape: Sequence[int], order: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """The strides of an array without gaps whose dimensions lie in the order given."""
    strides, step = [0] * len(shape), itemsize
    for dim in reversed(order):
        strides[dim] = step
        step *= max(shape[dim], 1)
    return tuple(strides)


def resized(array: np.ndarray, shape: Sequence[int]) -> tuple[int, ...]:
    """The strides for another shape whose dimensions lie in memory as those of an array do.

    Expanded dimensions stay so. Where the array has gaps, so has the other one.
    """
    repeated = [n > 1 and not stride for n, stride in zip(array.shape, array.strides, strict=True)]
    own = [1 if is_repeated else n for n, is_repeated in zip(shape, repeated, strict=True)]
    strides = dense_strides(own, memory_order(array), array.itemsize)
    first = array[tuple([slice(0, 1) if each else slice(None) for each in repeated])]
    factor = 1 if is_gapless(first) or not array.size else 2
    return tuple(
        [
            0 if is_repeated else stride * factor
            for stride, is_repeated in zip(strides, repeated, strict=True)
        ]
    )
