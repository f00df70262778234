"""Adadelta: Adagrad with a running mean and without a rate to choose (Zeiler 2012)."""

from __future__ import annotations

from typing import Any

from clew.core.tensor import Tensor
from clew.kernels.compiled.foreach import foreach_kernel
from clew.ops.create.constants import zeros_like
from clew.optim.optimizer import ParamsT
from clew.optim.parameterwise import (
    Fused,
    Number,
    Options,
    ParameterwiseOptimizer,
    State,
    add_scaled,
    average_square,
    check,
    check_lr,
    count_step,
    decayed,
    scalar,
    update_all,
)


@foreach_kernel("adadelta", arrays=4, scalars=5, cost=3)
def _KERNEL(
    param: Any, grad: Any, square: Any, steps_square: Any,
    decay: Any, rho: Any, rate: Any, eps: Any, scale: Any,
) -> Any:  # fmt: skip
    grad = grad + param * decay
    square = square * rho + grad * grad * rate
    delta = (steps_square + eps).sqrt() / (square + eps).sqrt() * grad
    return param + delta * scale, square, steps_square * rho + delta * delta * rate


def _numbers(step: float, options: Options) -> tuple[float, ...]:
    rho = options["rho"]
    return options["weight_decay"], rho, 1 - rho, options["eps"], -options["lr"]


class Adadelta(ParameterwiseOptimizer):
    """The unit of a step is the root mean square of the steps before it (Zeiler 2012).

    Args:
        params: the parameters, or dicts of parameters with options of their own (groups)
        lr: the learning rate, which multiplies the step; 1 takes it as it is
        rho: how much of the mean squares each step keeps
        eps: added to both mean squares; it sets the size of the first steps
        weight_decay: what of the parameter is added to its gradient (L2 penalty)
        foreach: accepted; there is one implementation, which updates all parameters together
        capturable: for CUDA graphs only; True raises
        maximize: go up the gradient instead of down
        differentiable: keep the graph of each step, so that gradients flow through it

    Example:
        >>> w = nn.Parameter(clew.tensor([1., -2.]))
        >>> optimizer = optim.Adadelta([w])
        >>> (w**2).sum().backward()
        >>> optimizer.step()
        >>> w.data
        tensor([ 0.9968, -1.9968])
    """

    _fused = (Fused(_KERNEL, ("square_avg", "acc_delta"), _numbers),)

    def __init__(
        self,
        params: ParamsT,
        lr: Number = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check(0 <= rho <= 1, "Invalid rho value: {}", rho)
        check(eps >= 0, "Invalid epsilon value: {}", eps)
        check(weight_decay >= 0, "Invalid weight_decay value: {}", weight_decay)
        defaults = {
            "lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
            "capturable": capturable, "foreach": foreach, "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    @staticmethod
    def _initial_state(param: Tensor, grad: Tensor, options: Options) -> State:
        return {
            "step": scalar(0.0),
            "square_avg": zeros_like(param),
            "acc_delta": zeros_like(param),
        }

    @staticmethod
    def _update(param: Tensor, grad: Tensor, state: State, options: Options) -> None:
        rho, eps = options["rho"], options["eps"]
        square, steps_square = state["square_avg"], state["acc_delta"]
        count_step(state)
        grad = decayed(param, grad, options["weight_decay"])
        average_square(square, grad, rho)
        delta = (steps_square + eps).sqrt() / (square + eps).sqrt() * grad
        average_square(steps_square, delta, rho)
        add_scaled(param, delta, -options["lr"])


def adadelta(
    params: list[Tensor],
    grads: list[Tensor],
    square_avgs: list[Tensor],
    acc_deltas: list[Tensor],
    state_steps: list[Tensor],
    capturable: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    lr: float,
    rho: float,
    eps: float,
    weight_decay: float,
    maximize: bool,
) -> None:
    """One step of Adadelta on lists of parameters, gradients and state."""
    update_all(
        Adadelta, params, grads,
        {"square_avg": square_avgs, "acc_delta": acc_deltas, "step": state_steps},
        capturable=capturable, foreach=foreach, differentiable=differentiable, lr=lr, rho=rho,
        eps=eps, weight_decay=weight_decay, maximize=maximize,
    )  # fmt: skip
