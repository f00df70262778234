"""A run as lines of JSON, one after the other, for whoever follows it from outside."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.doctor.report.findings import Report

if TYPE_CHECKING:
    from clew.doctor.observe.session import Session

_APART = 1.0  # seconds between two lines of numbers, at least
_JUDGED = 30.0  # seconds between two looks for new findings, at least


class Monitor:
    """Appends to a file: numbers of steps, findings when they are new, and how the run ended."""

    def __init__(self, session: Session, path: str | Path, script: str = "") -> None:
        self.session = session
        self.script = script
        self.path = Path(path)
        self.known: set[Any] = set()
        self.wrote = self.judged = time.monotonic() - _APART
        self.write({"event": "begin", "script": script})

    def write(self, entry: dict[str, Any]) -> None:
        line = json.dumps({"time": round(time.time(), 3), **entry}, default=str)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")

    def stepped(self) -> None:
        """After a step of an optimizer."""
        now = time.monotonic()
        if now - self.wrote >= _APART:
            self.wrote = now
            self.write({"event": "step", **self.numbers()})
        # A look for findings may cost a while: it takes at most a hundredth of the time.
        if now - self.judged >= _JUDGED:
            self.findings(self.session.live_report(self.script))
            self.judged = now + 100 * (time.monotonic() - now)

    def numbers(self) -> dict[str, Any]:
        """What is known of the last step."""
        recorder, numbers = self.session.recorder, self.session.numbers
        rates = [o.rates.values[-1] for o in recorder.optimizers.values() if o.rates.points]
        return {
            "step": recorder.steps,
            "loss": _finite(recorder.last_loss),
            "gradient_norm": _last(numbers.total_norm.values),
            "update_ratio": _last(numbers.ratio.values),
            "rate": _last(rates),
            "graph_bytes": _last(self.session.held.values),
        }

    def findings(self, report: Report) -> None:
        """Write the findings that were not there before."""
        for finding in report.problems:
            key = finding.rule, finding.line
            if key not in self.known:
                self.known.add(key)
                step = self.session.recorder.steps
                self.write({"event": "finding", "step": step, **finding.as_json(self.script)})

    def end(self, report: Report) -> None:
        """The run is over."""
        self.findings(report)
        self.write({"event": "end", **self.numbers(), "exit": vars(report.exit)})


def _last(values: list[float]) -> float | str | None:
    return _finite(values[-1]) if values else None


def _finite(value: float | None) -> float | str | None:
    """JSON has no word for infinities: they are written as text."""
    return value if value is None or math.isfinite(value) else str(value)
