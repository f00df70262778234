"""The doctor inside a program: `with clew.doctor.watch(model, optimizer) as d: ...`."""

from __future__ import annotations

import sys
from pathlib import Path
from types import TracebackType
from typing import Any

from clew.doctor.engines import engine_named
from clew.doctor.facts.places import here
from clew.doctor.observe.session import Session
from clew.doctor.report.findings import RANK, Report
from clew.doctor.report.page import page


class Unhealthy(AssertionError):
    """Raised by `assert_healthy`: the text lists what was found."""


class Watch:
    """Watches from `start` (or the beginning of the `with` block) to `stop` (or its end)."""

    def __init__(
        self, *objects: Any, engine: str = "clew", every: int | None = None,
        steps: int | None = None,
    ) -> None:  # fmt: skip
        is_clew = engine == "clew"
        used = engine_named(engine) if is_clew else engine_named(engine, every)
        self.session = Session(used, every=(every or 0) if is_clew else 0, steps=steps)
        for each in objects:
            if isinstance(each, used.Module):
                for module in each.modules():
                    self.session.recorder.module_born(module, None)
                self.session.recorder.name_parameters(each)
            elif isinstance(each, used.Optimizer):
                self.session.recorder.optimizer_made(each, here())
            elif (tensor := used.tensor(each)) is not None:
                self.session.recorder.facts(tensor)
            else:
                raise TypeError(
                    f"watch() takes models, optimizers and tensors, not {type(each).__name__}"
                )

    def start(self) -> Watch:
        self.session.start()
        return self

    def stop(self) -> None:
        self.session.stop()

    def __enter__(self) -> Watch:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            self.session.ended_by(error)
        self.stop()

    def report(self) -> Report:
        """What was found so far."""
        return self.session.report(Path(sys.argv[0]).name if sys.argv else "")

    def assert_healthy(self, severity: str = "warning") -> None:
        """Raise if there is a finding of this severity, or a worse one."""
        bad = [f for f in self.report().findings if RANK[f.severity] <= RANK[severity]]
        if bad:
            raise Unhealthy("\n".join(f"{f.rule} at {f.line}: {f.message}" for f in bad))

    def save(self, path: str | Path) -> None:
        """Write the report as a page."""
        Path(path).write_text(page(self.report()), encoding="utf-8")

    def _repr_html_(self) -> str:
        return self.report()._repr_html_()


def watch(
    *objects: Any, engine: str = "clew", every: int | None = None, steps: int | None = None
) -> Watch:
    """Watch what a program does with models and optimizers, until the block ends.

    Args:
        objects: models, optimizers and tensors that exist already
        engine: the library that they are of, "clew" or "torch"
        every: look at one of so many steps, after the first ones
        steps: watch so many steps of the optimizers only

    Example:
        >>> with clew.doctor.watch() as d:
        ...     pass
        >>> d.report().problems
        []
    """
    return Watch(*objects, engine=engine, every=every, steps=steps)
