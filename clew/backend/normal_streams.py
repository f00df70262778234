"""Normal numbers from uniform ones, in the arithmetic PyTorch uses for each size and dtype.

PyTorch has two algorithms. Contiguous outputs of 16 elements or more are made in blocks of 16
(eight radii, eight angles); all others come one pair at a time in double precision, and the second
number of a pair waits in the generator for the next call.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from .mt19937 import Generator, engine

Float32Array = npt.NDArray[np.float32]
Float64Array = npt.NDArray[np.float64]

BLOCK = 16
_HALF = BLOCK // 2


def single(value: float) -> float:
    """Return ``value`` rounded to single precision, as a Python float."""
    return float(np.float32(value))


def libm(name: str, values: Float64Array) -> Float64Array:
    """Apply a function of the C library; NumPy's own may differ from it in the last bit."""
    return engine().libm(name, values)


def scale_and_shift(values: Float64Array, scale: float, shift: float) -> Float64Array:
    """Return ``values * scale + shift`` rounded once, as a fused multiply-add does."""
    product = values * scale
    if shift == 0.0:
        return product
    if math.isinf(shift):
        return product + shift
    # Dekker's product and Knuth's sum recover what the two roundings lost.
    high, low = _split(values)
    scale_high, scale_low = _split(np.asarray(scale, np.float64))
    product_error = (
        ((high * scale_high - product) + high * scale_low) + low * scale_high
    ) + low * scale_low
    total = product + shift
    part = total - product
    total_error = (product - (total - part)) + (shift - part)
    return total + (total_error + product_error)


def _split(values: Float64Array) -> tuple[Float64Array, Float64Array]:
    shifted = values * 134217729.0
    high = shifted - (shifted - values)
    return high, values - high


def normal_pairs(generator: Generator, n: int, exact: bool) -> Float64Array:
    """Draw ``n`` standard normals one pair at a time, starting with a number left waiting.

    ``exact`` asks for the C library's last bit; results to be rounded to a smaller dtype lose it.
    """
    if n < BLOCK:
        return few_normals(generator, n)
    out = np.empty(n, np.float64)
    with generator.lock:
        start = 0
        if generator.next_normal is not None:
            out[0], generator.next_normal = generator.next_normal, None
            start = 1
        fresh = n - start
        uniforms = generator.doubles(2 * ((fresh + 1) // 2))
        pairs = engine().normal_pairs(uniforms) if exact else _fast_pairs(uniforms)
        out[start:] = pairs[:fresh]
        if fresh % 2:
            # The second normal of the pair is stored in full precision.
            generator.next_normal = float(engine().normal_pairs(uniforms[-2:])[1])
    return out


def few_normals(generator: Generator, n: int) -> Float64Array:
    """The same for less than a block of them, to the C library's last bit."""
    with generator.lock:
        waiting = generator.next_normal if n else None
        start = 0 if waiting is None else 1
        fresh = n - start
        drawn = generator.gaussians(fresh + fresh % 2)
        if not start and not fresh % 2:
            return drawn
        out = np.empty(n, np.float64)
        if start:
            out[0] = waiting
        out[start:] = drawn[:fresh]
        generator.next_normal = float(drawn[-1]) if fresh % 2 else None
    return out


def _fast_pairs(uniforms: Float64Array) -> Float64Array:
    radius = np.sqrt(-2.0 * np.log1p(-uniforms[1::2]))
    theta = 2.0 * math.pi * uniforms[::2]
    normals = np.empty_like(uniforms)
    normals[::2] = radius * np.cos(theta)
    normals[1::2] = radius * np.sin(theta)
    return normals


def normal_blocks_float64(generator: Generator, n: int, mean: float, std: float) -> Float64Array:
    """Draw ``n >= 16`` normals in double precision, in blocks of 16."""
    whole = n - n % BLOCK
    tail = BLOCK if n != whole else 0
    uniforms = generator.doubles(n + tail)
    uniforms[whole : whole + tail] = uniforms[n:]
    out = _box_muller_float64(uniforms[: whole + tail], mean, std)
    if tail:
        out[n - BLOCK : n] = out[whole:].copy()
        return out[:n].copy()
    return out


def _box_muller_float64(uniforms: Float64Array, mean: float, std: float) -> Float64Array:
    rows = uniforms.reshape(-1, BLOCK)
    radius = np.sqrt(-2.0 * libm("log", 1.0 - rows[:, :_HALF]))
    theta = 2.0 * math.pi * rows[:, _HALF:]
    normals = np.concatenate([radius * np.cos(theta), radius * np.sin(theta)], axis=1)
    return scale_and_shift(normals, std, mean).ravel()


def normal_blocks_float32(
    generator: Generator, n: int, mean: float, std: float, buffered: bool = False
) -> Float32Array:
    """Draw ``n >= 16`` normals in single precision, in blocks of 16.

    A last block that is not full is drawn again as 16 new numbers over the last 16 places.
    ``buffered`` is the way of the half dtypes: the numbers of that last block are drawn only once.
    """
    whole = n - n % BLOCK
    tail = BLOCK if n != whole else 0
    drawn = whole if buffered else n
    words = generator.random32(drawn + tail)
    words[whole : whole + tail] = words[drawn:]
    word_rows = words[: whole + tail].reshape(-1, BLOCK)
    out = np.empty(n, np.float32)
    rows = out[:whole].reshape(-1, BLOCK)
    engine().normals(word_rows[: len(rows)], single(mean), single(std), rows)
    if tail:
        engine().normals(
            word_rows[-1:], single(mean), single(std), out[n - BLOCK :].reshape(1, BLOCK)
        )
    return out
