"""Samplers that try until they accept: Poisson, binomial, gamma and Dirichlet numbers.

How many draws one number takes depends on the numbers drawn, so each element is sampled in turn, in
double precision, from the one stream.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from clew import errors

from .dtypes import BY_NUMPY
from .mt19937 import Generator, OneByOne
from .normal_streams import single

Array = npt.NDArray[Any]
Draw = Callable[[], float]

# log(k!) minus Stirling's formula, for k below 10.
_STIRLING_TAILS = [
    0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509,
    0.0166446911898211, 0.0138761288230707, 0.0118967099458917, 0.0104112652619720,
    0.00925546218271273, 0.00833056343336287,
]  # fmt: skip
_ONE_THIRD = single(1.0 / 3.0)
_SQUEEZE = single(0.0331)


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
    rates = rate.ravel().astype(np.float64).tolist()
    with generator.lock, OneByOne(generator) as draw:
        values = [_poisson(value, draw) for value in rates]
    return np.array(values, np.float64).astype(rate.dtype).reshape(rate.shape)


def _poisson(rate: float, draw: Draw) -> int:
    if rate >= 10.0:
        return _poisson_transformed_rejection(rate, draw)
    if rate == 0.0:
        return 0
    limit = math.exp(-rate)
    count, product = 0, draw()
    while product > limit:
        count += 1
        product *= draw()
    return count


def _poisson_transformed_rejection(rate: float, draw: Draw) -> int:
    """Hörmann's method PTRS (1993)."""
    log_rate = math.log(rate)
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    acceptance = 0.9277 - 3.6224 / (b - 2.0)
    while True:
        u = draw() - 0.5
        v = draw()
        margin = 0.5 - abs(u)
        if margin == 0.0:
            continue
        k = math.floor((2.0 * a / margin + b) * u + rate + 0.43)
        if margin >= 0.07 and v <= acceptance:
            return k
        if k < 0 or (margin < 0.013 and v > margin):
            continue
        proposal = _log(v) + math.log(inverse_alpha) - math.log(a / (margin * margin) + b)
        if proposal <= -rate + k * log_rate - math.lgamma(k + 1.0):
            return k


def _log(value: float) -> float:
    return math.log(value) if value > 0.0 else -math.inf


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
    narrow: Callable[[float], float] = single if count.dtype == np.float32 else float
    with generator.lock, OneByOne(generator) as draw:
        pairs = zip(counts.ravel().tolist(), probs.ravel().tolist())
        values = [_binomial(n, p, narrow, draw) for n, p in pairs]
    return np.array(values, np.float64).astype(count.dtype).reshape(counts.shape)


def _binomial(count: float, prob: float, narrow: Callable[[float], float], draw: Draw) -> float:
    if count <= 0.0 or prob <= 0.0:
        return 0.0
    if prob >= 1.0:
        return count
    if math.isnan(prob) or math.isnan(count):
        return math.nan
    failures = prob > 0.5
    chance = narrow(1.0 - prob) if failures else prob
    sampler = _binomial_btrs if narrow(count * chance) >= 10.0 else _binomial_inversion
    successes = sampler(count, chance, narrow, draw)
    return count - successes if failures else successes


def _binomial_inversion(
    count: float, prob: float, narrow: Callable[[float], float], draw: Draw
) -> float:
    """Count how many geometric waiting times fit into ``count`` trials."""
    log_failure = narrow(math.log1p(-prob))
    waited, successes = 0.0, 0
    while True:
        u = draw()
        waited += math.ceil(math.log(u) / log_failure) if u > 0.0 else math.inf
        if waited > count:
            return successes
        successes += 1


def _binomial_btrs(
    count: float, prob: float, narrow: Callable[[float], float], draw: Draw
) -> float:
    """Hörmann's method BTRS (1993)."""
    deviation = narrow(math.sqrt(narrow(narrow(count * prob) * narrow(1.0 - prob))))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * prob
    centre = narrow(count * prob) + 0.5
    acceptance = 0.92 - 4.2 / b
    odds = narrow(prob / narrow(1.0 - prob))
    alpha = (2.83 + 5.1 / b) * deviation
    mode = math.floor(narrow((count + 1.0) * prob))
    while True:
        u = draw() - 0.5
        v = draw()
        margin = 0.5 - abs(u)
        if margin == 0.0:
            continue
        k = math.floor((2.0 * a / margin + b) * u + centre)
        if margin >= 0.07 and v <= acceptance:
            return k
        if k < 0 or k > count:
            continue
        bound = (
            (mode + 0.5) * math.log((mode + 1.0) / (odds * (count - mode + 1.0)))
            + (count + 1.0) * math.log((count - mode + 1.0) / (count - k + 1.0))
            + (k + 0.5) * math.log(odds * (count - k + 1.0) / (k + 1.0))
            + _stirling_tail(mode)
            + _stirling_tail(count - mode)
            - _stirling_tail(k)
            - _stirling_tail(count - k)
        )
        if _log(v * alpha / (a / (margin * margin) + b)) <= bound:
            return k


def _stirling_tail(k: float) -> float:
    if k <= 9.0:
        return _STIRLING_TAILS[int(k)]
    square = (k + 1.0) * (k + 1.0)
    return (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / 1260.0 / square) / square) / (k + 1.0)


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
    narrow: Callable[[float], float] = single if alpha.dtype == np.float32 else float
    with generator.lock, OneByOne(generator) as draw:
        values = [_gamma(generator, a, narrow, draw) for a in alpha.ravel().tolist()]
    return np.array(values, np.float64)


def _gamma(
    generator: Generator, alpha: float, narrow: Callable[[float], float], draw: Draw
) -> float:
    """Marsaglia and Tsang's method (2000), with shapes below 1 raised by 1 and scaled back."""
    scale = 1.0
    if alpha < 1.0:
        if alpha == 0.0:
            return 0.0
        scale = math.pow(1.0 - draw(), narrow(1.0 / alpha))
        alpha = narrow(alpha + 1.0)
    d = narrow(alpha - _ONE_THIRD)
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = _next_normal(generator, draw)
        root = 1.0 + c * x
        if root <= 0.0:
            continue
        cube = root * root * root
        u = 1.0 - draw()
        square = x * x
        if u < 1.0 - _SQUEEZE * square * square:
            return scale * d * cube
        if math.log(u) < 0.5 * square + d * (1.0 - cube + math.log(cube)):
            return scale * d * cube


def _next_normal(generator: Generator, draw: Draw) -> float:
    waiting = generator.next_normal
    if waiting is not None:
        generator.next_normal = None
        return waiting
    theta = 2.0 * math.pi * draw()
    radius = math.sqrt(-2.0 * math.log1p(-draw()))
    generator.next_normal = radius * math.sin(theta)
    return radius * math.cos(theta)
