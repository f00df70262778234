"""histogramdd: counts of points in the cells of a grid."""

from __future__ import annotations

from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.op import Op
from clew.core.public import public
from clew.core.tensor import Tensor
from clew.ops import define
from clew.ops.define import vmap_errors
from clew.ops.reduce.histograms import edges_of, is_of_examples, require_dtype_of_weight

Array = np.ndarray


def _counts(self: Array, weight: Array | None, *, edges: tuple[Array, ...], density: bool) -> Array:
    """Weighted counts in the cells; the last cell along each axis holds its right edge, too."""
    points = self.reshape(-1, len(edges))
    shape = tuple(len(each) - 1 for each in edges)
    inside = np.ones(len(points), bool)
    cells = np.zeros(len(points), np.int64)
    for axis, each in enumerate(edges):
        values = points[:, axis]
        inside &= (values >= each[0]) & (values <= each[-1])
        place = np.searchsorted(each, values, side="right") - 1
        cells = cells * shape[axis] + np.clip(place, 0, shape[axis] - 1)
    weights = None if weight is None else weight.reshape(-1)[inside]
    counts = np.bincount(cells[inside], weights=weights, minlength=int(np.prod(shape)))
    counts = counts.reshape(shape).astype(self.dtype)
    if density:
        counts = counts / counts.sum()
        for axis, each in enumerate(edges):
            counts = counts / np.diff(each).reshape(-1, *(1,) * (len(edges) - 1 - axis))
    return counts.astype(self.dtype, copy=False)


def _no_gradient(g: Any) -> Tensor:
    raise errors.not_differentiable("histogramdd", "self", "counts are piecewise constant")


HISTOGRAMDD = Op("histogramdd", _counts, grads={"self": _no_gradient}, node="NotImplemented")


@public(checked=True, method=False, out=False)
def histogramdd(
    input: Tensor,
    bins: Any,
    range: Any = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> define.return_types.histogramdd:
    """How many points lie in each cell of a grid, and the grid's edges along each axis.

    Args:
        input: points, shape (..., N): the last dimension has the coordinates
        bins: how many bins each axis has, as one int or N ints; or N tensors with the edges
        range: the ends of the axes, as 2 N numbers; without it those of the points
        weight: what each point counts, shape (...); 1 without it
        density: whether to divide by the total and by the cells' volumes

    Returns a named tuple (hist, bin_edges).

    Example:
        >>> points = clew.tensor([[0., 0.], [0., 1.], [1., 1.]])
        >>> clew.histogramdd(points, bins=[2, 2]).hist
        tensor([[1., 1.],
                [0., 1.]])
    """
    shape = input._array.shape
    if len(shape) < 2:
        raise _failure("torch.histogramdd: input tensor should have at least 2 dimensions")
    count = shape[-1]
    if range is not None and len(range) != 2 * count:
        raise _failure(
            f"torch.histogramdd: for a {count}-dimensional histogram range should have "
            f"{2 * count} elements, but got {len(range)}"
        )
    if input.dtype not in (dtypes.float32, dtypes.float64):
        raise errors.no_kernel("histogramdd", input.dtype)
    listed = _listed(bins, count)
    if len(listed) != count:
        raise _failure(
            "histogramdd: The size of bins must be equal to the innermost dimension of the input."
        )
    require_dtype_of_weight(input, weight)
    if weight is not None and weight._array.shape != shape[:-1]:
        raise _failure(
            "torch.histogramdd: if weight tensor is provided it should have the same shape as the "
            "input tensor excluding its innermost dimension, but got input with shape "
            f"{errors.shape_list(shape)} and weight with shape "
            f"{errors.shape_list(weight._array.shape)}"
        )
    for each in (*listed, input if range is None else None):
        if isinstance(each, Tensor) and is_of_examples(each):
            raise vmap_errors.no_rule("histogramdd", "the edges of each example's bins differ")
    edges = tuple(
        edges_of(input[..., axis], each, None if range is None else range[2 * axis :][:2], axis)
        for axis, each in enumerate(listed)
    )
    grid = tuple(each._array for each in edges)
    return define.return_types.histogramdd(
        HISTOGRAMDD(input, weight, edges=grid, density=density), edges
    )


def _listed(bins: Any, count: int) -> list[Any]:
    """The bins of each axis: numbers, or edges."""
    if isinstance(bins, int):
        return [bins] * count
    if not isinstance(bins, (tuple, list)):
        raise TypeError(
            f"histogramdd() received an invalid combination of arguments - got (Tensor, "
            f"{type(bins).__name__}), but expected ints or tensors for bins" + errors.at_user_line()
        )
    for place, each in enumerate(bins):
        if not isinstance(each, (int, Tensor)):
            raise TypeError(
                f"expected Tensor as element {place} in argument 1, but got "
                f"{type(each).__name__}" + errors.at_user_line()
            )
    return list(bins)


def _failure(text: str) -> RuntimeError:
    return RuntimeError(text + errors.at_user_line())
