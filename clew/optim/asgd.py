"""ASGD: gradient descent whose result is the mean of its points (Polyak and Juditsky 1992)."""

from __future__ import annotations

from typing import Any

from clew.core.tensor import Tensor
from clew.kernels.codegen.ir import where
from clew.kernels.compiled.foreach import foreach_kernel
from clew.ops.create.constants import zeros_like
from clew.optim.optimizer import ParamsT
from clew.optim.parameterwise import (
    Fused,
    Number,
    Options,
    ParameterwiseOptimizer,
    State,
    add_scaled,
    check,
    check_lr,
    count_step,
    decayed,
    scalar,
    update_all,
    write_scalar,
)


@foreach_kernel("asgd", arrays=3, scalars=4)
def _KERNEL(param: Any, grad: Any, mean: Any, decay: Any, kept: Any, scale: Any, rate: Any) -> Any:
    param = param * kept + (grad + param * decay) * scale
    return param, where(rate.eq(1.0), param, mean + (param - mean) * rate)


def _advance(state: State, options: Options) -> tuple[float, Number]:
    """The rates of this step and of the average; those of the next are put into the state."""
    lr, step = options["lr"], count_step(state)
    rate = state["eta"].item()
    of_mean = state["mu"].clone() if options["differentiable"] else state["mu"].item()
    # Through `scalar`, so that they are rounded alike before and after loading a state dict.
    next_rate = lr / (1 + options["lambd"] * lr * step) ** options["alpha"]
    write_scalar(state["eta"], scalar(next_rate)._array)
    write_scalar(state["mu"], scalar(1 / max(1, step - options["t0"]))._array)
    return rate, of_mean


def _numbers(state: State, options: Options) -> tuple[float, ...]:
    rate, of_mean = _advance(state, options)
    return options["weight_decay"], 1 - options["lambd"] * rate, -rate, float(of_mean)


class ASGD(ParameterwiseOptimizer):
    """Descent with a falling rate; `state[param]["ax"]` is the average from step `t0` on.

    Args:
        params: the parameters, or dicts of parameters with options of their own (groups)
        lr: the learning rate of the first step
        lambd: how fast the rate falls, and the parameter with it
        alpha: the rate falls with this power of the step
        t0: the step from which parameters are averaged
        weight_decay: what of the parameter is added to its gradient (L2 penalty)
        foreach: accepted; there is one implementation, which updates all parameters together
        maximize: go up the gradient instead of down
        differentiable: keep the graph of each step, so that gradients flow through it
        capturable: for CUDA graphs only; True raises

    Example:
        >>> w = nn.Parameter(clew.tensor([1., -2.]))
        >>> optimizer = optim.ASGD([w], lr=0.1, t0=1)
        >>> for _ in range(3):
        ...     optimizer.zero_grad()
        ...     (w**2).sum().backward()
        ...     optimizer.step()
        >>> optimizer.state[w]["ax"]
        tensor([ 0.5120, -1.0240])
    """

    _captured = "params, mus, etas, and state_steps"
    _fused = (Fused(_KERNEL, ("ax",), of_state=_numbers),)

    def __init__(
        self,
        params: ParamsT,
        lr: Number = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_lr(lr)
        check(weight_decay >= 0, "Invalid weight_decay value: {}", weight_decay)
        defaults = {
            "lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay,
            "foreach": foreach, "maximize": maximize, "differentiable": differentiable,
            "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, defaults)

    @staticmethod
    def _initial_state(param: Tensor, grad: Tensor, options: Options) -> State:
        rate = options["lr"]
        return {
            "step": scalar(0.0),
            "eta": scalar(rate.item() if isinstance(rate, Tensor) else rate),
            "mu": scalar(1.0),
            "ax": zeros_like(param),
        }

    @staticmethod
    def _update(param: Tensor, grad: Tensor, state: State, options: Options) -> None:
        mean = state["ax"]
        rate, of_mean = _advance(state, options)
        grad = decayed(param, grad, options["weight_decay"])
        param.mul_(1 - options["lambd"] * rate)
        add_scaled(param, grad, -rate)
        if of_mean == 1:
            mean.copy_(param)
        else:
            mean.add_((param - mean) * of_mean)


def asgd(
    params: list[Tensor],
    grads: list[Tensor],
    axs: list[Tensor],
    mus: list[Tensor],
    etas: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    lambd: float,
    lr: float,
    t0: float,
    alpha: float,
    weight_decay: float,
) -> None:
    """One step of ASGD on lists of parameters, gradients and state."""
    update_all(
        ASGD, params, grads, {"ax": axs, "mu": mus, "eta": etas, "step": state_steps},
        foreach=foreach, maximize=maximize, differentiable=differentiable, capturable=capturable,
        lambd=lambd, lr=lr, t0=t0, alpha=alpha, weight_decay=weight_decay,
    )  # fmt: skip
