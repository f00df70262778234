"""The three operations that transforms are made of, with a scale each: complex to complex, real to
complex, complex to real.

A transform's gradient is the transform in the other direction with the same scale.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from clew.core.op import Op
from clew.core.tensor import Tensor, wrap
from clew.ops.nn.padding import constant_pad_nd

Array = np.ndarray
Dims = tuple[int, ...]


def _scaled(values: Array, scale: float) -> Array:
    return values if scale == 1 else values * scale


def _outermost_first(self: Array, dims: Iterable[int]) -> list[int]:
    return sorted(dims, key=lambda dim: -self.strides[dim])


def _rows_last(self: Array, dims: list[int]) -> list[int]:
    """All dimensions in the order in which the result lies in memory: the transformed ones last."""
    return [*_outermost_first(self, set(range(self.ndim)).difference(dims)), *dims]


def _in_order(transform: Callable[..., Array], self: Array, dims: Dims, order: list[int]) -> Array:
    """A transform along `dims` whose result lies in memory as PyTorch's library leaves it."""
    if order == sorted(order):
        return np.ascontiguousarray(transform(self, dims))
    result = transform(self.transpose(order), tuple(order.index(dim) for dim in dims))
    return np.ascontiguousarray(result).transpose(np.argsort(order))


def _c2c(self: Array, *, dims: Dims, scale: float, forward: bool) -> Array:
    def transform(values: Array, axes: Dims) -> Array:
        # NumPy's "backward" leaves the forward transform unscaled, "forward" the inverse one.
        if forward:
            return _scaled(np.fft.fftn(values, axes=axes, norm="backward"), scale)
        return _scaled(np.fft.ifftn(values, axes=axes, norm="forward"), scale)

    return _in_order(transform, self, dims, _rows_last(self, _outermost_first(self, dims)))


def _r2c(self: Array, *, dims: Dims, scale: float, onesided: bool) -> Array:
    numpy_transform = np.fft.rfftn if onesided else np.fft.fftn

    def transform(values: Array, axes: Dims) -> Array:
        return _scaled(numpy_transform(values, axes=axes, norm="backward"), scale)

    rows = [*_outermost_first(self, dims[:-1]), dims[-1]]
    return _in_order(transform, self, dims, _rows_last(self, rows))


def _c2r(self: Array, *, dims: Dims, scale: float, last_size: int) -> Array:
    if len(dims) > 1:
        self = _c2c(self, dims=dims[:-1], scale=1, forward=False)

    def transform(values: Array, axes: Dims) -> Array:
        return _scaled(np.fft.irfft(values, n=last_size, axis=axes[0], norm="forward"), scale)

    return _in_order(transform, self, dims[-1:], _rows_last(self, [dims[-1]]))


def _r2c_grad(g: Tensor, self_shape: Dims, dims: Dims, scale: float, onesided: bool) -> Tensor:
    if onesided:
        g = resized(g, dims[-1:], (self_shape[dims[-1]],))
    return FFT_C2C(g, dims=dims, scale=scale, forward=False).real


def _c2r_grad(g: Tensor, self_shape: Dims, dims: Dims, scale: float, last_size: int) -> Tensor:
    spectrum = FFT_R2C(g, dims=dims, scale=scale, onesided=True)
    last = dims[-1]
    # Every frequency between the first and the middle one stands for its mirror image as well.
    weights = np.ones(self_shape[last], g._array.dtype)
    weights[1 : 1 + last_size - self_shape[last]] = 2
    shape = [1] * len(self_shape)
    shape[last] = -1
    return spectrum * wrap(weights.reshape(shape))


FFT_C2C: Op = Op(
    "_fft_c2c", _c2c, linear=True, node="FftC2CBackward0",
    grads={
        "self": lambda g, dims, scale, forward: FFT_C2C(
            g, dims=dims, scale=scale, forward=not forward
        )
    },
)  # fmt: skip
FFT_R2C = Op("_fft_r2c", _r2c, linear=True, node="FftR2CBackward0", grads={"self": _r2c_grad})
FFT_C2R = Op("_fft_c2r", _c2r, linear=True, node="FftC2RBackward0", grads={"self": _c2r_grad})


def resized(input: Tensor, dims: Sequence[int], sizes: Sequence[int]) -> Tensor:
    """Cut off or filled with zeros at the end of each dimension."""
    ndim = input._array.ndim
    pad = [0] * (2 * ndim)
    for dim, size in zip(dims, sizes, strict=True):
        have = input._array.shape[dim]
        if size < have:
            input = input.narrow(dim, 0, size)
        elif size > have:
            pad[2 * (ndim - 1 - dim) + 1] = size - have
    return constant_pad_nd(input, pad) if any(pad) else input
