"""What a capture learns of the library: steps of optimizers, gradients that are cleared."""

from __future__ import annotations

import sys
import threading
import weakref
from typing import Any

from clew.compiler.capture import Capture
from clew.compiler.graph import CALL, Instruction
from clew.core.tensor import Tensor
from clew.observer import Observer
from clew.source import user_where


class LibraryEvents(Observer):
    """What a capture learns of the library: steps of optimizers, which run as they are."""

    def __init__(self, capture: Capture) -> None:
        self.capture = weakref.ref(capture)

    def _mine(self) -> Capture | None:
        capture = self.capture()
        if capture is None or capture.thread != threading.get_ident():
            return None
        return capture

    def step_begins(self, optimizer: Any, has_closure: bool) -> None:
        capture = self._mine()
        if capture is None:
            return
        if has_closure:
            capture.refuse("an optimizer's step with a closure")
        elif optimizer._optimizer_step_pre_hooks or optimizer._optimizer_step_post_hooks:
            capture.refuse("hooks on an optimizer's step")
        capture.suspend()

    def step_ends(self, optimizer: Any) -> None:
        capture = self._mine()
        if capture is not None:
            capture.resume(f"{type(optimizer).__name__}.step", optimizer.step)

    def zero_grad(self, owner: Any) -> None:
        capture = self._mine()
        if capture is None or capture.depth or not sys._getframe(1).f_locals.get("set_to_none"):
            return
        if hasattr(owner, "param_groups"):
            leaves = [each for group in owner.param_groups for each in group["params"]]
        else:
            leaves = list(owner.parameters())
        capture.cleared(leaves)

    def grad_set(self, tensor: Tensor, value: Tensor | None) -> None:
        capture = self._mine()
        if capture is None or capture.depth:
            return
        if value is None:
            capture.cleared([tensor])
        else:
            capture.refuse("`.grad` is assigned")

    def scheduler_steps(self, scheduler: Any) -> None:
        capture = self._mine()
        if capture is None or capture.depth:
            return
        caller = sys._getframe(1).f_locals
        if caller.get("epoch") is not None or "metrics" in caller:
            capture.refuse("a scheduler's step with an argument")
        capture.graph.instructions.append(
            Instruction(CALL, "scheduler.step", scheduler.step, (), {}, (), user_where())
        )
