"""RAdam: Adam that waits until its variance can be trusted (Liu et al. 2020)."""

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
    check_betas,
    check_lr,
    count_step,
    decayed,
    root_plus,
    scalar,
    shrink,
    update_all,
)


class RAdam(ParameterwiseOptimizer):
    """Momentum alone at first, then Adam with a rectified step."""

    def __init__(
        self,
        params: ParamsT,
        lr: Number = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check(eps >= 0, "Invalid epsilon value: {}", eps)
        check_betas(betas)
        check(weight_decay >= 0, "Invalid weight_decay value: {}", weight_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    @staticmethod
    def _initial_state(param: Tensor, grad: Tensor, options: Options) -> State:
        return {
            "step": scalar(0.0),
            "exp_avg": zeros_like(param),
            "exp_avg_sq": zeros_like(param),
        }

    @staticmethod
    def _update(param: Tensor, grad: Tensor, state: State, options: Options) -> None:
        lr = options["lr"]
        beta1, beta2 = options["betas"]
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        step = count_step(state)
        if options["decoupled_weight_decay"]:
            shrink(param, lr, options["weight_decay"])
        else:
            grad = decayed(param, grad, options["weight_decay"])
        average(mean, grad, beta1)
        average_square(square, grad, beta2)
        # rho: the length of a plain average with the same variance as the running one.
        missing = 1 - beta2**step
        rho_inf = 2 / (1 - beta2) - 1
        rho = rho_inf - 2 * step * beta2**step / missing
        size = -lr / (1 - beta1**step)
        if rho > 5:
            spread = (rho - 4) * (rho - 2) * rho_inf / ((rho_inf - 4) * (rho_inf - 2) * rho)
            root = root_plus(square, options["eps"])
            add_quotient(param, mean, root, size * (missing * spread) ** 0.5)
        else:
            add_scaled(param, mean, size)


def radam(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    state_steps: list[Tensor],
    decoupled_weight_decay: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    maximize: bool = False,
    *,
    beta1: float,
    beta2: float,
    lr: float,
    weight_decay: float,
    eps: float,
) -> None:
    """One step of RAdam on lists of parameters, gradients and state."""
    update_all(
        RAdam, params, grads,
        {"exp_avg": exp_avgs, "exp_avg_sq": exp_avg_sqs, "step": state_steps},
        decoupled_weight_decay=decoupled_weight_decay, foreach=foreach, capturable=capturable,
        differentiable=differentiable, maximize=maximize, betas=(beta1, beta2), lr=lr,
        weight_decay=weight_decay, eps=eps,
    )  # fmt: skip
