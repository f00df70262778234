"""Adagrad: steps in units of all gradients so far (Duchi, Hazan and Singer 2011)."""

from __future__ import annotations

from typing import Any

from clew import errors
from clew.core.tensor import Tensor
from clew.kernels.compiled.foreach import foreach_kernel
from clew.ops.create.constants import full_like
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
    check_lr,
    count_step,
    decayed,
    in_parts_as,
    root_plus,
    scalar,
    update_all,
    with_values,
)


@foreach_kernel("adagrad", arrays=3, scalars=3, cost=2)
def _KERNEL(param: Any, grad: Any, total: Any, decay: Any, eps: Any, scale: Any) -> Any:
    grad = grad + param * decay
    total = total + grad * grad
    return param + grad / (total.sqrt() + eps) * scale, total


def _numbers(step: float, options: Options) -> tuple[float, ...]:
    rate = options["lr"] / (1 + (step - 1) * options["lr_decay"])
    return options["weight_decay"], options["eps"], -rate


class Adagrad(ParameterwiseOptimizer):
    """Each element's step shrinks with the sum of its squared gradients.

    Args:
        params: the parameters, or dicts of parameters with options of their own (groups)
        lr: the learning rate
        lr_decay: the rate of step t is lr / (1 + (t - 1) * lr_decay)
        weight_decay: what of the parameter is added to its gradient (L2 penalty)
        initial_accumulator_value: what the sum of squares begins with
        eps: added to the denominator, against division by zero
        foreach: accepted; there is one implementation, which updates all parameters together
        maximize: go up the gradient instead of down
        differentiable: keep the graph of each step, so that gradients flow through it
        fused: accepted, as `foreach`

    Example:
        >>> w = nn.Parameter(clew.tensor([1., -2.]))
        >>> optimizer = optim.Adagrad([w], lr=0.1)
        >>> for _ in range(2):
        ...     optimizer.zero_grad()
        ...     (w**2).sum().backward()
        ...     optimizer.step()
        >>> w.data
        tensor([ 0.8331, -1.8311])
    """

    _fused = (Fused(_KERNEL, ("sum",), _numbers),)
    _takes_sparse = True

    def __init__(
        self,
        params: ParamsT,
        lr: Number = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr(lr)
        check(lr_decay >= 0, "Invalid lr_decay value: {}", lr_decay)
        check(weight_decay >= 0, "Invalid weight_decay value: {}", weight_decay)
        check(
            initial_accumulator_value >= 0,
            "Invalid initial_accumulator_value value: {}",
            initial_accumulator_value,
        )
        check(eps >= 0, "Invalid epsilon value: {}", eps)
        defaults = {
            "lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "fused": fused,
        }  # fmt: skip
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)
        # Unlike other optimizers, this one has its state before the first step.
        for group in self.param_groups:
            for param in group["params"]:
                self.state[param] = in_parts_as(param, self._initial_state(param, param, group))

    @staticmethod
    def _initial_state(param: Tensor, grad: Tensor, options: Options) -> State:
        start: Any = options["initial_accumulator_value"]
        if param.is_complex():
            start = complex(start, start)
        total = full_like(param, start, requires_grad=False)
        return {"step": scalar(0.0, options["fused"]), "sum": total}

    def share_memory(self) -> None:
        """Nothing to do: a clew tensor is reached by every thread of the process as it is."""

    @staticmethod
    def _update(param: Tensor, grad: Tensor, state: State, options: Options) -> None:
        total = state["sum"]
        step = count_step(state)
        if grad._is_unstrided:
            check_no_decay(options["weight_decay"])
            values = grad.values()
            total.add_(with_values(grad, values * values))
            root = total.sparse_mask(grad).values().sqrt_().add_(options["eps"])
            rate = options["lr"] / (1 + (step - 1) * options["lr_decay"])
            param.add_(with_values(grad, values / root * -rate))
            return
        grad = decayed(param, grad, options["weight_decay"])
        total.add_(grad * grad)
        root = root_plus(total, options["eps"])
        add_quotient(param, grad, root, -(options["lr"] / (1 + (step - 1) * options["lr_decay"])))


def check_no_decay(weight_decay: float) -> None:
    """A penalty on all elements is no sparse gradient."""
    if weight_decay:
        raise RuntimeError(
            "weight_decay option is not compatible with sparse gradients" + errors.at_user_line()
        )


def adagrad(
    params: list[Tensor],
    grads: list[Tensor],
    state_sums: list[Tensor],
    state_steps: list[Tensor],
    fused: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    has_sparse_grad: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    lr: float,
    weight_decay: float,
    lr_decay: float,
    eps: float,
    maximize: bool,
) -> None:
    """One step of Adagrad on lists of parameters, gradients and state."""
    update_all(
        Adagrad, params, grads, {"sum": state_sums, "step": state_steps}, foreach=foreach,
        differentiable=differentiable, lr=lr, weight_decay=weight_decay, lr_decay=lr_decay,
        eps=eps, maximize=maximize,
    )  # fmt: skip
