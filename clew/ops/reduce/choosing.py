"""Elements chosen by their index along a dimension: what max, sort, median and cummax share."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.op import Op
from clew.core.tensor import Tensor
from clew.kernels import compiled
from clew.kernels import numpy as kernels
from clew.ops.reduce.reductions import Dims


def _kept(indices: np.ndarray, dim: int, keepdim: bool) -> np.ndarray:
    return indices if keepdim else indices[(*(slice(None),) * dim, None)]


def chosen(self: np.ndarray, indices: np.ndarray, *, dim: int, keepdim: bool) -> np.ndarray:
    """The elements at `indices` along `dim`."""
    if not self.ndim:
        return self.copy()
    kept = _kept(indices, dim, keepdim)
    if dim == self.ndim - 1:
        taken = kernels.scatter.take_few(self, kept)
        if taken is not None:
            return taken.reshape(indices.shape)
    blocks = kernels.scatter.in_blocks(self, kept, dim)
    if blocks is not None:
        return compiled.gather_scatter.gather(*blocks).reshape(indices.shape)
    return np.take_along_axis(self, kept, dim).reshape(indices.shape)


def _put(
    grad: np.ndarray, indices: np.ndarray, *, dim: int, keepdim: bool, sizes: Dims
) -> np.ndarray:
    if not sizes:
        return grad.copy()
    spread = np.zeros(sizes, grad.dtype)
    kept, values = _kept(indices, dim, keepdim), _kept(grad, dim, keepdim)
    blocks = kernels.scatter.in_blocks(spread, kept, dim, values)
    if blocks is not None:
        compiled.gather_scatter.scatter(*blocks)
    else:
        np.put_along_axis(spread, kept, values, dim)
    return spread


VALUE_SELECTING_REDUCTION_BACKWARD = Op(
    "value_selecting_reduction_backward",
    _put,
    grads={"grad": lambda g, indices, dim, keepdim: _CHOSEN(g, indices, dim=dim, keepdim=keepdim)},
    multilinear=True,
    node="ScatterBackward0",
)


def choosing_op(name: str, node: str, forward: Callable[..., np.ndarray] = chosen) -> Op:
    """An operation whose values are elements of its input, at `indices` along `dim`.

    The indices are found before, by another operation; saving them, and neither the input nor the
    values, is what backward needs. Each index occurs at most once along `dim`.
    """
    return Op(
        name,
        forward,
        grads={
            "self": lambda g, indices, dim, keepdim, self_shape: (
                VALUE_SELECTING_REDUCTION_BACKWARD.over(
                    g, indices, dim=dim, keepdim=keepdim, sizes=self_shape
                )
            )
        },
        bare=True,
        node=node,
        multilinear=True,
        kinks="the chosen element gets all of the gradient",
    )


_CHOSEN: Op = choosing_op("_chosen", "GatherBackward0")


def found_op(name: str, forward: Callable[..., np.ndarray]) -> Op:
    """An operation that finds indices."""
    return Op(name, forward, non_differentiable="integer output")


def orderable(array: np.ndarray) -> np.ndarray:
    """The same order in a dtype for which NumPy finds extremes quickly."""
    return array.astype(np.float32) if array.dtype in dtypes.LOW_PRECISION else array


def require_elements(name: str, input: Tensor, dim: int) -> None:
    """A dimension without elements has no extreme."""
    shape = input._array.shape
    if shape and shape[dim] == 0:
        raise IndexError(
            f"{name}(): Expected reduction dim {dim} to have non-zero size." + errors.at_user_line()
        )
