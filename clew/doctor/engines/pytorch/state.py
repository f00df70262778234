"""Whether the doctor looks, and what a thread is doing."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from types import FrameType
from typing import Any

import torch

from clew.core.no_history import NoHistory
from clew.doctor.facts.places import Place, function_place, here, user_frames

_FIRST = 8  # steps of each optimizer that are looked at in any case
_MANY = 3  # optimizers that count
# Without an option, so many steps while they have made fewer calls than this: of small programs,
# most is seen.
_ALL, _CALLS = 64, 400
# Then one of so many, until so many steps are made; at last one of _SPARSE.
_RARE = ((8, 64), (16, 400))
_SPARSE = 32
# Of each line that calls a model without gradients, while no step is looked at.
_EVALUATIONS = 8


class ThreadState:
    """What collectors ask of a thread."""

    def __init__(self) -> None:
        # Why results made now have no history: the line that switched grad mode off.
        self.no_grad_reason: NoHistory | None = None
        self.backward_runs: tuple[Any, ...] = ()
        # The last backward that accumulated gradients: its number in the order of nodes, and line.
        self.last_backward: Any = None
        # How values last left a graph: by what, where, and from which node.
        self.last_exit: tuple[str, Place | None, Any] | None = None
        # Whether the doctor itself runs, or something whose parts are not told.
        self.busy = 0
        # Whether an optimizer is making its step, by no function of the program's.
        self.in_step = False
        # The model that runs while no step is looked at, by identity: what it calls without
        # gradients is a part of training.
        self.model: int | None = None

    @property
    def grad_enabled(self) -> bool:
        return torch.is_grad_enabled()

    def grad_mode_set(self, enabled: bool, was: bool, how: str = "no_grad") -> None:
        if enabled:
            self.no_grad_reason = None
        elif was or self.no_grad_reason is None:
            self.no_grad_reason = NoHistory("no_grad", how, _switched_at())


def _switched_at() -> Place | None:
    """The line that switches grad mode off; for a decorator, the function that it stands over."""
    users = next(user_frames(2), None)
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame is not users:
        if frame.f_code.co_name == "decorate_context" and "func" in frame.f_code.co_freevars:
            return function_place(frame.f_locals.get("func")) or here()
        frame = frame.f_back
    return here()


class Local(threading.local):
    """The state of each thread."""

    def __init__(self) -> None:
        self.state = ThreadState()


class Sampling:
    """Which steps are looked at: the first ones, then one window in every so many steps.

    A window begins when a step ends and holds as many steps as there are optimizers.
    """

    def __init__(self, every: int | None) -> None:
        self.every = every
        self.steps = 0
        self.left = 1
        self.calls = 0  # that were told
        self.evaluations: Counter[Place | None] = Counter()
        self.is_open = True

    def step_ended(self, optimizers: int) -> None:
        self.steps += 1
        every = self.every
        if every is None:
            every = next((rare for rare, steps in _RARE if self.steps < steps), _SPARSE)
        is_small = self.every is None and self.steps < _ALL and self.calls < _CALLS
        if is_small or self.steps < _FIRST * min(optimizers, _MANY) or every <= 1:
            self.is_open = True
            return
        self.left -= 1
        if self.steps % every == 0:
            self.left = max(1, optimizers)
        self.is_open = self.left > 0

    def model_evaluated(self) -> bool:
        """A model is called without gradients, or in evaluation mode: is that looked at?"""
        place = here()
        self.evaluations[place] += 1
        count = self.evaluations[place]
        self.is_open = count <= _EVALUATIONS or count % _SPARSE == 0
        return self.is_open
