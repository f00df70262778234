"""AdamW: Adam whose weight decay does not pass through the averages of the gradient."""

from __future__ import annotations

import functools

from clew.optim.adam import Adam, adam
from clew.optim.optimizer import ParamsT
from clew.optim.parameterwise import Number


class AdamW(Adam):
    """Adam with `decoupled_weight_decay`."""

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
