"""NAdam: Adam with Nesterov momentum (Dozat 2016)."""

from __future__ import annotations

from typing import Any

from clew.core.tensor import Tensor
from clew.kernels.compiled.foreach import foreach_kernel
from clew.optim import moments
from clew.optim.optimizer import ParamsT
from clew.optim.parameterwise import (
    Fused,
    Number,
    Options,
    ParameterwiseOptimizer,
    State,
    add_quotient,
    check,
    count_step,
    root_plus,
    scalar,
    update_all,
)


@foreach_kernel("nadam", arrays=4, scalars=9, cost=2)
def _KERNEL(
    param: Any, grad: Any, mean: Any, square: Any,
    kept: Any, coupled: Any, rate1: Any, beta2: Any, rate2: Any,
    missing: Any, eps: Any, scale: Any, scale_ahead: Any,
) -> Any:  # fmt: skip
    grad, mean, square = moments.updated(param, grad, mean, square, coupled, rate1, beta2, rate2)
    root = (square / missing).sqrt() + eps
    return param * kept + grad / root * scale + mean / root * scale_ahead, mean, square


def _momenta(step: float, options: Options) -> tuple[float, float]:
    """This step's momentum and the next one's: it grows towards beta1 with the steps."""
    beta1, decay = options["betas"][0], options["momentum_decay"]
    now = beta1 * (1 - 0.5 * 0.96 ** (step * decay))
    return now, beta1 * (1 - 0.5 * 0.96 ** ((step + 1) * decay))


def _numbers(state: State, options: Options) -> tuple[float, ...]:
    lr, step = options["lr"], count_step(state)
    now, then = _momenta(step, options)
    so_far = state["mu_product"].mul_(now).item()
    return (
        *moments.numbers(options), 1 - options["betas"][1] ** step, options["eps"],
        -lr * (1 - now) / (1 - so_far), -lr * then / (1 - so_far * then),
    )  # fmt: skip


class NAdam(ParameterwiseOptimizer):
    """Adam whose step looks ahead by the momentum of the next step (Dozat 2016).

    Args:
        params: the parameters, or dicts of parameters with options of their own (groups)
        lr: the learning rate
        betas: how much of the means of gradient and squared gradient each step keeps
        eps: added to the denominator, against division by zero
        weight_decay: what of the parameter is added to its gradient (L2 penalty)
        momentum_decay: how slowly the momentum grows to its full size
        decoupled_weight_decay: shrink the parameter itself instead, as `AdamW` does
        foreach: accepted; there is one implementation, which updates all parameters together
        maximize: go up the gradient instead of down
        capturable: for CUDA graphs only; True raises
        differentiable: keep the graph of each step, so that gradients flow through it

    Example:
        >>> w = nn.Parameter(clew.tensor([1., -2.]))
        >>> optimizer = optim.NAdam([w], lr=0.1)
        >>> (w**2).sum().backward()
        >>> optimizer.step()
        >>> w.data
        tensor([ 0.8944, -1.8944])
    """

    _captured = "params, mu_products and state_steps"
    _fused = (Fused(_KERNEL, moments.REMEMBERED, of_state=_numbers),)

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
        moments.check_options(lr, betas, eps, weight_decay)
        check(momentum_decay >= 0, "Invalid momentum_decay value: {}", momentum_decay)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
            "momentum_decay": momentum_decay, "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize, "foreach": foreach, "capturable": capturable,
            "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    @staticmethod
    def _initial_state(param: Tensor, grad: Tensor, options: Options) -> State:
        step, *means = moments.initial_state(param).items()
        return dict((step, ("mu_product", scalar(1.0)), *means))

    @staticmethod
    def _update(param: Tensor, grad: Tensor, state: State, options: Options) -> None:
        lr, beta2 = options["lr"], options["betas"][1]
        step, product = count_step(state), state["mu_product"]
        now, then = _momenta(step, options)
        product.mul_(now)
        so_far = product if options["differentiable"] else product.item()
        grad = moments.update(param, grad, state, options)
        root = root_plus(state["exp_avg_sq"] / (1 - beta2**step), options["eps"])
        add_quotient(param, grad, root, -lr * (1 - now) / (1 - so_far))
        add_quotient(param, state["exp_avg"], root, -lr * then / (1 - so_far * then))


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
