"""AdamW: Adam whose weight decay does not pass through the averages of the gradient."""

from __future__ import annotations

import functools

from clew.optim.adam import Adam, adam
from clew.optim.optimizer import ParamsT
from clew.optim.parameterwise import Number


class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019).

    The decay shrinks parameters directly and does not pass through Adam's means.

    Args:
        params: the parameters, or dicts of parameters with options of their own (groups)
        lr: the learning rate
        betas: how much of the means of gradient and squared gradient each step keeps
        eps: added to the denominator, against division by zero
        weight_decay: each step multiplies the parameter by 1 - lr * weight_decay
        amsgrad: use the largest mean square so far
        maximize: go up the gradient instead of down
        foreach: accepted; there is one implementation, which updates all parameters together
        capturable: for CUDA graphs only; True raises
        differentiable: keep the graph of each step, so that gradients flow through it
        fused: accepted, as `foreach`

    Example:
        >>> w = nn.Parameter(clew.tensor([1., -2.]))
        >>> optimizer = optim.AdamW([w], lr=0.1, weight_decay=0.5)
        >>> (w * 0).sum().backward()
        >>> optimizer.step()
        >>> w.data
        tensor([ 0.9500, -1.9000])
    """

    def __init__(
        self,
        params: ParamsT,
        lr: Number = 1e-3,
        betas: tuple[Number, Number] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize,
            capturable=capturable, differentiable=differentiable, fused=fused,
            decoupled_weight_decay=True,
        )  # fmt: skip

    def __setstate__(self, state: dict[str, object]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            # Also for what a plain Adam saved.
            group["decoupled_weight_decay"] = True


adamw = functools.partial(adam, decoupled_weight_decay=True)
