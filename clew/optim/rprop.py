"""Rprop: steps of its own length per element, by the sign of the gradient (Riedmiller 1993)."""

from __future__ import annotations

from typing import Any

from clew.core.tensor import Tensor
from clew.kernels.codegen.ir import where
from clew.kernels.compiled.foreach import foreach_kernel
from clew.ops.create.constants import full_like, ones_like, zeros_like
from clew.optim.optimizer import ParamsT
from clew.optim.parameterwise import (
    Fused,
    Number,
    Options,
    ParameterwiseOptimizer,
    State,
    check,
    check_lr,
    count_step,
    scalar,
    update_all,
)


@foreach_kernel("rprop", arrays=4, scalars=4)
def _KERNEL(
    param: Any, grad: Any, previous: Any, size: Any, shrinks: Any, grows: Any, low: Any, high: Any
) -> Any:
    agreement = grad * previous
    turned = agreement < 0.0
    factor = where(agreement > 0.0, grows, where(turned, shrinks, 1.0))
    size = (size * factor).maximum(low).minimum(high)
    grad = where(turned, 0.0, grad)
    sign = where(grad > 0.0, grad.like(1.0), where(grad < 0.0, grad.like(-1.0), 0.0))
    return param - sign * size, grad, size


def _numbers(step: float, options: Options) -> tuple[float, ...]:
    return *options["etas"], *options["step_sizes"]


class Rprop(ParameterwiseOptimizer):
    """A step grows while the gradient keeps its sign, and shrinks when it changes.

    Only the signs of gradients count, so it is for whole datasets, not for small batches.

    Args:
        params: the parameters, or dicts of parameters with options of their own (groups)
        lr: the learning rate: the size of the first step
        etas: by what a step shrinks and grows
        step_sizes: the smallest and the largest step
        capturable: for CUDA graphs only; True raises
        foreach: accepted; there is one implementation, which updates all parameters together
        maximize: go up the gradient instead of down
        differentiable: keep the graph of each step, so that gradients flow through it

    Example:
        >>> w = nn.Parameter(clew.tensor([1., -2.]))
        >>> optimizer = optim.Rprop([w], lr=0.1)
        >>> for _ in range(2):
        ...     optimizer.zero_grad()
        ...     (w**2).sum().backward()
        ...     optimizer.step()
        >>> w.data
        tensor([ 0.7800, -1.7800])
    """

    _fused = (Fused(_KERNEL, ("prev", "step_size"), _numbers),)

    def __init__(
        self,
        params: ParamsT,
        lr: Number = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check(0 < etas[0] < 1 < etas[1], "Invalid eta values: {}, {}", *etas)
        defaults = {
            "lr": lr, "etas": etas, "step_sizes": step_sizes, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, defaults)

    @staticmethod
    def _initial_state(param: Tensor, grad: Tensor, options: Options) -> State:
        start: Any = options["lr"]
        if isinstance(start, Tensor):
            start = start.item()
        if param.is_complex():
            start = complex(start, start)
        return {
            "step": scalar(0.0),
            "prev": zeros_like(param),
            "step_size": full_like(grad, start),
        }

    @staticmethod
    def _update(param: Tensor, grad: Tensor, state: State, options: Options) -> None:
        shrinks, grows = options["etas"]
        previous, size = state["prev"], state["step_size"]
        count_step(state)
        agreement = (grad * previous).detach()
        turned = agreement < 0
        factor = ones_like(size).masked_fill_(agreement > 0, grows).masked_fill_(turned, shrinks)
        size.mul_(factor).clamp_(*options["step_sizes"])
        # Where the sign has changed, the last step went too far: stay there for once.
        grad = grad.masked_fill(turned, 0)
        param.addcmul_(grad.sign(), size, value=-1)
        previous.copy_(grad)


def rprop(
    params: list[Tensor],
    grads: list[Tensor],
    prevs: list[Tensor],
    step_sizes: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    capturable: bool = False,
    maximize: bool = False,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    step_size_min: float,
    step_size_max: float,
    etaminus: float,
    etaplus: float,
) -> None:
    """One step of Rprop on lists of parameters, gradients and state."""
    update_all(
        Rprop, params, grads, {"prev": prevs, "step_size": step_sizes, "step": state_steps},
        foreach=foreach, capturable=capturable, maximize=maximize, differentiable=differentiable,
        etas=(etaminus, etaplus), step_sizes=(step_size_min, step_size_max),
    )  # fmt: skip
