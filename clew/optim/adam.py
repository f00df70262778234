"""Adam (Kingma and Ba 2015); with decoupled decay it is AdamW (Loshchilov and Hutter 2019)."""

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
    check,
    check_fused,
    count_step,
    root_plus,
    update_all,
)


@foreach_kernel("adam", arrays=4, scalars=7, cost=2)
def _KERNEL(
    param: Any, grad: Any, mean: Any, square: Any,
    kept: Any, coupled: Any, rate1: Any, beta2: Any, rate2: Any, eps: Any, scale: Any,
) -> Any:  # fmt: skip
    _, mean, square = moments.updated(param, grad, mean, square, coupled, rate1, beta2, rate2)
    return param * kept + mean / (square.sqrt() + eps) * scale, mean, square


@foreach_kernel("amsgrad", arrays=5, scalars=7, cost=2)
def _AMSGRAD_KERNEL(
    param: Any, grad: Any, mean: Any, square: Any, highest: Any,
    kept: Any, coupled: Any, rate1: Any, beta2: Any, rate2: Any, eps: Any, scale: Any,
) -> Any:  # fmt: skip
    _, mean, square = moments.updated(param, grad, mean, square, coupled, rate1, beta2, rate2)
    highest = highest.maximum(square)
    return param * kept + mean / (highest.sqrt() + eps) * scale, mean, square, highest


def _numbers(step: float, options: Options) -> tuple[float, ...]:
    beta1, beta2 = options["betas"]
    missing = (1 - beta2**step) ** 0.5
    scale = -options["lr"] * missing / (1 - beta1**step)
    return *moments.numbers(options), options["eps"] * missing, scale


class Adam(ParameterwiseOptimizer):
    """Steps along the mean gradient, each element in units of its root mean square.

    Kingma and Ba (2015). The first step moves every element by about `lr`, however large its
    gradient is.

    Args:
        params: the parameters, or dicts of parameters with options of their own (groups)
        lr: the learning rate
        betas: how much of the means of gradient and squared gradient each step keeps
        eps: added to the denominator, against division by zero
        weight_decay: what of the parameter is added to its gradient (L2 penalty)
        amsgrad: use the largest mean square so far (Reddi and others 2018)
        foreach: accepted; there is one implementation, which updates all parameters together
        maximize: go up the gradient instead of down
        capturable: for CUDA graphs only; True raises
        differentiable: keep the graph of each step, so that gradients flow through it
        fused: accepted, as `foreach`
        decoupled_weight_decay: shrink the parameter itself by `lr * weight_decay`, as `AdamW` does

    Example:
        >>> w = nn.Parameter(clew.tensor([1., -200.]))
        >>> optimizer = optim.Adam([w], lr=0.1)
        >>> (w**2).sum().backward()
        >>> optimizer.step()
        >>> w.data
        tensor([   0.9000, -199.9000])
    """

    _sparse_advice = ", please consider SparseAdam instead"
    # Which is meant may change between steps, with the option of a group.
    _fused = (
        Fused(_KERNEL, moments.REMEMBERED, _numbers, fits=lambda options: not options["amsgrad"]),
        Fused(
            _AMSGRAD_KERNEL,
            (*moments.REMEMBERED, "max_exp_avg_sq"),
            _numbers,
            fits=lambda options: bool(options["amsgrad"]),
        ),
    )

    def __init__(
        self,
        params: ParamsT,
        lr: Number = 1e-3,
        betas: tuple[Number, Number] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        _refuse_tensors_with_foreach(lr, betas, bool(foreach) and not capturable)
        moments.check_options(lr, betas, eps, weight_decay)
        check(
            all(isinstance(beta, float) for beta in betas)
            or all(isinstance(beta, Tensor) for beta in betas),
            "betas must be either both floats or both Tensors",
        )
        defaults = {
            "lr": lr, "betas": tuple(betas), "eps": eps, "weight_decay": weight_decay,
            "amsgrad": amsgrad, "maximize": maximize, "foreach": foreach, "capturable": capturable,
            "differentiable": differentiable, "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }  # fmt: skip
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)

    @staticmethod
    def _initial_state(param: Tensor, grad: Tensor, options: Options) -> State:
        state = moments.initial_state(param, options["fused"])
        if options["amsgrad"]:
            state["max_exp_avg_sq"] = zeros_like(param)
        return state

    @staticmethod
    def _update(param: Tensor, grad: Tensor, state: State, options: Options) -> None:
        beta1, beta2 = options["betas"]
        step = count_step(state)
        moments.update(param, grad, state, options)
        square = state["exp_avg_sq"]
        if options["amsgrad"]:
            highest = state["max_exp_avg_sq"]
            square = maximum(highest.clone() if options["differentiable"] else highest, square)
            highest.copy_(square)
        # Both means started at zero: dividing by 1 - beta**step makes up for it. The root's
        # part of that is a factor of the whole quotient, so it can go to the other numbers.
        missing = (1 - beta2**step) ** 0.5
        root = root_plus(square, options["eps"] * missing)
        scale = -options["lr"] * missing / (1 - beta1**step)
        add_quotient(param, state["exp_avg"], root, scale)


def _refuse_tensors_with_foreach(lr: Number, betas: Any, foreach: bool) -> None:
    named = {"lr": lr, "betas[0]": betas[0], "betas[1]": betas[1]}
    for name, value in named.items():
        check(
            not (foreach and isinstance(value, Tensor)),
            "{} as a Tensor is not supported for capturable=False and foreach=True",
            name,
        )


def adam(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    max_exp_avg_sqs: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    capturable: bool = False,
    differentiable: bool = False,
    fused: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    has_complex: bool = False,
    decoupled_weight_decay: bool = False,
    *,
    amsgrad: bool,
    beta1: Number,
    beta2: Number,
    lr: Number,
    weight_decay: float,
    eps: float,
    maximize: bool,
) -> None:
    """One step of Adam on lists of parameters, gradients and state."""
    update_all(
        Adam, params, grads,
        {
            "exp_avg": exp_avgs, "exp_avg_sq": exp_avg_sqs, "max_exp_avg_sq": max_exp_avg_sqs,
            "step": state_steps,
        },
        foreach=foreach, capturable=capturable, differentiable=differentiable,
        decoupled_weight_decay=decoupled_weight_decay, amsgrad=amsgrad, betas=(beta1, beta2),
        lr=lr, weight_decay=weight_decay, eps=eps, maximize=maximize,
    )  # fmt: skip
