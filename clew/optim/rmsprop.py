"""RMSprop: gradients in units of their root mean square (Hinton 2012; centered: Graves 2013)."""

from __future__ import annotations

from clew.core.tensor import Tensor
from clew.ops.creation import zeros_like
from clew.optim.optimizer import ParamsT
from clew.optim.parameterwise import (
    Number,
    Options,
    ParameterwiseOptimizer,
    State,
    add_quotient,
    add_scaled,
    average,
    average_square,
    check,
    check_lr,
    count_step,
    decayed,
    root_plus,
    scalar,
    update_all,
)


class RMSprop(ParameterwiseOptimizer):
    """Divides the gradient by a running root mean square, or standard deviation."""

    def __init__(
        self,
        params: ParamsT,
        lr: Number = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check(eps >= 0, "Invalid epsilon value: {}", eps)
        check(momentum >= 0, "Invalid momentum value: {}", momentum)
        check(weight_decay >= 0, "Invalid weight_decay value: {}", weight_decay)
        check(alpha >= 0, "Invalid alpha value: {}", alpha)
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    @staticmethod
    def _initial_state(param: Tensor, grad: Tensor, options: Options) -> State:
        state = {"step": scalar(0.0), "square_avg": zeros_like(param)}
        if options["momentum"] > 0:
            state["momentum_buffer"] = zeros_like(param)
        if options["centered"]:
            state["grad_avg"] = zeros_like(param)
        return state

    @staticmethod
    def _update(param: Tensor, grad: Tensor, state: State, options: Options) -> None:
        alpha, square = options["alpha"], state["square_avg"]
        count_step(state)
        grad = decayed(param, grad, options["weight_decay"])
        average_square(square, grad, alpha)
        if options["centered"]:
            mean = state["grad_avg"]
            average(mean, grad, alpha)
            square = square - mean * mean
        root = root_plus(square, options["eps"])
        if options["momentum"] > 0:
            buffer = state["momentum_buffer"]
            buffer.mul_(options["momentum"]).add_(grad / root)
            add_scaled(param, buffer, -options["lr"])
        else:
            add_quotient(param, grad, root, -options["lr"])


def rmsprop(
    params: list[Tensor],
    grads: list[Tensor],
    square_avgs: list[Tensor],
    grad_avgs: list[Tensor],
    momentum_buffer_list: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    lr: float,
    alpha: float,
    eps: float,
    weight_decay: float,
    momentum: float,
    centered: bool,
) -> None:
    """One step of RMSprop on lists of parameters, gradients and state."""
    update_all(
        RMSprop, params, grads,
        {
            "square_avg": square_avgs, "grad_avg": grad_avgs,
            "momentum_buffer": momentum_buffer_list, "step": state_steps,
        },
        foreach=foreach, maximize=maximize, differentiable=differentiable, capturable=capturable,
        lr=lr, alpha=alpha, eps=eps, weight_decay=weight_decay, momentum=momentum,
        centered=centered,
    )  # fmt: skip
