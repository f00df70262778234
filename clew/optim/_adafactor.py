"""Adafactor: Adam's second moments from one row and one column (Shazeer and Stern 2018)."""

from __future__ import annotations

from typing import Any

from clew import errors
from clew.backend import dtypes
from clew.core.tensor import Tensor
from clew.ops.create.constants import zeros_like
from clew.optim.optimizer import ParamsT
from clew.optim.parameterwise import (
    Number,
    Options,
    ParameterwiseOptimizer,
    State,
    add_scaled,
    check,
    check_lr,
    count_step,
    scalar,
    shrink,
    update_all,
)


class Adafactor(ParameterwiseOptimizer):
    """Scales matrices by a rank-one estimate of their mean squared gradients.

    Of a matrix it remembers one row and one column instead of all mean squares.

    Args:
        params: the parameters, or dicts of parameters with options of their own (groups)
        lr: the learning rate: an upper bound, 1 / sqrt(step) another
        beta2_decay: the means at step t keep 1 - t ** beta2_decay; negative
        eps: the least mean square (None: the precision of the dtype), and the least size of a
            parameter, which the step is in proportion to
        d: the root mean square above which an update is scaled down to it
        weight_decay: each step multiplies the parameter by 1 - lr * weight_decay
        foreach: accepted; there is one implementation, which updates all parameters together
        maximize: go up the gradient instead of down

    Example:
        >>> w = nn.Parameter(clew.tensor([[1., -2.], [3., 4.]]))
        >>> optimizer = optim.Adafactor([w], lr=0.1)
        >>> (w**2).sum().backward()
        >>> optimizer.step()
        >>> {name: tuple(value.shape) for name, value in optimizer.state[w].items()}
        {'step': (), 'row_var': (2, 1), 'col_var': (1, 2)}
    """

    def __init__(
        self,
        params: ParamsT,
        lr: Number = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        check_lr(lr, "Learning rate should be >= 0 but is: {}")
        check(beta2_decay <= 0, "beta2_decay should be <= 0 but is: {}", beta2_decay)
        check(eps[0] is None or eps[0] >= 0, "epsilon1 should be >= 0 but is: {}", eps[0])
        check(eps[1] >= 0, "epsilon2 should be >= 0 but is: {}", eps[1])
        check(d >= 1, "Clipping threshold d should be >= 1 but is: {}", d)
        check(weight_decay >= 0, "weight_decay should be >= 0 but is: {}", weight_decay)
        defaults = {
            "lr": lr,
            "beta2_decay": beta2_decay,
            "eps": eps,
            "d": d,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    @staticmethod
    def _initial_state(param: Tensor, grad: Tensor, options: Options) -> State:
        if param.is_complex():
            raise RuntimeError(
                "Adafactor does not support complex parameters" + errors.at_user_line()
            )
        state: State = {"step": scalar(0.0)}
        if grad.dim() > 1:
            state["row_var"] = zeros_like(grad[..., :1])
            state["col_var"] = zeros_like(grad[..., :1, :])
        else:
            state["variance"] = zeros_like(grad)
        return state

    @staticmethod
    def _update(param: Tensor, grad: Tensor, state: State, options: Options) -> None:
        lr, (eps1, eps2) = options["lr"], options["eps"]
        if eps1 is None:
            eps1 = dtypes.finfo(param.dtype).eps
        step = count_step(state)
        weight = step ** options["beta2_decay"]
        # The step is relative to the size of the parameter.
        size = max(eps2, _root_mean_square(param)) * min(lr, step**-0.5)
        shrink(param, lr, options["weight_decay"])
        if grad.dim() > 1:
            row, column = state["row_var"], state["col_var"]
            row.lerp_(grad.norm(dim=-1, keepdim=True).square_().div_(grad.size(-1)), weight)
            column.lerp_(grad.norm(dim=-2, keepdim=True).square_().div_(grad.size(-2)), weight)
            square = (row @ column).div_(row.mean(dim=-2, keepdim=True).clamp_(min=eps1))
        else:
            state["variance"].lerp_(grad.square(), weight)
            square = state["variance"].clone()
        update = square.clamp_(min=eps1 * eps1).rsqrt_().mul_(grad)
        clip = max(1.0, _root_mean_square(update) / options["d"])
        add_scaled(param, update, -size / clip)


def _root_mean_square(values: Tensor) -> float:
    return values.norm().item() / values.numel() ** 0.5


def adafactor(
    params: list[Tensor],
    grads: list[Tensor],
    row_vars: list[Any],
    col_vars: list[Any],
    variances: list[Any],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    has_complex: bool = False,
    *,
    d: float,
    lr: Number,
    beta2_decay: float,
    weight_decay: float,
    eps1: float,
    eps2: float,
    maximize: bool,
) -> None:
    """One step of Adafactor on lists of parameters, gradients and state."""
    update_all(
        Adafactor, params, grads,
        {"row_var": row_vars, "col_var": col_vars, "variance": variances, "step": state_steps},
        d=d, lr=lr, beta2_decay=beta2_decay, weight_decay=weight_decay, eps=(eps1, eps2),
        maximize=maximize,
    )  # fmt: skip
