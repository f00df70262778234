"""What `save` and `load` do by default: byte order, memory maps, and the environment's word."""

from __future__ import annotations

import enum
import mmap
import os
import sys
import warnings
from typing import Any

from clew import errors


class LoadEndianness(enum.Enum):
    """The byte order that files without a mark of theirs are read in.

    Example:
        >>> clew.serialization.LoadEndianness.LITTLE.value
        2
    """

    NATIVE = 1
    LITTLE = 2
    BIG = 3


class _Options:
    """The options in force."""

    def __init__(self) -> None:
        self.endianness: LoadEndianness | None = None
        self.crc32 = True
        self.mmap_flags: int | None = getattr(mmap, "MAP_PRIVATE", None)


OPTIONS = _Options()


def get_default_load_endianness() -> LoadEndianness | None:
    """The byte order that was set for files that do not say theirs; None is this machine's.

    Example:
        >>> clew.serialization.get_default_load_endianness() is None
        True
    """
    return OPTIONS.endianness


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Set the byte order in which files are read that do not say theirs.

    Args:
        endianness: the byte order, or None for this machine's

    Example:
        >>> clew.serialization.set_default_load_endianness(None)
    """
    if not isinstance(endianness, LoadEndianness) and endianness is not None:
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    OPTIONS.endianness = endianness


def default_byte_order() -> str:
    """The byte order of files that do not say theirs, as `sys.byteorder` names it."""
    asked = OPTIONS.endianness
    if asked is None or asked is LoadEndianness.NATIVE:
        return sys.byteorder
    return asked.name.lower()


def get_crc32_options() -> bool:
    """Whether files that `save` writes state checksums.

    Example:
        >>> clew.serialization.get_crc32_options()
        True
    """
    return OPTIONS.crc32


def set_crc32_options(compute_crc32: bool) -> None:
    """Say whether files that `save` writes state checksums, which tell that a file was damaged.

    Args:
        compute_crc32: whether they do

    Example:
        >>> clew.serialization.set_crc32_options(True)
    """
    OPTIONS.crc32 = compute_crc32


def get_default_mmap_options() -> int | None:
    """The flags that files are mapped with.

    Example:
        >>> clew.serialization.get_default_mmap_options() is not None
        True
    """
    return OPTIONS.mmap_flags


class set_default_mmap_options:
    """Set the flags that files are mapped with, at once, or for a block.

    Args:
        flags: `mmap.MAP_PRIVATE`, or `mmap.MAP_SHARED`, with which writes to tensors that were
            loaded with `mmap=True` go to the file

    Example:
        >>> import mmap
        >>> with clew.serialization.set_default_mmap_options(mmap.MAP_SHARED):
        ...     clew.serialization.get_default_mmap_options() == mmap.MAP_SHARED
        True
    """

    def __init__(self, flags: int) -> None:
        if flags not in (mmap.MAP_PRIVATE, mmap.MAP_SHARED):
            raise ValueError(
                "Invalid argument in function set_default_mmap_options, expected mmap.MAP_PRIVATE "
                f"or mmap.MAP_SHARED, but got {flags}" + errors.at_user_line()
            )
        self.before = OPTIONS.mmap_flags
        OPTIONS.mmap_flags = flags

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc: Any) -> None:
        OPTIONS.mmap_flags = self.before


_TRUE = ("1", "y", "yes", "true")


def weights_only_by_environment(asked: bool | None) -> bool | None:
    """What a caller asked for, unless the environment overrules it."""
    force = os.getenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "0").lower() in _TRUE
    force_not = os.getenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "0").lower() in _TRUE
    if force and force_not:
        raise RuntimeError(
            "Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or `TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD` "
            "should be set, but both were set." + errors.at_user_line()
        )
    if force:
        return True
    if force_not and asked is None:
        warnings.warn(
            "Environment variable TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD detected, since the "
            "`weights_only` argument was not explicitly passed to `torch.load`, forcing "
            "weights_only=False.",
            UserWarning,
            stacklevel=3,
        )
        return False
    return asked
