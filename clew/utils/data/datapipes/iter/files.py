"""Pipes of files: their names, the open files, their contents."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterable, Iterator
from typing import Any

from clew.utils.data.datapipes.datapipe import IterDataPipe, functional_datapipe

__all__ = ["FileLister", "FileOpener", "StreamReader"]


@functional_datapipe("list_files")
class FileLister(IterDataPipe):
    """The names of the files in folders.

    Args:
        root: a folder, or a pipe of folders
        masks: patterns that a name must fit one of
        recursive: whether folders inside are read, too
        abspath: whether names are absolute
        non_deterministic, length: accepted; names are sorted
    """

    def __init__(
        self,
        root: Any = ".",
        masks: str | list[str] = "",
        *,
        recursive: bool = False,
        abspath: bool = False,
        non_deterministic: bool = False,
        length: int = -1,
    ) -> None:
        self.roots = [root] if isinstance(root, (str, os.PathLike)) else root
        self.masks = [masks] if isinstance(masks, str) else masks
        self.recursive, self.abspath = recursive, abspath

    def __iter__(self) -> Iterator[str]:
        for root in self.roots:
            for folder, folders, names in os.walk(root):
                folders.sort()
                for name in sorted(names):
                    if any(not mask or fnmatch.fnmatch(name, mask) for mask in self.masks):
                        path = os.path.join(folder, name)
                        yield os.path.abspath(path) if self.abspath else path
                if not self.recursive:
                    break


@functional_datapipe("open_files")
class FileOpener(IterDataPipe):
    """Pairs of a file's name and the open file.

    Args:
        datapipe: the pipe of names
        mode: how files are opened
        encoding: the encoding of text
        length: accepted
    """

    def __init__(
        self,
        datapipe: Iterable[str],
        mode: str = "r",
        encoding: str | None = None,
        length: int = -1,
    ) -> None:
        self.datapipe, self.mode, self.encoding = datapipe, mode, encoding

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        for path in self.datapipe:
            with open(path, self.mode, encoding=self.encoding) as file:
                yield path, file


@functional_datapipe("read_from_stream")
class StreamReader(IterDataPipe):
    """Pairs of a file's name and what is in it.

    Args:
        datapipe: the pipe of names and open files
        chunk: how much is read at a time; all if it is not given
    """

    def __init__(self, datapipe: Iterable[tuple[str, Any]], chunk: int | None = None) -> None:
        self.datapipe, self.chunk = datapipe, chunk

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        for path, file in self.datapipe:
            while data := file.read(self.chunk):
                yield path, data
