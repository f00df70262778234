"""Statistics: var, std, covariance, correlation."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.elementwise import F32, F64
from clew.core.op import Op
from clew.core.public import public
from clew.core.state import local
from clew.core.tensor import Tensor, of_values
from clew.kernels.numpy import reduce
from clew.ops.define.dims import numpy_names
from clew.ops.pointwise.arithmetic import conj
from clew.ops.reduce.reductions import (
    DimArgument,
    Dims,
    accumulator_dtype,
    add_up,
    convert,
    reduced_dims,
    restore_dims,
)
from clew.source import user_stacklevel

_ABSENT: Any = object()

# -- var and std -----------------------------------------------------------------------------------


def _moments(
    self: np.ndarray, dims: Dims, keepdim: bool, correction: float
) -> tuple[np.ndarray, np.ndarray]:
    """The variance and the mean, in the accumulator's dtype."""
    values = convert(self, accumulator_dtype(self.dtype))
    count = math.prod(values.shape[dim] for dim in dims)
    real = values.real.dtype.type
    rows = reduce.in_rows(values, dims) if count else None
    if rows is not None:
        mean, squares = reduce.moments(rows)
        variance = np.asarray(squares / real(max(0.0, count - correction)))
        if keepdim:
            return np.expand_dims(variance, dims), np.expand_dims(mean, dims)
        return variance, mean
    mean = add_up(values, dims, keepdim=True) / real(count)
    deviation = np.asarray(values - mean)
    if deviation.dtype.kind in "cW":
        squares = deviation.real**2 + deviation.imag**2
    else:
        squares = np.multiply(deviation, deviation, out=deviation)
    variance = add_up(squares, dims, keepdim) / real(max(0.0, count - correction))
    if not count:
        # As in PyTorch it is NaN without a sign, which 0 / 0 has.
        variance = np.abs(variance)
    return np.asarray(variance), np.asarray(mean) if keepdim else mean.squeeze(dims)


def _var(self: np.ndarray, *, dims: Dims, keepdim: bool, correction: float) -> np.ndarray:
    variance = _moments(self, dims, keepdim, correction)[0]
    return variance.astype(_real(self.dtype), copy=False)


def _std(self: np.ndarray, *, dims: Dims, keepdim: bool, correction: float) -> np.ndarray:
    variance = _moments(self, dims, keepdim, correction)[0]
    return np.asarray(np.sqrt(variance)).astype(_real(self.dtype), copy=False)


def _running_mean(self: np.ndarray, mean: np.ndarray, dims: Dims, keepdim: bool) -> np.ndarray:
    """The mean as PyTorch has it, which moves it from element to element: NaN after an infinity."""
    if self.dtype.kind in "cW" or np.isfinite(mean).all() or not dims:
        return mean
    values = np.moveaxis(self, dims, range(-len(dims), 0))
    rows = values.reshape(*values.shape[: -len(dims)], -1)
    passed = np.isinf(rows[..., :-1]).any(-1)
    return np.where(np.expand_dims(passed, dims) if keepdim else passed, np.nan, mean)


def _var_mean(
    self: np.ndarray, *, dims: Dims, keepdim: bool, correction: float
) -> tuple[np.ndarray, np.ndarray]:
    variance, mean = _moments(self, dims, keepdim, correction)
    mean = _running_mean(self, mean, dims, keepdim)
    return variance.astype(_real(self.dtype), copy=False), mean.astype(self.dtype, copy=False)


def _std_mean(
    self: np.ndarray, *, dims: Dims, keepdim: bool, correction: float
) -> tuple[np.ndarray, np.ndarray]:
    variance, mean = _moments(self, dims, keepdim, correction)
    mean = _running_mean(self, mean, dims, keepdim)
    deviation = np.asarray(np.sqrt(variance))
    return deviation.astype(_real(self.dtype), copy=False), mean.astype(self.dtype, copy=False)


def _real(dtype: np.dtype) -> np.dtype:
    return dtypes.BY_NUMPY[dtype].to_real().np


def _var_grad(g: Tensor, self: Tensor, dims: Dims, keepdim: bool, correction: float) -> Tensor:
    freedom = math.prod(self._array.shape[dim] for dim in dims) - correction
    factor = 2.0 / freedom if freedom else math.inf
    if not self._array.ndim:
        # The deviation of a single number is zero, whatever the number is.
        self = self.detach()
    return factor * restore_dims(g, dims, keepdim) * (self - self.mean(dims or None, keepdim=True))


def _std_grad(
    g: Tensor, self: Tensor, out: Tensor, dims: Dims, keepdim: bool, correction: float
) -> Tensor:
    of_var = (g / (out * 2)).masked_fill(out == 0, 0)
    return _var_grad(of_var, self, dims, keepdim, correction)


def _mean_grad(g: Tensor, self: Tensor, dims: Dims, keepdim: bool) -> Tensor:
    shape = self._array.shape
    count = math.prod(shape[dim] for dim in dims)
    return restore_dims(g, dims, keepdim).expand(shape) / count


Pair = tuple[Tensor | None, Tensor | None]


def _joint_grad(of_first: Tensor | None, of_mean: Tensor | None) -> Tensor | None:
    if of_first is None or of_mean is None:
        return of_mean if of_first is None else of_first
    return of_first + of_mean


def _var_mean_grad(
    g: Pair, self: Tensor, dims: Dims, keepdim: bool, correction: float
) -> Tensor | None:
    of_var, of_mean = g
    return _joint_grad(
        None if of_var is None else _var_grad(of_var, self, dims, keepdim, correction),
        None if of_mean is None else _mean_grad(of_mean, self, dims, keepdim),
    )


def _std_mean_grad(
    g: Pair, self: Tensor, out0: Tensor, dims: Dims, keepdim: bool, correction: float
) -> Tensor | None:
    of_std, of_mean = g
    return _joint_grad(
        None if of_std is None else _std_grad(of_std, self, out0, dims, keepdim, correction),
        None if of_mean is None else _mean_grad(of_mean, self, dims, keepdim),
    )


_KINKS = "0 where the deviation is 0"
VAR = Op("var", _var, grads={"self": _var_grad})
STD = Op("std", _std, grads={"self": _std_grad}, kinks=_KINKS)
VAR_MEAN = Op("var_mean", _var_mean, grads={"self": _var_mean_grad}, outputs=2)
STD_MEAN = Op("std_mean", _std_mean, grads={"self": _std_mean_grad}, outputs=2, kinks=_KINKS)


def _spread_of_all(op: Op, input: Tensor) -> Tensor | None:
    """The short path to var and std of all elements of floats; None where there is more to see."""
    array, state = input._array, local.state
    if (
        (array.dtype is not F32 and array.dtype is not F64)
        or array.size < 2
        or op.outputs > 1
        or state.intercept is not None
        or not array.flags.c_contiguous
    ):
        return None
    _, spread = reduce.moments(array.reshape(-1))
    np.true_divide(spread, dtypes.as_scalar(float(array.size - 1), array.dtype), spread)
    if op is STD:
        np.sqrt(spread, spread)
    params = {"dims": tuple(range(array.ndim)), "keepdim": False, "correction": 1}
    return op.output(state, (input,), params, spread)


def _spread(op: Op, input: Tensor, dim: Any, unbiased: Any, keepdim: bool, correction: Any) -> Any:
    """Read the arguments of var, std and their `_mean` forms, which have two generations."""
    if dim is None and unbiased is _ABSENT and correction is _ABSENT and keepdim is False:
        quick = _spread_of_all(op, input)
        if quick is not None:
            return quick
    if isinstance(dim, bool):
        # The form var(unbiased), which reduces everything.
        dim, unbiased = None, dim
    if unbiased is not _ABSENT and correction is not _ABSENT:
        raise TypeError(
            f"{op.name}() received an invalid combination of arguments: give either unbiased= or "
            "correction=" + errors.at_user_line()
        )
    if input.dtype.category < dtypes.FLOAT:
        raise RuntimeError(
            f"{op.name if '_' in op.name else 'std and var'} only support "
            "floating point and complex dtypes" + errors.at_user_line()
        )
    if unbiased is not _ABSENT:
        correction = int(unbiased)
    correction = 1 if correction is _ABSENT or correction is None else correction
    dims = reduced_dims(dim, input._array.ndim, keepdim)
    if math.prod(input._array.shape[each] for each in dims) <= correction:
        warnings.warn(
            f"{op.name}(): degrees of freedom is <= 0. Correction should be strictly less than the "
            "reduction factor (input numel divided by output numel).",
            stacklevel=user_stacklevel(),
        )
    return op(input, dims=dims, keepdim=keepdim, correction=correction)


@public(checked=True)
@numpy_names
def var(
    input: Tensor,
    dim: DimArgument | bool = None,
    unbiased: bool = _ABSENT,
    keepdim: bool = False,
    *,
    correction: float | None = _ABSENT,
) -> Tensor:
    """The variance: squared deviations from the mean, summed and divided by `n - correction`.

    Args:
        input: floating point or complex
        dim: the dimension, or several; by default all
        unbiased: older form of `correction`: True is 1, False is 0
        keepdim: keep reduced dimensions, with size 1
        correction: what to subtract from the number of elements; 1 unless given

    Example:
        >>> clew.var(clew.tensor([1., 2., 3., 4.]))
        tensor(1.6667)
        >>> clew.var(clew.tensor([1., 2., 3., 4.]), correction=0)
        tensor(1.2500)
    """
    return _spread(VAR, input, dim, unbiased, keepdim, correction)


@public(checked=True)
@numpy_names
def std(
    input: Tensor,
    dim: DimArgument | bool = None,
    unbiased: bool = _ABSENT,
    keepdim: bool = False,
    *,
    correction: float | None = _ABSENT,
) -> Tensor:
    """The standard deviation: the square root of `var`.

    Args:
        input: floating point or complex
        dim: the dimension, or several; by default all
        unbiased: older form of `correction`: True is 1, False is 0
        keepdim: keep reduced dimensions, with size 1
        correction: what to subtract from the number of elements; 1 unless given

    Example:
        >>> clew.std(clew.tensor([[1., 2., 3.], [2., 4., 6.]]), dim=1)
        tensor([1., 2.])
    """
    return _spread(STD, input, dim, unbiased, keepdim, correction)


@public(checked=True, method=False, out=False)
@numpy_names
def var_mean(
    input: Tensor,
    dim: DimArgument | bool = None,
    unbiased: bool = _ABSENT,
    keepdim: bool = False,
    *,
    correction: float | None = _ABSENT,
) -> tuple[Tensor, Tensor]:
    """The variance and the mean, in that order.

    Args:
        input: floating point or complex
        dim: the dimension, or several; by default all
        unbiased: older form of `correction`: True is 1, False is 0
        keepdim: keep reduced dimensions, with size 1
        correction: what to subtract from the number of elements; 1 unless given

    Example:
        >>> clew.var_mean(clew.tensor([1., 2., 3.]))
        (tensor(1.), tensor(2.))
    """
    return _spread(VAR_MEAN, input, dim, unbiased, keepdim, correction)


@public(checked=True, method=False, out=False)
@numpy_names
def std_mean(
    input: Tensor,
    dim: DimArgument | bool = None,
    unbiased: bool = _ABSENT,
    keepdim: bool = False,
    *,
    correction: float | None = _ABSENT,
) -> tuple[Tensor, Tensor]:
    """The standard deviation and the mean, in that order.

    Args:
        input: floating point or complex
        dim: the dimension, or several; by default all
        unbiased: older form of `correction`: True is 1, False is 0
        keepdim: keep reduced dimensions, with size 1
        correction: what to subtract from the number of elements; 1 unless given

    Example:
        >>> clew.std_mean(clew.tensor([1., 2., 3.]))
        (tensor(1.), tensor(2.))
    """
    return _spread(STD_MEAN, input, dim, unbiased, keepdim, correction)


# -- covariance ------------------------------------------------------------------------------------


@public(out=False, checked=True)
def cov(
    input: Tensor,
    *,
    correction: int = 1,
    fweights: Tensor | None = None,
    aweights: Tensor | None = None,
) -> Tensor:
    """The covariance matrix of variables in rows, observed in columns.

    Args:
        input: (variables, observations), or one variable
        correction: what to subtract from the number of observations
        fweights: how often each observation counts, integers
        aweights: how much each observation counts, floating point

    Example:
        >>> clew.cov(clew.tensor([[1., 2., 3.], [3., 2., 1.]]))
        tensor([[ 1., -1.],
                [-1.,  1.]])
    """
    if input._array.ndim > 2:
        raise RuntimeError(
            f"cov(): expected input to have two or fewer dimensions but got an input with "
            f"{input._array.ndim} dimensions" + errors.at_user_line()
        )
    if input.dtype is dtypes.bool_:
        raise RuntimeError("cov(): bool dtype is not supported for input" + errors.at_user_line())
    rows = input if input._array.ndim == 2 else input.reshape(1, -1)
    weights = _observation_weights(rows, fweights, aweights)
    if weights is None:
        total: Any = rows._array.shape[1]
        mean = rows.sum(1) / total if total else rows.sum(1) / 0.0
    else:
        total = weights.sum()
        mean = (rows * weights).sum(1) / total
    centred = rows - mean.unsqueeze(1)
    weighted = centred if weights is None else centred * weights
    norm = _normaliser(total, correction, fweights, aweights, weights)
    return (weighted.matmul(conj(centred.t())) / norm).squeeze()


def _observation_weights(
    rows: Tensor, fweights: Tensor | None, aweights: Tensor | None
) -> Tensor | None:
    count = rows._array.shape[1]
    for name, given in (("fweights", fweights), ("aweights", aweights)):
        if given is None:
            continue
        if given._array.ndim > 1:
            raise RuntimeError(
                f"cov(): expected {name} to have one or fewer dimensions but got {name} with "
                f"{given._array.ndim} dimensions" + errors.at_user_line()
            )
        is_integer = given.dtype.category < dtypes.FLOAT
        if given.dtype is dtypes.bool_ or is_integer != (name == "fweights"):
            kind = "integral" if name == "fweights" else "floating point"
            raise RuntimeError(
                f"cov(): expected {name} to have {kind} dtype but got {name} with "
                f"{given.dtype.scalar_name} dtype" + errors.at_user_line()
            )
        if given._array.size != count:
            raise RuntimeError(
                f"cov(): expected {name} to have the same numel as there are observations in the "
                f"input but got {given._array.size} != {count}" + errors.at_user_line()
            )
        if of_values(lambda values: bool((values < 0).any()), given):
            raise RuntimeError(f"cov(): {name} cannot be negative" + errors.at_user_line())
    if fweights is not None and aweights is not None:
        return fweights * aweights
    return fweights if aweights is None else aweights


def _normaliser(
    total: Any,
    correction: int,
    fweights: Tensor | None,
    aweights: Tensor | None,
    weights: Tensor | None,
) -> Any:
    """What the sum of products is divided by; never negative."""
    if aweights is None or weights is None or correction == 0:
        norm = total - correction
    else:
        norm = total - correction * (weights * aweights).sum() / total
    if norm <= 0 if weights is None else of_values(lambda n: bool((n <= 0).any()), norm):
        warnings.warn(
            "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number "
            "of observations.",
            stacklevel=user_stacklevel(),
        )
    return float(max(norm, 0)) if weights is None else norm.clamp(min=0)


@public(out=False)
def corrcoef(input: Tensor) -> Tensor:
    """The matrix of correlation coefficients of variables in rows, observed in columns.

    Args:
        input: (variables, observations), or one variable

    Example:
        >>> clew.corrcoef(clew.tensor([[1., 2., 3.], [3., 2., 1.]]))
        tensor([[ 1., -1.],
                [-1.,  1.]])
    """
    if input._array.ndim > 2:
        raise RuntimeError(
            "corrcoef(): expected input to have two or fewer dimensions but got an input with "
            f"{input._array.ndim} dimensions" + errors.at_user_line()
        )
    covariance = cov(input)
    if not covariance._array.ndim:
        return covariance / covariance
    variances = covariance.diagonal()
    deviations = (variances.real if variances.dtype.is_complex else variances).sqrt()
    ratio = covariance / deviations.unsqueeze(1) / deviations.unsqueeze(0)
    if ratio.dtype.is_complex:
        return ratio
    return ratio.clamp(-1, 1)
