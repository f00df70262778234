"""Schedulers and clipping: when they ran, relative to steps and backward passes."""

from __future__ import annotations

import contextlib
import weakref
from collections import Counter, deque
from typing import Any

import numpy as np

from clew.doctor.facts.graphs import number_saved, op_name
from clew.doctor.facts.places import (
    Line,
    Place,
    constructed_at,
    epoch_loop,
    here,
    line_of,
    locals_of,
    user_frames,
)
from clew.doctor.facts.recorder import Recorder
from clew.doctor.facts.records import ParamFacts
from clew.observed import Tensor, elements


class SchedulerFacts:
    """A learning-rate scheduler."""

    def __init__(self, scheduler: Any, born: Place | None) -> None:
        self.ref = weakref.ref(scheduler)
        self.kind = type(scheduler).__name__
        self.born = born
        self.optimizer: int | None = None
        self.steps = 0
        self.step_at: Counter[Line | None] = Counter()
        self.settings: dict[str, float] = {}
        # Steps since the scheduler's optimizer last moved, while another one did.
        self.idle = 0
        self.epochs: int | None = None  # how many epochs the program says it runs
        self.seen: tuple[int, int] = (0, 0)
        self.mode = ""  # of one that looks at a figure: what is better, "min" or "max"
        # The figures that it was given, beside the loss at that time.
        self.figures: deque[tuple[float, float]] = deque(maxlen=400)


def epochs_here() -> int | None:
    """The number of epochs, by the names of variables or the loop around the running line."""
    for frame in user_frames(2):
        for names in (locals_of(frame), frame.f_globals):
            for name, value in list(names.items()):
                if isinstance(value, int) and name.lower() in _EPOCHS and value > 1:
                    return value
        line = Line(frame.f_code.co_filename, frame.f_lineno)
        count = epoch_loop(line)
        if count is not None:
            return count
    return None


class ClipFacts:
    """A line that clips gradients."""

    def __init__(self, line: Line | None) -> None:
        self.line = line
        self.count = 0
        self.after_step = 0
        self.without_gradient = 0
        self.still_scaled = 0
        self.last_scaled = -1  # the step before which that was counted last


_EPOCHS = frozenset({"epochs", "num_epochs", "n_epochs", "max_epochs", "total_epochs"})
_SETTINGS = ("T_max", "step_size", "gamma", "total_steps", "T_0", "total_iters", "milestones")


class ScheduleWatch:
    """Sees schedulers and clipping."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.schedulers: dict[int, SchedulerFacts] = {}
        self.clips: dict[Line | None, ClipFacts] = {}
        self.is_scaled: Any = lambda tensors: False
        self.by_scaler = False
        self._last_clip: tuple[Line | None, int] = (None, -1)
        self._loss_factor = 1.0  # by which the program multiplied the last loss
        self._clipped: dict[int, tuple[ClipFacts, int]] = {}  # leaves: by what line, and when

    # -- schedulers ----------------------------------------------------------------------------

    def made(self, scheduler: Any) -> None:
        if id(scheduler) not in self.schedulers or self.schedulers[id(scheduler)].ref() is None:
            self.schedulers[id(scheduler)] = SchedulerFacts(scheduler, constructed_at(scheduler))

    def stepped(self, scheduler: Any, metrics: Any = None) -> None:
        facts = self.schedulers.get(id(scheduler))
        if facts is None:
            self.made(scheduler)
            facts = self.schedulers[id(scheduler)]
        if getattr(scheduler, "_is_initial", False):
            return
        optimizer = self.recorder.engine.optimizer(getattr(scheduler, "optimizer", None))
        if optimizer is None:
            return
        known = self.recorder.optimizer_facts(optimizer)
        facts.optimizer = known.number
        if not facts.steps:
            for name in _SETTINGS:
                value = getattr(scheduler, name, None)
                if name == "milestones" and value:
                    value = max(value)
                if isinstance(value, int | float):
                    facts.settings[name] = float(value)
        if known.taken == facts.seen[0] and self.recorder.taken > facts.seen[1] and facts.steps:
            facts.idle += 1
        elif known.taken > facts.seen[0]:
            facts.idle = 0
        facts.seen = known.taken, self.recorder.taken
        if not facts.steps:
            facts.epochs = epochs_here()
        facts.steps += 1
        facts.step_at[line_of(here())] += 1
        if metrics is not None and self.recorder.last_loss is not None:
            facts.mode = getattr(scheduler, "mode", "")
            with contextlib.suppress(TypeError, ValueError, RuntimeError):  # an error follows
                facts.figures.append((float(metrics), self.recorder.last_loss))

    # -- clipping --------------------------------------------------------------------------------

    def clipping(self, tensors: list[Tensor]) -> None:
        line = line_of(here())
        now = self.recorder.clock
        if self._last_clip == (line, now):
            return  # one call asks for the gradients twice
        self._last_clip = line, now
        facts = self.clips.setdefault(line, ClipFacts(line))
        facts.count += 1
        # (A gradient that the program has set itself is behind no pass: when, nobody knows.)
        known = [k for t in tensors if (k := self.recorder.find(t)) is not None and k.pending]
        if not any(t._grad is not None and elements(t._grad).any() for t in tensors):
            facts.without_gradient += 1
        elif known and all(k.consumed for k in known):
            facts.after_step += 1
        if self.is_scaled(tensors):
            facts.still_scaled += 1

        for each in known:
            self._clipped[each.number] = facts, now

    def backward_begins(self, roots: Any) -> None:
        """A loss that is scaled by hand: by which factor."""
        number = number_saved(roots[0][0]) if roots and op_name(roots[0][0]) == "mul" else None
        self._loss_factor = 1.0 if number is None else number

    def scaled(self, known: ParamFacts, ratio: float) -> None:
        """The program has multiplied a gradient: is the loss's factor taken out after a clip?"""
        facts, when = self._clipped.get(known.number, (None, -1))
        if facts is None or known.last_reached > when or known.consumed:
            return
        undone = self._loss_factor >= 8 and abs(ratio * self._loss_factor - 1) < 1e-3
        if undone and facts.last_scaled != self.recorder.steps:
            facts.last_scaled = self.recorder.steps
            facts.still_scaled += 1

    def replaced(self, known: ParamFacts, before: Tensor | None, after: Tensor) -> None:
        """`p.grad = p.grad / scale`: a gradient is replaced by a multiple of itself."""
        if before is None or before._array.shape != after._array.shape:
            return
        old, new = before._array, after._array
        size = float(np.abs(old).sum())
        ratio = float(np.abs(new).sum()) / size if size else 0.0
        if 0 < ratio < 1 and np.allclose(new, old * ratio, rtol=1e-3):
            self.scaled(known, ratio)

    def written(self, name: str, inputs: tuple[Any, ...], out: Tensor) -> None:
        """A write of the user's: is it a gradient that is scaled or clipped by hand?"""
        if self.by_scaler or not name.startswith(("mul", "div", "clamp")):
            return
        if self._last_clip[0] is not None and self._last_clip[0] == line_of(here()):
            return  # the clipping function itself
        for known in self.recorder.by_id.values():
            tensor = known.ref()
            if (
                tensor is not None
                and tensor._grad is not None
                and self.recorder.engine.same_memory(tensor._grad, out)
            ):
                if name.startswith("clamp"):
                    self._clamped(known, tensor)
                else:
                    known.scaled_when = self.recorder.tick()
                    number = _number(inputs[-1])
                    if number:
                        self.scaled(known, number if name.startswith("mul") else 1 / number)
                return

    def _clamped(self, known: Any, tensor: Tensor) -> None:
        line = line_of(here())
        facts = self.clips.setdefault(line, ClipFacts(line))
        facts.count += 1
        if known.consumed and known.pending:
            facts.after_step += 1
        self._clipped[known.number] = facts, self.recorder.clock


def _number(value: Any) -> float | None:
    """A factor, as a number or as a tensor of one element."""
    if isinstance(value, int | float):
        return float(value)
    array = value._array if isinstance(value, Tensor) else None
    return float(array.reshape(-1)[0]) if array is not None and array.size == 1 else None
