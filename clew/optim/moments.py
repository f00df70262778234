"""What Adam, NAdam and RAdam share: running means of the gradient and of its square."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clew.core.tensor import Tensor
from clew.ops.create.constants import zeros_like
from clew.optim.parameterwise import (
    Number,
    Options,
    State,
    average,
    average_square,
    check,
    check_betas,
    check_lr,
    decayed,
    scalar,
    shrink,
)


def check_options(lr: Number, betas: Sequence[Number], eps: float, weight_decay: float) -> None:
    """Refuse what none of the optimizers with betas takes."""
    check_lr(lr)
    check(eps >= 0, "Invalid epsilon value: {}", eps)
    check_betas(betas)
    check(weight_decay >= 0, "Invalid weight_decay value: {}", weight_decay)


def initial_state(param: Tensor, fused: bool | None = None) -> State:
    """What is remembered of a parameter before its first update."""
    return {
        "step": scalar(0.0, fused),
        "exp_avg": zeros_like(param),
        "exp_avg_sq": zeros_like(param),
    }


def update(param: Tensor, grad: Tensor, state: State, options: Options) -> Tensor:
    """Weight decay and both means; gives the gradient that went into them."""
    beta1, beta2 = options["betas"]
    if options["decoupled_weight_decay"]:
        shrink(param, options["lr"], options["weight_decay"])
    else:
        grad = decayed(param, grad, options["weight_decay"])
    average(state["exp_avg"], grad, beta1)
    average_square(state["exp_avg_sq"], grad, beta2)
    return grad


# -- the same for kernels ------------------------------------------------------------------

REMEMBERED = ("exp_avg", "exp_avg_sq")


def numbers(options: Options) -> tuple[float, ...]:
    """What a kernel needs for weight decay and the means: the first of its numbers."""
    beta1, beta2 = options["betas"]
    decay = options["weight_decay"]
    kept, coupled = 1.0, decay
    if options["decoupled_weight_decay"]:
        kept, coupled = 1 - options["lr"] * decay, 0.0
    return kept, coupled, 1 - beta1, beta2, 1 - beta2


def updated(
    param: Any, grad: Any, mean: Any, square: Any, coupled: Any, rate1: Any, beta2: Any, rate2: Any
) -> tuple[Any, Any, Any]:
    """The gradient with its decay, and the new means, as expressions."""
    grad = grad + param * coupled
    return grad, mean + (grad - mean) * rate1, square * beta2 + grad * grad * rate2
