"""RAdam: Adam that waits until its variance can be trusted (Liu et al. 2020)."""

from __future__ import annotations

from typing import Any

from clew.core.tensor import Tensor
from clew.kernels.codegen.ir import where
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
    add_scaled,
    count_step,
    root_plus,
    update_all,
)


@foreach_kernel("radam", arrays=4, scalars=8, cost=2)
def _KERNEL(
    param: Any, grad: Any, mean: Any, square: Any,
    kept: Any, coupled: Any, rate1: Any, beta2: Any, rate2: Any,
    eps: Any, trusted: Any, scale: Any,
) -> Any:  # fmt: skip
    _, mean, square = moments.updated(param, grad, mean, square, coupled, rate1, beta2, rate2)
    direction = where(trusted > 0.0, mean / (square.sqrt() + eps), mean)
    return param * kept + direction * scale, mean, square


def _step_size(step: float, options: Options) -> tuple[Any, bool]:
    """The factor of this step, and whether the variance can be trusted by now."""
    beta1, beta2 = options["betas"]
    # rho: the length of a plain average with the same variance as the running one.
    missing = 1 - beta2**step
    rho_inf = 2 / (1 - beta2) - 1
    rho = rho_inf - 2 * step * beta2**step / missing
    size = -options["lr"] / (1 - beta1**step)
    if rho <= 5:
        return size, False
    spread = (rho - 4) * (rho - 2) * rho_inf / ((rho_inf - 4) * (rho_inf - 2) * rho)
    return size * (missing * spread) ** 0.5, True


def _numbers(step: float, options: Options) -> tuple[float, ...]:
    scale, is_trusted = _step_size(step, options)
    return *moments.numbers(options), options["eps"], float(is_trusted), scale


class RAdam(ParameterwiseOptimizer):
    """Momentum alone at first, then Adam with a rectified step (Liu and others 2020).

    In the first steps the mean squares are too uncertain to divide by.

    Args:
        params: the parameters, or dicts of parameters with options of their own (groups)
        lr: the learning rate
        betas: how much of the means of gradient and squared gradient each step keeps
        eps: added to the denominator, against division by zero
        weight_decay: what of the parameter is added to its gradient (L2 penalty)
        decoupled_weight_decay: shrink the parameter itself instead, as `AdamW` does
        foreach: accepted; there is one implementation, which updates all parameters together
        maximize: go up the gradient instead of down
        capturable: for CUDA graphs only; True raises
        differentiable: keep the graph of each step, so that gradients flow through it

    Example:
        >>> w = nn.Parameter(clew.tensor([1., -2.]))
        >>> optimizer = optim.RAdam([w], lr=0.1)
        >>> (w**2).sum().backward()
        >>> optimizer.step()
        >>> w.data
        tensor([ 0.8000, -1.6000])
    """

    _fused = (Fused(_KERNEL, moments.REMEMBERED, _numbers),)

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
        moments.check_options(lr, betas, eps, weight_decay)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
            "maximize": maximize, "foreach": foreach, "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay, "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    @staticmethod
    def _initial_state(param: Tensor, grad: Tensor, options: Options) -> State:
        return moments.initial_state(param)

    @staticmethod
    def _update(param: Tensor, grad: Tensor, state: State, options: Options) -> None:
        scale, is_trusted = _step_size(count_step(state), options)
        moments.update(param, grad, state, options)
        if is_trusted:
            root = root_plus(state["exp_avg_sq"], options["eps"])
            add_quotient(param, state["exp_avg"], root, scale)
        else:
            add_scaled(param, state["exp_avg"], scale)


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
