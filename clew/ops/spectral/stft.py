"""Short-time Fourier transforms: stft and istft."""

from __future__ import annotations

import warnings

from clew import errors
from clew.backend import dtypes
from clew.core.casting import FLOAT32, casts
from clew.core.public import public
from clew.core.tensor import Tensor, every_value
from clew.ops.create.constants import ones
from clew.ops.define.dims import wrap_dim
from clew.ops.nn.padding import pad
from clew.ops.pointwise.complex import view_as_real
from clew.ops.shape.strided import UNFOLD_BACKWARD
from clew.ops.spectral.fft import fft, ifft, irfft, rfft
from clew.source import user_stacklevel

_ONESIDED = "Cannot have onesided output if window or input is complex"
_SMALLEST_ENVELOPE = 1e-11


def _refuse(text: str) -> None:
    raise RuntimeError(text + errors.at_user_line())


def _full_window(
    name: str, window: Tensor | None, win_length: int, n_fft: int, dtype: dtypes.dtype
) -> Tensor:
    """The window, ones where none is given, with zeros on both sides up to `n_fft`."""
    if window is None:
        warnings.warn(
            "A window was not provided. A rectangular window will be applied, which is known to "
            "cause spectral leakage.", stacklevel=user_stacklevel(),
        )  # fmt: skip
        window = ones(win_length, dtype=dtype)
    elif window._array.shape != (win_length,):
        _refuse(
            f"{name}(...) : expected a 1D window tensor of size equal to win_length={win_length}, "
            f"but got window with size {errors.shape_list(window._array.shape)}"
        )
    missing = n_fft - win_length
    if not missing:
        return window
    return pad(window, (missing // 2, missing - missing // 2))


def _check_stft(
    input: Tensor, n_fft: int, hop_length: int, win_length: int, align_to_window: bool
) -> None:
    if input.dtype.category < dtypes.FLOAT:
        _refuse("stft(...) : expected a tensor of floating point or complex values")
    if input._array.ndim not in (1, 2):
        _refuse("stft(...) : expected a 1D or 2D tensor")
    length = input._array.shape[-1]
    if not 0 < (win_length if align_to_window else n_fft) <= length:
        _refuse(f"stft(...) : expected 0 < n_fft < {length}, but got n_fft={n_fft}")
    if hop_length <= 0:
        _refuse(f"stft(...) : expected hop_length > 0, but got hop_length={hop_length}")
    if not 0 < win_length <= n_fft:
        _refuse(f"stft(...) : expected 0 < win_length <= n_fft, but got win_length={win_length}")


@public(out=False)
@casts(FLOAT32)
def stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """The Fourier transforms of overlapping windows of a signal: (..., frequency, frame).

    Args:
        input: (time,) or (batch, time)
        n_fft: the length of each frame
        hop_length: how far the next frame begins after the last; `n_fft // 4` unless given
        win_length: the length of the window, padded to `n_fft` on both sides; `n_fft` unless given
        window: what each frame is multiplied with; by default ones, which warns
        center: pad `input` by `n_fft // 2` on both sides, so that frames are centred at their time
        pad_mode: how: "reflect", "constant", "replicate" or "circular"
        normalized: divide by sqrt(n_fft)
        onesided: return only n_fft // 2 + 1 frequencies; the default for real signals and windows
        return_complex: False for real and imaginary parts in a last dimension; must be given for
            real signals and windows
        align_to_window: with `center=False`, let the windows begin with the signal, not the frames

    Example:
        >>> signal, window = clew.arange(8.), clew.hann_window(4)
        >>> clew.stft(signal, 4, hop_length=2, window=window, return_complex=True).shape
        torch.Size([3, 5])
    """
    if center:
        if align_to_window is not None:
            _refuse("stft align_to_window should only be set when center = false")
        input = _padded(input, n_fft // 2, pad_mode)
    hop = n_fft // 4 if hop_length is None else hop_length
    width = n_fft if win_length is None else win_length
    aligned = bool(align_to_window)
    _check_stft(input, n_fft, hop, width, aligned)
    is_complex = input.dtype.is_complex or (window is not None and window.dtype.is_complex)
    if return_complex is None:
        if not is_complex:
            _refuse(
                "stft requires the return_complex parameter be given for real inputs, and "
                "will further require that return_complex=True in a future PyTorch release."
            )
        return_complex = True
    if onesided and is_complex:
        _refuse(_ONESIDED)
    full = _full_window("stft", window, width, n_fft, input.dtype)
    if aligned:
        before = (n_fft - width) // 2
        input = pad(input, (before, n_fft - width - before))
    frames = input.unfold(-1, n_fft, hop) * full
    norm = "ortho" if normalized else None
    is_half = not is_complex if onesided is None else onesided
    spectrum = rfft(frames, norm=norm) if is_half else fft(frames, norm=norm)
    result = spectrum.transpose(-2, -1)
    return result if return_complex else view_as_real(result)


def _padded(input: Tensor, size: int, mode: str) -> Tensor:
    """The last dimension extended on both sides; padding modes need two dimensions before it."""
    extra = 3 - input._array.ndim
    if extra < 0:
        return input
    shape = (1,) * extra + input._array.shape
    padded = pad(input.view(shape), (size, size), mode)
    return padded.view(padded._array.shape[extra:])


def _check_istft(
    input: Tensor, n_fft: int, hop_length: int, win_length: int, onesided: bool
) -> None:
    shape = input._array.shape
    if not input.dtype.is_complex:
        _refuse(
            "istft requires a complex-valued input tensor matching the output from stft with "
            "return_complex=True."
        )
    if not input._array.size:
        _refuse("istft(...) : input tensor cannot be empty.")
    if len(shape) not in (2, 3):
        _refuse(f"istft(...) : expected a tensor with 2 or 3 dimensions, but got {len(shape)}")
    expected = n_fft // 2 + 1 if onesided else n_fft
    if shape[-2] != expected:
        words = "n_fft / 2 + 1 when onesided=True" if onesided else "n_fft when onesided=False"
        _refuse(
            "istft(...) : expected the frequency dimension (3rd to the last) of the input tensor "
            f"to match {words}, but got {shape[-2]}"
        )
    if not 0 < hop_length <= win_length:
        _refuse("istft(...) : expected 0 < hop_length <= win_length")
    if not 0 < win_length <= n_fft:
        _refuse("istft(...) : expected 0 < win_length <= n_fft")


def _overlap_added(frames: Tensor, total: int, hop: int) -> Tensor:
    """The sum of all frames, each one in its place of a signal of length `total`."""
    *batch, _, n_fft = frames._array.shape
    result: Tensor = UNFOLD_BACKWARD(
        frames, input_sizes=(*batch, total), dimension=len(batch), size=n_fft, step=hop
    )
    return result


@public(out=False)
def istft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """The signal whose `stft` comes closest to the input.

    Args:
        input: complex, (frequency, frame) or (batch, frequency, frame)
        n_fft: the length of each frame
        hop_length: how far the next frame begins after the last; `n_fft // 4` unless given
        win_length: the length of the window; `n_fft` unless given
        window: the one that `stft` had; by default ones, which warns
        center: whether `stft` padded the signal
        normalized: whether it divided by sqrt(n_fft)
        onesided: whether `input` has n_fft // 2 + 1 frequencies; by default its size says so
        length: the length of the signal; by default what the frames cover
        return_complex: return a complex signal; needs all frequencies

    Example:
        >>> signal, window = clew.arange(8.), clew.hann_window(4)
        >>> frames = clew.stft(signal, 4, hop_length=2, window=window, return_complex=True)
        >>> clew.allclose(clew.istft(frames, 4, hop_length=2, window=window), signal, atol=1e-5)
        True
    """
    hop = n_fft // 4 if hop_length is None else hop_length
    width = n_fft if win_length is None else win_length
    dim = wrap_dim(-2, input._array.ndim)
    is_half = input._array.shape[dim] != n_fft if onesided is None else onesided
    _check_istft(input, n_fft, hop, width, is_half)
    if return_complex and is_half:
        _refuse(_ONESIDED)
    if not return_complex and window is not None and window.dtype.is_complex:
        _refuse("Complex windows are incompatible with return_complex=False")
    full = _full_window("istft", window, width, n_fft, input.dtype.to_real())
    norm = "ortho" if normalized else None
    spectrum = input.transpose(-2, -1)
    frames = _signals(spectrum, n_fft, is_half, return_complex, norm) * full
    count = spectrum._array.shape[-2]
    total = n_fft + hop * (count - 1)
    signal = _overlap_added(frames, total, hop)
    envelope = _overlap_added(full.square().expand(count, n_fft), total, hop)
    start = n_fft // 2 if center else 0
    end = total - start if length is None else start + length
    signal, envelope = signal[..., start:end], envelope[start:end]
    if envelope._array.size and abs(every_value(envelope)).min() <= _SMALLEST_ENVELOPE:
        _refuse("istft(...) window overlap add min: 1: the windows leave a gap, or are zero there")
    signal = signal / envelope
    return _lengthened(signal, end - total)


def _signals(
    spectrum: Tensor, n_fft: int, is_half: bool, as_complex: bool, norm: str | None
) -> Tensor:
    if as_complex:
        return ifft(spectrum, norm=norm)
    half = spectrum if is_half else spectrum.narrow(-1, 0, n_fft // 2 + 1)
    return irfft(half, n=n_fft, norm=norm)


def _lengthened(signal: Tensor, missing: int) -> Tensor:
    if missing <= 0:
        return signal
    warnings.warn(
        "The length of signal is shorter than the length parameter. Result is being padded with "
        "zeros in the tail. Please check your center and hop_length settings.",
        stacklevel=user_stacklevel(),
    )  # fmt: skip
    return pad(signal, (0, missing))
