"""Fourier transforms: `clew.fft`, with the functions of `torch.fft`."""

from collections.abc import Callable, Sequence
from typing import Any

from clew.core.arguments import typed as _typed
from clew.core.overrides import overridable as _overridable
from clew.core.public import findable as _findable
from clew.core.public import with_out as _with_out
from clew.core.tensor import Tensor
from clew.ops.define.out_checks import spectrum as _spectrum
from clew.ops.spectral import fft as _fft
from clew.ops.spectral.frequencies import fftfreq, fftshift, ifftshift, rfftfreq


def _transform(function: Callable[..., Any]) -> Callable[..., Any]:
    # The inverse in several dimensions speaks of the transform itself.
    name = function.__name__.replace("ifftn", "fftn")
    return _with_out(function, accept=_spectrum(name))


fft, ifft = _transform(_fft.fft), _transform(_fft.ifft)
rfft, irfft = _transform(_fft.rfft), _transform(_fft.irfft)
hfft, ihfft = _transform(_fft.hfft), _transform(_fft.ihfft)
fftn, ifftn = _transform(_fft.fftn), _transform(_fft.ifftn)
rfftn, irfftn = _transform(_fft.rfftn), _transform(_fft.irfftn)
hfftn, ihfftn = _transform(_fft.hfftn), _transform(_fft.ihfftn)


_OVER_TWO = """`{of}` over two dimensions, by default the last ones.

Args:
    input: what `{of}` takes, of at least two dimensions
    s: two sizes, as for `{of}`
    dim: the two dimensions
    norm: what to divide by, as for `{of}`
    out: where to write the result

Example:
    >>> import clew
    >>> clew.fft.{name}(clew.ones(4, 4)).shape
    torch.Size([4, {columns}])
"""


def _over_two(function: Any, name: str, columns: int) -> Any:
    """The same transform over the last two dimensions; of a 4x4 matrix, with so many columns."""

    def transform(
        input: Tensor,
        s: int | Sequence[int] | None = None,
        dim: int | Sequence[int] = (-2, -1),
        norm: str | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        return function(input, s, dim, norm, out=out)

    transform.__name__ = transform.__qualname__ = name
    transform.__doc__ = _OVER_TWO.format(of=function.__name__, name=name, columns=columns)
    return _typed(transform)


fft2, ifft2 = _over_two(fftn, "fft2", 4), _over_two(ifftn, "ifft2", 4)
rfft2, irfft2 = _over_two(rfftn, "rfft2", 3), _over_two(irfftn, "irfft2", 6)
hfft2, ihfft2 = _over_two(hfftn, "hfft2", 6), _over_two(ihfftn, "ihfft2", 3)

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2",
    "ifftn", "ifftshift", "ihfft", "ihfft2", "ihfftn", "irfft", "irfft2", "irfftn", "rfft",
    "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip

_findable(globals())
_overridable("torch.fft", globals(), *__all__)
