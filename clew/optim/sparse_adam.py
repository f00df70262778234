"""SparseAdam: Adam for gradients that list only the rows they touch."""

from __future__ import annotations

from clew import errors
from clew.core.tensor import Tensor
from clew.ops.create.constants import zeros_like
from clew.optim.optimizer import ParamsT
from clew.optim.parameterwise import (
    Number,
    Options,
    ParameterwiseOptimizer,
    State,
    check,
    check_betas,
    check_lr,
    with_values,
)


class SparseAdam(ParameterwiseOptimizer):
    """Adam that changes only what a sparse gradient lists, and only there its running means.

    Args:
        params: the parameters, or dicts of parameters with options of their own (groups)
        lr: the learning rate
        betas: how much of the means of gradient and squared gradient each step keeps
        eps: added to the denominator, against division by zero
        maximize: go up the gradient instead of down

    Example:
        >>> table = nn.Embedding(3, 2, sparse=True)
        >>> before = table.weight.detach().clone()
        >>> optimizer = optim.SparseAdam(table.parameters(), lr=0.1)
        >>> table(clew.tensor([1])).sum().backward()
        >>> optimizer.step()
        >>> (before - table.weight.detach()).round(decimals=4)
        tensor([[0.0000, 0.0000],
                [0.1000, 0.1000],
                [0.0000, 0.0000]])
    """

    _takes_sparse = True

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
        sparse = [
            [place, number]
            for place, group in enumerate(self.param_groups)
            for number, param in enumerate(group["params"])
            if param._is_unstrided
        ]
        if sparse:
            raise ValueError(
                f"Sparse params at indices {sparse}: SparseAdam requires dense parameter tensors"
                + errors.at_user_line()
            )

    @staticmethod
    def _initial_state(param: Tensor, grad: Tensor, options: Options) -> State:
        if not grad._is_unstrided:
            raise RuntimeError(
                "SparseAdam does not support dense gradients, please consider Adam instead"
                + errors.at_user_line()
            )
        return {"step": 0, "exp_avg": zeros_like(param), "exp_avg_sq": zeros_like(param)}

    @staticmethod
    def _update(param: Tensor, grad: Tensor, state: State, options: Options) -> None:
        if not grad._is_unstrided:
            SparseAdam._initial_state(param, grad, options)
        state["step"] += 1
        values = grad.values()
        if not values.numel():
            return
        beta1, beta2 = options["betas"]
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        old_mean = mean.sparse_mask(grad).values()
        old_square = square.sparse_mask(grad).values()
        # What is added to the means, at the places of the gradient.
        more_mean = (values - old_mean).mul_(1 - beta1)
        more_square = (values * values - old_square).mul_(1 - beta2)
        mean.add_(with_values(grad, more_mean))
        square.add_(with_values(grad, more_square))
        root = (more_square + old_square).sqrt_().add_(options["eps"])
        first, second = (1 - beta ** state["step"] for beta in (beta1, beta2))
        rate = options["lr"] * second**0.5 / first
        param.add_(with_values(grad, (more_mean + old_mean).div_(root).mul_(-rate)))
