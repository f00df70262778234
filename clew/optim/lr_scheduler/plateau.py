"""A scheduler that looks at how training goes."""

from __future__ import annotations

import math
import warnings
from typing import SupportsFloat

from clew import errors
from clew.observer import active
from clew.optim.lr_scheduler.base import (
    EPOCH_DEPRECATION_WARNING,
    LRScheduler,
    check_optimizer,
    rates_of,
    set_value,
)
from clew.optim.optimizer import Optimizer


class ReduceLROnPlateau(LRScheduler):
    """Multiplies the rates by `factor` when a figure has stopped getting better.

    `step(figure)` takes the figure of an epoch: a loss, or an accuracy with `mode="max"`.

    Args:
        optimizer: the optimizer whose rates are set
        mode: whether small figures are good ("min") or large ones ("max")
        factor: by what the rates are multiplied; below 1
        patience: how many epochs without progress are put up with
        threshold: how much better counts as progress
        threshold_mode: whether `threshold` is a part of the best figure ("rel") or a difference
            ("abs")
        cooldown: how many epochs after a reduction do not count
        min_lr: the lowest rate, for all groups or one for each
        eps: a reduction by less than this is not made

    Example:
        >>> from clew.optim.lr_scheduler import ReduceLROnPlateau
        >>> optimizer = optim.SGD([nn.Parameter(clew.zeros(1))], lr=1.0)
        >>> scheduler = ReduceLROnPlateau(optimizer, patience=1)
        >>> for loss in [1.0, 0.5, 0.5, 0.5]:
        ...     scheduler.step(loss)
        ...     print(loss, scheduler.get_last_lr())
        1.0 [1.0]
        0.5 [1.0]
        0.5 [1.0]
        0.5 [0.1]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: list[float] | float = 0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0." + errors.at_user_line())
        check_optimizer(optimizer)
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!" + errors.at_user_line())
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown!" + errors.at_user_line())
        groups = len(optimizer.param_groups)
        self.factor = factor
        self.optimizer = optimizer
        self.default_min_lr: float | None
        if isinstance(min_lr, list | tuple):
            if len(min_lr) != groups:
                raise ValueError(
                    f"expected {groups} min_lrs, got {len(min_lr)}" + errors.at_user_line()
                )
            self.default_min_lr, self.min_lrs = None, list(min_lr)
        else:
            self.default_min_lr, self.min_lrs = min_lr, [min_lr] * groups
        self.patience = patience
        self.cooldown = cooldown
        self.eps = eps
        self.last_epoch = 0
        self._last_lr = rates_of(optimizer)
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.mode = mode
        self.threshold = threshold
        self.threshold_mode = threshold_mode
        self._reset()

    def _reset(self) -> None:
        self.best = self.mode_worse
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    def step(  # type: ignore[override]  # it needs the figure
        self, metrics: SupportsFloat, epoch: int | None = None
    ) -> None:
        """Note the figure of an epoch, and reduce the rates if it is time to."""
        observer = active.observer
        if observer is not None:
            observer.scheduler_steps(self, metrics)
        current = float(metrics)
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(current, self.best):
            self.best = current
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr()
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = rates_of(self.optimizer)

    @property
    def in_cooldown(self) -> bool:
        """Whether a reduction was so recent that bad epochs do not count."""
        return self.cooldown_counter > 0

    def _is_better(self, a: float, best: float) -> bool:
        sign = 1 if self.mode == "max" else -1
        if self.threshold_mode == "rel":
            goal = best * (1 + sign * self.threshold)
        else:
            goal = best + sign * self.threshold
        return a > goal if self.mode == "max" else a < goal

    def _reduce_lr(self) -> None:
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise RuntimeError(
                    f"The number of param groups in the `optimizer` ({len(groups)}) differs from "
                    f"when `ReduceLROnPlateau` was initialized ({len(self.min_lrs)}), usually due "
                    "to a new param group being added to the optimizer. Please modify the "
                    "`min_lrs` field to match the length of the `optimizer` param groups."
                    + errors.at_user_line()
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, lowest in zip(groups, self.min_lrs):
            old = float(group["lr"])
            new = max(old * self.factor, lowest)
            if old - new > self.eps:
                set_value(group, "lr", new)
