"""PyTorch's CPU random functions over NumPy arrays, bit for bit.

Each function takes the generator first and returns a new C-contiguous array. The reference is
PyTorch on x86 processors with AVX2 and FMA, where a multiplication followed by an addition rounds
once; ``scale_and_shift`` reproduces that.

A destination that is not contiguous is filled in the order of its memory, not of its indices:
PyTorch walks a permuted tensor by descending strides (``empty(4, 8).t().uniform_()`` fills the
4 x 8 storage row by row). The caller draws in that order and transposes; for ``normal`` it also
passes ``contiguous=False``, because such tensors get the pairwise algorithm at any size.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from .dtypes import BY_NUMPY
from .integer_ranges import BFLOAT16, INT64_MIN, MANTISSA_BITS, checked_span, largest_integer
from .mt19937 import DEFAULT_SEED, Generator, default_generator, engine
from .normal_streams import (
    BLOCK,
    libm,
    normal_blocks_float32,
    normal_blocks_float64,
    normal_pairs,
    scale_and_shift,
    single,
)
from .rejection import binomial, dirichlet, not_implemented, poisson, standard_gamma

__all__ = [
    "DEFAULT_SEED", "Generator", "default_generator",
    "uniform", "normal", "log_normal", "cauchy", "exponential", "geometric",
    "randint", "random_", "randperm", "bernoulli_scalar", "bernoulli_tensor", "multinomial",
    "poisson", "binomial", "standard_gamma", "dirichlet",
]  # fmt: skip

Array = npt.NDArray[Any]
Float64Array = npt.NDArray[np.float64]
Shape = Sequence[int] | int

_REAL_OF_COMPLEX: dict[np.dtype[Any], np.dtype[Any]] = {
    np.dtype(ml_dtypes.complex32): np.dtype(np.float16),
    np.dtype(np.complex64): np.dtype(np.float32), np.dtype(np.complex128): np.dtype(np.float64),
}  # fmt: skip
_SINGLE, _DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
# Numbers of an exponential distribution with a higher rate fit into single precision.
_SMALL_RATE = 1e-30
# From this range on PyTorch takes 64 bits for one integer, so that the remainder stays even.
_WIDE_RANGE = 2**28
# From this length on PyTorch shuffles in another order with 64-bit draws.
_LONG_PERMUTATION = (2**32 - 1) // 20


def _length(shape: Shape) -> int:
    return shape if isinstance(shape, int) else math.prod(shape)


def _floating(dtype: npt.DTypeLike, function: str) -> np.dtype[Any]:
    kind = np.dtype(dtype)
    if kind not in MANTISSA_BITS:
        raise not_implemented(function, kind)
    return kind


def _continuous(dtype: npt.DTypeLike, distribution: str) -> np.dtype[Any]:
    kind = np.dtype(dtype)
    if kind not in MANTISSA_BITS:
        raise RuntimeError(
            f"{distribution} distribution is a continuous probability distribution. dtype must be "
            f"a floating point but you specified {BY_NUMPY[kind].scalar_name}"
        )
    return kind


def uniform(
    generator: Generator, shape: Shape, dtype: npt.DTypeLike, low: float = 0.0, high: float = 1.0
) -> Array:
    """Draw from [low, high). Complex dtypes draw their real and imaginary parts in turn."""
    kind = np.dtype(dtype)
    if kind in _REAL_OF_COMPLEX:
        parts = uniform(generator, 2 * _length(shape), _REAL_OF_COMPLEX[kind], low, high)
        return parts.view(kind).reshape(shape)
    kind = _floating(kind, "check_uniform_bounds")
    n, unit = _length(shape), low == 0.0 and high == 1.0
    if not unit:
        _check_uniform_bounds(kind, low, high)
    if kind == _DOUBLE:
        values: Array = generator.doubles(n)
        if not unit:
            values = scale_and_shift(values, high - low, low)
    else:
        values = generator.singles(n)
        if not unit:
            start = single(low)
            engine().scale_singles(values, single(single(high) - start), start)
        if kind != _SINGLE:
            values = values.astype(kind)
    if unit and kind.itemsize > 2:
        return values.reshape(shape)
    # Rounding can reach the excluded bound; PyTorch then gives the other one.
    values[values == np.asarray(high).astype(kind)] = low
    return values.reshape(shape)


def _check_uniform_bounds(kind: np.dtype[Any], low: float, high: float) -> None:
    largest = float(ml_dtypes.finfo(kind).max)
    for name, bound in (("from", low), ("to", high)):
        if not -largest <= bound <= largest:
            raise RuntimeError(f"{name} is out of bounds for {BY_NUMPY[kind].c_name}")
    if low > high:
        raise RuntimeError(
            f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}"
        )
    if high - low > largest:
        raise RuntimeError(
            "uniform_ expects to-from <= std::numeric_limits<"
            f"{BY_NUMPY[kind].scalar_name}>::max(), but found to={high:g} and "
            f"from={low:g} which result in to-from to exceed the limit"
        )


def normal(
    generator: Generator,
    shape: Shape,
    dtype: npt.DTypeLike,
    mean: float = 0.0,
    std: float = 1.0,
    *,
    contiguous: bool = True,
) -> Array:
    """Draw normals; ``contiguous=False`` is for destinations whose memory is not contiguous.

    ``torch.normal`` with a tensor of means or deviations is ``normal(0, 1) * std + mean`` in the
    destination's dtype, or ``normal(0, std) + mean`` where only the mean is a tensor.
    """
    kind = np.dtype(dtype)
    if not std >= 0.0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    if kind in _REAL_OF_COMPLEX:
        real = _REAL_OF_COMPLEX[kind]
        # The two parts share the variance.
        parts = normal(
            generator, 2 * _length(shape), real, mean, std / math.sqrt(2.0), contiguous=contiguous
        )
        return parts.view(kind).reshape(shape)
    n = _length(shape)
    if not n:
        # Nothing is drawn, so any dtype will do.
        return np.empty(shape, kind)
    kind = _floating(kind, "normal_kernel_cpu")
    if n < BLOCK or not contiguous:
        values = normal_pairs(generator, n, kind == _DOUBLE)
        if mean != 0.0 or std != 1.0:
            values = _cast(scale_and_shift(values, std, mean), kind)
        elif kind.itemsize > 2:
            values = values.astype(kind, copy=False)
        else:
            values = _cast(values, kind)
        return values.reshape(shape)
    if kind == _DOUBLE:
        return normal_blocks_float64(generator, n, mean, std).reshape(shape)
    singles = normal_blocks_float32(generator, n, mean, std, buffered=kind != np.float32)
    return singles.astype(kind, copy=False).reshape(shape)


def log_normal(
    generator: Generator, shape: Shape, dtype: npt.DTypeLike, mean: float = 1.0, std: float = 2.0
) -> Array:
    """Draw numbers whose logarithm is normal."""
    if not std > 0.0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    kind = _floating(dtype, "log_normal_cpu")
    normals = normal_pairs(generator, _length(shape), kind == _DOUBLE)
    normals = scale_and_shift(normals, std, mean)
    values = libm("exp", normals) if kind == _DOUBLE else np.exp(normals)
    return _cast(values, kind).reshape(shape)


def cauchy(
    generator: Generator,
    shape: Shape,
    dtype: npt.DTypeLike,
    median: float = 0.0,
    sigma: float = 1.0,
) -> Array:
    """Draw from the Cauchy distribution."""
    if not sigma > 0.0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    kind = _continuous(dtype, "Cauchy")
    angles = math.pi * (generator.doubles(_length(shape)) - 0.5)
    tangents = libm("tan", angles) if kind == _DOUBLE else np.tan(angles)
    return _cast(scale_and_shift(tangents, sigma, median), kind).reshape(shape)


def exponential(
    generator: Generator, shape: Shape, dtype: npt.DTypeLike, lambd: float = 1.0
) -> Array:
    """Draw from the exponential distribution of rate ``lambd``."""
    if not lambd > 0.0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
    kind = _continuous(dtype, "Exponential")
    numbers = generator.doubles(_length(shape))
    np.negative(numbers, numbers)
    if kind == _DOUBLE:
        numbers = libm("log1p", numbers)
    else:
        np.log1p(numbers, numbers)
    np.multiply(numbers, -1.0 / lambd, numbers)
    if kind == _SINGLE and lambd > _SMALL_RATE:
        return numbers.astype(kind).reshape(shape)
    return _cast(numbers, kind).reshape(shape)


def geometric(generator: Generator, shape: Shape, dtype: npt.DTypeLike, p: float) -> Array:
    """Draw the number of trials, of probability ``p`` each, up to the first success."""
    if not 0.0 < p < 1.0:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    kind = np.dtype(dtype)
    if kind == np.bool_ or kind in _REAL_OF_COMPLEX:
        raise not_implemented("geometric_cpu", kind)
    with np.errstate(divide="ignore"):
        trials = np.ceil(np.log(generator.doubles(_length(shape))) / math.log(1.0 - p))
    return _cast(trials, kind).reshape(shape)


def _cast(values: Float64Array, kind: np.dtype[Any]) -> Array:
    if kind == _DOUBLE:
        return values
    with np.errstate(over="ignore", invalid="ignore"):
        if kind.itemsize == 2 and kind in MANTISSA_BITS:
            # PyTorch reaches the half dtypes through single precision and so rounds twice.
            return values.astype(np.float32).astype(kind)
        return values.astype(kind, copy=False)


def randint(
    generator: Generator, low: int, high: int, shape: Shape, dtype: npt.DTypeLike = np.int64
) -> Array:
    """Draw integers from [low, high)."""
    return random_(generator, shape, dtype, low, high)


def random_(
    generator: Generator,
    shape: Shape,
    dtype: npt.DTypeLike,
    low: int | None = None,
    high: int | None = None,
) -> Array:
    """Draw integers from [low, high), from [low, largest] or, without bounds, from [0, largest].

    The largest integer of a floating dtype is the last one before gaps appear.
    """
    kind, n = np.dtype(dtype), _length(shape)
    if kind in _REAL_OF_COMPLEX:
        raise not_implemented("random_kernel_cpu", kind)
    if low is None:
        if high is None:
            return _random_without_bounds(generator, n, kind).reshape(shape)
        low = 0
    if high is None and low == INT64_MIN:
        return _random_all_64_bits(generator, n, kind).reshape(shape)
    low, span = checked_span(kind, low, high)
    draw = generator.random64(n) if span >= _WIDE_RANGE else generator.random32(n)
    offsets = (draw % draw.dtype.type(span)).astype(np.int64)
    return (offsets + np.int64(low)).astype(kind, copy=False).reshape(shape)


def _random_all_64_bits(generator: Generator, n: int, kind: np.dtype[Any]) -> Array:
    if kind in (np.bool_, np.float16) or _is_wide_unsigned(kind):
        raise not_implemented("random_full_64_bits_range_kernel_cpu", kind)
    if kind not in (np.int64, _DOUBLE, np.float32, BFLOAT16):
        raise RuntimeError(
            "random_full_64_bits_range_kernel_cpu handles only int64, double, float and bfloat16"
        )
    return generator.random64(n).view(np.int64).astype(kind, copy=False)


def _is_wide_unsigned(kind: np.dtype[Any]) -> bool:
    return kind.kind == "u" and kind.itemsize > 1


def _random_without_bounds(generator: Generator, n: int, kind: np.dtype[Any]) -> Array:
    if kind == np.bool_:
        return (generator.random32(n) & np.uint32(1)).astype(np.bool_)
    if _is_wide_unsigned(kind):
        raise not_implemented("random_kernel_cpu", kind)
    count = largest_integer(kind) + 1
    if kind in (np.int64, _DOUBLE):
        return (generator.random64(n) % np.uint64(count)).astype(kind)
    return (generator.random32(n) % np.uint32(count)).astype(kind)


def randperm(generator: Generator, n: int, dtype: npt.DTypeLike = np.int64) -> Array:
    """Draw a permutation of 0..n-1, as ``for i: swap(a[i], a[i + r % (n - i)])`` would leave it."""
    kind = np.dtype(dtype)
    _check_permutation(n, kind)
    if n < 2:
        return np.arange(n).astype(kind)
    values = np.arange(n)
    engine().shuffle(values, generator.random32(n - 1))
    return values.astype(kind, copy=False)


def _check_permutation(n: int, kind: np.dtype[Any]) -> None:
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    if kind == np.bool_ or kind in _REAL_OF_COMPLEX or _is_wide_unsigned(kind):
        raise not_implemented("randperm", kind)
    if kind in MANTISSA_BITS:
        if kind != BFLOAT16 and n > largest_integer(kind) + 1:
            limit = "2049" if kind == np.float16 else f"2^{MANTISSA_BITS[kind]}+1"
            name = BY_NUMPY[kind].scalar_name
            raise RuntimeError(f"n cannot be greater than {limit} for {name} type.")
    elif n > np.iinfo(kind).max:
        raise RuntimeError(f"value cannot be converted to type {kind.name} without overflow")
    if n >= _LONG_PERMUTATION:
        raise NotImplementedError(
            f"randperm of {n} elements: lengths from {_LONG_PERMUTATION} on are not supported\n"
            "  Draw with replacement instead (randint), or shuffle in parts."
        )


def bernoulli_scalar(
    generator: Generator, p: float, shape: Shape, dtype: npt.DTypeLike = np.float32
) -> Array:
    """Draw ones with probability ``p`` and zeros otherwise."""
    if not 0.0 <= p <= 1.0:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    if np.dtype(dtype) in _REAL_OF_COMPLEX:
        raise not_implemented("bernoulli_scalar_cpu_", np.dtype(dtype))
    return (generator.doubles(_length(shape)) < p).astype(dtype).reshape(shape)


def bernoulli_tensor(generator: Generator, p: Array, dtype: npt.DTypeLike | None = None) -> Array:
    """Draw ones with the probability that stands at each place of ``p``.

    Double probabilities are compared with 53 random bits, all others with 24.
    """
    kind = _floating(p.dtype, "bernoulli_tensor_cpu_p_")
    if not np.all((p >= 0) & (p <= 1)):
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
    draws: Array = generator.doubles(p.size) if kind == _DOUBLE else generator.singles(p.size)
    chances: Array = p.ravel().astype(draws.dtype, copy=False)
    return (draws < chances).astype(kind if dtype is None else dtype).reshape(p.shape)


def multinomial(
    generator: Generator, probs: Array, num_samples: int, replacement: bool = False
) -> npt.NDArray[np.int64]:
    """Draw ``num_samples`` categories from each row of weights.

    Without replacement, or for a single sample, the winners are the largest of
    ``probs / exponential``. Equal quotients come in index order, where PyTorch's order is that of
    its partial sort; outside half precision they arise only between categories of weight zero.
    """
    _check_multinomial(probs, num_samples, replacement)
    rows = probs.reshape(-1, probs.shape[-1])
    if replacement and num_samples > 1:
        chosen = _multinomial_with_replacement(generator, rows, num_samples)
    else:
        # Numbers come in the order of the weights in memory.
        if rows.strides[0] < rows.strides[1] and 1 not in rows.shape:
            noise = exponential(generator, rows.shape[::-1], rows.dtype).T
        else:
            noise = exponential(generator, rows.shape, rows.dtype)
        scores = (rows / noise).astype(rows.dtype)
        if num_samples == 1:
            chosen = np.argmax(scores, axis=-1, keepdims=True)
        else:
            chosen = np.argsort(-scores, axis=-1, kind="stable")[:, :num_samples]
    return np.ascontiguousarray(chosen.reshape(*probs.shape[:-1], num_samples), dtype=np.int64)


def _check_multinomial(probs: Array, num_samples: int, replacement: bool) -> None:
    if probs.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if probs.dtype not in MANTISSA_BITS:
        raise RuntimeError(
            "multinomial only supports floating-point dtypes for input, got: "
            + BY_NUMPY[probs.dtype].scalar_name
        )
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > probs.shape[-1]:
        raise RuntimeError(
            "cannot sample n_sample > prob_dist.size(-1) samples without replacement"
        )
    if probs.shape[-1] > 2**24:
        raise RuntimeError("number of categories cannot exceed 2^24")
    if probs.size and probs.dtype.itemsize > 2:
        totals = np.add.reduce(probs, -1)
        least, most = np.minimum.reduce(totals, None), np.maximum.reduce(totals, None)
        if np.minimum.reduce(probs, None) >= 0 and least > 0 and most < np.inf:
            return
    if not ((probs >= 0) & np.isfinite(probs)).all():
        if not replacement or num_samples == 1:
            raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
        which = "< 0" if not np.all(probs >= 0) else "= infinity or NaN"
        raise RuntimeError(
            f"invalid multinomial distribution (encountering probability entry {which})"
        )
    if not (probs > 0).any(axis=-1).all():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")


def _multinomial_with_replacement(
    generator: Generator, rows: Array, num_samples: int
) -> npt.NDArray[np.int64]:
    precision = rows.dtype if rows.dtype == _DOUBLE else np.dtype(np.float32)
    totals = np.cumsum(rows.astype(precision), axis=-1, dtype=precision)
    totals /= totals[:, -1:].copy()
    totals[:, -1] = 1
    draws = generator.doubles(rows.shape[0] * num_samples).reshape(-1, num_samples)
    found = [np.searchsorted(total, draw) for total, draw in zip(totals.astype(np.float64), draws)]
    return np.stack(found) if found else np.empty((0, num_samples), np.int64)
