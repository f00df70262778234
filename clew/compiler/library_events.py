"""What a capture learns of the library: steps of optimizers, gradients that are cleared."""

from __future__ import annotations

import sys
import threading
import weakref
from types import FrameType
from typing import Any

from clew.compiler.capture import Capture
from clew.compiler.graph import CALL, Instruction
from clew.compiler.native.optimizer_steps import OptimizerStep, gradients_of
from clew.compiler.reachable import OPTIMIZER_NAMES, is_own
from clew.core.tensor import Tensor
from clew.observer import Observer
from clew.source import user_where

# The module whose frames are those of a call that is captured, and of what it is called by.
CAPTURING = "clew.compiler.captured_call"


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
        if not capture.depth:
            capture.gradients = gradients_of(optimizer, capture.values)
        capture.suspend()

    def step_ends(self, optimizer: Any) -> None:
        capture = self._mine()
        if capture is not None:
            name, step = f"{type(optimizer).__name__}.step", OptimizerStep(optimizer, user_where())
            capture.resume(name, step, capture.gradients)

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
            capture.assigned(tensor, value)

    def scheduler_steps(self, scheduler: Any, metrics: Any = None) -> None:
        capture = self._mine()
        if capture is None or capture.depth:
            return
        caller = sys._getframe(1).f_locals
        if caller.get("epoch") is not None or metrics is not None:
            capture.refuse("a scheduler's step with an argument")
        if _may_read_on(sys._getframe(1)):
            capture.refuse("what a scheduler changes may be read after its step")
        capture.graph.instructions.append(
            Instruction(CALL, "scheduler.step", scheduler.step, (), {}, (), user_where())
        )


def _may_read_on(frame: FrameType | None) -> bool:
    """Whether the call that is captured is inside of code that may read what optimizers keep."""
    while frame is not None and frame.f_globals.get("__name__") != CAPTURING:
        if not OPTIMIZER_NAMES.isdisjoint(frame.f_code.co_names) and not is_own(
            frame.f_globals.get("__name__")
        ):
            return True
        frame = frame.f_back
    return False
