"""The functions of `clew.fft`: discrete Fourier transforms along one dimension or several."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from clew import errors
from clew.backend import dtypes
from clew.core.arguments import typed
from clew.core.state import local
from clew.core.tensor import Tensor
from clew.ops.define.dims import refuse_flag, wrap_dim
from clew.ops.spectral.transforms import FFT_C2C, FFT_C2R, FFT_R2C, Dims, resized

# Lengths or dimensions, as they may be given.
Axes = int | Sequence[int] | None

# -- reading arguments -------------------------------------------------------------------------


def _scale(norm: str | None, forward: bool, size: int) -> float:
    """The factor that a normalization mode asks for in one direction."""
    if norm is None or norm == "backward":
        return 1.0 if forward else 1.0 / size
    if norm == "forward":
        return 1.0 / size if forward else 1.0
    if norm == "ortho":
        return 1.0 / math.sqrt(size)
    raise RuntimeError(f'Invalid normalization mode: "{norm}"' + errors.at_user_line())


def _promoted(input: Tensor, to_complex: bool) -> Tensor:
    """The input in a dtype that can be transformed: integers become the default float."""
    dtype = input.dtype
    if dtype in (dtypes.float16, dtypes.bfloat16, dtypes.complex32):
        if local.state.autocast is not None and not dtype.is_complex:
            return _promoted(input.float(), to_complex)
        raise RuntimeError(f"Unsupported dtype {dtype.scalar_name}" + errors.at_user_line())
    wanted = dtypes.get_default_dtype() if dtype.category < dtypes.FLOAT else dtype
    if to_complex:
        wanted = dtypes.complex_of(wanted)
    return input if wanted is dtype else input.to(wanted)


def _require_real(name: str, input: Tensor, words: str = "a real input tensor") -> None:
    if input.dtype.is_complex:
        raise RuntimeError(
            f"{name} expects {words}, but got {input.dtype.scalar_name}" + errors.at_user_line()
        )


def _check_size(size: int) -> int:
    if size < 1:
        raise RuntimeError(
            f"Invalid number of data points ({size}) specified" + errors.at_user_line()
        )
    return size


def _one_dim(input: Tensor, dim: int) -> int:
    if not input._array.ndim:
        raise IndexError(
            f"Dimension specified as {dim} but tensor has no dimensions" + errors.at_user_line()
        )
    return wrap_dim(dim, input._array.ndim)


def _dims_and_sizes(input: Tensor, s: Any, dim: Any) -> tuple[Dims, list[int]]:
    """The dimensions to transform and the size wanted for each; -1 keeps a size."""
    shape = input._array.shape
    ndim = len(shape)
    given = None if s is None else [s] if isinstance(s, int) else list(s)
    if dim is not None:
        if not ndim and not (isinstance(dim, (list, tuple)) and not dim):
            first = dim if isinstance(dim, int) else dim[0]
            raise errors.no_dimensions(first)
        dims = tuple(wrap_dim(d, ndim) for d in ([dim] if isinstance(dim, int) else dim))
        if len(set(dims)) != len(dims):
            raise RuntimeError("FFT dims must be unique" + errors.at_user_line())
        if given is not None and len(given) != len(dims):
            raise RuntimeError(
                "When given, dim and shape arguments must have the same length"
                + errors.at_user_line()
            )
    elif given is None:
        dims = tuple(range(ndim))
    else:
        if len(given) > ndim:
            raise RuntimeError(
                f"Got shape with {len(given)} values but input tensor only has {ndim} dimensions."
                + errors.at_user_line()
            )
        dims = tuple(range(ndim - len(given), ndim))
    sizes = [shape[d] for d in dims]
    if given is not None:
        sizes = [have if n == -1 else n for n, have in zip(given, sizes, strict=True)]
    return dims, sizes


# -- one dimension -----------------------------------------------------------------------------


def _complex_transform(
    input: Tensor, n: int | None, dim: int, norm: str | None, forward: bool
) -> Tensor:
    dim = _one_dim(input, dim)
    input = _promoted(input, to_complex=False)
    refuse_flag("n", n)
    size = _check_size(input._array.shape[dim] if n is None else n)
    input = resized(input, (dim,), (size,))
    scale = _scale(norm, forward, size)
    if input.dtype.is_complex:
        return FFT_C2C(input, dims=(dim,), scale=scale, forward=forward)
    result: Tensor = FFT_R2C(input, dims=(dim,), scale=scale, onesided=False)
    return result if forward else result.conj()


def fft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The discrete Fourier transform along a dimension.

    Args:
        input: real or complex
        n: the length to cut or pad `input` to first, with zeros at the end; by default its own
        dim: the dimension to transform
        norm: what to divide by: "backward" (the default): nothing; "forward": n; "ortho": sqrt(n)

    Example:
        >>> import clew
        >>> clew.fft.fft(clew.tensor([1., 2., 3., 4.]))
        tensor([10.+0.j, -2.+2.j, -2.+0.j, -2.-2.j])
    """
    return _complex_transform(input, n, dim, norm, forward=True)


def ifft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `fft`.

    Args:
        input: real or complex
        n: the length to cut or pad `input` to first, with zeros at the end; by default its own
        dim: the dimension to transform
        norm: what to divide by: "backward" (the default): n; "forward": nothing; "ortho": sqrt(n)

    Example:
        >>> import clew
        >>> clew.fft.ifft(clew.fft.fft(clew.tensor([1., 2., 3., 4.])))
        tensor([1.+0.j, 2.+0.j, 3.+0.j, 4.+0.j])
    """
    return _complex_transform(input, n, dim, norm, forward=False)


def _half_spectrum(
    name: str, input: Tensor, n: int | None, dim: int, norm: str | None, forward: bool
) -> Tensor:
    _require_real(name, input)
    dim = _one_dim(input, dim)
    input = _promoted(input, to_complex=False)
    refuse_flag("n", n)
    size = _check_size(input._array.shape[dim] if n is None else n)
    input = resized(input, (dim,), (size,))
    return FFT_R2C(input, dims=(dim,), scale=_scale(norm, forward, size), onesided=True)


def rfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The first half of the transform of real values; the rest is its mirror image.

    Args:
        input: real; the result has n // 2 + 1 elements
        n: the length to cut or pad `input` to first, with zeros at the end; by default its own
        dim: the dimension to transform
        norm: what to divide by: "backward" (the default): nothing; "forward": n; "ortho": sqrt(n)

    Example:
        >>> import clew
        >>> clew.fft.rfft(clew.tensor([1., 2., 3., 4.]))
        tensor([10.+0.j, -2.+2.j, -2.+0.j])
    """
    return _half_spectrum("rfft", input, n, dim, norm, forward=True)


def ihfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `hfft`.

    Args:
        input: real; the result has n // 2 + 1 elements
        n: the length to cut or pad `input` to first, with zeros at the end; by default its own
        dim: the dimension to transform
        norm: what to divide by: "backward" (the default): n; "forward": nothing; "ortho": sqrt(n)

    Example:
        >>> import clew
        >>> clew.fft.ihfft(clew.tensor([10., -2., -2., -2.]))
        tensor([1.-0.j, 3.-0.j, 3.-0.j])
    """
    return _half_spectrum("ihfft", input, n, dim, norm, forward=False).conj()


def _from_half(input: Tensor, n: int | None, dim: int, norm: str | None, forward: bool) -> Tensor:
    dim = _one_dim(input, dim)
    input = _promoted(input, to_complex=True)
    size = _check_size(2 * (input._array.shape[dim] - 1) if n is None else n)
    input = resized(input, (dim,), (size // 2 + 1,))
    input = input.conj() if forward else input
    return FFT_C2R(input, dims=(dim,), scale=_scale(norm, forward, size), last_size=size)


def irfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `rfft`: real values of length `n`, an even number unless given.

    Args:
        input: the first half of a spectrum
        n: the length of the result; 2 * (size - 1) unless given, so say it where it is odd
        dim: the dimension to transform
        norm: what to divide by: "backward" (the default): n; "forward": nothing; "ortho": sqrt(n)

    Example:
        >>> import clew
        >>> half = clew.fft.rfft(clew.tensor([1., 2., 3.]))
        >>> clew.fft.irfft(half, n=3)
        tensor([1., 2., 3.])
    """
    return _from_half(input, n, dim, norm, forward=False)


def hfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The real transform of a conjugate-symmetric signal.

    Args:
        input: the first half of the signal
        n: the length of the result; 2 * (size - 1) unless given, so say it where it is odd
        dim: the dimension to transform
        norm: what to divide by: "backward" (the default): nothing; "forward": n; "ortho": sqrt(n)

    Example:
        >>> import clew
        >>> clew.fft.hfft(clew.tensor([1., 2., 3.]))
        tensor([ 8., -2.,  0., -2.])
    """
    return _from_half(input, n, dim, norm, forward=True)


# -- several dimensions ------------------------------------------------------------------------


def _complex_transforms(input: Tensor, s: Any, dim: Any, norm: str | None, forward: bool) -> Tensor:
    dims, sizes = _dims_and_sizes(input, s, dim)
    for size in sizes:
        _check_size(size)
    input = resized(_promoted(input, to_complex=True), dims, sizes)
    if not dims:
        return input.clone()
    scale = _scale(norm, forward, math.prod(sizes))
    return FFT_C2C(input, dims=dims, scale=scale, forward=forward)


@typed
def fftn(input: Tensor, s: Axes = None, dim: Axes = None, norm: str | None = None) -> Tensor:
    """The Fourier transform over several dimensions.

    Args:
        input: real or complex
        s: the sizes to cut or pad to first, one for each of `dim`; -1 keeps a size
        dim: the dimensions to transform; by default all, or the last `len(s)`
        norm: what to divide by: "backward" (the default): nothing; "forward": n; "ortho": sqrt(n)

    Example:
        >>> import clew
        >>> clew.fft.fftn(clew.ones(2, 2))
        tensor([[4.+0.j, 0.+0.j],
                [0.+0.j, 0.+0.j]])
    """
    return _complex_transforms(input, s, dim, norm, forward=True)


@typed
def ifftn(input: Tensor, s: Axes = None, dim: Axes = None, norm: str | None = None) -> Tensor:
    """The inverse of `fftn`.

    Args:
        input: real or complex
        s: the sizes to cut or pad to first, one for each of `dim`; -1 keeps a size
        dim: the dimensions to transform; by default all, or the last `len(s)`
        norm: what to divide by: "backward" (the default): n; "forward": nothing; "ortho": sqrt(n)

    Example:
        >>> import clew
        >>> clew.fft.ifftn(clew.fft.fftn(clew.ones(2, 2)))
        tensor([[1.+0.j, 1.+0.j],
                [1.+0.j, 1.+0.j]])
    """
    return _complex_transforms(input, s, dim, norm, forward=False)


def _require_axis(name: str, dims: Dims) -> None:
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis" + errors.at_user_line())


@typed
def rfftn(input: Tensor, s: Axes = None, dim: Axes = None, norm: str | None = None) -> Tensor:
    """The transform of real values over several dimensions; the last keeps its first half.

    Args:
        input: real
        s: the sizes to cut or pad to first, one for each of `dim`; -1 keeps a size
        dim: the dimensions to transform; by default all, or the last `len(s)`
        norm: what to divide by: "backward" (the default): nothing; "forward": n; "ortho": sqrt(n)

    Example:
        >>> import clew
        >>> clew.fft.rfftn(clew.ones(4, 6)).shape
        torch.Size([4, 4])
    """
    _require_real("rfftn", input, "a real-valued input tensor")
    dims, sizes = _dims_and_sizes(input, s, dim)
    _require_axis("rfftn", dims)
    for size in sizes:
        _check_size(size)
    input = resized(_promoted(input, to_complex=False), dims, sizes)
    scale = _scale(norm, True, math.prod(sizes))
    return FFT_R2C(input, dims=dims, scale=scale, onesided=True)


def _last_size(input: Tensor, dims: Dims, sizes: list[int], s: Any) -> list[int]:
    """The sizes of a real result: the last one follows from the half spectrum unless given."""
    given = None if s is None else ([s] if isinstance(s, int) else list(s))
    if given is None or given[-1] == -1:
        sizes = [*sizes[:-1], 2 * (input._array.shape[dims[-1]] - 1)]
    for size in sizes:
        _check_size(size)
    return sizes


@typed
def irfftn(input: Tensor, s: Axes = None, dim: Axes = None, norm: str | None = None) -> Tensor:
    """The inverse of `rfftn`.

    Args:
        input: half a spectrum in the last dimension
        s: the sizes of the result, one for each of `dim`; the last one is even unless given
        dim: the dimensions to transform; by default all, or the last `len(s)`
        norm: what to divide by: "backward" (the default): n; "forward": nothing; "ortho": sqrt(n)

    Example:
        >>> import clew
        >>> half = clew.fft.rfftn(clew.ones(2, 3))
        >>> clew.fft.irfftn(half, s=(2, 3))
        tensor([[1., 1., 1.],
                [1., 1., 1.]])
    """
    dims, sizes = _dims_and_sizes(input, s, dim)
    _require_axis("irfftn", dims)
    sizes = _last_size(input, dims, sizes, s)
    halved = [*sizes[:-1], sizes[-1] // 2 + 1]
    input = resized(_promoted(input, to_complex=True), dims, halved)
    scale = _scale(norm, False, math.prod(sizes))
    return FFT_C2R(input, dims=dims, scale=scale, last_size=sizes[-1])


@typed
def hfftn(input: Tensor, s: Axes = None, dim: Axes = None, norm: str | None = None) -> Tensor:
    """The real transform of a signal that is conjugate-symmetric in its last dimension.

    Args:
        input: half a signal in the last dimension
        s: the sizes of the result, one for each of `dim`; the last one is even unless given
        dim: the dimensions to transform; by default all, or the last `len(s)`
        norm: what to divide by: "backward" (the default): nothing; "forward": n; "ortho": sqrt(n)

    Example:
        >>> import clew
        >>> clew.fft.hfftn(clew.ones(2, 2), s=(2, 2))
        tensor([[4., 0.],
                [0., 0.]])
    """
    dims, sizes = _dims_and_sizes(input, s, dim)
    _require_axis("hfftn", dims)
    sizes = _last_size(input, dims, sizes, s)
    halved = [*sizes[:-1], sizes[-1] // 2 + 1]
    input = resized(_promoted(input, to_complex=True), dims, halved)
    if len(dims) > 1:
        scale = _scale(norm, True, math.prod(sizes[:-1]))
        input = FFT_C2C(input, dims=dims[:-1], scale=scale, forward=True)
    return FFT_C2R(
        input.conj(), dims=dims[-1:], scale=_scale(norm, True, sizes[-1]), last_size=sizes[-1]
    )


@typed
def ihfftn(input: Tensor, s: Axes = None, dim: Axes = None, norm: str | None = None) -> Tensor:
    """The inverse of `hfftn`.

    Args:
        input: real
        s: the sizes to cut or pad to first, one for each of `dim`; -1 keeps a size
        dim: the dimensions to transform; by default all, or the last `len(s)`
        norm: what to divide by: "backward" (the default): n; "forward": nothing; "ortho": sqrt(n)

    Example:
        >>> import clew
        >>> clew.fft.ihfftn(clew.ones(4, 6)).shape
        torch.Size([4, 4])
    """
    _require_real("ihfftn", input, "a real-valued input tensor")
    dims, sizes = _dims_and_sizes(input, s, dim)
    _require_axis("ihfftn", dims)
    for size in sizes:
        _check_size(size)
    input = resized(_promoted(input, to_complex=False), dims, sizes)
    half = FFT_R2C(
        input, dims=dims[-1:], scale=_scale(norm, False, sizes[-1]), onesided=True
    ).conj_physical()
    if len(dims) == 1:
        return half
    scale = _scale(norm, False, math.prod(sizes[:-1]))
    return FFT_C2C(half, dims=dims[:-1], scale=scale, forward=False)
