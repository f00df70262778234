"""Gradients that PyTorch computes from an operand which has no share in them.

The gradient of a pooling is linear in the incoming one; of the input it needs the shape only. But
PyTorch's function takes the input, so with `create_graph=True` its result always has a history:
backward through it gives the input zeros, or nothing.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from clew.core.op import Op
from clew.core.recording import edges_of, record
from clew.core.state import local
from clew.core.tensor import Tensor, wrap
from clew.source import _getframe


def _of_operand(g: Tensor, operand_shape: tuple[int, ...], gives_zeros: bool) -> Tensor | None:
    return wrap(np.zeros(operand_shape, g._array.dtype)) if gives_zeros else None


# Only its node is used, under the names of others.
ZERO_SHARE = Op(
    "_zero_share", lambda grad, operand, *, gives_zeros: grad, grads={"operand": _of_operand}
)


def zero_share(node: str, *, gives_zeros: bool = True) -> Callable[[Tensor, Tensor], Tensor]:
    """A function that gives a gradient without history one that leads to the operand.

    `node` is the name of PyTorch's node. With `gives_zeros` the operand gets a gradient of zeros,
    otherwise none.
    """
    params = {"gives_zeros": gives_zeros}
    node_class = type(node, (ZERO_SHARE.node_class,), {"__slots__": (), "name": lambda self: node})

    def shared(grad: Tensor, operand: Tensor) -> Tensor:
        state = local.state
        if not state.grad_enabled or state.intercept is not None or state.dual:
            return grad
        if operand.requires_grad and not grad.requires_grad:
            inputs = grad, operand
            grad._node = record(
                state, ZERO_SHARE.plan(2), node_class, inputs, params, (grad,), edges_of(inputs),
                _getframe(1),
            )  # fmt: skip
            grad._requires_grad = True
        return grad

    return shared
