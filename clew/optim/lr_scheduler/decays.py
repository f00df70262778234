"""Schedulers by a formula in the number of the epoch."""

from __future__ import annotations

import math
import types
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from clew import errors
from clew.optim.lr_scheduler.base import LRScheduler, Rates
from clew.optim.optimizer import Optimizer

RateFunction = Callable[[int], Any]


class _FunctionsLR(LRScheduler):
    """Rates by functions of the epoch: one for all groups, or one for each."""

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: RateFunction | Sequence[RateFunction],
        last_epoch: int = -1,
    ) -> None:
        groups = len(optimizer.param_groups)
        if isinstance(lr_lambda, list | tuple):
            if len(lr_lambda) != groups:
                raise ValueError(
                    f"Expected {groups} lr_lambdas, but got {len(lr_lambda)}: one for each "
                    "parameter group" + errors.at_user_line()
                )
            self.lr_lambdas = list(lr_lambda)
        else:
            self.lr_lambdas = [lr_lambda] * groups
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """Functions are not saved; of callable objects, their attributes are."""
        state = self._state_without("lr_lambdas")
        state["lr_lambdas"] = [
            None if isinstance(function, types.FunctionType) else function.__dict__.copy()
            for function in self.lr_lambdas
        ]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` gave, into the functions that are here."""
        state = {name: value for name, value in state_dict.items() if name != "lr_lambdas"}
        super().load_state_dict(state)
        for function, attributes in zip(self.lr_lambdas, state_dict["lr_lambdas"]):
            if attributes is not None:
                function.__dict__.update(attributes)


class LambdaLR(_FunctionsLR):
    """The initial rate times a function of the epoch.

    Args:
        optimizer: the optimizer whose rates are set
        lr_lambda: the function, or one for each parameter group
        last_epoch: the epoch to go on from; -1 begins anew

    Example:
        >>> from clew.optim.lr_scheduler import LambdaLR
        >>> optimizer = optim.SGD([nn.Parameter(clew.zeros(1))], lr=1.0)
        >>> scheduler = LambdaLR(optimizer, lambda epoch: 1 / (1 + epoch))
        >>> for _ in range(4):
        ...     print(round(scheduler.get_last_lr()[0], 4), end=" ")
        ...     optimizer.step()
        ...     scheduler.step()
        1.0 0.5 0.3333 0.25
    """

    def get_lr(self) -> Rates:
        self._current()
        return [
            base * function(self.last_epoch)
            for base, function in zip(self.base_lrs, self.lr_lambdas)
        ]


class MultiplicativeLR(_FunctionsLR):
    """The rate times a function of the epoch, each time.

    Args:
        optimizer: the optimizer whose rates are set
        lr_lambda: the function, or one for each parameter group
        last_epoch: the epoch to go on from; -1 begins anew

    Example:
        >>> from clew.optim.lr_scheduler import MultiplicativeLR
        >>> optimizer = optim.SGD([nn.Parameter(clew.zeros(1))], lr=1.0)
        >>> scheduler = MultiplicativeLR(optimizer, lambda epoch: 0.5)
        >>> for _ in range(4):
        ...     print(round(scheduler.get_last_lr()[0], 4), end=" ")
        ...     optimizer.step()
        ...     scheduler.step()
        1.0 0.5 0.25 0.125
    """

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: RateFunction | Sequence[RateFunction],
        last_epoch: int = -1,
    ) -> None:
        given = lr_lambda if isinstance(lr_lambda, list | tuple) else [lr_lambda]
        for function in given:
            if not callable(function):
                kind = type(function).__name__
                raise TypeError(
                    f"lr_lambda should be a function, but got {kind}" + errors.at_user_line()
                )
        super().__init__(optimizer, lr_lambda, last_epoch)

    def get_lr(self) -> Rates:
        rates = self._current()
        if self._is_initial:
            return rates
        return [rate * function(self.last_epoch) for rate, function in zip(rates, self.lr_lambdas)]


class _FactorLR(LRScheduler):
    """Rates that are multiplied by a factor that follows from the epoch alone."""

    def _factor(self, epoch: int) -> float:
        """What this epoch multiplies the rate of the one before it with."""
        raise NotImplementedError

    def _factor_so_far(self, epoch: int) -> float:
        """What the initial rate is multiplied with by this epoch."""
        raise NotImplementedError

    def _initial_factor(self, epoch: int) -> float:
        """The same for the epoch that a new scheduler starts in, which may be a resumed one."""
        return 1.0

    def get_lr(self) -> Rates:
        rates = self._current()
        factor = (self._initial_factor if self._is_initial else self._factor)(self.last_epoch)
        return [rate * factor for rate in rates]

    def _get_closed_form_lr(self) -> Rates:
        factor = self._factor_so_far(self.last_epoch)
        return [base * factor for base in self.base_lrs]


class StepLR(_FactorLR):
    """Multiplies the rate by gamma every `step_size` epochs.

    Args:
        optimizer: the optimizer whose rates are set
        step_size: the epochs between two reductions
        gamma: the factor
        last_epoch: the epoch to go on from; -1 begins anew

    Example:
        >>> from clew.optim.lr_scheduler import StepLR
        >>> optimizer = optim.SGD([nn.Parameter(clew.zeros(1))], lr=1.0)
        >>> scheduler = StepLR(optimizer, step_size=2)
        >>> for _ in range(5):
        ...     print(round(scheduler.get_last_lr()[0], 4), end=" ")
        ...     optimizer.step()
        ...     scheduler.step()
        1.0 1.0 0.1 0.1 0.01
    """

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch: int) -> float:
        return 1.0 if epoch == 0 or epoch % self.step_size else self.gamma

    _initial_factor = _factor

    def _factor_so_far(self, epoch: int) -> float:
        return self.gamma ** (epoch // self.step_size)


class MultiStepLR(_FactorLR):
    """Multiplies the rate by gamma at each milestone.

    Args:
        optimizer: the optimizer whose rates are set
        milestones: the epochs; one that is given twice counts twice
        gamma: the factor
        last_epoch: the epoch to go on from; -1 begins anew

    Example:
        >>> from clew.optim.lr_scheduler import MultiStepLR
        >>> optimizer = optim.SGD([nn.Parameter(clew.zeros(1))], lr=1.0)
        >>> scheduler = MultiStepLR(optimizer, milestones=[1, 3])
        >>> for _ in range(5):
        ...     print(round(scheduler.get_last_lr()[0], 4), end=" ")
        ...     optimizer.step()
        ...     scheduler.step()
        1.0 0.1 0.1 0.01 0.01
    """

    def __init__(
        self,
        optimizer: Optimizer,
        milestones: Iterable[int],
        gamma: float = 0.1,
        last_epoch: int = -1,
    ) -> None:
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch: int) -> float:
        return self.gamma ** self.milestones[epoch]

    _initial_factor = _factor

    def _factor_so_far(self, epoch: int) -> float:
        return self.gamma ** bisect_right(sorted(self.milestones.elements()), epoch)


class ExponentialLR(_FactorLR):
    """Multiplies the rate by gamma in every epoch.

    Args:
        optimizer: the optimizer whose rates are set
        gamma: the factor
        last_epoch: the epoch to go on from; -1 begins anew

    Example:
        >>> from clew.optim.lr_scheduler import ExponentialLR
        >>> optimizer = optim.SGD([nn.Parameter(clew.zeros(1))], lr=1.0)
        >>> scheduler = ExponentialLR(optimizer, gamma=0.5)
        >>> for _ in range(4):
        ...     print(round(scheduler.get_last_lr()[0], 4), end=" ")
        ...     optimizer.step()
        ...     scheduler.step()
        1.0 0.5 0.25 0.125
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch: int) -> float:
        return self.gamma

    def _factor_so_far(self, epoch: int) -> float:
        return self.gamma**epoch


class ConstantLR(_FactorLR):
    """The rate times `factor` until epoch `total_iters`, and the full rate from then on.

    Args:
        optimizer: the optimizer whose rates are set
        factor: the factor of the first epochs, between 0 and 1
        total_iters: how many epochs these are
        last_epoch: the epoch to go on from; -1 begins anew

    Example:
        >>> from clew.optim.lr_scheduler import ConstantLR
        >>> optimizer = optim.SGD([nn.Parameter(clew.zeros(1))], lr=1.0)
        >>> scheduler = ConstantLR(optimizer, factor=0.5, total_iters=2)
        >>> for _ in range(4):
        ...     print(round(scheduler.get_last_lr()[0], 4), end=" ")
        ...     optimizer.step()
        ...     scheduler.step()
        0.5 0.5 1.0 1.0
    """

    def __init__(
        self,
        optimizer: Optimizer,
        factor: float = 1.0 / 3,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 <= factor <= 1:
            raise ValueError(
                "Constant multiplicative factor expected to be between 0 and 1."
                + errors.at_user_line()
            )
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch: int) -> float:
        if epoch == 0:
            return self.factor
        return 1.0 / self.factor if epoch == self.total_iters else 1.0

    _initial_factor = _factor

    def _factor_so_far(self, epoch: int) -> float:
        return self.factor + (epoch >= self.total_iters) * (1 - self.factor)


class LinearLR(_FactorLR):
    """From `start_factor` to `end_factor` times the rate, in a straight line.

    Args:
        optimizer: the optimizer whose rates are set
        start_factor: the factor of the first epoch
        end_factor: the factor from epoch `total_iters` on
        total_iters: the epochs in between
        last_epoch: the epoch to go on from; -1 begins anew

    Example:
        >>> from clew.optim.lr_scheduler import LinearLR
        >>> optimizer = optim.SGD([nn.Parameter(clew.zeros(1))], lr=1.0)
        >>> scheduler = LinearLR(optimizer, start_factor=0.25, total_iters=3)
        >>> for _ in range(5):
        ...     print(round(scheduler.get_last_lr()[0], 4), end=" ")
        ...     optimizer.step()
        ...     scheduler.step()
        0.25 0.5 0.75 1.0 1.0
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 < start_factor <= 1:
            raise ValueError(
                "Starting multiplicative factor expected to be greater than 0 and less or equal "
                "to 1." + errors.at_user_line()
            )
        if not 0 <= end_factor <= 1:
            raise ValueError(
                "Ending multiplicative factor expected to be between 0 and 1."
                + errors.at_user_line()
            )
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch: int) -> float:
        if epoch == 0:
            return self.start_factor
        if epoch > self.total_iters:
            return 1.0
        rise = self.end_factor - self.start_factor
        return 1 + rise / (self.total_iters * self.start_factor + (epoch - 1) * rise)

    def _initial_factor(self, epoch: int) -> float:
        return 1.0 if epoch else self.start_factor

    def _factor_so_far(self, epoch: int) -> float:
        rise = self.end_factor - self.start_factor
        return self.start_factor + rise * min(self.total_iters, epoch) / self.total_iters


class PolynomialLR(_FactorLR):
    """Down to zero at epoch `total_iters`, as a power of the epochs that are left.

    Args:
        optimizer: the optimizer whose rates are set
        total_iters: the epoch of rate zero
        power: the power; 1 is a straight line
        last_epoch: the epoch to go on from; -1 begins anew

    Example:
        >>> from clew.optim.lr_scheduler import PolynomialLR
        >>> optimizer = optim.SGD([nn.Parameter(clew.zeros(1))], lr=1.0)
        >>> scheduler = PolynomialLR(optimizer, total_iters=4, power=2)
        >>> for _ in range(5):
        ...     print(round(scheduler.get_last_lr()[0], 4), end=" ")
        ...     optimizer.step()
        ...     scheduler.step()
        1.0 0.5625 0.25 0.0625 0.0
    """

    def __init__(
        self,
        optimizer: Optimizer,
        total_iters: int = 5,
        power: float = 1.0,
        last_epoch: int = -1,
    ) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch: int) -> float:
        if epoch > self.total_iters:
            return 1.0
        left, left_before = (1 - e / self.total_iters for e in (epoch, epoch - 1))
        return (left / left_before) ** self.power

    def _factor_so_far(self, epoch: int) -> float:
        return (1 - min(self.total_iters, epoch) / self.total_iters) ** self.power


class CosineAnnealingLR(LRScheduler):
    """Down to `eta_min` along half a cosine in `T_max` epochs, and up again.

    Args:
        optimizer: the optimizer whose rates are set
        T_max: the epochs of a way down
        eta_min: the rate at the bottom
        last_epoch: the epoch to go on from; -1 begins anew

    Example:
        >>> from clew.optim.lr_scheduler import CosineAnnealingLR
        >>> optimizer = optim.SGD([nn.Parameter(clew.zeros(1))], lr=1.0)
        >>> scheduler = CosineAnnealingLR(optimizer, T_max=4)
        >>> for _ in range(6):
        ...     print(round(scheduler.get_last_lr()[0], 4), end=" ")
        ...     optimizer.step()
        ...     scheduler.step()
        1.0 0.8536 0.5 0.1464 0.0 0.1464
    """

    def __init__(
        self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def _height(self, epoch: int) -> float:
        """How far up the cosine an epoch is, between 0 and 2."""
        return 1 + math.cos(math.pi * epoch / self.T_max)

    def get_lr(self) -> Rates:
        rates = self._current()
        epoch, lowest = self.last_epoch, self.eta_min
        if self._is_initial:
            return rates
        if (epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            # The epoch before was the lowest point, which says nothing about the height.
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            return [rate + (base - lowest) * rise for rate, base in zip(rates, self.base_lrs)]
        factor = self._height(epoch) / self._height(epoch - 1)
        return [factor * (rate - lowest) + lowest for rate in rates]

    def _get_closed_form_lr(self) -> Rates:
        height = self._height(self.last_epoch) / 2
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]
