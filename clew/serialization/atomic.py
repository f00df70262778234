"""Files that are replaced whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator


def _state_of(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[str]:
    """The path to write to in place of `path`, which gets the new contents at the end of the block.

    The new file is written beside the old one, forced to the disk, and renamed over it, which is
    one step for everybody else: whoever reads, and whenever the process is killed, there is the old
    file or the new one. After an error the old one is as it was. Links are followed; the old file's
    permissions stay. What is not a plain file (a pipe, `/dev/null`) is written to as it is.
    """
    target = os.path.realpath(path)
    old = _state_of(target)
    if old is not None and not stat.S_ISREG(old.st_mode):
        yield target
        return
    if old is not None and not os.access(target, os.W_OK):
        # Renaming would get around the permission that the owner took away.
        raise PermissionError(13, "Permission denied", str(path))
    directory, name = os.path.split(target)
    if not os.path.isdir(directory):
        raise RuntimeError(f"Parent directory {os.path.dirname(os.fspath(path))} does not exist.")
    # Names may have 255 bytes.
    temporary = os.path.join(directory, f".{name[:40]}.{secrets.token_hex(6)}.tmp")
    mode = 0o666 if old is None else 0o600
    os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
    try:
        yield temporary
        _force_to_disk(temporary)
        if old is not None:
            os.chmod(temporary, stat.S_IMODE(old.st_mode))
        os.replace(temporary, target)
    except BaseException:  # an interrupt too leaves no file behind
        with contextlib.suppress(FileNotFoundError):  # it may not have been made yet
            os.unlink(temporary)
        raise
    _force_to_disk(directory)


def _force_to_disk(path: str) -> None:
    if os.name == "nt" and os.path.isdir(path):
        return  # Windows has no way to do this for directories
    descriptor = os.open(path, os.O_RDONLY if os.name != "nt" else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
