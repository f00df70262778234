"""`log(sum(exp(x)))` without overflow."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.op import Op
from clew.core.public import public
from clew.core.tensor import Tensor
from clew.kernels.compiled.threaded_ufuncs import threaded
from clew.kernels.numpy import reduce
from clew.kernels.numpy.arrays import as_new, rounded, widened
from clew.kernels.numpy.conversion import converted
from clew.ops.define import out_checks
from clew.ops.define.dims import numpy_names
from clew.ops.pointwise.arithmetic import conj
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


def _logsumexp(self: np.ndarray, *, dims: Dims, keepdim: bool) -> np.ndarray:
    if self.dtype in dtypes.HALVES and self.size:
        return _logsumexp_of_halves(self, dims, keepdim)
    values = convert(self, accumulator_dtype(self.dtype))
    rows = reduce.in_rows(values, dims)
    if rows is not None:
        total = reduce.logsumexp(rows)
        if keepdim:
            is_last = dims == (self.ndim - 1,)
            total = total[..., None] if is_last else np.expand_dims(total, dims)
    elif values.size == 0:
        total = np.log(fold(np.add, np.exp(values), dims, keepdim))
    else:
        # Shifting by the largest (real) value keeps exp from overflowing.
        largest = fold(np.maximum, values.real, dims, keepdim=True)
        largest = np.where(np.isinf(largest), 0, largest)
        shifted = add_up(np.exp(values - largest), dims, keepdim=True)
        total = np.log(shifted) + largest
        if not keepdim:
            total = total.squeeze(dims)
    return as_new(np.asarray(total).astype(self.dtype, copy=False))


def _logsumexp_of_halves(self: np.ndarray, dims: Dims, keepdim: bool) -> np.ndarray:
    """Rounded after each step, as PyTorch does: gradients are powers of the distance to it."""
    dtype, values = self.dtype, widened(self)
    largest = fold(np.maximum, values, dims, keepdim=True)
    largest = np.where(np.isinf(largest), 0, largest).astype(values.dtype)
    terms = rounded(np.exp(rounded(values - largest, dtype)), dtype)
    total = rounded(widened(add_up(terms, dims, keepdim=True)), dtype)
    result = rounded(np.log(total), dtype) + largest
    return as_new(converted(result if keepdim else result.squeeze(dims), dtype))


def _logsumexp_grad(g: Any, self: Any, out: Any, dims: Dims, keepdim: bool) -> Any:
    """Of tensors or bare arrays; where every term is exp(-inf), the difference would be NaN."""
    result = restore_dims(out, dims, keepdim)
    is_lost = result == -math.inf
    if type(g) is np.ndarray:
        share = threaded(np.exp, np.asarray(self - np.where(is_lost, result.dtype.type(0), result)))
    else:
        share = (self - result.masked_fill(is_lost, 0.0)).exp()
    return restore_dims(g, dims, keepdim) * conj(share)


LOGSUMEXP = Op("logsumexp", _logsumexp, grads={"self": _logsumexp_grad}, bare=True)


@public(checked=True, accept=out_checks.floating)
@numpy_names
def logsumexp(input: Tensor, dim: DimArgument, keepdim: bool = False) -> Tensor:
    """`log(sum(exp(input)))`, computed without overflow.

    Args:
        input: any tensor; integers are converted to the default dtype
        dim: the dimension, or several
        keepdim: keep reduced dimensions, with size 1

    Example:
        >>> clew.logsumexp(clew.tensor([1000., 1000.]), dim=0)
        tensor(1000.6932)
    """
    if dim is None:
        raise errors.wrong_argument("logsumexp", "dim", 2, "tuple of ints", dim)
    if input.dtype.category < dtypes.FLOAT:
        input = input.to(dtypes.get_default_dtype())
    return LOGSUMEXP(input, dims=reduced_dims(dim, input._array.ndim, keepdim), keepdim=keepdim)
