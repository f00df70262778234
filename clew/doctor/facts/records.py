"""What is remembered of parameters, optimizers, modules and backward passes.

Nothing here keeps a tensor or a graph alive: objects are held weakly, numbers are aggregated.
"""

from __future__ import annotations

import weakref
from collections import Counter, deque
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.doctor.facts.places import Line, Place, line_of
from clew.observed import Tensor, WeakTensorRef, elements

if TYPE_CHECKING:
    from clew.core.no_history import NoHistory

# Numbers over time are thinned out beyond this many points.
SERIES_LENGTH = 400


def number_mark(tensor: Tensor) -> tuple[int, int, Any]:
    """Changes whenever somebody writes to a tensor's memory, or replaces it."""
    storage = tensor._storage
    untracked = storage.untracked
    return id(storage), storage.version, None if untracked is None else untracked[0]


class Series:
    """Numbers over the steps of a run, in bounded memory: every second point goes when full."""

    __slots__ = ("_seen", "every", "points")

    def __init__(self) -> None:
        self.points: list[tuple[int, float]] = []
        self.every = 1
        self._seen = 0

    def add(self, step: int, value: float) -> None:
        if self._seen % self.every == 0:
            self.points.append((step, value))
            if len(self.points) >= SERIES_LENGTH:
                self.points = self.points[::2]
                self.every *= 2
        self._seen += 1

    @property
    def values(self) -> list[float]:
        return [value for _, value in self.points]

    def __len__(self) -> int:
        return len(self.points)


class ParamFacts:
    """A leaf that takes part in training, and what happened to it."""

    def __init__(self, tensor: Tensor, number: int) -> None:
        self.ref = WeakTensorRef(tensor)
        self.number = number
        self.name = ""
        self.shape = tuple(tensor._array.shape)
        self.size = tensor._array.size
        self.born: Place | None = None
        self.owner_born: Place | None = None  # where the layer that holds it was made
        self.owner_kind = ""
        self.is_parameter = False
        self.is_attribute = False  # a plain tensor that a module keeps
        self.requires_grad_seen = tensor._requires_grad
        self.ever_live = False  # it asked for gradients at some step or backward
        self.unfrozen = False  # it asked for no gradients at first, and for some later
        self._requires_grad = tensor._requires_grad
        self.root = 0  # the model that it is registered in, by number
        self.optimizers: set[int] = set()
        self.first_use: Place | None = None
        # Backward passes: how many reached it, and how many asked for its gradient by `grad`.
        self.reached = 0
        self.asked = 0
        self.derived = 0  # gradients of other tensors that were taken through it, to learn from
        self.last_reached = -1
        self.first_pass = self.last_pass = 0  # counted over all backward passes
        self.first_steps = self.last_steps = 0  # of all optimizers, before those two passes
        # The gradient that it holds now.
        self.pending: list[Any] = []
        self.consumed = False
        self.stale = False
        self.grad_mark: Any = None
        self.value_mark: Any = None
        self.cleared_when = -1
        self.cleared_by: tuple[Any, ...] = ()
        self.scaled_when = -1  # its gradient was multiplied by the user
        # Steps of optimizers that saw a gradient, and those that saw a stale sum.
        self.steps = 0
        self.stale_steps = 0
        self.stale_updates = 0  # the same, by hand
        self.stale_reads = 0  # the program read a stale sum
        self.stale_at: Counter[Line | None] = Counter()
        # Updates by hand since the last backward: with a gradient, and with one that was cleared.
        self.used_by_hand = False
        self.empty_by: Place | None = None
        self.empty_updates: Counter[Line | None] = Counter()
        self.manual = 0
        self.manual_at: Place | None = None
        self.used_without_grad: Counter[Place | None] = Counter()
        self.used_as_input = False
        self.grad_wanted = 0  # the program read `.grad`, which was never recorded
        self.loaded = False
        # Numbers.
        self.constant: float | None = None
        self.rows_equal = False
        self.init_at: Place | None = None
        self.grad_norm = Series()
        self.update_ratio = Series()
        self.use_order = 0
        self.gain: float | None = None  # size of the weights times the root of the fan-in
        self.still_equal = False
        self.zero_grads = 0
        self.nonzero_grads = 0

    @property
    def tensor(self) -> Tensor | None:
        return self.ref()

    @property
    def requires_grad(self) -> bool:
        """Whether it asks for gradients; of one that is gone, whether it did when last seen."""
        tensor = self.ref()
        return self._requires_grad if tensor is None else tensor._requires_grad

    def see(self, tensor: Tensor) -> None:
        """Note what is asked of the tensor now."""
        self.unfrozen |= tensor._requires_grad and not self._requires_grad
        self.ever_live |= tensor._requires_grad
        self._requires_grad = tensor._requires_grad
        self.requires_grad_seen |= tensor._requires_grad

    def updated_by_hand(self, grad: Tensor | None) -> None:
        """The program writes to it: is there still a gradient to do so with?"""
        if grad is None or elements(grad).any():
            self.used_by_hand = True
        elif self.grad_mark != number_mark(grad):
            self.empty_by = grad._storage.written_at

    def settle_updates(self) -> None:
        """Before the next backward: were all updates since the last one made with zeros?"""
        if self.empty_by is not None and not self.used_by_hand:
            self.empty_updates[line_of(self.empty_by)] += 1
        self.empty_by, self.used_by_hand = None, False

    @property
    def steps_with_value(self) -> bool:
        """Whether an optimizer has ever used a gradient of it that was not zero throughout."""
        return self.steps > 0 and not (self.zero_grads and not self.nonzero_grads)

    @property
    def persistent(self) -> bool:
        """Whether the same tensor took part in several iterations."""
        return self.reached >= 3

    @property
    def shown(self) -> str:
        return self.name or f"a tensor of shape {list(self.shape)}"

    @property
    def made_at(self) -> Line | None:
        """Where it, or the layer that holds it, was made."""
        return line_of(self.owner_born) or line_of(self.born)


class OptimizerFacts:
    """An optimizer and the order in which things happened around its steps."""

    def __init__(self, optimizer: Any, number: int, born: Place | None) -> None:
        self.ref = weakref.ref(optimizer)
        self.number = number
        self.kind = type(optimizer).__name__
        self.born = born
        self.params: list[int] = []
        self.groups: list[list[int]] = []
        self.steps = 0
        self.taken = 0  # steps, with those that were not looked at
        self.attempts = 0  # by a gradient scaler
        self.last_step = -1
        self.last_count = 0  # how many steps all optimizers had taken at the last one of this
        self.seq = -1  # the place of the last step in the order of graph nodes
        self.step_at: Counter[Line | None] = Counter()
        self.zero_at: Counter[Line | None] = Counter()
        # Of the steps: without any gradient; after their gradients were cleared; without any
        # backward before; on a graph that was built before and not yet gone backward.
        self.cleared_steps = 0
        self.cleared_by: Counter[Any] = Counter()
        self.starved_by: Counter[Line | None] = Counter()  # cuts before steps without gradients
        self.first_was_early = False
        self.early_backwards = 0
        self.early_at: Counter[Line | None] = Counter()
        self.backwards = 0
        self.backward_at: Counter[Line | None] = Counter()
        # Micro-batches: how many backward passes from one place each step summed up.
        self.summed: Counter[int] = Counter()
        self.undivided: Counter[int] = Counter()
        self.summed_at: Counter[Line | None] = Counter()
        self.rates = Series()
        self.first_rate: float | None = None
        self.losses = Series()
        self.uses_closure = False
        self.keeps_state = False  # moments, from one step to the next


class BackwardSite:
    """A line that calls backward, over all its calls."""

    def __init__(self, place: Place | None) -> None:
        self.place = place
        self.count = 0
        self.kept = 0
        self.kept_needed = 0
        self.asked = 0  # by autograd.grad, not by backward
        self.sizes = Series()
        self.losses = Series()
        self.wasted = 0  # passes of which every gradient was cleared before a step
        self.wasted_by: Counter[Any] = Counter()  # by the lines that cleared them
        self.wasted_of: set[int] = set()  # the optimizers that would have used them


class ModuleFacts:
    """A module: where it was made, and in which modes it ran."""

    def __init__(self, module: Any, number: int, born: Place | None) -> None:
        self.ref = weakref.ref(module)
        self.number = number
        self.kind = type(module).__name__
        self.born = born
        self.named = False
        self.calls = 0


class Activity:
    """Which units of an activation were ever active, or saturated, lately."""

    def __init__(self, kind: str, place: Place | None, module: str | None) -> None:
        self.kind = kind
        self.place = place
        self.module = module
        self.active: np.ndarray | None = None
        self.window = 0
        self.dead_shares: deque[float] = deque(maxlen=8)
        self.saturated = Series()
        self.samples = 0
        self.first_step = -1
        self.order = 0
        self.is_output = False  # nothing trainable comes between it and the loss


class Spread:
    """How alike the outputs of a model are for different inputs: 1 when they are all the same."""

    def __init__(self, kind: str, born: Place | None) -> None:
        self.kind = kind
        self.born = born
        self.alike = Series()


class Cut:
    """A line that cuts histories."""

    def __init__(self, reason: NoHistory, since: int) -> None:
        self.kind = reason.kind
        self.op = reason.op
        self.where: Place | None = reason.where
        self.count = 0
        self.since = since  # the backward passes before it
        self.leaves: set[int] = set()
        self.used = False  # whether backward has gone through it, if it has no slope
        self.of_leaf = False  # the value of a parameter itself leaves here
