"""A session: the doctor's eyes on one run. Events come in, collectors keep, rules judge."""

from __future__ import annotations

import sys
from typing import Any

from clew.doctor.engines import engine_named
from clew.doctor.facts.engine import Engine
from clew.doctor.facts.places import Line
from clew.doctor.observe.events import Events
from clew.doctor.observe.op_events import event
from clew.doctor.report.curves import curves
from clew.doctor.report.findings import Exit, Report
from clew.doctor.report.monitor import Monitor
from clew.doctor.rules import judge


class Session(Events):
    """Watches a run from `start` to `stop`."""

    def __init__(
        self, engine: Engine | None = None, *, every: int = 0, steps: int | None = None
    ) -> None:
        super().__init__(engine_named("clew") if engine is None else engine)
        self.numbers.every = every
        self.last_step = steps  # of the optimizers: what comes after it is not watched
        self.monitor: Monitor | None = None
        self.exit = Exit()
        self.error: BaseException | None = None
        self.active = False
        # What rules tell each other: parameters whose fate is explained, and how training went.
        self.explained: set[int] = set()
        self.diverges = False
        self.growth = 1.0
        self.too_fast = False

    # -- life ------------------------------------------------------------------------------------

    def start(self) -> None:
        if not self.active:
            self.look_at_settings()
            self.engine.start(self)
            self.active = True

    def stop(self) -> None:
        if self.active:
            self.engine.stop(self)
            self.active = False
            self._last_look()

    def step_ends(self, optimizer: Any) -> None:
        super().step_ends(optimizer)
        if self.monitor is not None:
            self._tell_monitor()
        if self.last_step is not None and self.recorder.steps >= self.last_step:
            self.stop()

    @event
    def _tell_monitor(self) -> None:
        if self.monitor is not None:
            self.monitor.stepped()

    @event
    def _last_look(self) -> None:
        if self.keeping.leak is None:
            self.keeping.look()
        main = sys.modules.get("__main__")
        if main is not None and self.recorder.steps:
            self.copies.kept_aliases()
            self.copies.look_at_names(vars(main), getattr(main, "__file__", None) or "")

    def ended_by(self, error: BaseException) -> None:
        """The program ended by an exception, or by leaving."""
        status = "exit" if isinstance(error, SystemExit) else "exception"
        try:
            text = str(error)
        except Exception:
            text = ""  # an error of the program's own that cannot say what it is
        self.exit = Exit(status, type(error).__name__, text)
        if status == "exception":
            self.error = error

    # -- the end ---------------------------------------------------------------------------------

    def lonely_roots(self) -> list[tuple[Line | None, Line | None, int]]:
        """Backward passes from leaves: the leaf's line, the cut behind it, how often."""
        return [(born, cut, count) for (born, cut), count in self.recorder.lonely.items()]

    def user_files(self) -> list[str]:
        """The files of the user's program that took part in training."""
        places = [site.place for site in self.recorder.sites.values()]
        places += [o.born for o in self.recorder.optimizers.values()]
        return list(dict.fromkeys(place[0].co_filename for place in places if place is not None))

    def live_report(self, script: str) -> Report:
        """A report from another thread, while the program goes on and changes what is recorded."""
        before = len(self.failures)
        report = self.report(script)
        for _ in range(3):
            if len(self.failures) == before:
                break
            # Something grew while it was read: what counts is the report at the end.
            del self.failures[before:]
            report = self.report(script)
        return report

    def report(self, script: str = "") -> Report:
        """Judge what was seen so far."""
        findings = judge(self)
        return Report(
            findings=findings,
            script=script,
            exit=self.exit,
            iterations=self.recorder.steps or self.recorder.backwards,
            series=curves(self),
            graph=self.picture,
            compiled=list(self.recorder.compiled),
        )
