"""SparseAdam: Adam for gradients that list only the rows they touch."""

from __future__ import annotations

from clew import errors
from clew.core.tensor import Tensor
from clew.optim.optimizer import ParamsT
from clew.optim.parameterwise import (
    Number,
    Options,
    ParameterwiseOptimizer,
    State,
    check,
    check_betas,
    check_lr,
)


class SparseAdam(ParameterwiseOptimizer):
    """Takes sparse gradients only. All gradients in clew are dense, so each step refuses them.

    Args:
        params: the parameters, or dicts of parameters with options of their own (groups)
        lr: the learning rate
        betas: how much of the means of gradient and squared gradient each step keeps
        eps: added to the denominator, against division by zero
        maximize: go up the gradient instead of down

    Example:
        >>> w = nn.Parameter(clew.ones(2))
        >>> optimizer = optim.SparseAdam([w])
        >>> w.sum().backward()
        >>> optimizer.step()
        Traceback (most recent call last):
        ...
        RuntimeError: SparseAdam does not support dense gradients, ...
    """

    def __init__(
        self,
        params: ParamsT,
        lr: Number = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        check_lr(lr)
        check(eps > 0, "Invalid epsilon value: {}", eps)
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})

    @staticmethod
    def _initial_state(param: Tensor, grad: Tensor, options: Options) -> State:
        raise RuntimeError(
            "SparseAdam does not support dense gradients, please consider Adam instead"
            + errors.at_user_line()
        )
