"""Gradients that PyTorch computes from an operand which has no share in them.

The gradient of a pooling is linear in the incoming one; of the input it needs the shape only. But
PyTorch's function takes the input, so with `create_graph=True` its result always has a history:
backward through it gives the input zeros, or nothing.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from clew.core.op import Op
from clew.core.state import local
from clew.core.tensor import Tensor, wrap


def zero_share(node: str, *, gives_zeros: bool = True) -> Callable[[Tensor, Tensor], Tensor]:
    """A function that gives a gradient without history one that leads to the operand.

    `node` is the name of PyTorch's node. With `gives_zeros` the operand gets a gradient of zeros,
    otherwise none.
    """

    def of_operand(g: Tensor, operand_shape: tuple[int, ...]) -> Tensor | None:
        return wrap(np.zeros(operand_shape, g._array.dtype)) if gives_zeros else None

    op = Op(
        f"_zero_share_{node}",
        lambda grad, operand: grad,
        grads={"operand": of_operand},
        node=node,
    )

    def shared(grad: Tensor, operand: Tensor) -> Tensor:
        state = local.state
        if not state.grad_enabled or state.intercept is not None or state.dual:
            return grad
        if grad.requires_grad or not operand.requires_grad:
            return grad
        result: Tensor = op(grad, operand)
        return result

    return shared
