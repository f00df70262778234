"""Layers that resize images and volumes."""

# ruff: noqa: RUF012  (`__constants__` is a list, as in PyTorch)

from __future__ import annotations

from clew.core.tensor import Tensor
from clew.nn import functional as F
from clew.nn.modules.module import Module

__all__ = ["Upsample", "UpsamplingNearest2d", "UpsamplingBilinear2d"]

Size = int | tuple[int, ...]
Scale = float | tuple[float, ...]


class Upsample(Module):
    """Resize to a given size, or by a given factor; see `functional.interpolate` for the modes.

    Args:
        size: the spatial sizes of the output
        scale_factor: or the factor of the input's sizes
        mode: "nearest", "linear", "bilinear", "bicubic" or "trilinear"
        align_corners: whether the corner pixels keep their places; for the linear and cubic modes
        recompute_scale_factor: compute with the factor that the rounded sizes have

    Shape: (N, C, *spatial) to (N, C, *size)

    Example:
        >>> nn.Upsample(scale_factor=2)(clew.tensor([[[1.0, 2.0]]]))
        tensor([[[1., 1., 2., 2.]]])
    """

    __constants__ = [
        "size",
        "scale_factor",
        "mode",
        "align_corners",
        "name",
        "recompute_scale_factor",
    ]

    def __init__(
        self,
        size: Size | None = None,
        scale_factor: Scale | None = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.name = type(self).__name__
        self.size = size
        self.scale_factor: Scale | None
        if isinstance(scale_factor, tuple):
            self.scale_factor = tuple(float(factor) for factor in scale_factor)
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.interpolate(
            input,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            recompute_scale_factor=self.recompute_scale_factor,
        )

    def extra_repr(self) -> str:
        target = "size" if self.scale_factor is None else "scale_factor"
        return f"{target}={getattr(self, target)!r}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Resize images by repeating the nearest pixel.

    Args:
        size: the height and width of the output
        scale_factor: or the factor of the input's

    Shape: (N, C, H, W) to (N, C, *size)

    Example:
        >>> nn.UpsamplingNearest2d(scale_factor=2)(clew.tensor([[[[1.0, 2.0]]]]))
        tensor([[[[1., 1., 2., 2.],
                  [1., 1., 2., 2.]]]])
    """

    def __init__(self, size: Size | None = None, scale_factor: Scale | None = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Resize images bilinearly, corner pixels on corner pixels.

    Args:
        size: the height and width of the output
        scale_factor: or the factor of the input's

    Shape: (N, C, H, W) to (N, C, *size)

    Example:
        >>> nn.UpsamplingBilinear2d(size=(1, 3))(clew.tensor([[[[1.0, 2.0]]]]))
        tensor([[[[1.0000, 1.5000, 2.0000]]]])
    """

    def __init__(self, size: Size | None = None, scale_factor: Scale | None = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
