"""cdist: the distances between all pairs of rows of two batches of matrices."""

from __future__ import annotations

import math

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.casting import FLOAT32, casts
from clew.core.op import Op
from clew.core.public import public
from clew.core.state import local
from clew.core.tensor import Tensor, wrap
from clew.kernels import compiled
from clew.kernels.codegen.contexts import TYPES
from clew.ops.linalg.checks import require_kernel
from clew.ops.linalg.product_checks import require_same_scalar_type

Array = np.ndarray

_MODES = (
    "use_mm_for_euclid_dist_if_necessary",
    "use_mm_for_euclid_dist",
    "donot_use_mm_for_euclid_dist",
)
_MANY_ROWS = 25  # from here on PyTorch computes Euclidean distances by a matrix product
_BLOCK = 1 << 20  # differences held in memory at a time


# -- forward -------------------------------------------------------------------------------------


def _cdist(x1: Array, x2: Array, *, p: float, by_product: bool) -> Array:
    if by_product:
        return _euclidean(x1, x2)
    rows, others, columns = x1.shape[-2], x2.shape[-2], x1.shape[-1]
    batch = np.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    result = np.zeros((*batch, rows, others), x1.dtype)
    if p in compiled.pair_distances.NORMS and x1.dtype in TYPES:
        first, second = (_by_column(each, batch) for each in (x1, x2))
        for index in np.ndindex(*batch):
            compiled.pair_distances.distances_between(first[index], second[index], p, result[index])
        return result
    step = max(1, _BLOCK // max(1, others * columns * math.prod(batch)))
    for start in range(0, rows if columns else 0, step):
        part = x1[..., start : start + step, None, :] - x2[..., None, :, :]
        result[..., start : start + step, :] = _norms(np.absolute(part, out=part), p)
    return result


def _by_column(x: Array, batch: tuple[int, ...]) -> Array:
    """Contiguous transposed matrices, as many as a batch has."""
    return np.ascontiguousarray(np.broadcast_to(x.swapaxes(-2, -1), (*batch, *x.shape[:-3:-1])))


def _norms(sizes: Array, p: float) -> Array:
    if p == 0:
        return np.asarray(np.sign(sizes).sum(-1))
    if p == 1:
        return np.asarray(sizes.sum(-1))
    if math.isinf(p):
        return np.asarray(sizes.max(-1))
    if p == 2:
        return np.sqrt(np.einsum("...i,...i->...", sizes, sizes))
    return np.asarray((sizes**p).sum(-1) ** (1 / p))


def _euclidean(x1: Array, x2: Array) -> Array:
    """|a - b|^2 = |a|^2 - 2 ab + |b|^2, by one matrix product."""
    squares1 = np.einsum("...i,...i->...", x1, x1)[..., :, None]
    squares2 = np.einsum("...i,...i->...", x2, x2)[..., None, :]
    squared = np.matmul(x1, x2.swapaxes(-2, -1))
    squared *= -2
    squared = squared + squares1 + squares2
    return np.sqrt(np.maximum(squared, 0, out=squared), out=squared)


# -- gradients -----------------------------------------------------------------------------------


def _euclidean_weights(g: Tensor, distance: Tensor) -> Tensor:
    return (g / distance).masked_fill(distance == 0, 0)


def _slope(g: Tensor, x1: Tensor, x2: Tensor, distance: Tensor, p: float) -> Tensor:
    """g times the derivative of each distance by each difference; 0 where the distance is 0."""
    difference = x1.unsqueeze(-2) - x2.unsqueeze(-3)
    g, distance = g.unsqueeze(-1), distance.unsqueeze(-1)
    if p == 0:
        return difference.new_zeros(difference._array.shape)
    if p == 1:
        return direction(difference) * g
    if math.isinf(p):
        return direction(difference) * is_largest(difference, distance) * g
    if p < 2:
        # The power of 0 is infinite below p = 1.
        step = difference.sign() * difference.abs().pow(p - 1)
        step = step * (g / distance.pow(p - 1)).masked_fill(distance == 0, 0)
        return step.masked_fill(difference == 0, 0)
    step = difference * difference.abs().pow(p - 2)
    return step * (g / distance.pow(p - 1)).masked_fill(distance == 0, 0)


def direction(difference: Tensor) -> Tensor:
    """1 or -1, 0 for 0; NaN stays NaN."""
    return difference.sign().masked_fill(difference.isnan(), math.nan)


def is_largest(difference: Tensor, distance: Tensor) -> Tensor:
    """1 where a difference has the size of the largest; NaN where that is infinite."""
    return 1 - (difference.abs() - distance).abs().ceil().clamp(max=1)


def _without_graph(g: Array, x1: Array, x2: Array, distance: Array, p: float) -> Array:
    """The gradient by `x1`, not yet summed where it was broadcast."""
    batch = g.shape[:-2]
    first, second = (_by_column(each, batch) for each in (x1, x2))
    g, distance = (np.ascontiguousarray(each) for each in (g, distance))
    result = np.empty((*batch, *x1.shape[-2:]), x1.dtype)
    for index in np.ndindex(*batch):
        matrices = first[index], second[index], distance[index], g[index]
        result[index] = compiled.pair_distances.gradient_between(*matrices, p).T
    return result


def _is_compiled(x: Tensor, p: float) -> bool:
    state = local.state
    has_kernel = p in (1.0, math.inf) and x._array.dtype in TYPES
    return has_kernel and not state.grad_enabled and state.intercept is None and not state.dual


def _grad_first(g: Tensor, x1: Tensor, x2: Tensor, out: Tensor, p: float) -> Tensor:
    if p == 2:
        weights = _euclidean_weights(g, out)
        return weights.sum(-1, keepdim=True) * x1 - weights @ x2
    if _is_compiled(x1, p):
        return wrap(_without_graph(g._array, x1._array, x2._array, out._array, p))
    return _slope(g, x1, x2, out, p).sum(-2)


def _grad_second(g: Tensor, x1: Tensor, x2: Tensor, out: Tensor, p: float) -> Tensor:
    if p == 2:
        weights = _euclidean_weights(g, out).mT
        return weights.sum(-1, keepdim=True) * x2 - weights @ x1
    if _is_compiled(x2, p):
        # A distance is the same from the other side.
        transposed, found = (each._array.swapaxes(-2, -1) for each in (g, out))
        return wrap(_without_graph(transposed, x2._array, x1._array, found, p))
    return -_slope(g, x1, x2, out, p).sum(-3)


CDIST = Op(
    "cdist", _cdist, grads={"x1": _grad_first, "x2": _grad_second}, kinks="0 between equal rows"
)

# -- public --------------------------------------------------------------------------------------


@public(method=False, out=False)
@casts(FLOAT32)
def cdist(
    x1: Tensor,
    x2: Tensor,
    p: float = 2.0,
    compute_mode: str | None = "use_mm_for_euclid_dist_if_necessary",
) -> Tensor:
    """The p-norm distance between each row of `x1` and each row of `x2`.

    Args:
        x1: (..., n, m), floating point
        x2: (..., k, m); the result is (..., n, k)
        p: the order of the norm, not negative
        compute_mode: whether a matrix product finds Euclidean distances, less exact but faster:
            where there are more than 25 rows ("use_mm_for_euclid_dist_if_necessary"), always
            ("use_mm_for_euclid_dist") or never ("donot_use_mm_for_euclid_dist")

    Example:
        >>> points = clew.tensor([[0., 0.], [3., 4.]])
        >>> clew.cdist(points, points)
        tensor([[0., 5.],
                [5., 0.]])
    """
    if compute_mode is not None and compute_mode not in _MODES:
        raise ValueError(
            f"{compute_mode} is not a valid value for compute_mode" + errors.at_user_line()
        )
    _check(x1, x2, p)
    first, second = x1._array.shape, x2._array.shape
    many = first[-2] > _MANY_ROWS or second[-2] > _MANY_ROWS
    by_product = p == 2 and (
        compute_mode == _MODES[1] or (compute_mode in (None, _MODES[0]) and many)
    )
    return CDIST(x1, x2, p=float(p), by_product=by_product)


def _refusal(x1: Tensor, x2: Tensor, p: float) -> str:
    """Why PyTorch would refuse these, or nothing."""
    named = (("X1", x1), ("X2", x2))
    for name, value in named:
        if value._array.ndim < 2:
            return f"cdist only supports at least 2D tensors, {name} got: {value._array.ndim}D"
    columns, others = x1._array.shape[-1], x2._array.shape[-1]
    if columns != others:
        return f"X1 and X2 must have the same number of columns. X1: {columns} X2: {others}"
    for name, value in named:
        if value.dtype.category != dtypes.FLOAT:
            return (
                f"cdist only supports floating-point dtypes, {name} got: {value.dtype.scalar_name}"
            )
    return "cdist only supports non-negative p values" if p < 0 else ""


def _check(x1: Tensor, x2: Tensor, p: float) -> None:
    problem = _refusal(x1, x2, p)
    if problem:
        raise RuntimeError(problem + errors.at_user_line())
    mismatch = errors.broadcast_mismatch("cdist", x1._array.shape[:-2], x2._array.shape[:-2])
    if mismatch is not None:
        raise mismatch
    require_same_scalar_type(x1, x2)
    require_kernel("cdist", x1)
