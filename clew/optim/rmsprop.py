"""RMSprop: gradients in units of their root mean square (Hinton 2012; centered: Graves 2013)."""

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


def _steps(
    param: Any, grad: Any, square: Any, mean: Any, decay: Any, alpha: Any, rate: Any, eps: Any
) -> tuple[Any, Any, Any]:
    """The gradient in its units, and the new means; that of the gradient only if `centered`."""
    grad = grad + param * decay
    square = square * alpha + grad * grad * rate
    if mean is None:
        return grad / (square.sqrt() + eps), square, None
    mean = mean + (grad - mean) * rate
    return grad / ((square - mean * mean).sqrt() + eps), square, mean


@foreach_kernel("rmsprop", arrays=3, scalars=6, cost=2)
def _KERNEL(
    param: Any, grad: Any, square: Any,
    decay: Any, alpha: Any, rate: Any, eps: Any, momentum: Any, scale: Any,
) -> Any:  # fmt: skip
    step, square, _ = _steps(param, grad, square, None, decay, alpha, rate, eps)
    return param + step * scale, square


@foreach_kernel("rmsprop_momentum", arrays=4, scalars=6, cost=2)
def _MOMENTUM_KERNEL(
    param: Any, grad: Any, square: Any, buffer: Any,
    decay: Any, alpha: Any, rate: Any, eps: Any, momentum: Any, scale: Any,
) -> Any:  # fmt: skip
    step, square, _ = _steps(param, grad, square, None, decay, alpha, rate, eps)
    buffer = buffer * momentum + step
    return param + buffer * scale, square, buffer


@foreach_kernel("rmsprop_centered", arrays=4, scalars=6, cost=2)
def _CENTERED_KERNEL(
    param: Any, grad: Any, square: Any, mean: Any,
    decay: Any, alpha: Any, rate: Any, eps: Any, momentum: Any, scale: Any,
) -> Any:  # fmt: skip
    step, square, mean = _steps(param, grad, square, mean, decay, alpha, rate, eps)
    return param + step * scale, square, mean


@foreach_kernel("rmsprop_both", arrays=5, scalars=6, cost=2)
def _BOTH_KERNEL(
    param: Any, grad: Any, square: Any, mean: Any, buffer: Any,
    decay: Any, alpha: Any, rate: Any, eps: Any, momentum: Any, scale: Any,
) -> Any:  # fmt: skip
    step, square, mean = _steps(param, grad, square, mean, decay, alpha, rate, eps)
    buffer = buffer * momentum + step
    return param + buffer * scale, square, mean, buffer


def _numbers(step: float, options: Options) -> tuple[float, ...]:
    alpha, decay, eps = options["alpha"], options["weight_decay"], options["eps"]
    return decay, alpha, 1 - alpha, eps, options["momentum"], -options["lr"]


def _kernel_for(kernel: Any, *remembered: str) -> Fused:
    """A kernel for the options that go with what it remembers."""
    centered, with_momentum = "grad_avg" in remembered, "momentum_buffer" in remembered

    def fits(options: Options) -> bool:
        has_momentum = options["momentum"] > 0
        return bool(options["centered"]) is centered and has_momentum is with_momentum

    return Fused(kernel, ("square_avg", *remembered), _numbers, fits=fits)


class RMSprop(ParameterwiseOptimizer):
    """Divides the gradient by a running root mean square, or standard deviation.

    Args:
        params: the parameters, or dicts of parameters with options of their own (groups)
        lr: the learning rate
        alpha: how much of the mean square each step keeps
        eps: added to the denominator, against division by zero
        weight_decay: what of the parameter is added to its gradient (L2 penalty)
        momentum: how much of the running sum of steps is kept; 0 keeps none
        centered: divide by the standard deviation, not by the root mean square
        capturable: for CUDA graphs only; True raises
        foreach: accepted; there is one implementation, which updates all parameters together
        maximize: go up the gradient instead of down
        differentiable: keep the graph of each step, so that gradients flow through it

    Example:
        >>> w = nn.Parameter(clew.tensor([1., -2.]))
        >>> optimizer = optim.RMSprop([w], lr=0.01)
        >>> (w**2).sum().backward()
        >>> optimizer.step()
        >>> w.data
        tensor([ 0.9000, -1.9000])
    """

    _fused = (
        _kernel_for(_BOTH_KERNEL, "grad_avg", "momentum_buffer"),
        _kernel_for(_MOMENTUM_KERNEL, "momentum_buffer"),
        _kernel_for(_CENTERED_KERNEL, "grad_avg"),
        _kernel_for(_KERNEL),
    )

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
            "lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered,
            "weight_decay": weight_decay, "capturable": capturable, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable,
        }  # fmt: skip
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
