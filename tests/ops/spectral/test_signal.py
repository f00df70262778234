"""Short-time Fourier transforms and windows, where op_db has no samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import clew
from tests import oracle

Call = Callable[[Any, Any], Any]
SIGNAL = np.random.default_rng(0).standard_normal((2, 100))
SPECTRUM = np.fft.rfft(np.random.default_rng(1).standard_normal((2, 26, 16))).swapaxes(1, 2)


def _both(call: Call, values: np.ndarray[Any, Any]) -> None:
    """The same result in both libraries, or the same kind of exception."""
    expected, refusal = oracle.outcome(call, torch, torch.tensor(values))
    actual, error = oracle.outcome(call, clew, clew.tensor(values))
    if refusal is not None:
        oracle.assert_same_error(error, refusal)
        return
    if error is not None:
        raise error
    oracle.assert_same(actual, expected)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "call",
    [
        lambda lib, x: lib.stft(x, 16),
        lambda lib, x: lib.stft(x, 16, return_complex=False),
        lambda lib, x: lib.stft(x, 16, onesided=False, normalized=True, return_complex=True),
        lambda lib, x: lib.stft(x, 16, win_length=11, hop_length=3, return_complex=True),
        lambda lib, x: lib.stft(x[0], 15, pad_mode="constant", return_complex=True),
        lambda lib, x: lib.stft(
            x, 16, center=False, align_to_window=True, win_length=10, return_complex=True
        ),
        lambda lib, x: lib.stft(
            x, 16, center=False, align_to_window=False, win_length=10, return_complex=True
        ),
        lambda lib, x: lib.stft(x + 0j, 16),
        lambda lib, x: lib.stft(x, 16, window=lib.ones(16) + 0j),
        lambda lib, x: x.stft(
            16, window=lib.hann_window(16, dtype=lib.float64), return_complex=True
        ),
    ],
)
def test_stft(call: Call) -> None:
    _both(call, SIGNAL)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "call",
    [
        lambda lib, x: lib.stft(x, 16, hop_length=0, return_complex=True),
        lambda lib, x: lib.stft(x, 160, center=False, return_complex=True),
        lambda lib, x: lib.stft(x, 16, win_length=20, return_complex=True),
        lambda lib, x: lib.stft(x, 16, window=lib.ones(7), return_complex=True),
        lambda lib, x: lib.stft(x[None], 16, return_complex=True),
        lambda lib, x: lib.stft(x.long(), 16, return_complex=True),
        lambda lib, x: lib.stft(x + 0j, 16, onesided=True),
        lambda lib, x: lib.stft(x, 16, align_to_window=True, return_complex=True),
    ],
)
def test_stft_refuses(call: Call) -> None:
    _both(call, SIGNAL)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "call",
    [
        lambda lib, x: lib.istft(x, 16),
        lambda lib, x: lib.istft(x, 17),
        lambda lib, x: lib.istft(x[0], 16, normalized=True, length=50),
        lambda lib, x: lib.istft(x, 16, length=200),
        lambda lib, x: lib.istft(x, 16, center=False, length=120),
        lambda lib, x: x.istft(16, window=lib.hamming_window(16, dtype=lib.float64)),
    ],
)
def test_istft(call: Call) -> None:
    _both(call, SPECTRUM)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "call",
    [
        lambda lib, x: lib.istft(x.real, 16),
        lambda lib, x: lib.istft(x, 20),
        lambda lib, x: lib.istft(x, 16, hop_length=0),
        lambda lib, x: lib.istft(x, 16, hop_length=20),
        lambda lib, x: lib.istft(x, 16, win_length=20),
        lambda lib, x: lib.istft(x, 16, window=lib.zeros(16)),
        lambda lib, x: lib.istft(x, 16, window=lib.ones(7)),
        lambda lib, x: lib.istft(x, 16, window=lib.ones(16) + 0j),
        lambda lib, x: lib.istft(x, 16, return_complex=True),
        lambda lib, x: lib.istft(x, 16, onesided=False),
        lambda lib, x: lib.istft(x[0, 0], 16),
        lambda lib, x: lib.istft(x[:, :, :0], 16),
    ],
)
def test_istft_refuses(call: Call) -> None:
    _both(call, SPECTRUM)


def test_istft_undoes_stft() -> None:
    x = clew.tensor(SIGNAL)
    window = clew.hann_window(16, dtype=clew.float64)
    spectrum = clew.stft(x, 16, window=window, return_complex=True)
    back = clew.istft(spectrum, 16, window=window, length=100)
    np.testing.assert_allclose(back.numpy(), SIGNAL, atol=1e-12)


def test_stft_without_a_window_warns() -> None:
    with pytest.warns(UserWarning, match="A window was not provided"):
        clew.stft(clew.tensor(SIGNAL), 16, return_complex=True)


WINDOWS = (
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "general_hamming",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
)


@pytest.mark.parametrize("sym", [True, False])
@pytest.mark.parametrize("name", WINDOWS)
def test_windows(name: str, sym: bool) -> None:
    for length in (0, 1, 2, 7, 8):
        for dtype in ("float32", "float64"):
            _both(
                lambda lib, _, n=length, d=dtype: getattr(lib.signal.windows, name)(
                    n, sym=sym, dtype=getattr(lib, d), requires_grad=True
                ),
                SIGNAL,
            )


@pytest.mark.parametrize(
    "call",
    [
        lambda lib, _: lib.signal.windows.hann(-1),
        lambda lib, _: lib.signal.windows.hann(5, dtype=lib.int64),
        lambda lib, _: lib.signal.windows.kaiser(5, dtype=lib.bfloat16),
        lambda lib, _: lib.signal.windows.gaussian(5, layout=lib.sparse_coo),
        lambda lib, _: lib.signal.windows.kaiser(5, beta=-1),
        lambda lib, _: lib.signal.windows.exponential(5, center=1.0),
        lambda lib, _: lib.signal.windows.exponential(5, tau=-1.0),
        lambda lib, _: lib.signal.windows.gaussian(5, std=-1.0),
        lambda lib, _: lib.signal.windows.general_cosine(5, a=[]),
        lambda lib, _: lib.signal.windows.general_cosine(5, a=3),
        lambda lib, _: lib.signal.windows.general_cosine(5),
    ],
)
def test_windows_refuse(call: Call) -> None:
    _both(call, SIGNAL)
    with pytest.raises((ValueError, TypeError)):
        call(clew, None)
