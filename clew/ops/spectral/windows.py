"""Window functions of signal processing."""

from __future__ import annotations

import operator
from typing import Any, Unpack

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.public import public
from clew.core.tensor import Tensor
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
    kind = read_dtype(function, dtype) or dtypes.get_default_dtype()
    if not kind.is_floating_point:
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
    length = window_length + 1 if periodic else window_length
    values = shape_of(np.arange(length, dtype=np.float64), length - 1)
    return made(function, values[:window_length].astype(kind.np), options)


def _cosines(positions: np.ndarray, last: int, *weights: float) -> np.ndarray:
    """A sum of cosines with alternating signs."""
    angle = 2 * np.pi * positions / last
    return sum(
        (-1) ** order * weight * np.cos(order * angle) for order, weight in enumerate(weights)
    ) + np.zeros_like(positions)


@public(method=False, out=False)
def hann_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: Dtype = None,
    **options: Unpack[Options],
) -> Tensor:
    """A raised cosine that reaches zero."""
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
    """A raised cosine with adjustable weights."""
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
    """A sum of two cosines."""
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
    """A triangle."""
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
    """A Bessel function's bump, the narrower the larger `beta`."""
    return _window(
        "kaiser_window", window_length, periodic, dtype, options,
        lambda positions, last: np.i0(beta * np.sqrt(1 - (2 * positions / last - 1) ** 2))
        / np.i0(beta),
    )  # fmt: skip
