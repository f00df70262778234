"""The cache of compiled code on disk, per user, so that a second process need not compile.

An entry's name is a hash of everything that the code depends on, and its content begins with a hash
of that name and the code. A file that is damaged, renamed, or that somebody else could have written
is not loaded but compiled anew. Writers replace files whole: readers never see half of one.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import stat
from collections.abc import Callable
from threading import get_ident

# Paths are plain strings here: programs start without pathlib, which takes its time to import.
FilePath = str | os.PathLike[str]

MAGIC = b"clew code 1\n"
# Nothing that clew compiles comes near it.
_LARGEST = 1 << 26
# The folders of clew/kernels that write what is compiled.
_GENERATOR = ("codegen", "compiled", "conv", "gemm", "pool", "runtime")


def folder() -> str | None:
    """Where compiled code is kept: CLEW_CACHE_DIR, or clew's part of the user's cache folder.

    None if the user has no home.
    """
    given = os.environ.get("CLEW_CACHE_DIR")
    if given:
        return given
    base = os.environ.get("XDG_CACHE_HOME")
    if not base:
        home = os.path.expanduser("~")
        if home == "~":
            return None
        base = os.path.join(home, ".cache")
    return os.path.join(base, "clew", "code")


@functools.cache
def generator_version() -> str:
    """A hash of the code generator's own source: what it makes changes when it does."""
    digest = hashlib.sha256()
    kernels = os.path.dirname(os.path.dirname(__file__))
    for folder in _GENERATOR:
        place = os.path.join(kernels, folder)
        for name in sorted(os.listdir(place)):
            if name.endswith(".py"):
                with open(os.path.join(place, name), "rb") as file:
                    digest.update(file.read())
    return digest.hexdigest()


def through(program: str, machine: str, compile: Callable[[], bytes]) -> bytes:
    """The compiled code of a program: from the cache, or compiled now and put there."""
    key = hashlib.sha256("\0".join((program, machine, generator_version())).encode()).hexdigest()
    place = folder()
    if place is None:
        return compile()
    path = os.path.join(place, key)
    code = read(path)
    if code is None:
        code = compile()
        write(path, code)
    return code


def read(path: FilePath) -> bytes | None:
    """The code in a file, if it is there, whole, and nobody else's doing."""
    try:
        if not is_trusted(os.path.dirname(path)):
            return None
        # Looked at before it is opened: opening a pipe can wait for ever, a device can do anything.
        if not _is_own_file(os.lstat(path)):
            return None
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not _is_own_file(status):
                return None
            content = file.read(status.st_size)
    except OSError:
        return None
    head = len(MAGIC) + 32
    if content[: len(MAGIC)] != MAGIC:
        return None
    code = content[head:]
    return code if _digest(path, code) == content[len(MAGIC) : head] else None


def _digest(path: FilePath, code: bytes) -> bytes:
    return hashlib.sha256(os.path.basename(path).encode() + code).digest()


def is_trusted(folder: FilePath) -> bool:
    """The rule: a folder whose files nobody but this user can have put there.

    It belongs to the user, and nobody else may write to it. Nobody else can have put it in its
    place: the folders above belong to the user or to the system's administrator, and others may
    not write to them, or may (as in `/tmp`) not rename what is not theirs.
    """
    return _is_private(os.stat(folder), stat.S_ISDIR) and _is_trusted_above(os.fspath(folder))


@functools.cache
def _is_trusted_above(folder: str) -> bool:
    """The same of the folders above, looked at once per process."""
    me = os.getuid()
    place = os.path.realpath(folder)
    while place != (place := os.path.dirname(place)):
        above = os.lstat(place)
        # A group with the user's own number is the user's alone.
        others = stat.S_IWOTH if above.st_gid == me else stat.S_IWGRP | stat.S_IWOTH
        is_open = above.st_mode & others and not above.st_mode & stat.S_ISVTX
        if above.st_uid not in (me, 0) or is_open:
            return False
    return True


def _is_private(status: os.stat_result, is_kind: Callable[[int], bool]) -> bool:
    """Whether it is of a kind, belongs to this user, and nobody else may write to it."""
    mode = status.st_mode
    is_mine = status.st_uid == os.getuid() and not mode & (stat.S_IWGRP | stat.S_IWOTH)
    return is_mine and is_kind(mode)


def _is_own_file(status: os.stat_result) -> bool:
    return _is_private(status, stat.S_ISREG) and status.st_size < _LARGEST


def _make(folder: str) -> None:
    """Make a folder and those above it that are missing, all of them closed to others."""
    if not os.path.isdir(folder):
        _make(os.path.dirname(folder))
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, 0o700)


def write(path: FilePath, code: bytes) -> None:
    """Put compiled code into the cache; a folder that is not trusted or not there is left alone."""
    content = MAGIC + _digest(path, code) + code
    try:
        place = os.path.abspath(os.path.dirname(path))
        _make(place)
        if not is_trusted(place):
            return
        # Without `tempfile`, which takes longer to import than the file to write: nobody else may
        # write here, and no other thread of this user has these numbers.
        temporary = os.path.join(place, f".new-{os.getpid()}-{get_ident()}")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)  # of a process that was killed, whose number came again
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError:
        return
