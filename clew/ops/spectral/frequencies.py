"""Frequencies of a spectrum, and their order: fftfreq, rfftfreq, fftshift, ifftshift."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np

from clew import errors
from clew.core.arguments import typed
from clew.core.tensor import Tensor
from clew.ops.define.dims import wrap_dim
from clew.ops.define.options import Options, float_dtype, made, warn_of_length
from clew.ops.spectral.fft import Axes


def fftfreq(
    n: int,
    d: float = 1.0,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    **options: Unpack[Options],
) -> Tensor:
    """The frequency of each element of a transform of length `n`, for a sample spacing `d`.

    Args:
        n: the length of the signal
        d: the time between samples
        out: where to write the result
        dtype: floating point; the default dtype unless given
        options: `layout`, `device`, `requires_grad`, as for `zeros`

    Example:
        >>> import clew
        >>> clew.fft.fftfreq(4)
        tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    if n is True or n is False:
        raise errors.wrong_argument("fft_fftfreq", "n", 1, "int", n)
    kind = float_dtype("fft_fftfreq", dtype, out)
    warn_of_length(out, n)
    frequencies = np.concatenate([np.arange((n + 1) // 2), np.arange(-(n // 2), 0)])
    return made("fft_fftfreq", (frequencies * (1.0 / (n * d))).astype(kind.np), options, out)


def rfftfreq(
    n: int,
    d: float = 1.0,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    **options: Unpack[Options],
) -> Tensor:
    """The frequencies of the half spectrum that `rfft` gives.

    Args:
        n: the length of the signal
        d: the time between samples
        out: where to write the result
        dtype: floating point; the default dtype unless given
        options: `layout`, `device`, `requires_grad`, as for `zeros`

    Example:
        >>> import clew
        >>> clew.fft.rfftfreq(4, d=0.5)
        tensor([0.0000, 0.5000, 1.0000])
    """
    if n is True or n is False:
        raise errors.wrong_argument("fft_rfftfreq", "n", 1, "int", n)
    kind = float_dtype("fft_rfftfreq", dtype, out)
    frequencies = np.arange(n // 2 + 1) * (1.0 / (n * d))
    warn_of_length(out, frequencies.size)
    return made("fft_rfftfreq", frequencies.astype(kind.np), options, out)


def _shifted(input: Tensor, dim: Any, sign: int) -> Tensor:
    shape = input._array.shape
    if dim is None:
        dims = tuple(range(len(shape)))
    else:
        dims = tuple(wrap_dim(d, len(shape)) for d in ([dim] if isinstance(dim, int) else dim))
    # The way back moves by the rest, so that both cancel for odd lengths.
    shifts = tuple(shape[d] // 2 if sign > 0 else (shape[d] + 1) // 2 for d in dims)
    return input.roll(shifts, dims)


@typed
def fftshift(input: Tensor, dim: Axes = None) -> Tensor:
    """Move the zero frequency to the middle.

    Args:
        input: a spectrum
        dim: the dimension, or several; by default all

    Example:
        >>> import clew
        >>> clew.fft.fftshift(clew.fft.fftfreq(4))
        tensor([-0.5000, -0.2500,  0.0000,  0.2500])
    """
    return _shifted(input, dim, 1)


@typed
def ifftshift(input: Tensor, dim: Axes = None) -> Tensor:
    """The inverse of `fftshift`: move the zero frequency to the front.

    Args:
        input: a spectrum
        dim: the dimension, or several; by default all

    Example:
        >>> import clew
        >>> clew.fft.ifftshift(clew.tensor([-2, -1, 0, 1, 2]))
        tensor([ 0,  1,  2, -2, -1])
    """
    return _shifted(input, dim, -1)
