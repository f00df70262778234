"""What averages models over ranks every few steps (local SGD)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from clew import errors
from clew.distributed.algorithms.model_averaging.utils import (
    average_parameters_or_parameter_groups,
)
from clew.distributed.runtime import world

__all__ = ["ModelAverager", "PeriodicModelAverager"]


class ModelAverager:
    """Counts steps; a subclass says when it averages.

    Args:
        process_group: the ranks; None is all of them
    """

    def __init__(self, process_group: Any = None) -> None:
        self.process_group = world.default_group() if process_group is None else process_group
        self.step = 0

    def average_parameters(self, params: Iterable[Any]) -> None:
        """Called after each step.

        Args:
            params: parameters, or groups of an optimizer
        """
        raise NotImplementedError


class PeriodicModelAverager(ModelAverager):
    """Averages parameters every few steps, after some first ones.

    Args:
        period: every how many steps
        warmup_steps: how many steps come before
        process_group: the ranks; None is all of them

    Example:
        >>> import clew.distributed as dist
        >>> from clew.distributed.algorithms.model_averaging import averagers
        >>> dist.init_process_group("gloo")
        >>> averager = averagers.PeriodicModelAverager(period=4, warmup_steps=100)
        >>> averager.average_parameters(clew.nn.Linear(2, 1).parameters())
        >>> dist.destroy_process_group()
    """

    def __init__(self, period: int, warmup_steps: int = 0, process_group: Any = None) -> None:
        super().__init__(process_group)
        if warmup_steps < 0:
            raise ValueError("Arg ``warmup_steps`` must be a non-negative number.")
        if period < 1:
            raise ValueError(
                "Arg ``period`` must be a positive value: with 1, DistributedDataParallel does the "
                "same" + errors.at_user_line()
            )
        self.warmup_steps, self.period = warmup_steps, period

    def average_parameters(self, params: Iterable[Any]) -> None:
        """Average the parameters that have gradients, if it is time.

        Args:
            params: parameters, or groups of an optimizer
        """
        since = self.step - self.warmup_steps
        if since >= 0 and since % self.period == 0:
            average_parameters_or_parameter_groups(params, self.process_group)
        self.step += 1
