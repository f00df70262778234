"""The rectified linear unit, which is one operation, and its gradient, which is another."""

from __future__ import annotations

from typing import Any

import numpy as np

from clew.kernels.codegen import ir
from clew.kernels.codegen.ufunc import elementwise
from clew.ops.define import rows
from clew.ops.define.rows import Row
from clew.ops.pointwise.arithmetic import zeros_of
from clew.ops.pointwise.clamping import REFUSED

_RELU_KERNEL = elementwise("relu", 1, half=True)(lambda x: ir.where(x < 0.0, 0.0, x))
_RELU_BACKWARD_KERNEL = elementwise("relu_backward", 2, half=True)(
    lambda g, y: ir.where(y <= 0.0, 0.0, g)
)


def _relu(self: np.ndarray) -> np.ndarray:
    kernel = _RELU_KERNEL.specialize(self)
    return np.maximum(self, 0) if kernel is None else kernel(self)


def _relu_backward(grad_output: np.ndarray, result: np.ndarray) -> np.ndarray:
    kernel = _RELU_BACKWARD_KERNEL.specialize(result)
    if kernel is not None and grad_output.dtype is result.dtype:
        return kernel(grad_output, result)
    return np.where(result <= 0, np.zeros((), grad_output.dtype), grad_output)


RELU_BACKWARD: Row = Row(
    "relu_backward", _relu_backward, node="ThresholdBackwardBackward0",
    grads={"grad_output": lambda g, result: RELU_BACKWARD(g, result), "result": zeros_of},
)  # fmt: skip


def relu_backward(g: Any, out: Any) -> Any:
    """The gradient of `relu`, from its result; of tensors or bare arrays."""
    return RELU_BACKWARD.over(g, out)


relu = rows.unary_row(
    "relu", _relu, relu_backward, takes="ihf",
    out=False, bare=True, kinks="0 at 0", takes_halves=True,
    refusals={
        "b": RuntimeError("Boolean inputs not supported for relu"),
        "c": REFUSED["c"],
    },
    doc="The rectified linear unit: `max(input, 0)`.",
    example=">>> clew.relu(clew.tensor([-1., 0., 2.]))\ntensor([0., 0., 2.])",
)  # fmt: skip
