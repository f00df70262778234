"""Averages of models: stochastic weight averaging, and exponential moving averages."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from typing import Any

from clew import errors
from clew.autograd.grad_mode import no_grad
from clew.backend import dtypes
from clew.core.tensor import Tensor
from clew.nn.modules.batchnorm import _BatchNorm
from clew.nn.modules.module import Module
from clew.ops.create.from_data import scalar_tensor
from clew.optim.lr_scheduler import LRScheduler
from clew.optim.lr_scheduler.base import Rates, per_group
from clew.optim.optimizer import Optimizer

__all__ = [
    "AveragedModel",
    "update_bn",
    "SWALR",
    "get_ema_multi_avg_fn",
    "get_swa_multi_avg_fn",
    "get_ema_avg_fn",
    "get_swa_avg_fn",
]

AverageOne = Callable[[Tensor, Tensor, Any], Tensor]
AverageAll = Callable[[Sequence[Tensor], Sequence[Tensor], Any], None]


def _check_decay(decay: float) -> None:
    if not 0.0 <= decay <= 1.0:
        raise ValueError(
            f"Invalid decay value {decay} provided. Please provide a value in [0,1] range."
            + errors.at_user_line()
        )


def _in_place(average: AverageOne) -> AverageAll:
    """The form for lists: each averaged tensor is overwritten with its new average."""

    @no_grad()
    def update(averaged: Sequence[Tensor], current: Sequence[Tensor], num_averaged: Any) -> None:
        for mean, value in zip(averaged, current):
            mean.copy_(average(mean, value, num_averaged))

    return update


def get_ema_avg_fn(decay: float = 0.999) -> AverageOne:
    """An exponential moving average for `AveragedModel`: decay · mean + (1 - decay) · value.

    Args:
        decay: how much of the mean each update keeps, between 0 and 1

    Example:
        >>> from clew.optim.swa_utils import get_ema_avg_fn
        >>> get_ema_avg_fn(0.75)(clew.tensor(4.), clew.tensor(8.), 1)
        tensor(5.)
    """
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> AverageOne:
    """The plain mean of all values so far, for `AveragedModel`: what it does by default.

    Example:
        >>> from clew.optim.swa_utils import get_swa_avg_fn
        >>> get_swa_avg_fn()(clew.tensor(4.), clew.tensor(7.), 2)  # 4 is the mean of two
        tensor(5.)
    """

    @no_grad()
    def swa_update(averaged_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


def get_ema_multi_avg_fn(decay: float = 0.999) -> AverageAll:
    """As `get_ema_avg_fn`, for lists of tensors, in place: for `multi_avg_fn` of `AveragedModel`.

    Args:
        decay: how much of the means each update keeps, between 0 and 1

    Example:
        >>> from clew.optim.swa_utils import get_ema_multi_avg_fn
        >>> means = [clew.tensor(4.), clew.tensor(0.)]
        >>> get_ema_multi_avg_fn(0.75)(means, [clew.tensor(8.), clew.tensor(4.)], 1)
        >>> means
        [tensor(5.), tensor(1.)]
    """
    return _in_place(get_ema_avg_fn(decay))


def get_swa_multi_avg_fn() -> AverageAll:
    """As `get_swa_avg_fn`, for lists of tensors, in place: for `multi_avg_fn` of `AveragedModel`.

    Example:
        >>> from clew.optim.swa_utils import get_swa_multi_avg_fn
        >>> means = [clew.tensor(4.), clew.tensor(0.)]
        >>> get_swa_multi_avg_fn()(means, [clew.tensor(8.), clew.tensor(4.)], 1)
        >>> means
        [tensor(6.), tensor(2.)]
    """
    return _in_place(get_swa_avg_fn())


class AveragedModel(Module):
    """A copy of a model whose parameters are averages of that model's.

    `update_parameters(model)` takes the parameters as they are then into the average. Running
    statistics of batch norms are not averaged: `update_bn` computes them.

    Args:
        model: the model, which is copied
        device: the device of the copy
        avg_fn: `avg_fn(mean, value, count)` gives the new mean of one parameter; by default, of all
            values so far
        multi_avg_fn: `multi_avg_fn(means, values, count)` changes a list of means in place
        use_buffers: whether buffers are averaged too, instead of copied

    Example:
        >>> from clew.optim.swa_utils import AveragedModel
        >>> model = nn.Linear(1, 1, bias=False)
        >>> averaged = AveragedModel(model)
        >>> for weight in [1., 2., 6.]:
        ...     _ = nn.init.constant_(model.weight, weight)
        ...     averaged.update_parameters(model)
        >>> averaged.module.weight.data
        tensor([[3.]])
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: AverageOne | None = None,
        multi_avg_fn: AverageAll | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        assert avg_fn is None or multi_avg_fn is None, (
            "Only one of avg_fn and multi_avg_fn should be provided"
        )
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", scalar_tensor(0, dtype=dtypes.int64))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Take the parameters that `model` has now into the average."""
        averaged, current = ([t.detach() for t in self._averaged(m)] for m in (self.module, model))
        if self.n_averaged == 0:
            for mean, value in zip(averaged, current):
                mean.copy_(value)
        elif self.multi_avg_fn is not None:
            self.multi_avg_fn(averaged, current, self.n_averaged)
        else:
            update = _in_place(self.avg_fn or get_swa_avg_fn())
            update(averaged, current, self.n_averaged)
        if not self.use_buffers:
            for mean, value in zip(self.module.buffers(), model.buffers()):
                mean.detach().copy_(value.detach())
        self.n_averaged += 1

    def _averaged(self, model: Module) -> Iterable[Tensor]:
        if self.use_buffers:
            return itertools.chain(model.parameters(), model.buffers())
        return model.parameters()


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Compute the running statistics of all batch norms anew, as means over `loader`.

    Args:
        loader: the batches; of a list or tuple, the first element is the input
        model: the model, which is called with each input in training mode
        device: where inputs are moved first; by default, they stay

    Example:
        >>> from clew.optim.swa_utils import update_bn
        >>> model = nn.BatchNorm1d(1)
        >>> update_bn([clew.tensor([[1.], [3.]]), clew.tensor([[5.], [7.]])], model)
        >>> model.running_mean
        tensor([4.])
    """
    norms = [module for module in model.modules() if isinstance(module, _BatchNorm)]
    if not norms:
        return
    momenta = [norm.momentum for norm in norms]
    was_training = model.training
    model.train()
    for norm in norms:
        norm.reset_running_stats()
        # Without a momentum, running statistics are plain means.
        norm.momentum = None
    for batch in loader:
        inputs = batch[0] if isinstance(batch, list | tuple) else batch
        model(inputs if device is None else inputs.to(device))
    for norm, momentum in zip(norms, momenta):
        norm.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """From the rate in force to a constant one, within `anneal_epochs`.

    Args:
        optimizer: the optimizer whose rates are set
        swa_lr: the constant rate, for all groups or one for each
        anneal_epochs: how many epochs the way there takes
        anneal_strategy: "cos" or "linear"
        last_epoch: the epoch to go on from; -1 begins anew

    Example:
        >>> from clew.optim.swa_utils import SWALR
        >>> optimizer = optim.SGD([nn.Parameter(clew.zeros(1))], lr=1.0)
        >>> scheduler = SWALR(optimizer, 0.2, anneal_epochs=2, anneal_strategy="linear")
        >>> for _ in range(4):
        ...     print(round(scheduler.get_last_lr()[0], 4), end=" ")
        ...     optimizer.step()
        ...     scheduler.step()
        1.0 0.6 0.2 0.2
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        for group, rate in zip(optimizer.param_groups, per_group("swa_lr", optimizer, swa_lr)):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                "anneal_strategy must be one of 'cos' or 'linear', instead got "
                f"{anneal_strategy}" + errors.at_user_line()
            )
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(
                f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}"
                + errors.at_user_line()
            )
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _progress(self, epoch: int) -> float:
        """How much of the way to the constant rate an epoch has behind it, between 0 and 1."""
        part = max(0.0, min(1.0, epoch / max(1, self.anneal_epochs)))
        return part if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * part)) / 2

    def get_lr(self) -> Rates:
        rates = self._current()
        epoch = self._step_count - 1
        if self.anneal_epochs == 0:
            epoch = max(1, epoch)
        before, now = self._progress(epoch - 1), self._progress(epoch)
        return [
            group["swa_lr"] * now + _undone(rate, group["swa_lr"], before) * (1 - now)
            for rate, group in zip(rates, self.optimizer.param_groups)
        ]


def _undone(rate: Any, goal: Any, progress: float) -> Any:
    """The rate that annealing began with, from the one it has reached."""
    return goal if progress == 1 else (rate - progress * goal) / (1 - progress)
