"""Schedulers that go up and down: cosine with restarts, cycles, one cycle."""

from __future__ import annotations

import functools
import math
import types
from collections.abc import Callable
from typing import Any

from clew import errors
from clew.observer import active
from clew.optim.lr_scheduler.base import LRScheduler, Rates, check_optimizer, per_group, set_value
from clew.optim.optimizer import Optimizer


class CosineAnnealingWarmRestarts(LRScheduler):
    """Down half a cosine in `T_0` epochs, then from the top again in `T_mult` times as many.

    Loshchilov and Hutter (2017).

    Args:
        optimizer: the optimizer whose rates are set
        T_0: the length of the first descent
        T_mult: by what each descent is longer than the one before
        eta_min: the rate at the bottom
        last_epoch: the epoch to go on from; -1 begins anew

    Example:
        >>> from clew.optim.lr_scheduler import CosineAnnealingWarmRestarts
        >>> optimizer = optim.SGD([nn.Parameter(clew.zeros(1))], lr=1.0)
        >>> scheduler = CosineAnnealingWarmRestarts(optimizer, T_0=2, T_mult=2)
        >>> for _ in range(7):
        ...     print(round(scheduler.get_last_lr()[0], 4), end=" ")
        ...     optimizer.step()
        ...     scheduler.step()
        1.0 0.5 1.0 0.8536 0.5 0.1464 1.0
    """

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(
                f"Expected positive integer T_0, but got {T_0}" + errors.at_user_line()
            )
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(
                f"Expected integer T_mult >= 1, but got {T_mult}" + errors.at_user_line()
            )
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Rates:
        self._current()
        height = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Go on by one epoch, or to any, also to a fraction of one."""
        observer = active.observer
        if observer is not None:
            observer.scheduler_steps(self)
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            self._seek(epoch)
        self._update_lr_at(math.floor(epoch))

    def _seek(self, epoch: float) -> None:
        if epoch < 0:
            raise ValueError(
                f"Expected non-negative epoch, but got {epoch}" + errors.at_user_line()
            )
        if epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            ratio = self.T_mult
            restarts = int(math.log(epoch / self.T_0 * (ratio - 1) + 1, ratio))
            self.T_cur = epoch - self.T_0 * (ratio**restarts - 1) / (ratio - 1)
            self.T_i = self.T_0 * ratio**restarts

    def _update_lr_at(self, epoch: int) -> None:
        self.last_epoch = epoch - 1
        self._update_lr()


class _MomentumCycle(LRScheduler):
    """Schedulers that move the momentum against the rate."""

    cycle_momentum: bool

    def _use_momentum(self, optimizer: Optimizer, cycle_momentum: bool) -> None:
        self.cycle_momentum = cycle_momentum
        if not cycle_momentum:
            return
        if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
            raise ValueError(
                "optimizer must support momentum or beta1 with `cycle_momentum` option enabled: "
                f"for {type(optimizer).__name__}, pass cycle_momentum=False" + errors.at_user_line()
            )
        self.use_beta1 = "betas" in optimizer.defaults

    def _set_momentum(self, group: dict[str, Any], momentum: Any) -> None:
        if self.use_beta1:
            group["betas"] = (momentum, *group["betas"][1:])
        else:
            group["momentum"] = momentum


class CyclicLR(_MomentumCycle):
    """Between two rates and back, in straight lines (Smith 2015).

    `step` is called after every batch. The momentum moves the other way.

    Args:
        optimizer: the optimizer whose rates are set
        base_lr: the lower rate, for all groups or one for each
        max_lr: the upper rate, likewise
        step_size_up: the batches of a way up
        step_size_down: the batches of a way down; by default, as many
        mode: "triangular"; "triangular2" halves the height after each cycle, "exp_range"
            multiplies it by `gamma` in each batch
        gamma: the factor of "exp_range"
        scale_fn: a function that gives the height, between 0 and 1, instead of `mode`
        scale_mode: what `scale_fn` is given: the number of the "cycle", or of "iterations"
        cycle_momentum: whether the momentum moves
        base_momentum: the momentum at the upper rate
        max_momentum: the momentum at the lower rate
        last_epoch: the epoch to go on from; -1 begins anew

    Example:
        >>> from clew.optim.lr_scheduler import CyclicLR
        >>> optimizer = optim.SGD([nn.Parameter(clew.zeros(1))], lr=1.0)
        >>> scheduler = CyclicLR(optimizer, 0.1, 0.5, step_size_up=2, cycle_momentum=False)
        >>> for _ in range(6):
        ...     print(round(scheduler.get_last_lr()[0], 4), end=" ")
        ...     optimizer.step()
        ...     scheduler.step()
        0.1 0.3 0.5 0.3 0.1 0.3
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.8,
        max_momentum: float | list[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        base_lrs = per_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, base_lrs):
                set_value(group, "lr", rate)
        self.max_lrs = per_group("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        down = up if step_size_down is None else float(step_size_down)
        self.total_size = up + down
        self.step_ratio = up / self.total_size
        if mode not in _CYCLE_SCALES and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None" + errors.at_user_line())
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode
        if scale_fn is None:
            self.scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self._use_momentum(optimizer, cycle_momentum)
        if cycle_momentum:
            self.base_momentums = per_group("base_momentum", optimizer, base_momentum)
            self.max_momentums = per_group("max_momentum", optimizer, max_momentum)
            if last_epoch == -1:
                for group, lowest, highest in zip(
                    optimizer.param_groups, self.base_momentums, self.max_momentums
                ):
                    self._set_momentum(group, highest)
                    group.update(max_momentum=highest, base_momentum=lowest)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    @property
    def _scale_fn_ref(self) -> Callable[..., float]:
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom
        scale = _CYCLE_SCALES[self.mode]
        return functools.partial(scale, self.gamma) if self.mode == "exp_range" else scale

    def scale_fn(self, x: float) -> float:
        """How high a cycle goes, as a part of the difference between the rates."""
        return self._scale_fn_ref(x)

    def get_lr(self) -> Rates:
        self._current()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        ratio = self.step_ratio
        height = x / ratio if x <= ratio else (x - 1) / (ratio - 1)
        height *= self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for group, lowest, highest in zip(
                self.optimizer.param_groups, self.base_momentums, self.max_momentums
            ):
                self._set_momentum(group, highest - (highest - lowest) * height)
        return [base + (top - base) * height for base, top in zip(self.base_lrs, self.max_lrs)]

    def state_dict(self) -> dict[str, Any]:
        """A scaling function is not saved; of a callable object, its attributes are."""
        state = self._state_without("_scale_fn_custom")
        function: Any = self._scale_fn_custom
        plain = function is None or isinstance(function, types.FunctionType)
        state["_scale_fn_custom"] = None if plain else function.__dict__.copy()
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` gave, into the scaling function that is here."""
        own = {name: value for name, value in state_dict.items() if name != "_scale_fn_custom"}
        super().load_state_dict(own)
        attributes = state_dict.get("_scale_fn_custom")
        if attributes is not None:
            self._scale_fn_custom.__dict__.update(attributes)


_CYCLE_SCALES: dict[str, Callable[..., float]] = {
    "triangular": lambda x: 1.0,
    "triangular2": lambda x: 1 / 2.0 ** (x - 1),
    "exp_range": lambda gamma, x: gamma**x,
}


def _along_cosine(start: Any, end: Any, part: float) -> Any:
    return end + (start - end) / 2.0 * (math.cos(math.pi * part) + 1)


def _along_line(start: Any, end: Any, part: float) -> Any:
    return (end - start) * part + start


ANNEALING: dict[str, Callable[[Any, Any, float], Any]] = {
    "cos": _along_cosine,
    "linear": _along_line,
}


class OneCycleLR(_MomentumCycle):
    """Up to a large rate and down to a tiny one, over all of training (Smith and Topin 2017).

    `step` is called after every batch. The number of batches is `total_steps`, or `epochs` times
    `steps_per_epoch`.

    Args:
        optimizer: the optimizer whose rates are set
        max_lr: the largest rate, for all groups or one for each
        total_steps: the number of batches of all training
        epochs: the number of epochs
        steps_per_epoch: the number of batches of one epoch
        pct_start: the part of training on the way up
        anneal_strategy: "cos" or "linear"
        cycle_momentum: whether the momentum moves, the other way
        base_momentum: the momentum at the largest rate
        max_momentum: the momentum at the start and the end
        div_factor: max_lr / the rate at the start
        final_div_factor: the rate at the start / the rate at the end
        three_phase: go down to the rate at the start as fast as up, then to the end
        last_epoch: the epoch to go on from; -1 begins anew

    Example:
        >>> from clew.optim.lr_scheduler import OneCycleLR
        >>> optimizer = optim.SGD([nn.Parameter(clew.zeros(1))], lr=1.0)
        >>> scheduler = OneCycleLR(optimizer, max_lr=1.0, total_steps=5, cycle_momentum=False)
        >>> for _ in range(5):
        ...     print(round(scheduler.get_last_lr()[0], 4), end=" ")
        ...     optimizer.step()
        ...     scheduler.step()
        0.04 0.9505 0.6113 0.1883 0.0
    """

    # Of the state dicts of old versions.
    anneal_func: Callable[[Any, Any, float], Any]

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        self.total_steps = _total_steps(total_steps, epochs, steps_per_epoch)
        if not (isinstance(pct_start, float | int) and 0 <= pct_start <= 1):
            raise ValueError(
                f"Expected float between 0 and 1 pct_start, but got {pct_start}"
                + errors.at_user_line()
            )
        self._schedule_phases = _phases(self.total_steps, pct_start, three_phase)
        if anneal_strategy not in ANNEALING:
            raise ValueError(
                "anneal_strategy must be one of 'cos' or 'linear', instead got "
                f"{anneal_strategy}" + errors.at_user_line()
            )
        self._anneal_func_type = anneal_strategy
        if last_epoch == -1:
            for group, top in zip(optimizer.param_groups, per_group("max_lr", optimizer, max_lr)):
                group["initial_lr"] = top / div_factor
                group["max_lr"] = top
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self._use_momentum(optimizer, cycle_momentum)
        if cycle_momentum and last_epoch == -1:
            highest = per_group("max_momentum", optimizer, max_momentum)
            lowest = per_group("base_momentum", optimizer, base_momentum)
            for group, high, low in zip(optimizer.param_groups, highest, lowest):
                self._set_momentum(group, high)
                group.update(max_momentum=high, base_momentum=low)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Rates:
        self._current()
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(
                f"Tried to step {step} times. The specified number of total steps is "
                f"{self.total_steps}" + errors.at_user_line()
            )
        start = 0.0
        for phase in self._schedule_phases:
            end = phase["end_step"]
            if step <= end or phase is self._schedule_phases[-1]:
                break
            start = end
        part = (step - start) / (end - start)
        anneal = self._anneal_func
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(anneal(group[phase["start_lr"]], group[phase["end_lr"]], part))
            if self.cycle_momentum:
                ends = group[phase["start_momentum"]], group[phase["end_momentum"]]
                self._set_momentum(group, anneal(*ends, part))
        return rates

    # What state dicts had before they named the kind.
    _annealing_cos = staticmethod(_along_cosine)
    _annealing_linear = staticmethod(_along_line)

    @property
    def _anneal_func(self) -> Callable[[Any, Any, float], Any]:
        named = self.__dict__.get("_anneal_func_type")
        return self.anneal_func if named is None else ANNEALING[named]


def _total_steps(total_steps: int | None, epochs: int | None, steps_per_epoch: int | None) -> int:
    counts = {"total_steps": total_steps}
    if total_steps is None:
        counts = {"epochs": epochs, "steps_per_epoch": steps_per_epoch}
    if None in counts.values():
        raise ValueError(
            "You must define either total_steps OR (epochs AND steps_per_epoch)"
            + errors.at_user_line()
        )
    for name, count in counts.items():
        if not isinstance(count, int) or count <= 0:
            raise ValueError(
                f"Expected positive integer {name}, but got {count}" + errors.at_user_line()
            )
    return math.prod(count for count in counts.values() if count is not None)


def _phases(total_steps: int, pct_start: float, three_phase: bool) -> list[dict[str, Any]]:
    """The stretches of the cycle, with the names of the values at their ends."""

    def phase(end: float, lrs: tuple[str, str], momenta: tuple[str, str]) -> dict[str, Any]:
        return {
            "end_step": end,
            "start_lr": f"{lrs[0]}_lr",
            "end_lr": f"{lrs[1]}_lr",
            "start_momentum": f"{momenta[0]}_momentum",
            "end_momentum": f"{momenta[1]}_momentum",
        }

    rising = float(pct_start * total_steps)
    up = phase(rising - 1, ("initial", "max"), ("max", "base"))
    if not three_phase:
        return [up, phase(total_steps - 1, ("max", "min"), ("base", "max"))]
    return [
        up,
        phase(2 * rising - 2, ("max", "initial"), ("base", "max")),
        phase(total_steps - 1, ("initial", "min"), ("max", "max")),
    ]
