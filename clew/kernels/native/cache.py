"""Compiled code on disk, per user, so that a second process need not compile.

An entry's name is a hash of everything that the code depends on, and its content begins with a hash
of that name and the code. A file that is damaged, renamed, or that somebody else could have written
is not loaded but compiled anew. Writers replace files whole: readers never see half of one.
"""

from __future__ import annotations

import functools
import hashlib
import os
import stat
from collections.abc import Callable
from threading import get_ident

# Paths are plain strings here: programs start without pathlib, which takes its time to import.
FilePath = str | os.PathLike[str]

MAGIC = b"clew code 1\n"


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
    place = os.path.dirname(__file__)
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
    """The code in a file, if it is there, whole, and the user's own."""
    try:
        with open(path, "rb") as file:
            if not is_private(os.fstat(file.fileno())):
                return None
            content = file.read()
    except OSError:
        return None
    head = len(MAGIC) + 32
    if content[: len(MAGIC)] != MAGIC:
        return None
    code = content[head:]
    return code if _digest(path, code) == content[len(MAGIC) : head] else None


def _digest(path: FilePath, code: bytes) -> bytes:
    return hashlib.sha256(os.path.basename(path).encode() + code).digest()


def is_private(status: os.stat_result) -> bool:
    """Whether a file belongs to this user and nobody else may write to it."""
    return status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def write(path: FilePath, code: bytes) -> None:
    """Put compiled code into the cache; a folder that cannot be written to is left alone."""
    content = MAGIC + _digest(path, code) + code
    try:
        place = os.path.dirname(path)
        os.makedirs(place, exist_ok=True, mode=0o700)
        if not is_private(os.stat(place)):
            return
        # Without `tempfile`, which takes longer to import than the file to write: nobody else may
        # write here, and no other thread of this user has these numbers.
        temporary = os.path.join(place, f".new-{os.getpid()}-{get_ident()}")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError:
        return
