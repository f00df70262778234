"""Window functions of signal processing."""

from __future__ import annotations

import operator
from typing import Any, Unpack

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.public import public
from clew.core.tensor import Tensor
from clew.kernels.compiled.threaded_ufuncs import threaded
from clew.ops.define.options import Options, made, read_dtype

Dtype = dtypes.dtype | None


def _window(
    function: str,
    window_length: int,
    periodic: bool,
    dtype: Any,
    options: Options,
    shape_of: Any,
) -> Tensor:
    """A window from a function of the positions 0..n-1 and n; periodic ones drop the last point."""
    if window_length is True or window_length is False:
        raise errors.wrong_argument(function, "window_length", 1, "int", window_length)
    kind = read_dtype(function, dtype) or dtypes.get_default_dtype()
    if kind.category < dtypes.FLOAT:
        raise RuntimeError(
            f"{function} expects floating point dtypes, got: {kind!r}" + errors.at_user_line()
        )
    window_length = operator.index(window_length)
    if window_length < 0:
        raise RuntimeError(
            f"{function} requires non-negative window_length, got window_length={window_length}"
            + errors.at_user_line()
        )
    if window_length < 2:
        return made(function, np.ones(window_length, kind.np), options)
    if kind.is_complex:
        raise errors.no_kernel("arange_cpu", kind)
    length = window_length + 1 if periodic else window_length
    values = shape_of(np.arange(length, dtype=np.float64), length - 1)
    return made(function, values[:window_length].astype(kind.np), options)


def _cosines(positions: np.ndarray, last: int, *weights: float) -> np.ndarray:
    """A sum of cosines with alternating signs."""
    angle = positions * (2 * np.pi / last)
    total = np.full_like(positions, weights[0])
    for order, weight in enumerate(weights[1:], 1):
        total += threaded(np.cos, order * angle if order > 1 else angle) * ((-1) ** order * weight)
    return total


@public(method=False, out=False)
def hann_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: Dtype = None,
    **options: Unpack[Options],
) -> Tensor:
    """A Hann window: a raised cosine that reaches zero.

    Args:
        window_length: how many points
        periodic: drop the last point of a window that is longer by one, so that it repeats
            without a seam; False for a symmetric window
        dtype: floating point; the default dtype unless given
        options: `layout`, `device`, `requires_grad`, as for `zeros`

    Example:
        >>> clew.hann_window(4)
        tensor([0.0000, 0.5000, 1.0000, 0.5000])
        >>> clew.hann_window(5, periodic=False)
        tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    return _window(
        "hann_window", window_length, periodic, dtype, options,
        lambda positions, last: _cosines(positions, last, 0.5, 0.5),
    )  # fmt: skip


@public(method=False, out=False)
def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: Dtype = None,
    **options: Unpack[Options],
) -> Tensor:
    """A Hamming window: a raised cosine, `alpha - beta * cos(2 * pi * n / (N - 1))`.

    Args:
        window_length: how many points
        periodic: drop the last point of a window that is longer by one, so that it repeats
            without a seam; False for a symmetric window
        alpha: the constant part
        beta: the weight of the cosine
        dtype: floating point; the default dtype unless given
        options: `layout`, `device`, `requires_grad`, as for `zeros`

    Example:
        >>> clew.hamming_window(4)
        tensor([0.0800, 0.5400, 1.0000, 0.5400])
    """
    return _window(
        "hamming_window", window_length, periodic, dtype, options,
        lambda positions, last: _cosines(positions, last, alpha, beta),
    )  # fmt: skip


@public(method=False, out=False)
def blackman_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: Dtype = None,
    **options: Unpack[Options],
) -> Tensor:
    """A Blackman window: a constant less one cosine, plus one of twice its frequency.

    Args:
        window_length: how many points
        periodic: drop the last point of a window that is longer by one, so that it repeats
            without a seam; False for a symmetric window
        dtype: floating point; the default dtype unless given
        options: `layout`, `device`, `requires_grad`, as for `zeros`

    Example:
        >>> clew.blackman_window(5, periodic=False)[1:4]
        tensor([0.3400, 1.0000, 0.3400])
    """
    return _window(
        "blackman_window", window_length, periodic, dtype, options,
        lambda positions, last: _cosines(positions, last, 0.42, 0.5, 0.08),
    )  # fmt: skip


@public(method=False, out=False)
def bartlett_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: Dtype = None,
    **options: Unpack[Options],
) -> Tensor:
    """A Bartlett window: a triangle that reaches zero.

    Args:
        window_length: how many points
        periodic: drop the last point of a window that is longer by one, so that it repeats
            without a seam; False for a symmetric window
        dtype: floating point; the default dtype unless given
        options: `layout`, `device`, `requires_grad`, as for `zeros`

    Example:
        >>> clew.bartlett_window(4)
        tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return _window(
        "bartlett_window", window_length, periodic, dtype, options,
        lambda positions, last: 1 - np.abs(2 * positions / last - 1),
    )  # fmt: skip


@public(method=False, out=False)
def kaiser_window(
    window_length: int,
    periodic: bool = True,
    beta: float = 12.0,
    *,
    dtype: Dtype = None,
    **options: Unpack[Options],
) -> Tensor:
    """A Kaiser window: a Bessel function's bump, the narrower the larger `beta`.

    Args:
        window_length: how many points
        periodic: drop the last point of a window that is longer by one, so that it repeats
            without a seam; False for a symmetric window
        beta: the shape; 0 gives ones
        dtype: floating point; the default dtype unless given
        options: `layout`, `device`, `requires_grad`, as for `zeros`

    Example:
        >>> clew.kaiser_window(5, periodic=False, beta=2.)
        tensor([0.4387, 0.8348, 1.0000, 0.8348, 0.4387])
    """
    return _window(
        "kaiser_window", window_length, periodic, dtype, options,
        lambda positions, last: np.i0(beta * np.sqrt(1 - (2 * positions / last - 1) ** 2))
        / np.i0(beta),
    )  # fmt: skip
