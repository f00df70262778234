"""Storage: what a tensor and all its views share besides memory.

It counts writes, and remembers the last writer, so that backward can say who overwrote a tensor
that it needs. It also counts changes, by which a view notices that its base (or another view of it)
has a new `grad_fn`.
"""

from __future__ import annotations

import itertools
import weakref
from types import CodeType
from typing import Any

# Orders everything that concerns backward: nodes by when they saved, and writes that no version
# counter sees.
next_sequence_number = itertools.count().__next__


class Storage:
    """The version, last writer and history count of one block of memory."""

    # Class-level defaults keep creation at the cost of an empty object: most storages are
    # never written to after they are made.
    version: int = 0
    # Counts what the histories of views follow: writes, and changes of the base's `requires_grad`.
    changes: int = 0
    # That count at the last write.
    written: int = 0
    writer: str | None = None
    written_at: tuple[CodeType, int] | None = None
    # The last write that, as in PyTorch, does not count: when, by what, and where.
    untracked: tuple[int, str, tuple[CodeType, int] | None] | None = None
    # The places in the graph, numbers of nodes and of their outputs, of tensors of this memory that
    # were detached in place.
    detached: tuple[tuple[int, int], ...] = ()
    # Whether one of these two is so: then backward must look at more than the version.
    is_suspect: bool = False
    # For each in-place view operation (`t_`, `squeeze_`) on a tensor that is no view: the version
    # it made, the tensor, or the vmap whose tensor it is, and the view operation, with parameters,
    # that undoes it. Several such tensors may share a storage: `detach()` makes another.
    inplace_views: tuple[tuple[int, Any, Any, dict[str, Any]], ...] = ()

    # Whether it is of a tensor that was made in inference mode.
    is_inference: bool = False

    # The run of a transform that it was made in; 0 outside of all.
    made_in: int = 0

    # The object that programs know as the storage, once one has asked for it.
    untyped: Any = None
    # Whether the memory may be replaced by a larger one: not after an array of it was handed out.
    is_resizable: bool = True

    def bump(self, writer: str, where: tuple[CodeType, int] | None) -> None:
        """Note a write, by whom and on which line of the user's program."""
        self.version += 1
        self.written = self.changes = self.changes + 1
        self.writer = writer
        self.written_at = where

    def rewrite(self) -> None:
        """Note that the history of this memory is another one."""
        self.written = self.changes = self.changes + 1

    def bump_untracked(self, writer: str, where: tuple[CodeType, int] | None) -> None:
        """Note a write behind autograd's back: the version stays, backward will warn."""
        self.untracked = (next_sequence_number(), writer, where)
        self.is_suspect = True

    def detach(self, sequence_number: int, output_nr: int) -> None:
        """Note that a tensor left its place in the graph: what saved it there is not to use it."""
        self.detached = (*self.detached, (sequence_number, output_nr))
        self.is_suspect = True


class DataStorage(Storage):
    """Storage of what `.data` gives: the same memory, with a version counter of its own."""

    def __init__(self, source: Storage) -> None:
        # Where the memory came from, nearest first. Who is gone has been saved by no node and need
        # not be told of writes: `x = x.data` in a loop must not make a chain.
        self.sources: tuple[weakref.ref[Storage], ...] = (weakref.ref(source),)
        if isinstance(source, DataStorage):
            self.sources += tuple(each for each in source.sources if each() is not None)
        self.made_in = source.made_in

    def origin(self) -> Storage:
        """The storage that the memory belongs to, of those that are left."""
        left = [source for source in [each() for each in self.sources] if source is not None]
        return left[-1] if left else self

    def bump(self, writer: str, where: tuple[CodeType, int] | None) -> None:
        super().bump(writer, where)
        self._tell(f".data.{writer}", where)

    def bump_untracked(self, writer: str, where: tuple[CodeType, int] | None) -> None:
        super().bump_untracked(writer, where)
        self._tell(writer, where)

    def _tell(self, writer: str, where: tuple[CodeType, int] | None) -> None:
        for reference in self.sources:
            source = reference()
            if source is not None:
                Storage.bump_untracked(source, writer, where)


class InferenceStorage(Storage):
    """Storage of tensors made in inference mode: nothing is counted."""

    is_inference = True

    def bump(self, writer: str, where: tuple[CodeType, int] | None) -> None:
        return


# All inference tensors share one storage: it has no state.
INFERENCE = InferenceStorage()


class DetachedInferenceStorage(Storage):
    """Storage of what `detach()` and `.data` give of an inference tensor outside of the mode.

    As in PyTorch it counts writes, so they are allowed; otherwise the tensor is an inference one.
    """

    is_inference = True
