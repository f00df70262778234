"""Matrix norms, condition numbers, and small functions of vectors: vander, vecdot, cross."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.casting import FLOAT32, LOWER, casts
from clew.core.interception import note_constant
from clew.core.op import Op
from clew.core.public import public
from clew.core.tensor import Tensor, wrap
from clew.kernels.numpy.arrays import as_new
from clew.ops.define import out_checks
from clew.ops.define.dims import wrap_dim
from clew.ops.define.out_checks import keep_apart, require_dtype
from clew.ops.define.rows import require_tensors
from clew.ops.linalg.checks import require_inexact, require_matrices, require_square
from clew.ops.linalg.decompositions import svdvals
from clew.ops.linalg.inverse import inv_ex
from clew.ops.reduce.norms import real_order, vector_norm
from clew.ops.shape.joining import cat
from clew.source import user_stacklevel

Array = np.ndarray
Order = int | float | complex | str | None
_ORDERS = ("fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf)


# -- matrix norms --------------------------------------------------------------------------------


def _order_name(ord: Any) -> str:
    return f"{ord:g}" if isinstance(ord, (int, float)) else str(ord)


def matrix_norm(
    A: Tensor,
    ord: complex | str = "fro",
    dim: Any = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: dtypes.dtype | None = None,
) -> Tensor:
    """The norm of matrices: "fro", "nuc", inf, -inf, 1, -1, 2 or -2.

    Args:
        A: at least two dimensions
        ord: "fro" is the root of the sum of squares, "nuc" the sum of singular values, 2 the
            largest of them, 1 the largest column sum, inf the largest row sum; negative ones the
            smallest
        dim: the two dimensions of the matrices
        keepdim: keep them, with size 1
        dtype: what to convert to first

    Example:
        >>> A = clew.tensor([[1., -2.], [3., 4.]])
        >>> clew.linalg.matrix_norm(A, ord=1)
        tensor(6.)
        >>> clew.linalg.matrix_norm(A, ord=float("inf"))
        tensor(7.)
    """
    require_matrices("linalg.matrix_norm", A)
    if not isinstance(ord, str):
        ord = real_order("linalg.matrix_norm", ord)
    if ord not in _ORDERS:
        raise RuntimeError(
            f"linalg.matrix_norm: Order {_order_name(ord)} not supported." + errors.at_user_line()
        )
    require_inexact("linalg.matrix_norm", A)
    dims = [dim] if isinstance(dim, int) else list(dim)
    if len(dims) != 2:
        raise RuntimeError(
            f"linalg.matrix_norm: dim must be a 2-tuple. Got {', '.join(map(str, dims))}"
            + errors.at_user_line()
        )
    ndim = A._array.ndim
    rows, columns = wrap_dim(dims[0], ndim), wrap_dim(dims[1], ndim)
    if rows == columns:
        raise RuntimeError(
            f"linalg.matrix_norm: dims must be different. Got ({dims[0]}, {dims[1]})"
            + errors.at_user_line()
        )
    if ord == "fro":
        return vector_norm(A, 2, (rows, columns), keepdim, dtype=dtype)
    if ord in ("nuc", 2, -2):
        return _spectral_norm(A, ord, rows, columns, keepdim, dtype)
    return _row_norm(A, float(ord or 0), rows, columns, keepdim, dtype)


def _row_norm(
    A: Tensor, ord: float, rows: int, columns: int, keepdim: bool, dtype: dtypes.dtype | None
) -> Tensor:
    """The largest or smallest absolute sum of the rows (inf) or of the columns (1)."""
    if math.isinf(ord):
        rows, columns = columns, rows
    if columns > rows and not keepdim:
        columns -= 1
    sums = vector_norm(A, 1, rows, keepdim, dtype=dtype)
    return _largest(sums, columns, keepdim) if ord > 0 else sums.amin(columns, keepdim)


def _spectral_norm(
    A: Tensor, ord: Order, rows: int, columns: int, keepdim: bool, dtype: dtypes.dtype | None
) -> Tensor:
    if dtype is not None:
        A = A.to(dtype)
    values = svdvals(A.movedim((rows, columns), (-2, -1)))
    if ord == "nuc":
        result = values.sum(-1)
    else:
        result = _largest(values, -1, False) if ord == 2 else values.amin(-1)
    if keepdim:
        for place in sorted((rows, columns)):
            result = result.unsqueeze(place)
    return result


def _largest(values: Tensor, dim: int, keepdim: bool) -> Tensor:
    """The maximum of values that are not negative; 0 if there are none."""
    if values._array.shape[dim] == 0:
        return values.sum(dim, keepdim=keepdim)
    return values.amax(dim, keepdim)


def norm(
    A: Tensor,
    ord: Order = None,
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: dtypes.dtype | None = None,
) -> Tensor:
    """A vector norm or a matrix norm, as `ord` and the number of dimensions say.

    Args:
        A: floating point or complex
        ord: as for `vector_norm` and `matrix_norm`; by default the root of the sum of squares
        dim: one dimension for a vector norm, two for a matrix norm; by default all
        keepdim: keep reduced dimensions, with size 1
        dtype: what to convert to first

    Example:
        >>> A = clew.tensor([[3., 0.], [4., 0.]])
        >>> clew.linalg.norm(A), clew.linalg.norm(A, "nuc"), clew.linalg.norm(A, 1, dim=1)
        (tensor(5.), tensor(5.), tensor([3., 4.]))
    """
    ndim = A._array.ndim
    if dim is not None:
        dims = [dim] if isinstance(dim, int) else list(dim)
        if len(dims) not in (1, 2):
            raise RuntimeError(
                f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got "
                f"{errors.shape_list(dims)}" + errors.at_user_line()
            )
    elif ord is not None and ndim not in (1, 2):
        raise RuntimeError(
            "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got "
            f"{ndim}D." + errors.at_user_line()
        )
    if isinstance(ord, str):
        # A string always means matrices, so that a single dimension is refused there.
        return matrix_norm(A, ord, (0, 1) if dim is None else dim, keepdim, dtype=dtype)
    if ord is not None and (ndim == 2 if dim is None else len(dims) == 2):
        return matrix_norm(A, ord, (0, 1) if dim is None else dim, keepdim, dtype=dtype)
    order = 2.0 if ord is None else real_order("linalg.vector_norm", ord)
    return vector_norm(A, order, dim, keepdim, dtype=dtype)


@casts(FLOAT32)
def cond(A: Tensor, p: Order = None) -> Tensor:
    """The condition number: the norm of a matrix times that of its inverse.

    Args:
        A: (..., n, n); with `p` None, 2 or -2 also (..., m, n)
        p: the norm, as for `matrix_norm`; None is 2: the largest by the smallest singular value

    Example:
        >>> clew.linalg.cond(clew.tensor([[4., 0.], [0., 2.]]))
        tensor(2.)
    """
    if A._array.ndim < 2:
        raise RuntimeError(
            "linalg.cond: The input tensor must have at least 2 dimensions." + errors.at_user_line()
        )
    if isinstance(p, complex):
        raise errors.scalar_overflow("double")
    if p is None or p == 2 or p == -2:
        values = svdvals(A)
        if not A._array.size:
            return wrap(np.zeros(A._array.shape[:-2], values._array.dtype))
        largest, smallest = values[..., :1], values[..., -1:]
        ratio = smallest / largest if p == -2 else largest / smallest
        return ratio.squeeze(-1)
    if p not in ("fro", "nuc", 1, -1, math.inf, -math.inf):
        raise RuntimeError(
            f"linalg.cond got an invalid norm type: {_order_name(p)}" + errors.at_user_line()
        )
    require_square(f"linalg.cond(ord={_order_name(p)})", A)
    if not A._array.size:
        real = A.dtype.to_real().np
        return wrap(np.zeros(A._array.shape[:-2], real))
    inverse, info = inv_ex(A)
    if p == "nuc":
        # The singular values of infinite matrices are not computed, but known.
        singular = info != 0
        known = inverse.masked_fill(singular[..., None, None], 0)
        product = matrix_norm(A, p) * matrix_norm(known, p).masked_fill(singular, math.inf)
    else:
        product = matrix_norm(A, p) * matrix_norm(inverse, p)
    return product.nan_to_num(math.inf, math.inf, -math.inf)


# -- vectors -------------------------------------------------------------------------------------


def vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """The powers 0 to N-1 of every element, as a last dimension.

    Args:
        x: (..., n)
        N: how many powers; n unless given

    Example:
        >>> clew.linalg.vander(clew.tensor([2, 3]), N=4)
        tensor([[ 1,  2,  4,  8],
                [ 1,  3,  9, 27]])
    """
    shape = x._array.shape
    if not shape:
        shape, x = (1,), x.reshape(1)
        N = 0 if N is None else N
    count = shape[-1] if N is None else N
    if x._array.dtype in dtypes.LOW_PRECISION or x.dtype is dtypes.bool_:
        raise RuntimeError(
            "linalg.vander supports floating point, complex, and integer tensors, but got "
            f"{x.dtype.scalar_name}" + errors.at_user_line()
        )
    if count <= 1:
        raise RuntimeError("N must be greater than 1." + errors.at_user_line())
    if x.dtype.category < dtypes.FLOAT:
        x = x.to(dtypes.int64)
    powers = x.unsqueeze(-1).expand(*shape, count - 1).cumprod(-1)
    ones = note_constant(wrap(np.ones((*shape, 1), x._array.dtype)))
    return cat([ones, powers], -1)


@casts(LOWER)
def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """The dot products along a dimension, with the first vectors conjugated.

    Args:
        x: floating point or complex
        y: broadcasts with `x`
        dim: the dimension that is summed over

    Example:
        >>> x = clew.tensor([[1., 2.], [3., 4.]])
        >>> clew.linalg.vecdot(x, x)
        tensor([ 5., 25.])
    """
    require_tensors("linalg_vecdot", x=x, y=y)
    if x.dtype.category < dtypes.FLOAT:
        raise RuntimeError(
            f"linalg.vecdot: Expected a floating point or complex tensor as input. Got "
            f"{x.dtype.scalar_name}" + errors.at_user_line()
        )
    if x.dtype is not y.dtype:
        raise RuntimeError(
            "linalg.vecdot: Expected x and y to have the same dtype, but found x of type "
            f"{x.dtype.scalar_name} and y of type {y.dtype.scalar_name} instead"
            + errors.at_user_line()
        )
    if x._array.ndim == 1 and y._array.ndim == 1:
        return x.vdot(y)
    return (x.conj() * y).sum(dim)


def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The diagonals of matrices, as a view.

    Args:
        A: at least two dimensions
        offset: which diagonal: 0 is the main one, positive ones lie above it
        dim1: the dimension that is the rows
        dim2: the dimension that is the columns

    Example:
        >>> clew.linalg.diagonal(clew.ones(5, 2, 3)).shape
        torch.Size([5, 2])
    """
    return A.diagonal(offset, dim1, dim2)


# -- cross ---------------------------------------------------------------------------------------


def _cross(self: Array, other: Array, *, dim: int) -> Array:
    a, b = np.moveaxis(self, dim, 0), np.moveaxis(other, dim, 0)
    parts = [a[i - 2] * b[i - 1] - a[i - 1] * b[i - 2] for i in range(3)]
    return as_new(np.stack(parts, -1 if dim == -1 else dim).astype(self.dtype, copy=False))


LINALG_CROSS: Op = Op(
    "linalg_cross", _cross, multilinear=True,
    grads={
        "self": lambda g, other, dim: LINALG_CROSS(other.conj(), g, dim=dim),
        "other": lambda g, self, dim: LINALG_CROSS(g, self.conj(), dim=dim),
    },
)  # fmt: skip


def cross_out(args: tuple[Any, ...], kwargs: dict[str, Any], out: Tensor) -> None:
    """`out` has the promoted dtype of the factors, and memory of its own."""
    factors = [each for each in (*args, *kwargs.values()) if isinstance(each, Tensor)]
    require_dtype(dtypes.promote_types(*(each.dtype for each in factors)), out)
    keep_apart(factors, out)


def linalg_cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """The cross product of vectors of length 3 along a dimension.

    Args:
        input: vectors of length 3 along `dim`
        other: the same; the other dimensions broadcast
        dim: the dimension of length 3

    Example:
        >>> clew.linalg.cross(clew.tensor([1., 0., 0.]), clew.tensor([0., 1., 0.]))
        tensor([0., 0., 1.])
    """
    require_tensors("linalg_cross", input=input, other=other)
    first, second = input._array.shape, other._array.shape
    if len(first) != len(second):
        raise RuntimeError(
            "linalg.cross: inputs must have the same number of dimensions." + errors.at_user_line()
        )
    place = wrap_dim(dim, len(first))
    sizes = [shape[place] if shape else 1 for shape in (first, second)]
    if sizes != [3, 3]:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {sizes[0]} and "
            f"{sizes[1]}" + errors.at_user_line()
        )
    mismatch = errors.broadcast_mismatch("linalg.cross", first, second)
    if mismatch is not None:
        raise mismatch
    if input.dtype is dtypes.bool_:
        raise errors.no_kernel("cross", input.dtype)
    require_dtype(input.dtype, other, out_checks.found_scalar_type)
    return LINALG_CROSS(input, other, dim=place - len(first))


@public(out=cross_out)
def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """The cross product along a dimension; by default the first one of length 3.

    Args:
        input: vectors of length 3 along `dim`
        other: the same; the other dimensions broadcast
        dim: the dimension of length 3; not giving it is deprecated, and warns

    Example:
        >>> clew.cross(clew.tensor([1., 0., 0.]), clew.tensor([0., 1., 0.]), dim=0)
        tensor([0., 0., 1.])
    """
    if dim is not None:
        return linalg_cross(input, other, dim=dim)
    warnings.warn(
        "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass the "
        "dim explicitly or simply use torch.linalg.cross.\nThe default value of dim will change to "
        "agree with that of linalg.cross in a future release.",
        stacklevel=user_stacklevel(),
    )
    shape = input._array.shape
    if 3 not in shape:
        raise RuntimeError("no dimension of size 3 in input" + errors.at_user_line())
    return linalg_cross(input, other, dim=shape.index(3))
