"""What should repeat and does not, or the other way round: pairs of data, batches, checkpoints."""

from __future__ import annotations

import contextlib
import math
import weakref
from collections import Counter, deque
from typing import Any

import numpy as np

from clew.doctor.facts.places import Line, Place, here, line_of
from clew.doctor.facts.recorder import Recorder
from clew.observed import Tensor, WeakTensorRef

_MANY = 256
_KEPT = 5000  # rows of which the indices are kept
_COMPARED = 64  # recomputed blocks whose values are compared


class Picked:
    """Rows of a tensor, chosen by a list of indices."""

    def __init__(
        self, picked: Tensor, place: Place | None, rows: int, index: np.ndarray, address: int
    ) -> None:
        self.storage = weakref.ref(picked._storage)
        self.address = address
        self.stride = picked._array.strides[0]
        self.place = place
        self.rows = rows
        self.count = index.size
        self.index = index.copy() if index.size <= _KEPT else None
        self.order = hash(index.tobytes())

    def part(self, tensor: Tensor, address: int) -> Picked | None:
        """What a slice of the picked rows holds; itself, if it is all of them."""
        array = tensor._array
        if not array.ndim or array.shape[0] == self.count:
            return self
        if self.index is None or array.strides[0] != self.stride or not self.stride:
            return None
        first, rest = divmod(address - self.address, self.stride)
        chosen = self.index[first : first + array.shape[0]]
        if rest or first < 0 or chosen.size != array.shape[0]:
            return None
        return Picked(tensor, self.place, self.rows, chosen, address)

    def is_like(self, other: Picked) -> bool:
        return self.rows == other.rows and self.count == other.count


class LoaderFacts:
    """A loader: how often it was begun anew, and how often only its first batch was taken."""

    def __init__(self, loader: Any) -> None:
        self.ref = weakref.ref(loader)
        self.line: Line | None = None
        self.batches = 0
        with contextlib.suppress(Exception):  # a dataset of the program's may have no length
            self.batches = len(loader)
        self.passes = 0
        self.taken = 0
        self.first_only = 0
        self.trained = 0
        self.batch: weakref.ref[Tensor] | None = None


class Difference:
    """A checkpointed block whose second run gave other values."""

    def __init__(self, block: Line | None, op: str, line: Line | None) -> None:
        self.block = block
        self.op = op
        self.line = line
        self.count = 0


class RepeatWatch:
    """Sees rows that are picked, batches that loaders give, and blocks that run a second time."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.picked: dict[int, Picked] = {}
        # What rows were picked out of: its memory, where in it, how many rows.
        self.sources: dict[tuple[int, int], tuple[weakref.ref[Any], int]] = {}
        self.inputs: deque[Picked] = deque(maxlen=32)  # what models got since the last pass
        self.paired = 0
        self.parted: Counter[tuple[Line | None, Line | None]] = Counter()
        self.parted_datasets: Counter[tuple[Line | None, Line | None]] = Counter()
        self.loaders: dict[int, LoaderFacts] = {}
        self.begun: Counter[int] = Counter()  # loaders, by identity
        self.passes: dict[int, tuple[weakref.ref[Any], LoaderFacts]] = {}
        self.sums: weakref.WeakKeyDictionary[Any, list[float]] = weakref.WeakKeyDictionary()
        self.compared = 0
        self.differences: dict[Line | None, Difference] = {}

    # -- rows ------------------------------------------------------------------------------------

    def rows_picked(self, inputs: tuple[Any, ...], out: Tensor) -> None:
        """`x[index]`: which rows, in which order."""
        source = inputs[0]
        index = next(
            (v for v in inputs[1:] if isinstance(v, Tensor) and v._array.dtype.kind == "i"), None
        )
        if index is None or index._array.ndim != 1 or not 4 <= index._array.size <= 100_000:
            return
        if not isinstance(source, Tensor) or not source._array.ndim:
            return
        if out._array.shape[:1] != index._array.shape or out._requires_grad:
            return
        if len(self.picked) > _MANY:
            self.picked = {k: v for k, v in self.picked.items() if v.storage() is not None}
            if len(self.picked) > _MANY:
                self.picked.clear()
        rows = source._array.shape[0]
        address = self.recorder.engine.address
        self.sources[id(source._storage), address(source)] = weakref.ref(source._storage), rows
        if len(self.sources) > _MANY:
            self.sources = {k: v for k, v in self.sources.items() if v[0]() is not None}
        chosen, before = index._array, self._of(source)
        if before is not None and before.index is not None:
            # Rows of rows: what counts is where they come from at last.
            rows, chosen = before.rows, before.index[chosen]
        self.picked[id(out._storage)] = Picked(
            out, here(), rows, chosen, self.recorder.engine.address(out)
        )

    def _of(self, tensor: Tensor) -> Picked | None:
        entry = self.picked.get(id(tensor._storage))
        if entry is None or entry.storage() is not tensor._storage:
            return None
        return entry.part(tensor, self.recorder.engine.address(tensor))

    def is_source(self, tensor: Tensor) -> bool:
        """Whether batches are picked out of this tensor."""
        if not self.sources or not tensor._array.ndim:
            return False
        entry = self.sources.get((id(tensor._storage), self.recorder.engine.address(tensor)))
        is_same = entry is not None and entry[0]() is tensor._storage
        return is_same and entry is not None and entry[1] == tensor._array.shape[0]

    def _given(self, value: Any) -> Picked | None:
        tensor = self.recorder.engine.tensor(value)
        return None if tensor is None else self._of(tensor)

    def is_picked(self, tensor: Tensor) -> bool:
        return bool(self.picked) and self._of(tensor) is not None

    def model_called(self, tensor: Tensor, learns: bool) -> None:
        """A model gets a batch."""
        if self.picked and (entry := self._of(tensor)) is not None:
            self.inputs.append(entry)
        for facts in self.loaders.values() if learns else ():
            if facts.batch is not None and facts.batch() is tensor:
                facts.trained += 1

    def target_given(self, target: Any) -> None:
        """A loss gets a target: was it picked by other indices than what the model got?"""
        entry = self._of(target) if isinstance(target, Tensor) and self.inputs else None
        if entry is None:
            return
        like = [each for each in self.inputs if each.is_like(entry)]
        if like:
            self.paired += 1
            if not any(each.order == entry.order for each in like):
                self.parted[line_of(entry.place), line_of(like[-1].place)] += 1

    def went_backward(self) -> None:
        self.inputs.clear()

    def dataset_made(self, dataset: Any) -> None:
        """Tensors that were shuffled apart and are then put together in a dataset."""
        if not isinstance(dataset, self.recorder.engine.TensorDataset) or len(dataset.tensors) < 2:
            return
        first, last = self._given(dataset.tensors[0]), self._given(dataset.tensors[-1])
        if first is None or last is None or not first.is_like(last):
            return
        if first.order != last.order:
            self.parted_datasets[line_of(last.place), line_of(first.place)] += 1

    # -- loaders ---------------------------------------------------------------------------------

    @property
    def most_passes(self) -> int | None:
        """How often the loader that was begun the most often has been: the number of epochs."""
        return max(self.begun.values(), default=None)

    def loader_begins(self, loader: Any, iterator: Any) -> None:
        if len(self.begun) < _MANY:
            self.begun[id(loader)] += 1
        in_order = self.recorder.engine.SequentialSampler
        if not isinstance(getattr(loader, "sampler", None), in_order):
            return
        facts = self.loaders.get(id(loader))
        if facts is None or facts.ref() is not loader:
            facts = self.loaders[id(loader)] = LoaderFacts(loader)
        facts.line = line_of(here())
        facts.passes += 1
        facts.taken = 0
        self.passes[id(iterator)] = weakref.ref(iterator), facts
        if len(self.passes) > _MANY:
            self.passes = {k: v for k, v in self.passes.items() if v[0]() is not None}

    def loader_gave(self, iterator: Any, batch: Any) -> None:
        entry = self.passes.get(id(iterator))
        if entry is None or entry[0]() is not iterator:
            return
        facts = entry[1]
        facts.taken += 1
        facts.first_only += 1 if facts.taken == 1 else -1 if facts.taken == 2 else 0
        first = batch
        while isinstance(first, tuple | list) and first:
            first = first[0]
        facts.batch = WeakTensorRef(first) if isinstance(first, Tensor) else None

    # -- checkpoints -----------------------------------------------------------------------------

    def checkpoint_saved(self, frame: Any, tensor: Tensor) -> None:
        sums = self.sums.setdefault(frame, [])
        if self.compared < _COMPARED and len(sums) == len(frame.notes):
            sums.append(_sum(tensor))

    def checkpoint_recomputed(self, frame: Any, index: int, tensor: Tensor) -> None:
        sums = self.sums.get(frame)
        if sums is None or index >= min(len(sums), len(frame.notes)):
            return
        if index == 0:
            self.compared += 1
        before, now = sums[index], _sum(tensor)
        if math.isclose(before, now, rel_tol=1e-5, abs_tol=1e-8) or before != before:
            return
        note = frame.notes[index]
        block = line_of(frame.where)
        difference = self.differences.get(block)
        if difference is None:
            line = line_of(note.where)
            difference = self.differences[block] = Difference(block, note.op, line)
        difference.count += 1


def _sum(tensor: Tensor) -> float:
    array = tensor._array
    if array.dtype.kind not in "fiu" or not array.size:
        return 0.0
    return float(np.add.reduce(np.abs(array), axis=None, dtype=np.float64))
