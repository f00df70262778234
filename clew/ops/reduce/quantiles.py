"""Quantiles: quantile, nanquantile."""

from __future__ import annotations

from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.casting import FLOAT32, casts
from clew.core.interception import note_constant
from clew.core.public import public
from clew.core.tensor import Tensor, every_value, wrap
from clew.ops.define import out_checks
from clew.ops.define.dims import numpy_names, wrap_dim

_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _quantile_weights(input: Tensor, q: Any, interpolation: str) -> Tensor:
    """`q` as a tensor, after PyTorch's checks of all the arguments."""
    if not input._array.size:
        raise RuntimeError("quantile() input tensor must be non-empty" + errors.at_user_line())
    if input.dtype not in (dtypes.float32, dtypes.float64):
        raise RuntimeError(
            "quantile() input tensor must be either float or double dtype" + errors.at_user_line()
        )
    if not isinstance(q, Tensor):
        if not 0 <= q <= 1:
            raise RuntimeError(
                f"quantile() q must be in the range [0, 1] but got {q}" + errors.at_user_line()
            )
        q = note_constant(wrap(np.asarray(q, input._array.dtype)))
    elif q._array.ndim > 1:
        raise RuntimeError("quantile() q must be a scalar or 1D tensor" + errors.at_user_line())
    if q.dtype is not input.dtype:
        raise RuntimeError(
            "quantile() q tensor must be same dtype as the input tensor" + errors.at_user_line()
        )
    values = every_value(q)
    if not ((values >= 0) & (values <= 1)).all():
        raise RuntimeError(
            "quantile() q values must be in the range [0, 1]" + errors.at_user_line()
        )
    if interpolation not in _INTERPOLATIONS:
        raise RuntimeError(
            "quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, "
            f"but got {interpolation}" + errors.at_user_line()
        )
    return q


def _quantile(
    name: str, input: Tensor, q: Any, dim: int | None, keepdim: bool, interpolation: str
) -> Tensor:
    q = _quantile_weights(input, q, interpolation)
    ndim = input._array.ndim
    if dim is not None:
        dim = wrap_dim(dim, ndim)
    if dim is not None and ndim:
        lanes = input.unsqueeze(-1).transpose(dim, -1)
        lanes = lanes if keepdim else lanes.squeeze(dim)
    else:
        lanes = input.reshape(*[1] * (ndim if keepdim else 0), -1)
    ordered = lanes.sort(-1).values
    values = _interpolated(ordered, _ranks(name, ordered, q), interpolation)
    # The quantiles are last, and come first in the result. They are moved in place, as in PyTorch:
    # the result is no view.
    if not q._array.ndim:
        return values.squeeze_(-1)
    return values.unsqueeze_(0).transpose_(0, -1).squeeze_(-1)


def _ranks(name: str, ordered: Tensor, q: Tensor) -> Tensor:
    """The fractional places of the quantiles in each sorted lane."""
    weights = q.reshape(-1)
    last = ordered._array.shape[-1] - 1
    if name == "nanquantile":
        numbers = ordered.detach().isnan().logical_not().sum(-1, keepdim=True)
        return (weights * (numbers - 1)).clamp(min=0)
    ranks = (weights * last).expand(ordered._array.shape[:-1] + weights._array.shape)
    # NaNs are sorted to the end: a lane with any has NaN for each quantile.
    return ranks.masked_fill(ordered.detach().isnan().any(-1, keepdim=True), last)


def _interpolated(ordered: Tensor, ranks: Tensor, interpolation: str) -> Tensor:
    if interpolation == "lower":
        ranks = ranks.floor()
    elif interpolation == "higher":
        ranks = ranks.ceil()
    elif interpolation == "nearest":
        ranks = ranks.round()
    below = ranks.detach().to(dtypes.int64)
    values = ordered.gather(-1, below)
    if interpolation not in ("linear", "midpoint"):
        return values
    weights = ranks - below if interpolation == "linear" else (ranks - below).new_full((), 0.5)
    above = ordered.gather(-1, ranks.detach().ceil().to(dtypes.int64))
    return values.lerp(above, weights.expand(values._array.shape))


@public(
    checked=True,
    accept=out_checks.composed(out_checks.of_result_dtype(out_checks.quantile_words)),
    differentiable=False,
)
@numpy_names
@casts(FLOAT32)
def quantile(
    input: Tensor,
    q: float | Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> Tensor:
    """Quantiles of all elements, or along a dimension; several `q` come first in the result.

    Args:
        input: float32 or float64
        q: a number from 0 to 1, or a vector of them
        dim: the dimension; by default all elements
        keepdim: keep `dim`, with size 1
        interpolation: between two elements: "linear", "lower", "higher", "midpoint" or "nearest"

    Example:
        >>> clew.quantile(clew.tensor([0., 1., 2., 3.]), clew.tensor([0.5, 0.75]))
        tensor([1.5000, 2.2500])
    """
    return _quantile("quantile", input, q, dim, keepdim, interpolation)


@public(
    checked=True,
    accept=out_checks.composed(out_checks.of_result_dtype(out_checks.quantile_words)),
    differentiable=False,
)
@numpy_names
@casts(FLOAT32)
def nanquantile(
    input: Tensor,
    q: float | Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> Tensor:
    """Quantiles of the elements that are not NaN.

    Args:
        input: float32 or float64
        q: a number from 0 to 1, or a vector of them
        dim: the dimension; by default all elements
        keepdim: keep `dim`, with size 1
        interpolation: between two elements: "linear", "lower", "higher", "midpoint" or "nearest"

    Example:
        >>> clew.nanquantile(clew.tensor([0., float("nan"), 2.]), 0.5)
        tensor(1.)
    """
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation)
