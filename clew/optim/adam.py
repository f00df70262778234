"""Adam (Kingma and Ba 2015); with decoupled decay it is AdamW (Loshchilov and Hutter 2019)."""

from __future__ import annotations

from typing import Any

from clew.core.tensor import Tensor
from clew.kernels.native.ufunc import elementwise
from clew.ops.clamping import maximum
from clew.ops.creation import zeros_like
from clew.optim.optimizer import ParamsT
from clew.optim.parameterwise import (
    Fused,
    Number,
    Options,
    ParameterwiseOptimizer,
    State,
    add_quotient,
    average,
    average_square,
    check,
    check_betas,
    check_fused,
    check_lr,
    count_step,
    decayed,
    root_plus,
    scalar,
    shrink,
    update_all,
)


@elementwise("adam", 11, outputs=3, scalars=tuple(range(4, 11)), cost=2)
def _ADAM_KERNEL(
    param: Any, grad: Any, mean: Any, square: Any,
    kept: Any, decay: Any, rate1: Any, beta2: Any, rate2: Any, eps: Any, scale: Any,
) -> Any:  # fmt: skip
    grad = grad + param * decay
    mean = mean + (grad - mean) * rate1
    square = square * beta2 + grad * grad * rate2
    return param * kept + mean / (square.sqrt() + eps) * scale, mean, square


def _numbers(state: State, options: Options) -> tuple[float, ...] | None:
    """What the kernel needs; it does not do amsgrad."""
    if options["amsgrad"]:
        return None
    lr, (beta1, beta2), decay = options["lr"], options["betas"], options["weight_decay"]
    step = count_step(state)
    missing = (1 - beta2**step) ** 0.5
    kept, coupled = (1 - lr * decay, 0.0) if options["decoupled_weight_decay"] else (1.0, decay)
    scale = -lr * missing / (1 - beta1**step)
    return kept, coupled, 1 - beta1, beta2, 1 - beta2, options["eps"] * missing, scale


class Adam(ParameterwiseOptimizer):
    """Steps along the mean gradient, each element in units of its root mean square."""

    _fused = Fused(_ADAM_KERNEL, ("exp_avg", "exp_avg_sq"), _numbers)

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
        check_lr(lr)
        check(eps >= 0, "Invalid epsilon value: {}", eps)
        check_betas(betas)
        check(weight_decay >= 0, "Invalid weight_decay value: {}", weight_decay)
        check(
            isinstance(betas[0], Tensor) == isinstance(betas[1], Tensor),
            "betas must be either both floats or both Tensors",
        )
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)

    @staticmethod
    def _initial_state(param: Tensor, grad: Tensor, options: Options) -> State:
        state = {
            "step": scalar(0.0, options["fused"]),
            "exp_avg": zeros_like(param),
            "exp_avg_sq": zeros_like(param),
        }
        if options["amsgrad"]:
            state["max_exp_avg_sq"] = zeros_like(param)
        return state

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
        if options["amsgrad"]:
            highest = state["max_exp_avg_sq"]
            square = maximum(highest.clone() if options["differentiable"] else highest, square)
            highest.copy_(square)
        # Both means started at zero: dividing by 1 - beta**step makes up for it. The root's
        # part of that is a factor of the whole quotient, so it can go to the other numbers.
        missing = (1 - beta2**step) ** 0.5
        root = root_plus(square, options["eps"] * missing)
        add_quotient(param, mean, root, -lr * missing / (1 - beta1**step))


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
