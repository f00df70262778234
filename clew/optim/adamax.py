"""Adamax: Adam in the infinity norm (Kingma and Ba 2015)."""

from __future__ import annotations

from typing import Any

from clew.core.tensor import Tensor
from clew.kernels.compiled.foreach import foreach_kernel
from clew.ops.create.constants import zeros_like
from clew.ops.pointwise.clamping import maximum
from clew.optim import moments
from clew.optim.optimizer import ParamsT
from clew.optim.parameterwise import (
    Fused,
    Number,
    Options,
    ParameterwiseOptimizer,
    State,
    add_quotient,
    average,
    count_step,
    decayed,
    scalar,
    update_all,
)


@foreach_kernel("adamax", arrays=4, scalars=5, cost=2)
def _KERNEL(
    param: Any, grad: Any, mean: Any, highest: Any,
    decay: Any, rate1: Any, beta2: Any, eps: Any, scale: Any,
) -> Any:  # fmt: skip
    grad = grad + param * decay
    mean = mean + (grad - mean) * rate1
    highest = (highest * beta2).maximum(grad.abs() + eps)
    return param + mean / highest * scale, mean, highest


def _numbers(step: float, options: Options) -> tuple[float, ...]:
    beta1, beta2 = options["betas"]
    scale = -options["lr"] / (1 - beta1**step)
    return options["weight_decay"], 1 - beta1, beta2, options["eps"], scale


class Adamax(ParameterwiseOptimizer):
    """Steps along the mean gradient, in units of the largest recent gradient.

    Args:
        params: the parameters, or dicts of parameters with options of their own (groups)
        lr: the learning rate
        betas: how much of the mean gradient and of the largest one each step keeps
        eps: added to the size of each gradient, against division by zero
        weight_decay: what of the parameter is added to its gradient (L2 penalty)
        foreach: accepted; there is one implementation, which updates all parameters together
        maximize: go up the gradient instead of down
        differentiable: keep the graph of each step, so that gradients flow through it
        capturable: for CUDA graphs only; True raises

    Example:
        >>> w = nn.Parameter(clew.tensor([1., -2.]))
        >>> optimizer = optim.Adamax([w], lr=0.1)
        >>> (w**2).sum().backward()
        >>> optimizer.step()
        >>> w.data
        tensor([ 0.9000, -1.9000])
    """

    _fused = (Fused(_KERNEL, ("exp_avg", "exp_inf"), _numbers),)

    def __init__(
        self,
        params: ParamsT,
        lr: Number = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        moments.check_options(lr, betas, eps, weight_decay)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, defaults)

    @staticmethod
    def _initial_state(param: Tensor, grad: Tensor, options: Options) -> State:
        return {"step": scalar(0.0), "exp_avg": zeros_like(param), "exp_inf": zeros_like(param)}

    @staticmethod
    def _update(param: Tensor, grad: Tensor, state: State, options: Options) -> None:
        beta1, beta2 = options["betas"]
        mean, highest = state["exp_avg"], state["exp_inf"]
        step = count_step(state)
        grad = decayed(param, grad, options["weight_decay"])
        average(mean, grad, beta1)
        highest.copy_(maximum(highest * beta2, grad.abs() + options["eps"]))
        add_quotient(param, mean, highest, -(options["lr"] / (1 - beta1**step)))


def adamax(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_infs: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    eps: float,
    beta1: float,
    beta2: float,
    lr: float,
    weight_decay: float,
) -> None:
    """One step of Adamax on lists of parameters, gradients and state."""
    update_all(
        Adamax, params, grads,
        {"exp_avg": exp_avgs, "exp_inf": exp_infs, "step": state_steps},
        foreach=foreach, capturable=capturable, differentiable=differentiable, maximize=maximize,
        betas=(beta1, beta2), lr=lr, weight_decay=weight_decay, eps=eps,
    )  # fmt: skip
