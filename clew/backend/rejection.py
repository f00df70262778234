"""Poisson, binomial, gamma and Dirichlet numbers: what is checked, and the dtypes around samplers.

The samplers themselves are compiled (kernels/compiled/rejection_samplers.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from clew import errors

from .dtypes import BY_NUMPY
from .mt19937 import Generator

Array = npt.NDArray[Any]


def not_implemented(function: str, kind: np.dtype[Any]) -> NotImplementedError:
    """Return PyTorch's error for a kernel that lacks a dtype."""
    return errors.no_kernel(function, BY_NUMPY[kind], "Use another dtype, such as torch.float32")


def _check_dtype(array: Array, function: str) -> None:
    if array.dtype not in (np.float32, np.float64):
        raise not_implemented(function, array.dtype)


def poisson(generator: Generator, rate: Array) -> Array:
    """Draw one Poisson number for each rate, in the rates' dtype."""
    if not BY_NUMPY[rate.dtype].is_floating_point:
        raise not_implemented("poisson_cpu", rate.dtype)
    if not np.all(rate >= 0):
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    rates = _doubles(rate)
    values = np.empty_like(rates)
    generator.sample("poisson", False, rates, values)
    return values.astype(rate.dtype).reshape(rate.shape)


def _doubles(array: Array) -> npt.NDArray[np.float64]:
    return np.ascontiguousarray(array, np.float64).ravel()


def binomial(generator: Generator, count: Array, prob: Array) -> Array:
    """Draw how many of ``count`` trials of probability ``prob`` succeed, for each element."""
    for name, given in (("count", count), ("prob", prob)):
        kind = BY_NUMPY[given.dtype]
        if not kind.is_floating_point:
            raise ValueError(
                f"binomial only supports floating-point dtypes for {name}, got: {kind.scalar_name}"
                + errors.at_user_line()
            )
    _check_dtype(count, "binomial_cpu")
    if count.dtype != prob.dtype:
        found, expected = BY_NUMPY[prob.dtype].scalar_name, BY_NUMPY[count.dtype].scalar_name
        raise RuntimeError(f"Found dtype {found} but expected {expected}")
    counts, probs = np.broadcast_arrays(count, prob)
    n, p = _doubles(counts), _doubles(probs)
    values = np.empty_like(n)
    generator.sample("binomial", count.dtype == np.float32, n, p, values)
    return values.astype(count.dtype).reshape(counts.shape)


def standard_gamma(generator: Generator, alpha: Array) -> Array:
    """Draw one gamma number of shape ``alpha`` and scale 1 for each element."""
    _check_dtype(alpha, "gamma_cpu")
    values = _gammas(generator, alpha)
    smallest = np.finfo(alpha.dtype).tiny
    return np.maximum(values.astype(alpha.dtype), smallest).reshape(alpha.shape)


def dirichlet(generator: Generator, alpha: Array) -> Array:
    """Draw from the Dirichlet distribution whose concentrations lie along the last axis."""
    _check_dtype(alpha, "dirichlet")
    gammas = _gammas(generator, alpha.astype(np.float64)).reshape(alpha.shape)
    gammas = np.maximum(gammas, np.finfo(np.float64).tiny)
    shares = (gammas / gammas.sum(axis=-1, keepdims=True)).astype(alpha.dtype)
    one = alpha.dtype.type(1)
    largest = np.nextafter(one, alpha.dtype.type(0))
    return np.clip(shares, np.finfo(alpha.dtype).tiny, largest)


def _gammas(generator: Generator, alpha: Array) -> npt.NDArray[np.float64]:
    alphas = _doubles(alpha)
    values = np.empty_like(alphas)
    with generator.lock:
        waiting = generator.next_normal
        # The second normal of the pair that was drawn last, and whether there is one.
        normal = np.array([0.0, 0.0] if waiting is None else [waiting, 1.0])
        generator.sample("gamma", alpha.dtype == np.float32, alphas, normal, values)
        generator.next_normal = float(normal[0]) if normal[1] else None
    return values
