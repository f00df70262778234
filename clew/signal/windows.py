"""clew.signal.windows: window functions, symmetric unless told otherwise."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, Unpack

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.backend.layout import strided
from clew.core.arguments import explained
from clew.core.tensor import Tensor
from clew.ops.define.options import Options, made, read_dtype

__all__ = [
    "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine",
    "general_hamming", "hamming", "hann", "kaiser", "nuttall",
]  # fmt: skip

Dtype = dtypes.dtype | None
# A window as a function of the positions 0..M-1 and the last position of its full period.
Shape = Callable[[np.ndarray, int], np.ndarray]


def _window(name: str, M: int, sym: bool, dtype: Dtype, options: Options, shape: Shape) -> Tensor:
    """A window of M points; one that is not symmetric is a period, without its last point."""
    if M < 0:
        raise _refusal(f"{name} requires non-negative window length, got M={M}")
    layout = options.get("layout")
    if layout is not None and layout is not strided:
        raise _refusal(f"{name} is implemented for strided tensors only, got: {layout!r}")
    kind = read_dtype(name, dtype) or dtypes.get_default_dtype()
    if kind not in (dtypes.float32, dtypes.float64):
        raise _refusal(f"{name} expects float32 or float64 dtypes, got: {kind!r}")
    if M < 2:
        return made(name, np.ones(M, kind.np), options)
    values = shape(np.arange(M, dtype=np.float64), M - 1 if sym else M)
    return made(name, values.astype(kind.np), options)


def _refusal(text: str) -> ValueError:
    return ValueError(text + errors.at_user_line())


def bartlett(
    M: int, *, sym: bool = True, dtype: Dtype = None, **options: Unpack[Options]
) -> Tensor:
    """A Bartlett window: a triangle that reaches zero.

    Args:
        M: how many points
        sym: False for a periodic window: one point more, the last one dropped
        dtype: floating point; the default dtype unless given
        options: `layout`, `device`, `requires_grad`, as for `zeros`

    Example:
        >>> clew.signal.windows.bartlett(5)
        tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    return _window("bartlett", M, sym, dtype, options, lambda n, last: 1 - np.abs(2 * n / last - 1))


def cosine(M: int, *, sym: bool = True, dtype: Dtype = None, **options: Unpack[Options]) -> Tensor:
    """Half a period of a sine.

    Args:
        M: how many points
        sym: False for a periodic window: one point more, the last one dropped
        dtype: floating point; the default dtype unless given
        options: `layout`, `device`, `requires_grad`, as for `zeros`

    Example:
        >>> clew.signal.windows.cosine(3)
        tensor([0.5000, 1.0000, 0.5000])
    """
    return _window(
        "cosine", M, sym, dtype, options, lambda n, last: np.sin(math.pi * (n + 0.5) / (last + 1))
    )


@explained
def exponential(
    M: int,
    *,
    center: float | None = None,
    tau: float = 1.0,
    sym: bool = True,
    dtype: Dtype = None,
    **options: Unpack[Options],
) -> Tensor:
    """A decay to both sides of the centre, which may be moved where `sym` is false.

    Args:
        M: how many points
        center: where the peak is; by default in the middle
        tau: how slow the decay is
        sym: False for a periodic window: one point more, the last one dropped
        dtype: floating point; the default dtype unless given
        options: `layout`, `device`, `requires_grad`, as for `zeros`

    Example:
        >>> clew.signal.windows.exponential(3)
        tensor([0.3679, 1.0000, 0.3679])
    """
    if tau <= 0:
        raise _refusal(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise _refusal("Center must be None for symmetric windows")

    def shape(n: np.ndarray, last: int) -> np.ndarray:
        return np.exp(-np.abs(n - (last / 2 if center is None else center)) / tau)

    return _window("exponential", M, sym, dtype, options, shape)


@explained
def gaussian(
    M: int,
    *,
    std: float = 1.0,
    sym: bool = True,
    dtype: Dtype = None,
    **options: Unpack[Options],
) -> Tensor:
    """A Gaussian bump of standard deviation `std`.

    Args:
        M: how many points
        std: in points; how wide it is
        sym: False for a periodic window: one point more, the last one dropped
        dtype: floating point; the default dtype unless given
        options: `layout`, `device`, `requires_grad`, as for `zeros`

    Example:
        >>> clew.signal.windows.gaussian(5)
        tensor([0.1353, 0.6065, 1.0000, 0.6065, 0.1353])
    """
    if std <= 0:
        raise _refusal(f"Standard deviation must be positive, got: {std} instead.")
    return _window(
        "gaussian", M, sym, dtype, options,
        lambda n, last: np.exp(-(((n - last / 2) / std) ** 2) / 2),
    )  # fmt: skip


def kaiser(
    M: int,
    *,
    beta: float = 12.0,
    sym: bool = True,
    dtype: Dtype = None,
    **options: Unpack[Options],
) -> Tensor:
    """A Kaiser window: a Bessel function's bump, the narrower the larger `beta`.

    Args:
        M: how many points
        beta: the shape; 0 gives ones
        sym: False for a periodic window: one point more, the last one dropped
        dtype: floating point; the default dtype unless given
        options: `layout`, `device`, `requires_grad`, as for `zeros`

    Example:
        >>> clew.signal.windows.kaiser(5, beta=2.)
        tensor([0.4387, 0.8348, 1.0000, 0.8348, 0.4387])
    """
    if beta < 0:
        raise _refusal(f"beta must be non-negative, got: {beta} instead.")

    def shape(n: np.ndarray, last: int) -> np.ndarray:
        return np.i0(beta * np.sqrt(1 - (2 * n / last - 1) ** 2)) / np.i0(beta)

    return _window("kaiser", M, sym, dtype, options, shape)


def general_cosine(
    M: int,
    *,
    a: Iterable[float],
    sym: bool = True,
    dtype: Dtype = None,
    **options: Unpack[Options],
) -> Tensor:
    """A sum of cosines with the weights `a`, of alternating signs.

    Args:
        M: how many points
        a: the weight of the constant, of one period of a cosine, of two, ...
        sym: False for a periodic window: one point more, the last one dropped
        dtype: floating point; the default dtype unless given
        options: `layout`, `device`, `requires_grad`, as for `zeros`

    Example:
        >>> clew.signal.windows.general_cosine(5, a=[0.5, 0.5])  # a Hann window
        tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    if not isinstance(a, Iterable):
        raise TypeError("Coefficients must be a list/tuple" + errors.at_user_line())
    weights = list(a)
    if not weights:
        raise _refusal("Coefficients cannot be empty")

    def shape(n: np.ndarray, last: int) -> np.ndarray:
        angle = 2 * math.pi * n / last
        terms = [(-1) ** k * weight * np.cos(k * angle) for k, weight in enumerate(weights)]
        total: np.ndarray = np.sum(terms, axis=0)
        return total

    return _window("general_cosine", M, sym, dtype, options, shape)


def general_hamming(M: int, *, alpha: float = 0.54, **options: Any) -> Tensor:
    """A raised cosine with the weights `alpha` and `1 - alpha`.

    Args:
        M: how many points
        alpha: the constant part
        options: `sym`, `dtype`, `layout`, `device`, `requires_grad`, as for `general_cosine`

    Example:
        >>> clew.signal.windows.general_hamming(5, alpha=0.6)
        tensor([0.2000, 0.6000, 1.0000, 0.6000, 0.2000])
    """
    return general_cosine(M, a=[alpha, 1.0 - alpha], **options)


def hamming(M: int, **options: Any) -> Tensor:
    """A Hamming window: a raised cosine that stays above zero.

    Args:
        M: how many points
        options: `sym`, `dtype`, `layout`, `device`, `requires_grad`, as for `general_cosine`

    Example:
        >>> clew.signal.windows.hamming(5)
        tensor([0.0800, 0.5400, 1.0000, 0.5400, 0.0800])
    """
    return general_hamming(M, **options)


def hann(M: int, **options: Any) -> Tensor:
    """A Hann window: a raised cosine that reaches zero.

    Args:
        M: how many points
        options: `sym`, `dtype`, `layout`, `device`, `requires_grad`, as for `general_cosine`

    Example:
        >>> clew.signal.windows.hann(5)
        tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
        >>> clew.signal.windows.hann(4, sym=False)
        tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return general_hamming(M, alpha=0.5, **options)


def blackman(M: int, **options: Any) -> Tensor:
    """A Blackman window: a constant less one cosine, plus one of twice its frequency.

    Args:
        M: how many points
        options: `sym`, `dtype`, `layout`, `device`, `requires_grad`, as for `general_cosine`

    Example:
        >>> clew.signal.windows.blackman(5)[1:4]
        tensor([0.3400, 1.0000, 0.3400])
    """
    return general_cosine(M, a=[0.42, 0.5, 0.08], **options)


def nuttall(M: int, **options: Any) -> Tensor:
    """A Nuttall window: a sum of three cosines, with very low side lobes.

    Args:
        M: how many points
        options: `sym`, `dtype`, `layout`, `device`, `requires_grad`, as for `general_cosine`

    Example:
        >>> clew.signal.windows.nuttall(5)
        tensor([3.6280e-04, 2.2698e-01, 1.0000e+00, 2.2698e-01, 3.6280e-04])
    """
    return general_cosine(M, a=[0.3635819, 0.4891775, 0.1365995, 0.0106411], **options)
