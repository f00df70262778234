"""Vector norms and what is made of them: norm, dist, renorm."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.elementwise import F32, F64
from clew.core.op import Op
from clew.core.public import public
from clew.core.state import local
from clew.core.tensor import Tensor
from clew.kernels.compiled.complex_parts import magnitudes
from clew.kernels.numpy.arrays import as_new, rounded
from clew.ops.define import out_checks
from clew.ops.define.dims import numpy_names, wrap_dim
from clew.ops.reduce.reductions import (
    DimArgument,
    Dims,
    accumulator_dtype,
    add_up,
    convert,
    fold,
    reduced_dims,
    restore_dims,
)
from clew.source import user_stacklevel

# NumPy's stubs do not know the axis of generalised ufuncs.
_vecdot: Any = np.vecdot


def _vector_norm(
    self: np.ndarray, *, ord: float, dims: Dims, keepdim: bool, dtype: np.dtype
) -> np.ndarray:
    real = dtypes.BY_NUMPY[dtype].to_real().np
    values = convert(self, accumulator_dtype(dtype))
    result = _norm_of(values, ord, dims, keepdim)
    return np.asarray(result).astype(real, copy=False)


def _norm_of(values: np.ndarray, ord: float, dims: Dims, keepdim: bool) -> np.ndarray:
    if ord and math.prod([values.shape[dim] for dim in dims]) == 1:
        # Of one number: its powers may be too large, or too small.
        sizes = magnitudes(values)
        return sizes if keepdim else sizes.reshape(_kept(values.shape, dims))
    if ord == 2:
        if values.dtype.kind in "cW":
            # A number of which one part is infinite is infinite.
            values = magnitudes(values)
        if len(dims) == 1:
            total = np.asarray(_vecdot(values, values, axis=dims[0]))
            return np.sqrt(np.expand_dims(total, dims[0]) if keepdim else total)
        if len(dims) == values.ndim and values.flags.c_contiguous and not keepdim:
            flat = values.reshape(-1)
            return np.sqrt(np.dot(flat, flat))
        else:
            squares = values * values
        return np.sqrt(add_up(squares, dims, keepdim))
    if ord == 0:
        return fold(np.add, values != 0, dims, keepdim, np.float64)
    sizes = magnitudes(values)
    if ord == math.inf:
        return fold(np.maximum, sizes, dims, keepdim)
    if ord == -math.inf:
        return fold(np.minimum, sizes, dims, keepdim)
    if ord == 1:
        return add_up(sizes, dims, keepdim)
    return add_up(sizes**ord, dims, keepdim) ** (1.0 / ord)


def _kept(shape: tuple[int, ...], dims: Dims) -> list[int]:
    return [n for dim, n in enumerate(shape) if dim not in dims]


def norm_grad(
    g: Tensor, self: Tensor, out: Tensor, ord: float, dims: Dims, keepdim: bool
) -> Tensor | None:
    """The gradient of a vector norm; 0 wherever it is not defined."""
    g, norm = restore_dims(g, dims, keepdim), restore_dims(out, dims, keepdim)
    if ord == 0:
        return None
    if ord == 1:
        return self.sgn() * g
    if ord == 2:
        return g * (self / norm).masked_fill(norm == 0, 0)
    if math.isinf(ord):
        sizes = self.abs()
        is_extreme = (sizes == norm).logical_or(sizes.isnan().logical_and(norm.isnan()))
        return self.sgn() * (is_extreme / is_extreme.sum(dims or None, keepdim=True) * g)
    if ord < 1:
        scaled = self.sgn() * self.abs().pow(ord - 1).masked_fill(self == 0, 0)
        return scaled * g * norm.pow(1 - ord)
    is_zero = norm == 0
    share = (g / norm.masked_fill(is_zero, 1).pow(ord - 1)).masked_fill(is_zero, 0)
    if ord < 2:
        return self.sgn() * self.abs().pow(ord - 1) * share
    return self * self.abs().pow(ord - 2) * share


LINALG_VECTOR_NORM = Op(
    "linalg_vector_norm",
    _vector_norm,
    grads={"self": norm_grad},
    kinks="0 at the zero vector; shared evenly among equal extremes for inf and -inf",
)


def vector_norm(
    input: Tensor,
    ord: complex = 2,
    dim: DimArgument = None,
    keepdim: bool = False,
    *,
    dtype: dtypes.dtype | None = None,
) -> Tensor:
    """The norm of vectors along some dimensions (`linalg.vector_norm`).

    Args:
        input: floating point or complex
        ord: the order p of the p-norm; also inf, -inf, and 0 (how many elements are not zero)
        dim: the dimension, or several that count as one vector; by default all
        keepdim: keep reduced dimensions, with size 1
        dtype: what to convert to first

    Example:
        >>> x = clew.tensor([[3., 4.], [0., -2.]])
        >>> clew.linalg.vector_norm(x, dim=1)
        tensor([5., 2.])
        >>> clew.linalg.vector_norm(x, ord=float("inf"))
        tensor(4.)
    """
    ord = real_order("linalg.vector_norm", ord)
    if ord == 2 and dim is None and dtype is None and keepdim is False:
        quick = _quick_length(input)
        if quick is not None:
            return quick
    dtype = None if dtype is None else dtypes.of_python(dtype)
    _check_norm_dtype(input.dtype, dtype)
    dims = reduced_dims(dim, input._array.ndim, keepdim)
    if ord < 0 or ord == math.inf:
        _check_norm_identity(input, ord, dim, dims)
    wanted = input.dtype if dtype is None else dtype
    return LINALG_VECTOR_NORM(input, ord=ord, dims=dims, keepdim=keepdim, dtype=wanted.np)


def real_order(name: str, ord: Any) -> float:
    """The order of a norm as a float; complex numbers are refused."""
    if isinstance(ord, complex):
        raise RuntimeError(
            f"{name}: Expected a non-complex scalar as the order of norm." + errors.at_user_line()
        )
    return float(ord)


def _quick_length(input: Tensor) -> Tensor | None:
    """The short path to the 2-norm of all elements; None where there is more to look at."""
    array, state = input._array, local.state
    dtype = array.dtype
    if (
        (dtype is not F32 and dtype is not F64)
        or array.size == 1
        or not array.flags.c_contiguous
        or state.intercept is not None
    ):
        return None
    flat = array.reshape(-1)
    params = {"ord": 2.0, "dims": tuple(range(array.ndim)), "keepdim": False, "dtype": dtype}
    return LINALG_VECTOR_NORM.output(state, (input,), params, np.sqrt(flat.dot(flat)))


def _check_norm_dtype(have: dtypes.dtype, dtype: dtypes.dtype | None) -> None:
    if have.category < dtypes.FLOAT:
        raise RuntimeError(
            "linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
            f"{have.scalar_name}\n  Convert first: x.float()" + errors.at_user_line()
        )
    if dtype is None:
        return
    if dtype.category < dtypes.FLOAT:
        raise RuntimeError(
            "linalg.vector_norm: dtype should be floating point or complex, but got "
            f"{dtype.scalar_name}" + errors.at_user_line()
        )
    if have.is_complex != dtype.is_complex:
        expected = "complex" if have.is_complex else "real"
        raise RuntimeError(
            f"linalg.vector_norm: dtype should be {expected} for {expected} inputs, but got "
            f"{dtype.scalar_name}" + errors.at_user_line()
        )
    if dtypes.promote_types(have, dtype) is not dtype:
        raise RuntimeError(
            f"linalg.vector_norm: the dtype of the input ({have.scalar_name}) should be "
            f"convertible without narrowing to the specified dtype ({dtype.scalar_name})"
            + errors.at_user_line()
        )


def _check_norm_identity(input: Tensor, ord: float, dim: DimArgument, dims: Dims) -> None:
    if input._array.size:
        return
    text = f"linalg.vector_norm cannot compute the {ord:g} norm on "
    if dim is None or dim in ((), []):
        raise RuntimeError(
            text
            + "an empty tensor because the operation does not have an identity"
            + errors.at_user_line()
        )
    for each in dims:
        if input._array.shape[each] == 0:
            raise RuntimeError(
                f"{text}the dimension {each} because this dimension is empty and the operation "
                "does not have an identity" + errors.at_user_line()
            )


@public(accept=out_checks.exact)
@numpy_names
def norm(
    input: Tensor,
    p: float | str | None = "fro",
    dim: DimArgument = None,
    keepdim: bool = False,
    dtype: dtypes.dtype | None = None,
) -> Tensor:
    """The norm over all elements, or over some dimensions.

    `linalg.vector_norm` and `linalg.matrix_norm` are its newer forms.

    Args:
        input: floating point or complex
        p: the order: "fro" (2 for vectors), "nuc" for matrices, or a number, inf and -inf included
        dim: the dimension, or several; by default all elements are one vector
        keepdim: keep reduced dimensions, with size 1
        dtype: what to convert to first

    Example:
        >>> clew.norm(clew.tensor([3., 4.]))
        tensor(5.)
        >>> clew.norm(clew.tensor([[3., 4.], [1., -1.]]), p=1, dim=1)
        tensor([7., 2.])
    """
    if p == "nuc":
        return _nuclear_norm(input, dim, keepdim, dtype)
    if isinstance(p, str) and p != "fro":
        raise RuntimeError(
            f"linalg.matrix_norm: Order {p} not supported. Strings that name a norm are 'fro' and "
            "'nuc'." + errors.at_user_line()
        )
    order: Any = 2.0 if p is None or p == "fro" else p
    return vector_norm(input, order, dim, keepdim, dtype=dtype)


def _nuclear_norm(
    input: Tensor, dim: DimArgument, keepdim: bool, dtype: dtypes.dtype | None
) -> Tensor:
    if dtype is not None:
        raise ValueError("dtype argument is not supported in nuclear norm" + errors.at_user_line())
    ndim = input._array.ndim
    dims = list(range(ndim)) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    if ndim < 2:
        raise RuntimeError(
            "linalg.matrix_norm: The input tensor A must have at least 2 dimensions."
            + errors.at_user_line()
        )
    if len(dims) != 2:
        raise RuntimeError(
            f"linalg.matrix_norm: dim must be a 2-tuple. Got {' '.join(map(str, dims))}"
            + errors.at_user_line()
        )
    rows, columns = (wrap_dim(each, ndim) for each in dims)
    if rows == columns:
        raise RuntimeError(
            f"linalg.matrix_norm: dims must be different. Got ({dims[0]}, {dims[1]})"
            + errors.at_user_line()
        )
    rest = tuple(i for i in range(ndim) if i not in (rows, columns))
    matrices = input.permute(*rest, rows, columns)
    total = matrices.svd(compute_uv=False)[1].sum(-1).contiguous()
    if not keepdim:
        return total
    return total.reshape(
        tuple(1 if i in (rows, columns) else n for i, n in enumerate(input._array.shape))
    )


@public(method=False)
def nuclear_norm(input: Tensor, dim: Sequence[int] | None = None, keepdim: bool = False) -> Tensor:
    """Deprecated: the sum of the singular values; `linalg.matrix_norm(A, "nuc")` is its newer form.

    Args:
        input: at least two dimensions
        dim: the two dimensions of the matrices; None are the last two
        keepdim: keep reduced dimensions, with size 1

    Example:
        >>> clew.nuclear_norm(clew.tensor([[3., 0.], [0., -2.]]))
        tensor(5.)
    """
    warnings.warn(
        "at::nuclear_norm is deprecated and it is left for old programs. Use "
        "linalg.matrix_norm(A, 'nuc', dim, keepdim).",
        stacklevel=user_stacklevel(),
    )
    return _nuclear_norm(input, (-2, -1) if dim is None else tuple(dim), keepdim, None)


# -- dist ----------------------------------------------------------------------------------------


def _common_dtype(self: np.ndarray, other: np.ndarray) -> dtypes.dtype:
    """The dtype of the difference: arrays without dimensions count for less."""
    promotion = dtypes.Promotion()
    promotion.add_array(self)
    promotion.add_array(other)
    return promotion.result()


def _dist(self: np.ndarray, other: np.ndarray, *, p: float) -> np.ndarray:
    dtype = _common_dtype(self, other).np
    accumulate = accumulator_dtype(dtype)
    difference = convert(self, accumulate) - convert(other, accumulate)
    dims = tuple(range(difference.ndim))
    return _vector_norm(difference.astype(dtype), ord=p, dims=dims, keepdim=False, dtype=dtype)


def _dist_grad(g: Tensor, self: Tensor, other: Tensor, out: Tensor, p: float) -> Tensor | None:
    difference = self - other
    return norm_grad(g, difference, out, p, tuple(range(difference._array.ndim)), False)


def _dist_other_grad(
    g: Tensor, self: Tensor, other: Tensor, out: Tensor, p: float
) -> Tensor | None:
    of_self = _dist_grad(g, self, other, out, p)
    return None if of_self is None else -of_self


DIST = Op(
    "dist",
    _dist,
    grads={"self": _dist_grad, "other": _dist_other_grad},
    kinks="0 where both are equal",
)
DIST.keeps_complex = True


@public(checked=True)
def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """The p-norm of `input - other`: the distance of two tensors.

    Args:
        input: floating point or complex
        other: broadcasts with `input`
        p: the order of the norm

    Example:
        >>> clew.dist(clew.tensor([1., 2.]), clew.tensor([4., 6.]))
        tensor(5.)
    """
    if dtypes.bool_ in (input.dtype, other.dtype):
        return input - other  # which raises and says why
    mismatch = errors.broadcast_mismatch("dist", input._array.shape, other._array.shape)
    if mismatch is not None:
        raise mismatch
    dtype = _common_dtype(input._array, other._array)
    if dtype.category < dtypes.FLOAT:
        raise RuntimeError(
            "norm(): input dtype should be either floating point or complex. Got "
            f"{dtype.scalar_name} instead." + errors.at_user_line()
        )
    return DIST(input, other, p=float(p))


# -- renorm --------------------------------------------------------------------------------------


def _renorm(self: np.ndarray, *, p: float, dim: int, maxnorm: float) -> np.ndarray:
    rest = tuple(i for i in range(self.ndim) if i != dim)
    values = convert(self, accumulator_dtype(self.dtype))
    norms = _norm_of(values, p, rest, keepdim=True)
    factor = rounded(np.where(norms > maxnorm, maxnorm / (norms + 1e-7), 1), self.dtype)
    return as_new(convert(values * factor, self.dtype))


def _renorm_grad(g: Tensor, self: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    rest = tuple(i for i in range(self._array.ndim) if i != dim)
    # As PyTorch does, in the next wider dtype.
    wide = dtypes.BY_NUMPY[_WIDER.get(self._array.dtype, self._array.dtype)]
    # Where the norm is that of one element, the gradient finds it by its length in the same dtype.
    widened = self.to(wide)
    norm = vector_norm(widened, p, rest, keepdim=True)
    along = (self.conj() * g).real if self.dtype.is_complex else self * g
    along = along.sum(rest, keepdim=True, dtype=wide.to_real())
    by_norm: Any = norm_grad(along, widened, norm, p, rest, True)
    scale = (norm + 1e-7).reciprocal()
    shrunk = maxnorm * scale * (g - scale * by_norm)
    return shrunk.to(g.dtype).where(norm > maxnorm, g)


_WIDER = {
    dtypes.float16.np: dtypes.float32.np,
    dtypes.bfloat16.np: dtypes.float32.np,
    dtypes.float32.np: dtypes.float64.np,
    dtypes.complex64.np: dtypes.complex128.np,
}

RENORM = Op("renorm", _renorm, grads={"self": _renorm_grad})


@public(inplace=True, accept=out_checks.exact)
def renorm(input: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """Scale each slice along `dim` down to a norm of at most `maxnorm`.

    Args:
        input: at least two dimensions
        p: the order of the norm
        dim: the dimension whose slices are measured
        maxnorm: the norm that none exceeds; smaller slices stay as they are

    Example:
        >>> clew.renorm(clew.tensor([[3., 4.], [0.3, 0.4]]), p=2, dim=0, maxnorm=1.)
        tensor([[0.6000, 0.8000],
                [0.3000, 0.4000]])
    """
    if p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported" + errors.at_user_line())
    if maxnorm < 0:
        raise RuntimeError(
            f"renorm: expected maxnorm to be >= 0 but got {maxnorm}" + errors.at_user_line()
        )
    if input._array.ndim < 2:
        raise RuntimeError(
            f"renorm: input needs at least 2 dimensions, got {input._array.ndim} dimensions"
            + errors.at_user_line()
        )
    if input.dtype.category < dtypes.FLOAT:
        raise RuntimeError(
            "linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
            f"{input.dtype.scalar_name}" + errors.at_user_line()
        )
    return RENORM(input, p=float(p), dim=wrap_dim(dim, input._array.ndim), maxnorm=float(maxnorm))
