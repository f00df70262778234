"""Implicit reparameterization gradients of gamma and beta samples.

If F(x; a) is the probability of values up to x, then keeping F constant gives

    dx/da = -(∂F/∂a) / (∂F/∂x).

With F an integral of the density over t, both lead to the same integral, up to the sign, below x
and above x:

    dx/da = ∫ w(t) (log t - E[log t]) dt / w(x)   over t > x,

w being the unnormalized density. It is taken on the side where little or nothing cancels, in a
variable v >= 0 in which w falls off exponentially. The trapezoidal rule then converges
exponentially fast after the substitution v = s exp(τ - exp(-τ)).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clew.kernels.codegen.ufunc import elementwise, over_rows
from clew.kernels.numpy.special_functions import digamma

Array = np.ndarray

# Elements of a block, which fits into the cache.
BLOCK = 2048
SERIES_TERMS = 40
SERIES_BELOW = 2.0


def _nodes(step: float, first: float, last: float) -> tuple[Array, Array]:
    """Points and weights for the integral over 0 < v < infinity of a function of scale 1."""
    tau = np.arange(first, last + step / 2, step)
    fall = np.exp(-tau)
    points = np.exp(tau - fall)
    return points, step * points * (1.0 + fall)


_NODES = _nodes(0.08, -3.7, 4.0)


def _in_blocks(function: Callable[..., Array], *arrays: Array) -> Array:
    """Apply a function to blocks of flat arrays in double precision."""
    shape = arrays[0].shape
    flat = [np.ascontiguousarray(each, np.float64).ravel() for each in arrays]
    result = np.empty(flat[0].size)
    for start in range(0, result.size, BLOCK):
        block = slice(start, start + BLOCK)
        result[block] = function(*(each[block] for each in flat))
    return result.reshape(shape)


def standard_gamma_grad(alpha: Array, x: Array) -> Array:
    """dx/dα of a gamma number x of shape α and scale 1."""
    kind = np.result_type(alpha, x)
    with np.errstate(all="ignore"):
        result = _in_blocks(_gamma_block, *np.broadcast_arrays(alpha, x))
    return result.astype(kind)


def _gamma_block(alpha: Array, x: Array) -> Array:
    result = np.empty_like(x)
    small = x <= SERIES_BELOW
    result[small] = _gamma_series(alpha[small], x[small])
    result[~small] = _gamma_integral(alpha[~small], x[~small])
    return result


def _gamma_series(alpha: Array, x: Array) -> Array:
    """Term by term from P(α, x) = x^α e^-x Σ x^n / Γ(α + n + 1)."""
    mean = digamma(alpha) + 1.0 / alpha
    result: Array = _GAMMA_SERIES.specialize(x)(alpha, x, mean - np.log(x))
    return result


@elementwise("gamma_series", 3, cost=200)
def _GAMMA_SERIES(alpha: Any, x: Any, offset: Any) -> Any:
    term = x / alpha
    total = term * offset
    for n in range(1, SERIES_TERMS):
        share = 1.0 / (alpha + float(n))
        term = term * (x * share)
        offset = offset + share
        total = total + term * offset
    return total


def _gamma_integral(alpha: Array, x: Array) -> Array:
    """With t = x e^v above x, t = x e^-v below it."""
    points, weights = _NODES
    offset = np.log(x) - digamma(alpha)
    side = np.where(offset >= 0.0, 1.0, -1.0)
    steepness = np.maximum(side * (x - alpha), 0.0)
    scale = 1.0 / (steepness + np.sqrt(x))
    given = alpha, x, side * scale, np.abs(offset), scale
    return x * scale * _GAMMA_QUADRATURE.specialize(x)(points, weights, *given)


@over_rows("gamma_quadrature", "(n),(n),(),(),(),(),()->()", cost=500)
def _GAMMA_QUADRATURE(
    point: Any, weight: Any, alpha: Any, x: Any, signed_scale: Any, offset: Any, scale: Any
) -> Any:
    signed = signed_scale * point
    log_weight = alpha * signed - x * signed.expm1()
    return (weight * log_weight.exp() * (offset + scale * point)).row_sum()


def dirichlet_grad(x: Array, alpha: Array, total: Array) -> Array:
    """dx/dα of a share x of weight α out of `total`, divided by 1 - x.

    The share is a beta number with parameters α and total - α; the other shares move in
    proportion, which is why the caller wants the quotient.
    """
    kind = np.result_type(x, alpha, total)
    with np.errstate(all="ignore"):
        result = _in_blocks(_beta_block, *np.broadcast_arrays(x, alpha, total - alpha))
    return result.astype(kind)


def _beta_block(x: Array, alpha: Array, beta: Array) -> Array:
    """With t = 1 / (1 + e^-λ), where λ goes up or down from the logit of x."""
    points, weights = _NODES
    log_x, log_rest = np.log(x), np.log1p(-x)
    mean_log = digamma(alpha) - digamma(alpha + beta)
    # Away from the mean of x, so that the weight falls from the start.
    slope = beta * x - alpha * (1.0 - x)
    side = np.where(slope >= 0.0, 1.0, -1.0)
    final_slope = np.where(slope >= 0.0, beta, alpha)
    curvature = (alpha + beta) * x * (1.0 - x)
    scale = 1.0 / (np.abs(slope) + np.minimum(np.sqrt(curvature), final_slope))
    # alpha (log t - log x) + beta (log(1 - t) - log(1 - x)), where log(1 - t) = log t - λ
    at_x = alpha * log_x + beta * log_rest
    given = alpha + beta, beta, log_x - log_rest, side * scale, at_x, mean_log
    return side * x * scale * _BETA_QUADRATURE.specialize(x)(points, weights, *given)


@over_rows("beta_quadrature", "(n),(n),(),(),(),(),(),()->()", cost=500)
def _BETA_QUADRATURE(
    point: Any, weight: Any, total: Any, beta: Any, logit: Any, signed_scale: Any, at_x: Any,
    mean_log: Any,
) -> Any:  # fmt: skip
    lam = logit + signed_scale * point
    log_t = lam.minimum(0.0) - (-lam.abs()).exp().log1p()
    log_weight = total * log_t - beta * lam - at_x
    return (weight * (log_t - mean_log) * log_weight.exp()).row_sum()
