"""Which gradients are captured operation by operation, and which as one instruction.

The formulas of most operations call kernels of their own, or look at more than operations: they
are one instruction of the graph, whose operands are what the node saved. Formulas that are plain
operations are captured as such, so that fusion can work on them.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from clew.compiler.expressions import expression
from clew.core.op import Op
from clew.core.state import local
from clew.core.tensor import Tensor, wrap

_PLAIN = frozenset({
    "mm", "bmm", "matmul", "addmm", "baddbmm", "dot", "sum", "sum_dim", "mean", "mean_dim",
    "expand", "_to_copy", "clone", "dropout", "cat", "stack", "_unsafe_view", "flip", "roll",
    "repeat", "tril", "triu", "constant_pad_nd", "pixel_shuffle", "pixel_unshuffle",
    "index_select", "index_add", "scatter_add", "linalg_vector_norm",
    "native_batch_norm_running", "logsumexp", "var", "std", "mse_loss",
})  # fmt: skip


@functools.cache
def is_expanded(op: Op) -> bool:
    """Whether the gradient of an operation is captured operation by operation."""
    if op.name in _PLAIN:
        return True
    return op.joint is None and (op.is_view or expression(op) is not None)


def run_formulas(detail: Any, grads: tuple[Any, ...], pool: list[Any]) -> list[Any]:
    """The gradients that a node's formulas compute, over arrays.

    Grad mode is off, so the formulas use the kernels that they use in an eager backward.
    """
    op, active, edges = detail
    assert not local.state.grad_enabled
    given = [None if g is None else wrap(g) for g in grads]
    g: Any = tuple(given) if op.outputs != 1 else given[0]
    operands = [wrap(each) if type(each) is np.ndarray else each for each in pool]
    results: list[Any] = [None] * edges
    if op.joint is not None:
        _, formula, slots = active[0]
        results = list(formula(g, *[operands[slot] for slot in slots]))
    else:
        for index, formula, slots in active:
            results[index] = formula(g, *[operands[slot] for slot in slots])
    return [each._array if isinstance(each, Tensor) else each for each in results]
