"""Schedulers and clipping: when they ran, relative to steps and backward passes."""

from __future__ import annotations

import weakref
from collections import Counter
from typing import Any

from clew.core.tensor import Tensor
from clew.doctor.facts.places import (
    Line,
    Place,
    epoch_loop,
    here,
    line_of,
    locals_of,
    user_frames,
)
from clew.doctor.facts.recorder import Recorder


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

    def line(self, place: Place | None) -> Line | None:
        return line_of(place)

    # -- schedulers ----------------------------------------------------------------------------

    def made(self, scheduler: Any) -> None:
        if id(scheduler) not in self.schedulers or self.schedulers[id(scheduler)].ref() is None:
            self.schedulers[id(scheduler)] = SchedulerFacts(scheduler, here())

    def stepped(self, scheduler: Any) -> None:
        facts = self.schedulers.get(id(scheduler))
        if facts is None:
            self.made(scheduler)
            facts = self.schedulers[id(scheduler)]
        if getattr(scheduler, "_is_initial", False):
            return
        optimizer = getattr(scheduler, "optimizer", None)
        if optimizer is None:
            return
        known = self.recorder.optimizer_facts(optimizer)
        facts.optimizer = known.number
        if not facts.steps:
            for name in _SETTINGS:
                value = getattr(scheduler, name, None)
                if isinstance(value, int | float):
                    facts.settings[name] = float(value)
        if known.steps == facts.seen[0] and self.recorder.steps > facts.seen[1] and facts.steps:
            facts.idle += 1
        elif known.steps > facts.seen[0]:
            facts.idle = 0
        facts.seen = known.steps, self.recorder.steps
        if not facts.steps:
            facts.epochs = epochs_here()
        facts.steps += 1
        facts.step_at[line_of(here())] += 1

    # -- clipping --------------------------------------------------------------------------------

    def clipping(self, tensors: list[Tensor]) -> None:
        line = line_of(here())
        now = self.recorder.clock
        if self._last_clip == (line, now):
            return  # one call asks for the gradients twice
        self._last_clip = line, now
        facts = self.clips.setdefault(line, ClipFacts(line))
        facts.count += 1
        known = [k for t in tensors if (k := self.recorder.find(t)) is not None]
        if not any(t._grad is not None and t._grad._array.any() for t in tensors):
            facts.without_gradient += 1
        elif known and all(k.consumed for k in known if k.pending):
            facts.after_step += 1
        if self.is_scaled(tensors):
            facts.still_scaled += 1

    def written(self, name: str, out: Tensor) -> None:
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
                and tensor._grad._array is out._array
            ):
                if name.startswith("clamp"):
                    self._clamped(known, tensor)
                else:
                    known.scaled_when = self.recorder.tick()
                return

    def _clamped(self, known: Any, tensor: Tensor) -> None:
        line = line_of(here())
        facts = self.clips.setdefault(line, ClipFacts(line))
        facts.count += 1
        if known.consumed and known.pending:
            facts.after_step += 1
