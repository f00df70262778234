"""The product of elements, over one dimension or over all."""

from __future__ import annotations

from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.casting import FLOAT32, casts
from clew.core.elementwise import F32, F64
from clew.core.op import Op
from clew.core.public import public
from clew.core.state import local
from clew.core.tensor import Tensor, every_value, wrap
from clew.kernels.numpy import reduce
from clew.kernels.numpy.arrays import as_new, rounded
from clew.kernels.numpy.conversion import converted
from clew.ops.define import out_checks
from clew.ops.define.dims import numpy_names, require_bool, wrap_dim
from clew.ops.pointwise.arithmetic import conj
from clew.ops.reduce.reductions import accumulator_dtype, convert, fold, sum_dtype


def _multiplied(self: np.ndarray, dim: int | None, keepdim: bool, dtype: np.dtype) -> np.ndarray:
    values = convert(convert(self, dtype), accumulator_dtype(dtype))
    if dtype in dtypes.HALVES and 0 < (values.size if dim is None else values.shape[dim]) < _LONG:
        return _multiplied_halves(values, dim, keepdim, dtype)
    product = None
    if dim is None or dim == self.ndim - 1:
        product = reduce.prod_over(values, dim is None, keepdim)
    if product is None:
        product = fold(np.multiply, values, dim, keepdim)
    return as_new(product.astype(dtype, copy=False))


# From this length on, PyTorch multiplies halves of a row in several accumulators.
_LONG = 64


def _multiplied_halves(
    values: np.ndarray, dim: int | None, keepdim: bool, dtype: np.dtype
) -> np.ndarray:
    """One factor after the other, and rounded after each, as PyTorch does."""
    rows = values.reshape(-1) if dim is None else np.moveaxis(values, dim, 0)
    product = rows[0]
    for factor in rows[1:]:
        product = rounded(product * factor, dtype)
    if keepdim:
        product = np.expand_dims(product, tuple(range(values.ndim)) if dim is None else dim)
    return as_new(converted(np.asarray(product), dtype))


def _prod(self: np.ndarray, *, dim: int, keepdim: bool, dtype: np.dtype) -> np.ndarray:
    return _multiplied(self, dim if self.ndim else None, keepdim, dtype)


def _prod_all(self: np.ndarray, *, dtype: np.dtype) -> np.ndarray:
    return _multiplied(self, None, False, dtype)


def product_of_others(x: Tensor, dim: int) -> Tensor:
    """For each element, the product of all the others along `dim`; zeros need no care."""
    places = np.arange(x._array.shape[dim]).reshape((-1,) + (1,) * (x._array.ndim - dim - 1))
    is_first, is_last = wrap(places == 0), wrap(places == len(places) - 1)
    before = x.roll(1, dim).masked_fill(is_first, 1).cumprod(dim)
    after = x.roll(-1, dim).masked_fill(is_last, 1).flip(dim).cumprod(dim).flip(dim)
    return before * after


def _prod_grad(
    g: Tensor, self: Tensor, out: Tensor, dim: int, keepdim: bool, dtype: np.dtype
) -> Tensor:
    if not self._array.ndim:
        return g
    g, result = (g, out) if keepdim else (g.unsqueeze(dim), out.unsqueeze(dim))
    factors = self.to(dtypes.BY_NUMPY[dtype])
    if every_value(factors).all():
        return g * conj(result / factors)
    return g * conj(product_of_others(factors, dim))


def _prod_all_grad(g: Tensor, self: Tensor, out: Tensor, dtype: np.dtype) -> Tensor:
    if not self._array.ndim:
        return g
    factors = self.to(dtypes.BY_NUMPY[dtype])
    values = every_value(factors)
    if values.all():
        return g * conj(out / factors)
    state = local.state
    if not state.grad_enabled and state.intercept is None and np.sum(values == 0) > 1:
        # Whatever the gradient is: an infinite one does not make NaN of it.
        return wrap(np.zeros(self._array.shape, values.dtype))
    return g * conj(product_of_others(factors.reshape(-1), 0).reshape(self._array.shape))


def _product_of_all(input: Tensor) -> Tensor | None:
    """The short path for all elements of floats; None where there is more to look at."""
    array, state = input._array, local.state
    dtype = array.dtype
    if (dtype is not F32 and dtype is not F64) or not array.flags.c_contiguous:
        return None
    if state.intercept is not None or state.autocast is not None:
        return None
    product = reduce.reduce_all(reduce.PROD, array)
    return PROD_ALL.output(state, (input,), {"dtype": dtype}, product)


PROD = Op("prod_dim", _prod, grads={"self": _prod_grad}, node="ProdBackward1")
PROD_ALL = Op("prod", _prod_all, grads={"self": _prod_all_grad})
PROD.keeps_complex = PROD_ALL.keeps_complex = True


@public(out=out_checks.starts_from(1))
@numpy_names
def prod(
    input: Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    dtype: dtypes.dtype | None = None,
) -> Tensor:
    """The product over one dimension, or over all.

    Args:
        input: any tensor; bools and integers are multiplied as int64
        dim: the dimension; by default all
        keepdim: keep `dim`, with size 1
        dtype: what to convert to before multiplying

    Example:
        >>> clew.prod(clew.tensor([[1., 2.], [3., 4.]]), dim=1)
        tensor([ 2., 12.])
    """
    if dim is None and dtype is None and keepdim is False:
        quick = _product_of_all(input)
        if quick is not None:
            return quick
    return _any_product(input, dim, keepdim, dtype)


@casts(FLOAT32)
def _any_product(
    input: Tensor, dim: int | None, keepdim: bool, dtype: dtypes.dtype | None
) -> Tensor:
    if isinstance(dim, (tuple, list)):
        raise _several_dimensions(dim, keepdim is not False or dtype is not None)
    require_bool("keepdim", keepdim)
    if dim is None:
        return PROD_ALL(input, dtype=sum_dtype(input, dtype))
    dim = wrap_dim(dim, input._array.ndim)
    return PROD(input, dim=dim, keepdim=keepdim, dtype=sum_dtype(input, dtype))


def _several_dimensions(dim: Any, is_more_given: bool) -> TypeError:
    """PyTorch's words, which depend on what else is given."""
    if is_more_given:
        return errors.wrong_argument("prod", "dim", 1, "int", dim)
    return TypeError(
        f"prod() received an invalid combination of arguments - got a {type(dim).__name__} for "
        "dim, but expected an int\n  Multiply along one dimension after the other."
        + errors.at_user_line()
    )
