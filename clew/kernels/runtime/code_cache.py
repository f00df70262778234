"""The cache of compiled code on disk, per user, so that a second process need not compile.

A file's name is a hash of everything that the code depends on, and its content begins with a hash
of that name and the code. A file that is damaged, renamed, or that another user could have written
is ignored, and the code compiled anew. Writers replace files atomically.
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
# No kernel comes near this size.
_MAX_FILE_SIZE = 1 << 26
# The folders of clew/kernels that generate code.
_GENERATOR = ("codegen", "compiled", "conv", "gemm", "pool", "runtime")


def folder() -> str | None:
    """The folder of the cache: CLEW_CACHE_DIR, or clew's part of the user's cache folder.

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
    """A hash of the code generator's source, which is a part of every key."""
    digest = hashlib.sha256()
    kernels = os.path.dirname(os.path.dirname(__file__))
    for folder in _GENERATOR:
        path = os.path.join(kernels, folder)
        for name in sorted(os.listdir(path)):
            if name.endswith(".py"):
                with open(os.path.join(path, name), "rb") as file:
                    digest.update(file.read())
    return digest.hexdigest()


def get_or_compile(key: str, machine: str, compile: Callable[[], bytes]) -> bytes:
    """The compiled code for a key: from the cache, or compiled now and put there."""
    name = hashlib.sha256("\0".join((key, machine, generator_version())).encode()).hexdigest()
    cache = folder()
    if cache is None:
        return compile()
    path = os.path.join(cache, name)
    code = read(path)
    if code is None:
        code = compile()
        write(path, code)
    return code


def read(path: FilePath) -> bytes | None:
    """The code in a file; None if it is missing or damaged, or another user may have written it."""
    try:
        if not is_trusted(os.path.dirname(path)):
            return None
        # Checked before it is opened: opening a pipe may block for ever, a device may do anything.
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
    """Whether nobody but this user can have written the files of a folder.

    It belongs to the user, and nobody else may write to it. Nobody else can have put it in its
    place: the folders above belong to the user or to root, and others may not write to them, or
    may (as in `/tmp`, with the sticky bit) not rename what is not theirs.
    """
    return _is_private(os.stat(folder), stat.S_ISDIR) and _is_trusted_above(os.fspath(folder))


@functools.cache
def _is_trusted_above(folder: str) -> bool:
    """The same for the folders above, checked once per process."""
    me = os.getuid()
    path = os.path.realpath(folder)
    while path != (path := os.path.dirname(path)):
        above = os.lstat(path)
        # A group with the user's own number is the user's alone.
        others = stat.S_IWOTH if above.st_gid == me else stat.S_IWGRP | stat.S_IWOTH
        is_open = above.st_mode & others and not above.st_mode & stat.S_ISVTX
        if above.st_uid not in (me, 0) or is_open:
            return False
    return True


def _is_private(status: os.stat_result, is_kind: Callable[[int], bool]) -> bool:
    """Whether a file of some kind belongs to this user, and nobody else may write to it."""
    mode = status.st_mode
    is_mine = status.st_uid == os.getuid() and not mode & (stat.S_IWGRP | stat.S_IWOTH)
    return is_mine and is_kind(mode)


def _is_own_file(status: os.stat_result) -> bool:
    return _is_private(status, stat.S_ISREG) and status.st_size < _MAX_FILE_SIZE


def _make_folders(folder: str) -> None:
    """Make a folder and those above it that are missing, with access for this user only."""
    if not os.path.isdir(folder):
        _make_folders(os.path.dirname(folder))
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, 0o700)


def write(path: FilePath, code: bytes) -> None:
    """Put compiled code into the cache, unless its folder is not trusted or cannot be made."""
    content = MAGIC + _digest(path, code) + code
    try:
        cache = os.path.abspath(os.path.dirname(path))
        _make_folders(cache)
        if not is_trusted(cache):
            return
        # Without `tempfile`, which takes longer to import than the file to write: nobody else may
        # write here, and no other thread of this user has these numbers.
        temporary = os.path.join(cache, f".new-{os.getpid()}-{get_ident()}")
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
