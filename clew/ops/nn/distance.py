"""Norms and distances of vectors: normalize, cosine_similarity, pairwise_distance, pdist."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.op import Op
from clew.core.public import deliver, public, refuse_history
from clew.core.state import local
from clew.core.tensor import Tensor, wrap
from clew.kernels import compiled
from clew.kernels.codegen.contexts import TYPES
from clew.kernels.codegen.ir import where
from clew.kernels.codegen.ufunc import over_rows
from clew.observer import active
from clew.ops.define.dims import wrap_dim
from clew.ops.linalg.cdist import direction, is_largest
from clew.ops.nn.layer_norm import graph_is_wanted
from clew.ops.shape.broadcasting import broadcast_tensors
from clew.ops.tensor.copying import scalar_as

Array = np.ndarray


def normalize(
    input: Tensor,
    p: float = 2.0,
    dim: int | tuple[int, ...] = 1,
    eps: float = 1e-12,
    out: Tensor | None = None,
) -> Tensor:
    """The input divided by its p-norm along a dimension, which is taken to be at least `eps`.

    Args:
        p: the order of the norm
        dim: the dimension of the vectors
        eps: the smallest divisor

    Example:
        >>> F.normalize(clew.tensor([[3.0, 4.0]]))
        tensor([[0.6000, 0.8000]])
    """
    if not isinstance(input, Tensor):
        raise errors.wrong_argument("normalize", "input", 1, "Tensor", input)
    if input.dtype.category < dtypes.FLOAT:
        raise RuntimeError(
            "linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
            f"{input.dtype.scalar_name}" + errors.at_user_line()
        )
    size = input.norm(p, dim, keepdim=True).clamp_min(eps)
    if out is not None:
        refuse_history("div", (input,), {}, out)
    result = input / size.expand_as(input)
    return result if out is None else deliver(result, out, "normalize")


@public(method=False, out=False, checked=True)
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between vectors along a dimension.

    Args:
        x1, x2: the vectors; they broadcast
        dim: the dimension of the vectors
        eps: a lower bound for their lengths

    Example:
        >>> F.cosine_similarity(clew.tensor([[1.0, 1.0]]), clew.tensor([[1.0, 0.0]]))
        tensor([0.7071])
    """
    common = dtypes.promote_types(x1.dtype, x2.dtype)
    if common.category != dtypes.FLOAT:
        raise RuntimeError(
            "expected common dtype to be floating point, yet common dtype is "
            f"{common.scalar_name}" + errors.at_user_line()
        )
    if eps < 0:
        raise RuntimeError(f"eps must be non-negative, got: {eps:g}" + errors.at_user_line())
    # The bound is read in the dtype that sums are computed in.
    scalar_as(eps, np.dtype(np.float32) if common.itemsize < 4 else common.np)
    # Floats are not converted: each norm is computed in its own dtype.
    floats = [x if x.dtype.category == dtypes.FLOAT else x.to(common) for x in (x1, x2)]
    one, other = (x._array for x in floats)
    has_kernel = one.dtype is other.dtype and one.dtype in TYPES and one.shape == other.shape
    result: Tensor
    if has_kernel and one.ndim and one.size and local.state.intercept is None:
        result = _COSINE(*floats, dim=wrap_dim(dim, one.ndim), eps=eps)[0]
    else:
        first, second = broadcast_tensors(*floats)
        wrapped = wrap_dim(dim, first._array.ndim)
        units = [vectors / _size(vectors, wrapped, eps) for vectors in (first, second)]
        result = (units[0] * units[1]).sum(wrapped)
    observer = active.observer
    if observer is not None:
        observer.similarity_computed(x1, x2, result)
    return result


def _size(vectors: Tensor, dim: int, eps: float) -> Tensor:
    size = vectors.norm(2, dim, keepdim=True).clone()
    # The gradient is that of the norm itself, also where the bound applies.
    size.detach().clamp_min_(_bound(eps, size.dtype))
    return size


def _bound(eps: float, dtype: dtypes.dtype) -> float:
    """The smallest length, as a dtype has it."""
    return math.inf if eps > 1 and eps > dtypes.finfo(dtype).max else eps


@over_rows("cosine_similarity", "(n),(n),()->(),(),()", cost=2)
def _COSINE_KERNEL(a: Any, b: Any, eps: Any) -> Any:
    sizes = (a * a).row_sum().sqrt(), (b * b).row_sum().sqrt()
    units = a / sizes[0].maximum(eps), b / sizes[1].maximum(eps)
    return (units[0] * units[1]).row_sum(), *sizes


@over_rows("cosine_similarity_backward", "(n),(n),(),(),(),(),()->(n)", cost=2)
def _COSINE_BACKWARD_KERNEL(
    a: Any, b: Any, g: Any, cosine: Any, size: Any, size_of_b: Any, eps: Any
) -> Any:
    factor = g / size.maximum(eps)
    along = where(size.eq(0.0), 0.0, factor * cosine / size)
    return factor / size_of_b.maximum(eps) * b - along * a


def _cosine(x1: Array, x2: Array, *, dim: int, eps: float) -> tuple[Array, ...]:
    """The cosines, the lengths, and the cosines again: the first may be written to."""
    rows = [np.moveaxis(each, dim, -1) for each in (x1, x2)]
    cosine, *sizes = _COSINE_KERNEL.specialize(x1)(*rows, _bound(eps, dtypes.of_array(x1)))
    return cosine, *sizes, cosine.copy()


def _cosine_gradients(
    g: tuple[Tensor | None, ...],
    x1: Tensor,
    x2: Tensor,
    out1: Tensor,
    out2: Tensor,
    out3: Tensor,
    dim: int,
    eps: float,
    needs: tuple[bool, bool],
) -> tuple[Tensor | None, ...]:
    found: list[Tensor | None] = [None, None]
    if g[0] is None:
        return tuple(found)
    pairs = ((x1, x2, out1, out2), (x2, x1, out2, out1))
    if graph_is_wanted():
        sizes = [_size(each, dim, eps) for each in (x1, x2)]
        cosine = (x1 / sizes[0] * (x2 / sizes[1])).sum(dim, keepdim=True)
        for place, (x, other, *_) in enumerate(pairs):
            if needs[place]:
                factor = g[0].unsqueeze(dim) / sizes[place]
                norm = x.norm(2, dim, keepdim=True)
                along = (factor * cosine / norm).masked_fill(norm == 0, 0)
                found[place] = factor * (other / sizes[1 - place]) - along * x
        return tuple(found)
    kernel, bound = _COSINE_BACKWARD_KERNEL.specialize(x1._array), _bound(eps, x1.dtype)
    for place, (x, other, size, size_of_other) in enumerate(pairs):
        if needs[place]:
            rows = [np.moveaxis(each._array, dim, -1) for each in (x, other)]
            numbers = [each._array for each in (g[0], out3, size, size_of_other)]
            found[place] = wrap(np.moveaxis(kernel(*rows, *numbers, bound), -1, dim))
    return tuple(found)


_COSINE = Op(
    "cosine_similarity", _cosine, joint=_cosine_gradients, outputs=4, node="SumBackward1"
)  # fmt: skip


@public(checked=True, method=False, out=False)
def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """The p-norm of the difference, along the last dimension.

    Args:
        x1, x2: the vectors; they broadcast
        p: the order of the norm
        eps: what is added to every difference, so that the gradient is finite
        keepdim: keep the last dimension, with size 1

    Example:
        >>> F.pairwise_distance(clew.tensor([[3.0, 4.0]]), clew.zeros(1, 2))
        tensor([5.0000])
    """
    difference = x1 - x2 + eps
    return difference.norm(p, difference._array.ndim - 1, keepdim)


# -- pdist ---------------------------------------------------------------------------------


# Differences held in memory at a time.
_BLOCK = 1 << 17


def _pair_indices(rows: int) -> tuple[Array, Array]:
    first, second = np.triu_indices(rows, 1)
    return first, second


def _pdist(self: Array, *, p: float) -> Array:
    rows, columns = self.shape
    if rows < 2 or not columns:
        return np.zeros(rows * (rows - 1) // 2, self.dtype)
    if p in compiled.pair_distances.NORMS:
        return compiled.pair_distances.distances(np.ascontiguousarray(self.T), p)
    result = np.empty(rows * (rows - 1) // 2, self.dtype)
    done = 0
    for block in _row_blocks(rows, columns):
        size = np.abs(self[block, None] - self[block.start :])
        distance = (size**p).sum(-1) ** (1 / p)
        first, second = _pair_indices(rows - block.start)
        inside = int(np.count_nonzero(first < block.stop - block.start))
        result[done : done + inside] = distance[first[:inside], second[:inside]]
        done += inside
    return result


def _row_blocks(rows: int, columns: int) -> Iterator[slice]:
    """Parts of the rows whose differences to all rows fit into a block."""
    step = max(1, _BLOCK // max(1, rows * columns))
    return (slice(start, min(start + step, rows)) for start in range(0, rows, step))


def _pdist_gradient(g: Tensor, self: Tensor, out: Tensor, p: float) -> Tensor:
    if p == 0:
        return self.new_zeros(self._array.shape)
    state = local.state
    if not state.grad_enabled and state.intercept is None and not state.dual:
        return wrap(_pdist_gradient_array(g._array, self._array, out._array, p))
    first, second = (wrap(indices) for indices in _pair_indices(self._array.shape[0]))
    difference = self.index_select(0, first) - self.index_select(0, second)
    step = _norm_derivative(difference, out.unsqueeze(-1), p) * g.unsqueeze(-1)
    zero = step.new_zeros(self._array.shape)
    result: Tensor = zero.index_add(0, first, step).index_add(0, second, -step)
    return result


def _pdist_gradient_array(g: Array, x: Array, out: Array, p: float) -> Array:
    """The same, without holding the differences of all pairs."""
    if p in compiled.pair_distances.NORMS:
        weights = np.ascontiguousarray(g)
        if p == 2:
            weights = np.divide(g, out, out=np.zeros_like(out), where=out != 0)
        found = compiled.pair_distances.gradient(np.ascontiguousarray(x.T), out, weights, p)
        return np.ascontiguousarray(found.T)
    rows, columns = x.shape
    first, second = _pair_indices(rows)
    norms, weights = np.zeros((2, rows, rows), x.dtype)
    for square, values in ((norms, out), (weights, g)):
        square[first, second] = square[second, first] = values
    result = np.empty_like(x)
    for block in _row_blocks(rows, columns):
        difference = x[block, None] - x
        norm = norms[block, :, None]
        ratio = np.divide(np.abs(difference), norm, out=np.zeros_like(difference), where=norm != 0)
        slope = np.copysign(np.power(ratio, p - 1, where=ratio != 0, out=ratio), difference)
        result[block] = (weights[block, None, :] @ slope)[:, 0]
    return result


def _norm_derivative(difference: Tensor, norm: Tensor, p: float) -> Tensor:
    """The derivative of the p-norm of the rows; 0 where the norm is 0."""
    if p == 1:
        return direction(difference)
    if math.isinf(p):
        return direction(difference) * is_largest(difference, norm)
    if p == 2:
        slope: Any = difference / norm
    else:
        slope = difference.sign() * (difference.abs() / norm) ** (p - 1)
        slope = slope.masked_fill(difference == 0, 0)
    result: Tensor = slope.masked_fill(norm == 0, 0)
    return result


PDIST = Op("pdist", _pdist, grads={"self": _pdist_gradient}, kinks="0 between equal rows")


@public(method=False, out=False, checked=True)
def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The p-norm distances between every pair of rows.

    Args:
        input: a matrix of N rows
        p: the order of the norm

    Example:
        >>> clew.pdist(clew.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]]))
        tensor([5.0000, 1.0000, 4.2426])
    """
    if input._array.ndim != 2:
        raise RuntimeError(
            f"pdist only supports 2D tensors, got: {input._array.ndim}D" + errors.at_user_line()
        )
    if input.dtype.category != dtypes.FLOAT:
        raise RuntimeError("pdist only supports floating-point dtypes" + errors.at_user_line())
    if input.dtype.itemsize < 4 and input._array.shape[0] > 1 and input._array.size:
        raise errors.no_kernel("pdist", input.dtype)
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values" + errors.at_user_line())
    result: Tensor = PDIST(input, p=p)
    return result
