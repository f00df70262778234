"""Layers that move values between channels and pixels."""

# ruff: noqa: RUF012  (`__constants__` is a list, as in PyTorch)

from __future__ import annotations

from clew.core.tensor import Tensor
from clew.nn import functional as F
from clew.nn.modules.module import Module

__all__ = ["PixelShuffle", "PixelUnshuffle"]


class PixelShuffle(Module):
    """(*, C r², H, W) to (*, C, H r, W r): channels become finer pixels.

    Args:
        upscale_factor: r

    Example:
        >>> nn.PixelShuffle(2)(clew.arange(4.0).reshape(1, 4, 1, 1))[0, 0]
        tensor([[0., 1.],
                [2., 3.]])
    """

    __constants__ = ["upscale_factor"]

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """(*, C, H r, W r) to (*, C r², H, W): the inverse of PixelShuffle.

    Args:
        downscale_factor: r

    Example:
        >>> nn.PixelUnshuffle(2)(clew.zeros(1, 3, 4, 6)).shape
        torch.Size([1, 12, 2, 3])
    """

    __constants__ = ["downscale_factor"]

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"
