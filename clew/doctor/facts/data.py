"""Data and initial values: rows seen in training and evaluation, shapes, constant weights."""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from clew.doctor.facts.axes import is_batch, same_place
from clew.doctor.facts.graphs import inputs_of, op_name
from clew.doctor.facts.places import (
    Line,
    Place,
    assigned_at,
    here,
    line_of,
    locals_of,
    stack_here,
    user_frames,
)
from clew.doctor.facts.recorder import Recorder
from clew.doctor.facts.records import ParamFacts, number_mark
from clew.observed import Tensor, WeakTensorRef

_EXCHANGES = frozenset({"transpose", "permute", "t"})
_ROWS = 6000


class Swap:
    """A view or reshape that exchanges two dimensions by their sizes alone."""

    def __init__(self, before: tuple[int, ...], after: tuple[int, ...]) -> None:
        self.before = before
        self.after = after
        self.count = 0


class HandCall:
    """A product of data and a parameter, as if a model were called."""

    def __init__(self, line: Line | None, grad: bool) -> None:
        self.line = line
        self.training = True
        self.grad = grad
        self.rows: tuple[Any, set[int]] | None = None
        self.weights: Any = None  # changes when a weight does


class DataWatch:
    """Sees the batches that models get."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.trained: dict[int, set[int]] = {}
        # By model and the lines that led to the evaluation.
        self.held_out: dict[Any, set[int]] = {}
        self.settled: dict[Any, int] = {}  # calls in a row that brought no new training row
        self.common: dict[Any, set[int]] = {}  # of these, trained on before
        self.partly_known: set[Any] = set()  # models that were trained on more rows than are kept
        self.followed: Counter[Any] = Counter()  # calls that came after others had been trained
        self.passes: dict[Any, tuple[int, Any]] = {}
        self.codes: set[Any] = set()  # evaluations on integers
        self.held_rows: dict[Any, int] = {}  # the most rows of one call
        self.held_at: dict[Any, Counter[Line | None]] = {}
        self.wholes: set[Any] = set()  # evaluations on what training batches are picked out of
        self.is_source: Callable[[Tensor], bool] = lambda tensor: False
        self.held_names: dict[Any, Line | None] = {}
        self.held_under: dict[Any, Counter[Line | None]] = {}  # the no_grad in force
        self.datasets: dict[int, tuple[weakref.ref[Any], Line | None]] = {}
        # The batch that a loader gave last, and the line that made the loader's dataset.
        self.given: tuple[weakref.ref[Tensor], Line | None, Any] | None = None
        # Datasets of which parts are trained on: which parts, by a mark of their indices.
        self.parts: weakref.WeakKeyDictionary[Any, set[int]] = weakref.WeakKeyDictionary()
        self.last_part: weakref.ref[Any] | None = None
        self.swaps: dict[Line | None, Swap] = {}
        self.calls = 0
        self.batches: set[int] = set()
        self.batch: Callable[[], int | None] = lambda: None

    # -- initial values --------------------------------------------------------------------------

    def first_step(self, members: list[tuple[ParamFacts, Tensor]]) -> None:
        """Before the first step: weights that are all equal."""
        for known, tensor in members:
            array = tensor._array
            if known.gain is not None or array.ndim < 2 or array.size < 2:
                continue
            if array.dtype.kind != "f":
                continue
            known.init_at = self.recorder.given_at(tensor) or initialised_at(tensor) or known.born
            fan_in = array.size / array.shape[0]
            known.gain = float(np.sqrt(np.mean(np.square(array, dtype=np.float64)) * fan_in))
            first = array.reshape(-1)[0]
            if (array == first).all():
                known.constant = float(first)
            elif array.shape[0] > 1 and (array == array[:1]).all():
                known.rows_equal = True

    def look_at_rows(self, members: list[tuple[ParamFacts, Tensor]]) -> None:
        """After a sampled step: are units that began equal still equal?"""
        for known, tensor in members:
            if known.constant is not None or known.rows_equal:
                array = tensor._array
                known.still_equal = _has_equal_units(array)

    # -- rows ------------------------------------------------------------------------------------

    def root_called(self, module: Any, call: Any, result: Any) -> None:
        args = call.args
        if not args or not isinstance(args[0], Tensor) or args[0]._is_lifted:
            return
        array = args[0]._array
        if array.ndim and len(self.batches) < 100:
            self.batches.add(array.shape[0])
        facts = self.recorder.module_facts(module)
        first = self.recorder.engine.tensor(next(module.parameters(), None))
        call.weights = None if first is None else number_mark(first)
        self._rows_seen(args[0], call, -1 if facts is None else facts.number)

    def multiplied(self, data: Tensor, weights: Tensor) -> None:
        """`x @ w` outside of any module, where w is a parameter: a model of one line."""
        known = self.recorder.find(weights)
        if known is None or self.calls > 3000:
            return
        call = HandCall(line_of(here()), self.recorder.local.state.grad_enabled)
        self._rows_seen(data, call, ("by hand", known.number))
        if call.rows is not None:
            self.went_backward([call])

    def _rows_seen(self, given: Tensor, call: Any, key: Any) -> None:
        """A model gets rows, to learn from or to be measured on."""
        array = given._array
        if array.ndim < 2 or array.dtype.kind not in "fi" or self.calls > 3000 or not len(array):
            return
        if array[0].size < 2:
            return
        self.calls += 1
        training = call.grad and call.training
        if training:
            rows = self.trained.setdefault(key, set())
        else:
            key = key, *(stack_here(3))
            rows = self.held_out.setdefault(key, set())
        if len(rows) > _ROWS:
            return
        if training and self.settled.get(key, 0) > 20 and self.calls % 8:
            return  # the training rows are known by now
        count = min(array.shape[0], 2048 if self.calls < 64 else 256)
        fresh = {hash(array[i].tobytes()) for i in range(count)}
        if training:
            self.settled[key] = self.settled.get(key, 0) + 1 if fresh <= rows else 0
            if array.shape[0] > count and not fresh <= rows:
                self.partly_known.add(key)  # which of the others are trained on, nobody knows
            call.rows = key, fresh  # they count when the call's result has gone backward
            self._part_used(given)
            return
        lines = self.held_at.setdefault(key, Counter())
        if call.line not in lines:
            self.held_names[key] = self.made_at(given)
        lines[call.line] += 1
        # Has anything been trained since the last call, and was it not this model?
        now = self.recorder.backwards, call.weights
        before = self.passes.get(key, now)
        same = call.weights is not None and before[1] == now[1]
        self.followed[key] += same and before[0] != now[0]
        self.passes[key] = now
        if self.is_source(given) or self._is_pool(given):
            self.wholes.add(key)
        reason = self.recorder.local.state.no_grad_reason
        if not call.grad and reason is not None:
            self.held_under.setdefault(key, Counter())[line_of(reason.where)] += 1
        if not _is_telling(array):
            return
        if array.dtype.kind == "i":
            self.codes.add(key)
        largest = self.held_rows.get(key, 0)
        self.held_rows[key] = max(largest, count)
        common = self.common.setdefault(key, set())
        common |= fresh & self.trained.get(key[0], set())
        rows |= fresh

    def went_backward(self, calls: list[Any]) -> None:
        """Calls whose results have gone backward: their rows have been trained on."""
        for call in calls:
            if call.rows is not None:
                key, rows = call.rows
                self.trained.setdefault(key, set()).update(rows)
                call.rows = None

    def serves_training(self, key: Any) -> bool:
        """Whether what the calls gave, without gradients, was mostly used in a loss: targets.

        Of a model that learns no more, while others learn between its calls, that is certain.
        """
        under = self.held_under.get(key, Counter())
        used = sum(min(count, self.recorder.joined[line]) for line, count in under.items())
        calls = sum(self.held_at[key].values())
        return used >= 0.5 * calls or self.followed[key] >= 0.5 * calls

    def is_drawn(self, key: Any) -> bool:
        """Whether codes are drawn anew for each evaluation, as windows of a text: no fixed set."""
        return key in self.codes and len(self.held_out[key]) > 1.5 * self.held_rows.get(key, 0)

    def dataset_made(self, dataset: Any) -> None:
        self.datasets[id(dataset)] = weakref.ref(dataset), line_of(here())

    def loader_gave(self, iterator: Any, batch: Any) -> None:
        first = batch
        while isinstance(first, tuple | list) and first:
            first = first[0]
        entry = self.datasets.get(id(iterator._dataset))
        if isinstance(first, Tensor) and entry is not None and entry[0]() is iterator._dataset:
            self.given = WeakTensorRef(first), entry[1], entry[0]

    def _part_used(self, given: Tensor) -> None:
        """A batch to learn from: which part of its dataset was it taken out of?"""
        dataset = self.given[2]() if self.given is not None and self.given[0]() is given else None
        if not isinstance(dataset, self.recorder.engine.Subset):
            return
        if self.last_part is not None and self.last_part() is dataset:
            return
        self.last_part = weakref.ref(dataset)
        parts = self.parts.setdefault(dataset.dataset, set())
        if len(parts) < 2:
            parts.add(hash(tuple(dataset.indices)))

    def _is_pool(self, given: Tensor) -> bool:
        """Whether these are all the rows of a dataset of which other parts are learnt each time.

        They are measured to choose among them, as for a curriculum or by an active learner.
        """
        engine = self.recorder.engine
        for dataset, parts in list(self.parts.items()):
            if len(parts) > 1 and isinstance(dataset, engine.TensorDataset):
                whole = engine.tensor(dataset.tensors[0])
                if whole is not None and engine.same_memory(whole, given):
                    return True
        return False

    def made_at(self, tensor: Tensor) -> Line | None:
        """The line that made the data which a batch comes from, by the names around the call."""
        if self.given is not None and self.given[0]() is tensor:
            return self.given[1]
        part = self.recorder.born_at(tensor) if tensor._view is not None else None
        if part is not None:
            return part
        engine = self.recorder.engine
        loaders = (engine.DataLoader, engine.Subset)
        for frame in user_frames(2):
            names = locals_of(frame)
            for held in list(names.values()):
                dataset = held.dataset if isinstance(held, loaders) else None
                for each in (dataset, held) if dataset is not None else ():
                    entry = self.datasets.get(id(each))
                    if entry is not None and entry[0]() is each:
                        return entry[1]
            best: tuple[int, Line] | None = None
            for name, held in list(names.items()):
                size = _holds(engine.tensor(held), tensor)
                if size is None or (best is not None and best[0] <= size):
                    continue
                line = assigned_at(name, frame.f_code.co_filename, code=frame.f_code)
                if line is not None:
                    best = size, line
            if best is not None:
                return best[1]
        return None

    def split(self, source: Tensor, out: Tensor) -> None:
        """A part of the user's data is taken: its line is remembered."""
        if out._array.ndim >= 1 and out._array.size > 1:
            self.recorder.tensor_born(out, here())

    # -- shapes ----------------------------------------------------------------------------------

    def viewed(self, source: Tensor, out: Tensor) -> None:
        """A view or reshape in a module of the user's."""
        before, after = source._array.shape, out._array.shape
        if len(before) < 2 or len(after) < 2 or before[:2] == after[:2]:
            return
        batch = self.batch()
        if not source._array.flags.c_contiguous:
            return
        node = source._node
        if (
            mixes(before, after, batch)
            or _unfolds_wrongly(node, before, after, batch)
            or _left_behind(node, before, after, batch)
            or _renamed(node, before, after, batch)
        ):
            line = line_of(here())
            swap = self.swaps.setdefault(line, Swap(before, after))
            swap.count += 1


def mixes(before: tuple[int, ...], after: tuple[int, ...], batch: int | None) -> bool:
    """Whether a view moves the batch axis by renaming it, which mixes the samples."""
    first, second = before[0], before[1]
    if min(first, second) < 2 or first == second:
        return False
    same_rest = before[2:] == after[2:] or len(before) != len(after)
    if first == after[1] and second == after[0] and same_rest:
        return True
    if len(before) == len(after) == 3 and after[1] == first and after[0] % second == 0:
        # (time, batch, heads * size) viewed as (batch * heads, time, size)
        heads = after[0] // second
        if heads > 1 and after[2] * heads == before[2]:
            return True
    if batch == first == after[1] and after[0] not in (1, first) and len(after) >= 3:
        return True
    return (
        batch is not None
        and batch > 1
        and second == batch == after[0]
        and first % batch != 0
        and first > 1
        and len(before) >= 3
    )


def _unfolds_wrongly(
    node: Any, before: tuple[int, ...], after: tuple[int, ...], batch: int | None
) -> bool:
    """Whether rows that were folded sample by sample are unfolded as if the samples came second."""
    if len(before) != 2 or len(after) < 3 or batch is None or after[1] != batch:
        return False
    if after[0] in (1, batch) or after[0] * after[1] != before[0]:
        return False
    for _ in range(8):
        behind = [] if node is None else [n for n in inputs_of(node) if not n.is_accumulator]
        shapes = [n._shape for n in behind if len(n._shape) >= 3]
        if shapes:
            return shapes[0][0] == batch and shapes[0][1] != batch
        node = behind[0] if behind else None
    return False


def _left_behind(
    node: Any, before: tuple[int, ...], after: tuple[int, ...], batch: int | None
) -> bool:
    """Whether the batch axis was moved away from the front, and a view calls another one so."""
    if batch is None or batch < 2 or after[0] != batch or before.count(batch) != 1:
        return False
    for _ in range(3):
        if before[0] == batch or node is None or op_name(node) not in ("clone", *_EXCHANGES):
            return False
        behind = inputs_of(node)
        if not behind:
            return False
        shape = tuple(behind[0]._shape)
        if op_name(node) in _EXCHANGES and shape[0] == batch and shape.count(batch) == 1:
            return True
        node = behind[0]
    return False


def _renamed(node: Any, before: tuple[int, ...], after: tuple[int, ...], batch: int | None) -> bool:
    """Whether the batch is at another place of the memory than what a view puts first."""
    if batch is None or batch < 2 or after[0] != batch or before.count(batch) != 1:
        return False
    axis = before.index(batch)
    return same_place(before, axis, after) != 0 and is_batch(node, axis, batch)


def _has_equal_units(array: np.ndarray) -> bool:
    """Whether all rows, or all columns, of a matrix are the same."""
    flat = array.reshape(array.shape[0], -1)
    rows = flat.shape[0] > 1 and np.allclose(flat, flat[:1], rtol=1e-5, atol=1e-9)
    return bool(rows or (flat.shape[1] > 1 and np.allclose(flat, flat[:, :1], 1e-5, 1e-9)))


def _is_telling(array: np.ndarray) -> bool:
    """Whether equal rows are no accident: real-valued measurements, or long lists of codes."""
    sample = array.reshape(array.shape[0], -1)[:32]
    if array.dtype.kind == "i":
        return sample.shape[1] >= 8 and np.unique(sample).size >= 10
    return bool((sample != np.round(sample)).mean() > 0.5)


def initialised_at(tensor: Tensor) -> Place | None:
    """The line that last wrote to a tensor."""
    storage = tensor._storage
    if storage.untracked is not None:
        return storage.untracked[2]
    return storage.written_at


def _holds(held: Tensor | None, tensor: Tensor) -> int | None:
    """The size of a variable whose memory a tensor is, or is part of; None if it is not."""
    if held is None or held._array.ndim < 2 or not held._array.size:
        return None
    if held is tensor or np.may_share_memory(held._array, tensor._array):
        return int(held._array.size)
    return None
