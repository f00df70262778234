"""Sobol sequences: direction numbers, points in Gray-code order, Owen's scrambling of digits.

The initial direction numbers are those of S. Joe and F. Y. Kuo, "Constructing Sobol sequences with
better two-dimensional projections", SIAM J. Sci. Comput. 30 (2008), their table
new-joe-kuo-6.21201 (copyright Frances Y. Kuo and Stephen Joe). They lie in `sobol_directions.npz`,
each without the bits that are always the same.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from clew.kernels.numpy.arrays import Array

MAXBIT = 30
# How many primitive polynomials there are of degree 1, 2, 3, ...: one for each dimension but the
# first, in this order.
POLYNOMIALS = (
    1, 1, 2, 2, 6, 6, 18, 16, 48, 60, 176, 144, 630, 756, 1800, 2048, 7710, 7776,
)  # fmt: skip
MAXDIM = 1 + sum(POLYNOMIALS)


def _packed_bits() -> Array:
    with np.load(Path(__file__).with_name("sobol_directions.npz")) as file:
        bits: Array = file["bits"]
    return bits


def bits_of(degree: int) -> int:
    """The bits of a dimension's entry: i - 1 of the i-th number, degree - 1 of the polynomial."""
    return degree * (degree - 1) // 2 + degree - 1


def directions(dimension: int) -> Array:
    """The direction numbers: int64 of shape (dimension, MAXBIT), each shifted to MAXBIT bits."""
    numbers = np.ones((dimension, MAXBIT), np.int64)
    packed, first, offset = _packed_bits(), 1, 0
    for degree, available in enumerate(POLYNOMIALS, 1):
        count = min(available, dimension - first)
        if count <= 0:
            break
        width = bits_of(degree)
        stop = offset + count * width
        bits = np.unpackbits(packed[offset // 8 : -(-stop // 8)])[offset % 8 :][: count * width]
        _fill(numbers[first : first + count], bits.reshape(count, width), degree)
        first, offset = first + count, offset + available * width
    return numbers << np.arange(MAXBIT - 1, -1, -1)


def _fill(numbers: Array, bits: Array, degree: int) -> None:
    """The numbers of dimensions whose polynomials have one degree: the first are stored."""
    place = 0
    for i in range(1, degree):
        numbers[:, i] = 2 * _read(bits[:, place : place + i]) + 1
        place += i
    taps = bits[:, place:].astype(np.int64)
    for i in range(degree, MAXBIT):
        value = numbers[:, i - degree] ^ (numbers[:, i - degree] << degree)
        for k in range(1, degree):
            value ^= taps[:, k - 1] * (numbers[:, i - k] << k)
        numbers[:, i] = value


def _read(bits: Array) -> Array:
    """Integers from their bits, the highest first."""
    return bits.astype(np.int64) @ (1 << np.arange(bits.shape[1] - 1, -1, -1))


def points(start: Array, state: Array, index: int, count: int) -> Array:
    """The integers of the `count` points that follow point number `index`, which is `start`."""
    following = np.arange(index + 1, index + count + 1)
    # From one point to the next, Gray codes differ in the bit where the new number has its lowest.
    changed = np.log2(following & -following).astype(np.int64)
    steps = state[:, changed].T
    return np.bitwise_xor.accumulate(np.concatenate([start[None], steps]))[1:]


def scrambled(state: Array, matrices: Array) -> Array:
    """The state after digits are mixed by lower triangular matrices of bits, one a dimension."""
    matrices = np.tril(matrices, -1) | np.eye(MAXBIT, dtype=matrices.dtype)
    # Row p of a matrix decides on bit p of the result, counted from the highest.
    digits = (state[:, None, :] >> np.arange(MAXBIT - 1, -1, -1)[:, None]) & 1
    mixed = (matrices @ digits) & 1
    return (mixed << np.arange(MAXBIT - 1, -1, -1)[:, None]).sum(1)
