"""Schedulers made of schedulers: one after the other, or all at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from clew import errors
from clew.observer import active
from clew.optim.lr_scheduler.base import LRScheduler, rates_of, set_value
from clew.optim.lr_scheduler.plateau import ReduceLROnPlateau
from clew.optim.optimizer import Optimizer


class _ComposedLR(LRScheduler):
    """Holds schedulers of one optimizer."""

    _schedulers: list[Any]

    def _check(self, schedulers: Sequence[Any], optimizer: Optimizer | None) -> Optimizer:
        name = type(self).__name__
        optimizer = optimizer or schedulers[0].optimizer
        for index, scheduler in enumerate(schedulers):
            if not hasattr(scheduler, "optimizer"):
                raise TypeError(
                    f"{name} at index {index} should have `optimizer` as its attribute."
                    + errors.at_user_line()
                )
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ValueError(
                    f"{name} does not support `ReduceLROnPlateau` scheduler as it requires "
                    "additional kwargs to be specified when calling `step`, but got one at index "
                    f"{index} in the given schedulers sequence." + errors.at_user_line()
                )
            if scheduler.optimizer is not optimizer:
                raise ValueError(
                    f"{name} expects all schedulers to belong to the same optimizer, but got "
                    f"scheduler {type(scheduler).__name__} at index {index} has "
                    f"{scheduler.optimizer}, which is different from {optimizer}."
                    + errors.at_user_line()
                )
        return optimizer

    def state_dict(self) -> dict[str, Any]:
        """The states of the schedulers, too."""
        state = self._state_without("_schedulers")
        state["_schedulers"] = [scheduler.state_dict() for scheduler in self._schedulers]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` gave, into the schedulers that are here."""
        own = {name: value for name, value in state_dict.items() if name != "_schedulers"}
        super().load_state_dict(own)
        for scheduler, state in zip(self._schedulers, state_dict["_schedulers"]):
            scheduler.load_state_dict(state)


class SequentialLR(_ComposedLR):
    """Each scheduler in its turn, from one milestone to the next.

    Args:
        optimizer: the optimizer whose rates are set
        schedulers: the schedulers, of that optimizer
        milestones: the epochs at which the next one takes over, one fewer than schedulers
        last_epoch: the epoch to go on from; -1 begins anew

    Example:
        >>> from clew.optim.lr_scheduler import ConstantLR, ExponentialLR, SequentialLR
        >>> optimizer = optim.SGD([nn.Parameter(clew.zeros(1))], lr=1.0)
        >>> warmup = ConstantLR(optimizer, factor=0.1, total_iters=2)
        >>> decay = ExponentialLR(optimizer, gamma=0.5)
        >>> scheduler = SequentialLR(optimizer, [warmup, decay], milestones=[2])
        >>> for _ in range(5):
        ...     print(round(scheduler.get_last_lr()[0], 4), end=" ")
        ...     optimizer.step()
        ...     scheduler.step()
        0.1 0.1 1.0 0.5 0.25
    """

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: list[LRScheduler],
        milestones: list[int],
        last_epoch: int = -1,
    ) -> None:
        if not schedulers:
            raise ValueError(
                "SequentialLR expects at least one scheduler, but got no scheduler."
                + errors.at_user_line()
            )
        self._check(schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than "
                "the number of milestone points, but got number of schedulers "
                f"{len(schedulers)} and the number of milestones to be equal to {len(milestones)}"
                + errors.at_user_line()
            )
        self._schedulers = schedulers
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        # Making the schedulers has set the rates of all of them, one upon the other.
        for group in optimizer.param_groups:
            set_value(group, "lr", group["initial_lr"])
        self.recursive_undo()
        # Milestones at zero skip the schedulers before them.
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def recursive_undo(self, sched: Any = None) -> None:
        """Take back the first step of every scheduler in `sched`, by default in this one."""
        scheduler = self if sched is None else sched
        if hasattr(scheduler, "_schedulers"):
            for inner in scheduler._schedulers:
                self.recursive_undo(inner)
        elif hasattr(scheduler, "last_epoch"):
            scheduler.last_epoch -= 1

    def step(self) -> None:  # type: ignore[override]  # the milestones say which epoch it is
        """Go on by one epoch."""
        observer = active.observer
        if observer is not None:
            observer.scheduler_steps(self)
        self.last_epoch += 1
        turn = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[turn]
        if turn > 0 and self._milestones[turn - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_ComposedLR):
    """All schedulers in every epoch, each on what the one before it has set.

    Args:
        schedulers: the schedulers, all of one optimizer
        optimizer: that optimizer; by default, the one of the first scheduler

    Example:
        >>> from clew.optim.lr_scheduler import ChainedScheduler, ConstantLR, ExponentialLR
        >>> optimizer = optim.SGD([nn.Parameter(clew.zeros(1))], lr=1.0)
        >>> warmup = ConstantLR(optimizer, factor=0.1, total_iters=2)
        >>> decay = ExponentialLR(optimizer, gamma=0.5)
        >>> scheduler = ChainedScheduler([warmup, decay])
        >>> for _ in range(4):
        ...     print(round(scheduler.get_last_lr()[0], 4), end=" ")
        ...     optimizer.step()
        ...     scheduler.step()
        0.1 0.05 0.25 0.125
    """

    def __init__(
        self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None
    ) -> None:
        if len(schedulers) < 1:
            raise ValueError(
                "ChainedScheduler expects at least one scheduler to be chained, but got no "
                "scheduler." + errors.at_user_line()
            )
        self.optimizer = self._check(schedulers, optimizer)
        self._schedulers = list(schedulers)
        self._last_lr = rates_of(self.optimizer)

    def step(self) -> None:  # type: ignore[override]  # each scheduler counts for itself
        """Go on by one epoch."""
        observer = active.observer
        if observer is not None:
            observer.scheduler_steps(self)
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = rates_of(self.optimizer)
