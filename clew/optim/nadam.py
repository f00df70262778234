"""NAdam: Adam with Nesterov momentum (Dozat 2016)."""

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


class NAdam(ParameterwiseOptimizer):
    """Adam whose step looks ahead by the momentum of the next step."""

    def __init__(
        self,
        params: ParamsT,
        lr: Number = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
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
        check(momentum_decay >= 0, "Invalid momentum_decay value: {}", momentum_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    @staticmethod
    def _initial_state(param: Tensor, grad: Tensor, options: Options) -> State:
        return {
            "step": scalar(0.0),
            "mu_product": scalar(1.0),
            "exp_avg": zeros_like(param),
            "exp_avg_sq": zeros_like(param),
        }

    @staticmethod
    def _update(param: Tensor, grad: Tensor, state: State, options: Options) -> None:
        lr = options["lr"]
        beta1, beta2 = options["betas"]
        mean, square, product = state["exp_avg"], state["exp_avg_sq"], state["mu_product"]
        step = count_step(state)
        if options["decoupled_weight_decay"]:
            shrink(param, lr, options["weight_decay"])
        else:
            grad = decayed(param, grad, options["weight_decay"])
        # The momentum grows towards beta1 with the steps; its product corrects the means.
        decay = options["momentum_decay"]
        now = beta1 * (1 - 0.5 * 0.96 ** (step * decay))
        then = beta1 * (1 - 0.5 * 0.96 ** ((step + 1) * decay))
        product.mul_(now)
        so_far = product if options["differentiable"] else product.item()
        average(mean, grad, beta1)
        average_square(square, grad, beta2)
        root = root_plus(square / (1 - beta2**step), options["eps"])
        add_quotient(param, grad, root, -lr * (1 - now) / (1 - so_far))
        add_quotient(param, mean, root, -lr * then / (1 - so_far * then))


def nadam(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    mu_products: list[Tensor],
    state_steps: list[Tensor],
    decoupled_weight_decay: bool = False,
    foreach: bool | None = None,
    capturable: bool = False,
    differentiable: bool = False,
    has_complex: bool = False,
    maximize: bool = False,
    *,
    beta1: float,
    beta2: float,
    lr: float,
    weight_decay: float,
    momentum_decay: float,
    eps: float,
) -> None:
    """One step of NAdam on lists of parameters, gradients and state."""
    update_all(
        NAdam, params, grads,
        {
            "exp_avg": exp_avgs, "exp_avg_sq": exp_avg_sqs, "mu_product": mu_products,
            "step": state_steps,
        },
        decoupled_weight_decay=decoupled_weight_decay, foreach=foreach, capturable=capturable,
        differentiable=differentiable, maximize=maximize, betas=(beta1, beta2), lr=lr,
        weight_decay=weight_decay, momentum_decay=momentum_decay, eps=eps,
    )  # fmt: skip
