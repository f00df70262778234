"""Muon: momentum, made orthogonal by a Newton-Schulz iteration (Jordan 2024)."""

from __future__ import annotations

import math

from clew import errors
from clew.core.tensor import Tensor
from clew.ops.create.constants import zeros_like
from clew.ops.linalg.addmm import addmm
from clew.optim.optimizer import ParamsT
from clew.optim.parameterwise import (
    Options,
    ParameterwiseOptimizer,
    State,
    average,
    check,
    check_lr,
    shrink,
    update_all,
)

Coefficients = tuple[float, float, float]


class Muon(ParameterwiseOptimizer):
    """For matrices only: the directions of the momentum, each with the same length.

    Jordan (2024). The update is close to the orthogonal matrix nearest to the momentum; a few
    steps of Newton and Schulz's iteration compute it, in bfloat16.

    Args:
        params: matrices, or dicts of matrices with options of their own (groups)
        lr: the learning rate
        weight_decay: each step multiplies the parameter by 1 - lr * weight_decay
        momentum: how much of the mean gradient each step keeps
        nesterov: look ahead by the momentum of the next step
        ns_coefficients: the three coefficients of an iteration
        eps: the least norm that the momentum is divided by
        ns_steps: the number of iterations
        adjust_lr_fn: how the rate follows from the shape: "original" (also None), or
            "match_rms_adamw", with which rates that are good for AdamW are good here

    Example:
        >>> w = nn.Parameter(clew.zeros(2, 2))
        >>> optimizer = optim.Muon([w], lr=1.0)
        >>> (w * clew.tensor([[100., 0.], [0., 1.]])).sum().backward()
        >>> optimizer.step()
        >>> w.data.round()
        tensor([[-1.,  0.],
                [ 0., -1.]])
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: Coefficients = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        check_lr(lr, "Learning rate should be >= 0 but is: {}")
        check(momentum >= 0, "momentum should be >= 0 but is: {}", momentum)
        check(weight_decay >= 0, "weight decay should be >= 0 but is: {}", weight_decay)
        check(
            adjust_lr_fn in (None, "original", "match_rms_adamw"),
            "Adjust learning rate function {} is not supported",
            adjust_lr_fn,
        )
        defaults = {
            "lr": lr,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "nesterov": nesterov,
            "ns_coefficients": ns_coefficients,
            "eps": eps,
            "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            for param in group["params"]:
                check(
                    param.ndim == 2,
                    "Muon only supports 2D parameters whereas we found a parameter with size: {}. "
                    "Leave biases, norms and embeddings to AdamW.",
                    param.size(),
                )

    @staticmethod
    def _initial_state(param: Tensor, grad: Tensor, options: Options) -> State:
        if param.is_complex():
            raise RuntimeError("Muon does not support complex parameters" + errors.at_user_line())
        return {"momentum_buffer": zeros_like(grad)}

    @staticmethod
    def _update(param: Tensor, grad: Tensor, state: State, options: Options) -> None:
        lr, momentum, buffer = options["lr"], options["momentum"], state["momentum_buffer"]
        average(buffer, grad, momentum)
        update = grad.lerp(buffer, momentum) if options["nesterov"] else buffer
        update = orthogonalized(
            update, options["ns_coefficients"], options["ns_steps"], options["eps"]
        )
        shrink(param, lr, options["weight_decay"])
        param.add_(update, alpha=-lr * _size_factor(options["adjust_lr_fn"], *param.shape))


def orthogonalized(matrix: Tensor, coefficients: Coefficients, steps: int, eps: float) -> Tensor:
    """About U Vᵀ of `matrix` = U S Vᵀ: each step moves the singular values closer to 1."""
    check(steps < 100, "Number of steps must be less than 100 for computational efficiency")
    check(len(coefficients) == 3, "Coefficients must be a tuple of exactly 3 values")
    a, b, c = coefficients
    x = matrix.bfloat16()
    tall = x.size(0) > x.size(1)
    if tall:
        x = x.T
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.T
        x = addmm(x, addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if tall else x


def _size_factor(kind: str | None, rows: int, columns: int) -> float:
    """How the rate follows from the shape, so that one rate serves all matrices."""
    if kind == "match_rms_adamw":
        return 0.2 * math.sqrt(max(rows, columns))
    return math.sqrt(max(1, rows / columns))


def muon(
    params: list[Tensor],
    grads: list[Tensor],
    muon_momentum_bufs: list[Tensor],
    *,
    foreach: bool | None = None,
    lr: float,
    weight_decay: float,
    momentum: float,
    nesterov: bool,
    ns_coefficients: Coefficients,
    ns_steps: int,
    eps: float,
    adjust_lr_fn: str | None,
    has_complex: bool,
) -> None:
    """One step of Muon on lists of parameters, gradients and momentum buffers."""
    update_all(
        Muon, params, grads, {"momentum_buffer": muon_momentum_bufs}, lr=lr,
        weight_decay=weight_decay, momentum=momentum, nesterov=nesterov,
        ns_coefficients=ns_coefficients, ns_steps=ns_steps, eps=eps, adjust_lr_fn=adjust_lr_fn,
    )  # fmt: skip
