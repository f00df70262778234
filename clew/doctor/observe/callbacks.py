"""The doctor as a callback of training frameworks: Lightning, and `Trainer` of transformers.

The classes derive from those of the framework, which is imported when one of them is asked for.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from clew.doctor.observe.watch import Unhealthy, Watch
from clew.doctor.report.findings import Report


class Following:
    """What the callbacks have in common: a watch from the beginning of training to its end.

    Args:
        html: a file for the page
        check: raise `Unhealthy` at the end of training if there is an error or a warning
        quiet: print no report
        engine: "clew" or "torch"; by default what `import torch` means in this process
        every: look at one step of so many
        steps: watch the first steps only
    """

    def __init__(
        self, *, html: str | Path | None = None, check: bool = False, quiet: bool = False,
        engine: str | None = None, every: int = 0, steps: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.html = html
        self.check = check
        self.quiet = quiet
        self.options: dict[str, Any] = {
            "engine": engine or engine_in_use(), "every": every, "steps": steps,
        }  # fmt: skip
        self.watch: Watch | None = None
        self.report: Report | None = None

    def begin(self, *objects: Any) -> None:
        """Training begins, with these models and optimizers."""
        self.watch = Watch(*objects, **self.options).start()

    def finish(self, error: BaseException | None = None) -> None:
        """Training is over."""
        watch, self.watch = self.watch, None
        if watch is None:
            return
        if error is not None:
            watch.session.ended_by(error)
        watch.stop()
        self.report = watch.report()
        if self.html is not None:
            watch.save(self.html)
        if not self.quiet:
            print(f"clew doctor: {self.report}", file=sys.stderr)
        if self.check and error is None and self.report.problems:
            raise Unhealthy(str(self.report))


def engine_in_use() -> str:
    """What `import torch` means here."""
    torch = sys.modules.get("torch")
    own = torch is None or getattr(torch, "__name__", "").split(".")[0] == "clew"
    return "clew" if own else "torch"


def lightning_callback() -> type:
    """The class for `Trainer(callbacks=[...])` of Lightning."""
    installed = find_spec("lightning") is not None
    package = import_module("lightning.pytorch" if installed else "pytorch_lightning")
    base: Any = package.Callback

    class LightningCallback(Following, base):
        """Watches `fit`, from its start to its end."""

        def on_train_start(self, trainer: Any, pl_module: Any) -> None:
            self.begin(pl_module, *trainer.optimizers)

        def on_train_end(self, trainer: Any, pl_module: Any) -> None:
            self.finish()

        def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
            self.finish(exception)

    return LightningCallback


def trainer_callback() -> type:
    """The class for `Trainer(callbacks=[...])` of transformers."""
    base: Any = import_module("transformers").TrainerCallback

    class TrainerCallback(Following, base):
        """Watches `train()`, from its beginning to its end."""

        def on_train_begin(self, args: Any, state: Any, control: Any, **given: Any) -> None:
            optimizer = given.get("optimizer")
            # accelerate wraps an optimizer; the doctor looks at the one that steps.
            optimizer = getattr(optimizer, "optimizer", optimizer)
            known = [each for each in (given.get("model"), optimizer) if each is not None]
            self.begin(*known)

        def on_train_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
            self.finish()

    return TrainerCallback
