"""SGD: stochastic gradient descent, with momentum (Polyak 1964, Nesterov 1983)."""

from __future__ import annotations

from typing import Any

from clew.core.tensor import Tensor
from clew.kernels.codegen.ir import where
from clew.kernels.compiled.foreach import foreach_kernel
from clew.optim.optimizer import ParamsT
from clew.optim.parameterwise import (
    Fused,
    Number,
    Options,
    ParameterwiseOptimizer,
    State,
    add_scaled,
    check,
    check_fused,
    check_lr,
    decayed,
    update_all,
)


@foreach_kernel("sgd", arrays=2, scalars=2)
def _PLAIN_KERNEL(param: Any, grad: Any, decay: Any, scale: Any) -> Any:
    return param + (grad + param * decay) * scale


def _plain_numbers(step: float, options: Options) -> tuple[float, ...]:
    return options["weight_decay"], -options["lr"]


def _is_plain(options: Options) -> bool:
    return not options["momentum"]


@foreach_kernel("sgd_momentum", arrays=3, scalars=5)
def _KERNEL(
    param: Any, grad: Any, buffer: Any,
    decay: Any, momentum: Any, rate: Any, ahead: Any, scale: Any,
) -> Any:  # fmt: skip
    grad = grad + param * decay
    buffer = buffer * momentum + grad * rate
    # Nesterov's step goes `ahead` by the gradient itself.
    direction = where(ahead > 0.0, buffer * momentum + grad, buffer)
    return param + direction * scale, buffer


def _numbers(step: float, options: Options) -> tuple[float, ...]:
    rate, ahead = 1 - options["dampening"], float(options["nesterov"])
    return options["weight_decay"], options["momentum"], rate, ahead, -options["lr"]


class SGD(ParameterwiseOptimizer):
    """Gradient descent, plain or with momentum.

    With momentum, a step goes along a running sum of the gradients: buffer ← momentum · buffer +
    (1 - dampening) · gradient.

    Args:
        params: the parameters, or dicts of parameters with options of their own (groups)
        lr: the learning rate
        momentum: how much of the running sum each step keeps; 0 keeps none
        dampening: how much less than the whole gradient is added to the running sum
        weight_decay: what of the parameter is added to its gradient (L2 penalty)
        nesterov: step along the gradient plus `momentum` times the running sum
        maximize: go up the gradient instead of down
        foreach: accepted; there is one implementation, which updates all parameters together
        differentiable: keep the graph of each step, so that gradients flow through it
        fused: accepted, as `foreach`

    Example:
        >>> w = nn.Parameter(clew.tensor([1., -2.]))
        >>> optimizer = optim.SGD([w], lr=0.1, momentum=0.9)
        >>> for _ in range(2):
        ...     optimizer.zero_grad()
        ...     (w**2).sum().backward()
        ...     optimizer.step()
        >>> w.data
        tensor([ 0.4600, -0.9200])
    """

    _complex_as_real = False
    _takes_sparse = True
    _fused = (
        Fused(_KERNEL, ("momentum_buffer",), _numbers, counts=False),
        Fused(_PLAIN_KERNEL, (), _plain_numbers, fits=_is_plain, counts=False),
    )

    def __init__(
        self,
        params: ParamsT,
        lr: Number = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: Number = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr(lr)
        check(momentum >= 0, "Invalid momentum value: {}", momentum)
        check(weight_decay >= 0, "Invalid weight_decay value: {}", weight_decay)
        if nesterov:
            check(
                momentum > 0 and dampening == 0,
                "Nesterov momentum requires a momentum and zero dampening",
            )
        defaults = {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay,
            "nesterov": nesterov, "maximize": maximize, "foreach": foreach,
            "differentiable": differentiable, "fused": fused,
        }  # fmt: skip
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)

    @staticmethod
    def _initial_state(param: Tensor, grad: Tensor, options: Options) -> State:
        # The buffer begins as a copy of the first (decayed) gradient.
        return {"momentum_buffer": None} if options["momentum"] else {}

    @staticmethod
    def _update(param: Tensor, grad: Tensor, state: State, options: Options) -> None:
        momentum = options["momentum"]
        grad = decayed(param, grad, options["weight_decay"])
        if momentum:
            buffer = state.get("momentum_buffer")
            if buffer is None:
                buffer = state["momentum_buffer"] = grad.clone()
            else:
                buffer.mul_(momentum)
                add_scaled(buffer, grad, 1 - options["dampening"])
            grad = (buffer * momentum).add_(grad) if options["nesterov"] else buffer
        add_scaled(param, grad, -options["lr"])


def sgd(
    params: list[Tensor],
    d_p_list: list[Tensor],
    momentum_buffer_list: list[Any],
    has_sparse_grad: bool = False,
    foreach: bool | None = None,
    fused: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    *,
    weight_decay: float,
    momentum: float,
    lr: float,
    dampening: float,
    nesterov: bool,
    maximize: bool,
) -> None:
    """One step of SGD on lists of parameters, gradients and momentum buffers."""
    update_all(
        SGD, params, d_p_list, {"momentum_buffer": momentum_buffer_list},
        weight_decay=weight_decay, momentum=momentum, lr=lr, dampening=dampening,
        nesterov=nesterov, maximize=maximize,
    )  # fmt: skip
