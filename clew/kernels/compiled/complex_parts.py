"""Quotients, absolute values and directions of complex numbers, rounded as PyTorch's are.

NumPy's differ in the last bits: `abs` of complex64 rounds the squares, and a division does not fuse
its products with their sums.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clew.kernels.codegen.ir import F32, F64, where
from clew.kernels.codegen.ufunc import Elementwise, elementwise

Array = np.ndarray
_C64 = np.dtype(np.complex64)
# PyTorch's vectors of complex numbers, of which it takes two at a time, in bytes.
_VECTORS = 128


def _smith(a: Any, b: Any, c: Any, d: Any, is_last: bool) -> Any:
    """(a + ib) / (c + id) by Smith's method, which divides by the larger part first."""
    is_real, is_zero = c.abs() >= d.abs(), c.eq(0.0) & d.eq(0.0)
    large, small = where(is_real, c, d), where(is_real, d, c)
    ratio = small / large
    scale = 1.0 / small.fma(ratio, large)
    to_real, real = where(is_real, b, a), where(is_real, a, b)
    to_imag, imag = where(is_real, -a, b), where(is_real, b, -a)
    if is_last:
        real, imag = (real + to_real * ratio) * scale, (imag + to_imag * ratio) * scale
    else:
        real, imag = to_real.fma(ratio, real) * scale, to_imag.fma(ratio, imag) * scale
    return where(is_zero, a / c.abs(), real), where(is_zero, b / d.abs(), imag)


_quotient = elementwise("complex_quotient", 4, outputs=2, cost=8)(
    lambda a, b, c, d: _smith(a, b, c, d, False)
)
# PyTorch divides complex64 in pairs; of what is left, it fuses the denominator only.
_last_quotient = elementwise("last_complex_quotient", 4, outputs=2, cost=8)(
    lambda a, b, c, d: _smith(a, b, c, d, True)
)


def _length(x: Any, y: Any) -> Any:
    """sqrt(x² + y²), rounded once: an infinite part makes it infinite, whatever the other is."""
    infinite = x.abs().eq(np.inf) | y.abs().eq(np.inf)
    if x.dtype == F32:
        wide, other = x.convert(F64), y.convert(F64)
        return where(infinite, np.inf, (wide * wide + other * other).sqrt().convert(F32))
    large, small = x.abs().maximum(y.abs()), x.abs().minimum(y.abs())
    # Powers of two, so that nothing overflows and no digits are lost.
    factor = where(large < 2.0**-400, x.like(2.0**600), 1.0)
    factor = where(large > 2.0**500, 2.0**-600, factor)
    large, small = large * factor, small * factor
    length = large.fma(large, small * small).sqrt()
    # What the rounded root is off by (Borges, 2019).
    square, of_large = length * length, large * large
    excess = (-small).fma(small, square - of_large) + length.fma(length, -square)
    excess = excess - large.fma(large, -of_large)
    exact = where(length.eq(0.0), length, length - excess / (2.0 * length))
    return where(infinite, np.inf, exact / factor)


_lengths = elementwise("complex_abs", 2, cost=4, types=[([F32, F32], [F32]), ([F64, F64], [F64])])(
    _length
)


def _part(x: Any, length: Any, by_reciprocal: bool) -> Any:
    """A part of the direction: 0 at 0; an infinite number has no direction."""
    part = x * (1.0 / length) if by_reciprocal else x / length
    return where(length.eq(0.0), 0.0, where(length.eq(np.inf), np.nan, part))


def _direction_kernel(name: str, by_reciprocal: bool) -> Elementwise:
    @elementwise(name, 2, outputs=2, cost=6)
    def kernel(x: Any, y: Any) -> Any:
        length = _length(x, y)
        return _part(x, length, by_reciprocal), _part(y, length, by_reciprocal)

    return kernel


_direction = _direction_kernel("complex_direction", False)
# What is left of the vectors: PyTorch divides those numbers by the length as by a complex number.
_last_direction = _direction_kernel("last_complex_direction", True)


def quotients(self: Array | complex, other: Array | complex) -> Array:
    """`self / other` for arrays of complex64 or complex128; one of them may be a number."""
    dtype = self.dtype if isinstance(self, np.ndarray) else np.asarray(other).dtype
    self, other = np.asarray(self, dtype), np.asarray(other, dtype)
    shape = self.shape
    if shape != other.shape:
        shape = np.broadcast_shapes(shape, other.shape)
    out = np.empty(shape, dtype)
    if dtype is _C64 and out.size % 2:
        rows = [each.reshape(-1) for each in (self, other) if each.flags.c_contiguous]
        if len(rows) == 2:
            # Fewer elements than all are repeated, and of one number the last is the only one.
            last = [each[-1:] for each in rows]
            if out.size > 1:
                _run(_quotient, out, self, other)
            _run(_last_quotient, out.reshape(-1)[-1:], *last)
            return out
    _run(_quotient, out, self, other)
    return out


def directions(self: Array) -> Array:
    """`self / |self|` for complex64 or complex128."""
    out = np.empty_like(self)
    whole = self.size // (_VECTORS // self.itemsize) * (_VECTORS // self.itemsize)
    if not (self.flags.c_contiguous and out.flags.c_contiguous):
        # Rows with gaps are not read as vectors.
        whole = self.size if self.flags.f_contiguous and self.size == whole else 0
        _run(_direction if whole else _last_direction, out, self)
        return out
    flat, into = self.reshape(-1), out.reshape(-1)
    if whole:
        _run(_direction, into[:whole], flat[:whole])
    if whole < flat.size:
        _run(_last_direction, into[whole:], flat[whole:])
    return out


def _run(kernel: Elementwise, out: Array, *operands: Array) -> None:
    real = out.real
    parts = [part for each in operands for part in (each.real, each.imag)]
    kernel.specialize(real)(*parts, out=(real, out.imag))


def magnitudes(values: Array) -> Array:
    """The absolute values of real or complex numbers."""
    return lengths(values) if values.dtype.kind == "c" else np.absolute(values)


def lengths(self: Array) -> Array:
    """The absolute values of complex64 or complex128."""
    real = self.real
    return np.asarray(_lengths.specialize(real)(real, self.imag))
