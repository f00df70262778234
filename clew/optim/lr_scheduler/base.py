"""The base of learning rate schedulers: counting epochs and setting the rates of the groups.

A scheduler says in `get_lr` what follows from the rates as they are now, so that several can act on
one optimizer; and in `_get_closed_form_lr`, if it can, what they are after any number of epochs.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from clew import errors
from clew.core.tensor import Tensor
from clew.observer import active
from clew.optim.optimizer import Optimizer

Rates = list[Any]

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where "
    "possible. Please use `scheduler.step()` to step the scheduler. With an epoch, the closed form "
    "is used instead of the chainable one, where there is one: rates that other schedulers or you "
    "have changed are then overwritten."
)


HOW_TO = "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"


class LRScheduler:
    """Sets the learning rate of every parameter group, epoch after epoch; the base of schedulers.

    Subclasses say in `get_lr` which rates follow. Call `step()` once per epoch, after the steps of
    the optimizer.

    Args:
        optimizer: the optimizer whose rates are set
        last_epoch: the epoch to go on from; -1 begins anew

    Example:
        >>> class Halving(optim.lr_scheduler.LRScheduler):
        ...     def get_lr(self):
        ...         return [base / 2**self.last_epoch for base in self.base_lrs]
        >>> optimizer = optim.SGD([nn.Parameter(clew.zeros(1))], lr=1.0)
        >>> scheduler = Halving(optimizer)
        >>> for _ in range(3):
        ...     print(round(scheduler.get_last_lr()[0], 4), end=" ")
        ...     optimizer.step()
        ...     scheduler.step()
        1.0 0.5 0.25
    """

    _get_lr_called_within_step: bool = False
    _is_initial: bool = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        observer = active.observer
        if observer is not None:
            observer.scheduler_made(self)
        check_optimizer(optimizer)
        self.optimizer = optimizer
        if last_epoch == -1:
            for group in optimizer.param_groups:
                group.setdefault("initial_lr", copied(group["lr"]))
        else:
            _check_resumable(optimizer)
        self.base_lrs: Rates = rates_of(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _track_steps(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        """Set the rates of the first epoch."""
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer."""
        return self._state_without()

    def _state_without(self, *left_out: str) -> dict[str, Any]:
        hidden = ("optimizer", *left_out)
        return {name: value for name, value in self.__dict__.items() if name not in hidden}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` gave."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> Rates:
        """The rates that this scheduler set last."""
        return self._last_lr

    def get_lr(self) -> Rates:
        """The rates of epoch `last_epoch`, from those in force; only `step` may ask."""
        raise NotImplementedError(f"{type(self).__name__} does not say what the rates are")

    def step(self, epoch: int | None = None) -> None:
        """Go on by one epoch; call it after the optimizer's steps of an epoch."""
        observer = active.observer
        if observer is not None:
            observer.scheduler_steps(self)
        if self._step_count == 1:
            self._warn_of_order()
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _warn_of_order(self) -> None:
        if not getattr(self.optimizer.step, "marks_steps", False):
            warnings.warn(
                "Seems like `optimizer.step()` has been overridden after learning rate scheduler "
                "initialization. Please, make sure to call `optimizer.step()` before "
                f"`lr_scheduler.step()`. See more details at {HOW_TO}",
                UserWarning,
                stacklevel=3,
            )
        elif not self.optimizer._opt_called:
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch "
                "1.1.0 and later, you should call them in the opposite order: `optimizer.step()` "
                "before `lr_scheduler.step()`.  Failure to do this will result in PyTorch skipping "
                "the first value of the learning rate schedule. See more details at "
                f"{HOW_TO}",
                UserWarning,
                stacklevel=3,
            )

    def _update_lr(self, epoch: int | None = None) -> None:
        self._get_lr_called_within_step = True
        try:
            if epoch is None:
                self.last_epoch += 1
                rates = self.get_lr()
            else:
                self.last_epoch = epoch
                closed_form: Callable[[], Rates] = getattr(self, "_get_closed_form_lr", self.get_lr)
                rates = closed_form()
        finally:
            self._get_lr_called_within_step = False
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            set_value(group, "lr", rate)
        self._last_lr = rates_of(self.optimizer)

    # ------------------------------------------------------------ for subclasses

    def _current(self) -> Rates:
        """The rates in force, for `get_lr`."""
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use "
                "`get_last_lr()`.",
                UserWarning,
                stacklevel=3,
            )
        return rates_of(self.optimizer)


class _LRScheduler(LRScheduler):
    """The name that `LRScheduler` had before."""


def check_optimizer(optimizer: Any) -> None:
    """Refuse what is no optimizer."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer" + errors.at_user_line())


def _check_resumable(optimizer: Optimizer) -> None:
    for number, group in enumerate(optimizer.param_groups):
        if "initial_lr" not in group:
            raise KeyError(
                f"param 'initial_lr' is not specified in param_groups[{number}] when resuming "
                "scheduler with last_epoch >= 0. Load the optimizer's state dict first: it has the "
                "rates that the schedule began with. A new schedule begins with last_epoch=-1."
                + errors.at_user_line()
            )


def _track_steps(optimizer: Optimizer) -> None:
    """See to it that the optimizer notes its steps from now on, also if `step` was replaced."""
    if not getattr(optimizer.step, "marks_steps", False):
        replaced = optimizer.step

        @functools.wraps(replaced)
        def marking_step(*args: Any, **kwargs: Any) -> Any:
            optimizer._opt_called = True
            return replaced(*args, **kwargs)

        # mypy knows neither attributes of functions nor an instance's own `step`.
        marking_step.marks_steps = True  # type: ignore[attr-defined]
        optimizer.step = marking_step  # type: ignore[method-assign]
    if not optimizer._scheduled:
        optimizer._scheduled, optimizer._opt_called = True, False


# ---------------------------------------------------------------- values in groups


def copied(value: Any) -> Any:
    return value.clone() if isinstance(value, Tensor) else value


def rates_of(optimizer: Optimizer, name: str = "lr") -> Rates:
    """The value of each group, by itself: a Tensor in a group changes with every epoch."""
    return [copied(group[name]) for group in optimizer.param_groups]


def set_value(group: dict[str, Any], name: str, value: Any) -> None:
    """Set an option of a group; where it is a Tensor, that Tensor gets the value."""
    if isinstance(group[name], Tensor):
        group[name].fill_(value.item() if isinstance(value, Tensor) else value)
    else:
        group[name] = value


def per_group(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """One value for each group, from a list of as many or from one for all."""
    count = len(optimizer.param_groups)
    if not isinstance(value, list | tuple):
        return [copied(value) for _ in range(count)]
    if len(value) != count:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has "
            f"{len(value)} values, param_groups has {count}." + errors.at_user_line()
        )
    return [copied(each) for each in value]
