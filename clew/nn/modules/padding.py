"""Layers that extend their input at the edges: by a constant, a mirror image, its edge, itself."""

# ruff: noqa: RUF012  (`__constants__` is a list, as in PyTorch)

from __future__ import annotations

from typing import ClassVar

from clew import errors
from clew.core.tensor import Tensor
from clew.nn import functional as F
from clew.nn.modules.module import Module
from clew.nn.modules.utils import _ntuple, _own_constructor

__all__ = [
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]

Amounts = int | tuple[int, ...]
"""One number for all sides, or (left, right, top, bottom, front, back), as many as there are."""


class _PadNd(Module):
    """What all padding layers have: an amount for each side of each spatial dimension."""

    __constants__ = ["padding"]

    _spatial_dims: ClassVar[int]
    _mode: ClassVar[str]

    def __init__(self, padding: Amounts) -> None:
        super().__init__()
        self.padding = _ntuple(2 * self._spatial_dims)(padding)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


# ---------------------------------------------------------------- circular


class _CircularPadNd(_PadNd):
    _mode = "circular"

    def _check_input_dim(self, input: Tensor) -> None:
        unbatched = self._spatial_dims + 1
        if input.dim() not in (unbatched, unbatched + 1):
            raise ValueError(
                f"expected {unbatched}D or {unbatched + 1}D input (got {input.dim()}D input)"
                + errors.at_user_line()
            )

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        return super().forward(input)


@_own_constructor
class CircularPad1d(_CircularPadNd):
    """Continue the last dimension from its other end.

    Args:
        padding: how much, for both ends or as a pair (left, right)

    Shape: (N, C, L) to (N, C, L_out), or both without N

    Example:
        >>> nn.CircularPad1d(1)(clew.tensor([[1.0, 2.0, 3.0]]))
        tensor([[3., 1., 2., 3., 1.]])
    """

    _spatial_dims = 1


@_own_constructor
class CircularPad2d(_CircularPadNd):
    """Continue the last two dimensions from their other ends.

    Args:
        padding: how much, for all sides or as (left, right, top, bottom)

    Shape: (N, C, H, W) to (N, C, H_out, W_out), or both without N

    Example:
        >>> nn.CircularPad2d((1, 0, 1, 0))(clew.tensor([[[1.0, 2.0], [3.0, 4.0]]]))
        tensor([[[4., 3., 4.],
                 [2., 1., 2.],
                 [4., 3., 4.]]])
    """

    _spatial_dims = 2


@_own_constructor
class CircularPad3d(_CircularPadNd):
    """Continue the last three dimensions from their other ends.

    Args:
        padding: how much, for all sides or as (left, right, top, bottom, front, back)

    Shape: (N, C, D, H, W) to (N, C, D_out, H_out, W_out), or both without N

    Example:
        >>> nn.CircularPad3d(1)(clew.zeros(1, 2, 3, 4, 5)).shape
        torch.Size([1, 2, 5, 6, 7])
    """

    _spatial_dims = 3


# ---------------------------------------------------------------- constant


class _ConstantPadNd(_PadNd):
    __constants__ = ["padding", "value"]

    def __init__(self, padding: Amounts, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


@_own_constructor
class ConstantPad1d(_ConstantPadNd):
    """Extend the last dimension by a constant.

    Args:
        padding: how much, for both ends or as a pair (left, right)
        value: the constant

    Shape: (N, C, L) to (N, C, L_out), or both without N

    Example:
        >>> nn.ConstantPad1d((2, 1), 7.0)(clew.tensor([[1.0, 2.0]]))
        tensor([[7., 7., 1., 2., 7.]])
    """

    _spatial_dims = 1


@_own_constructor
class ConstantPad2d(_ConstantPadNd):
    """Extend the last two dimensions by a constant.

    Args:
        padding: how much, for all sides or as (left, right, top, bottom)
        value: the constant

    Shape: (N, C, H, W) to (N, C, H_out, W_out), or both without N

    Example:
        >>> nn.ConstantPad2d((1, 0, 1, 0), 7.0)(clew.tensor([[[1.0, 2.0]]]))
        tensor([[[7., 7., 7.],
                 [7., 1., 2.]]])
    """

    _spatial_dims = 2


@_own_constructor
class ConstantPad3d(_ConstantPadNd):
    """Extend the last three dimensions by a constant.

    Args:
        padding: how much, for all sides or as (left, right, top, bottom, front, back)
        value: the constant

    Shape: (N, C, D, H, W) to (N, C, D_out, H_out, W_out), or both without N

    Example:
        >>> nn.ConstantPad3d(1, 7.0)(clew.zeros(1, 2, 3, 4, 5)).shape
        torch.Size([1, 2, 5, 6, 7])
    """

    _spatial_dims = 3


class _ZeroPad(_ConstantPadNd):
    def __init__(self, padding: Amounts) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


@_own_constructor
class ZeroPad1d(_ZeroPad, ConstantPad1d):
    """Extend the last dimension by zeros.

    Args:
        padding: how much, for both ends or as a pair (left, right)

    Shape: (N, C, L) to (N, C, L_out), or both without N

    Example:
        >>> nn.ZeroPad1d(1)(clew.tensor([[1.0, 2.0]]))
        tensor([[0., 1., 2., 0.]])
    """


@_own_constructor
class ZeroPad2d(_ZeroPad, ConstantPad2d):
    """Extend the last two dimensions by zeros.

    Args:
        padding: how much, for all sides or as (left, right, top, bottom)

    Shape: (N, C, H, W) to (N, C, H_out, W_out), or both without N

    Example:
        >>> nn.ZeroPad2d((1, 0, 1, 0))(clew.tensor([[[1.0, 2.0]]]))
        tensor([[[0., 0., 0.],
                 [0., 1., 2.]]])
    """


@_own_constructor
class ZeroPad3d(_ZeroPad, ConstantPad3d):
    """Extend the last three dimensions by zeros.

    Args:
        padding: how much, for all sides or as (left, right, top, bottom, front, back)

    Shape: (N, C, D, H, W) to (N, C, D_out, H_out, W_out), or both without N

    Example:
        >>> nn.ZeroPad3d(1)(clew.zeros(1, 2, 3, 4, 5)).shape
        torch.Size([1, 2, 5, 6, 7])
    """


# ---------------------------------------------------------------- reflection


class _ReflectionPadNd(_PadNd):
    _mode = "reflect"


@_own_constructor
class ReflectionPad1d(_ReflectionPadNd):
    """Mirror the last dimension at its edges, which are not repeated.

    Args:
        padding: how much, for both ends or as a pair (left, right)

    Shape: (N, C, L) to (N, C, L_out), or both without N

    Example:
        >>> nn.ReflectionPad1d(2)(clew.tensor([[1.0, 2.0, 3.0]]))
        tensor([[3., 2., 1., 2., 3., 2., 1.]])
    """

    _spatial_dims = 1


@_own_constructor
class ReflectionPad2d(_ReflectionPadNd):
    """Mirror the last two dimensions at their edges, which are not repeated.

    Args:
        padding: how much, for all sides or as (left, right, top, bottom)

    Shape: (N, C, H, W) to (N, C, H_out, W_out), or both without N

    Example:
        >>> nn.ReflectionPad2d((1, 0, 1, 0))(clew.tensor([[[1.0, 2.0], [3.0, 4.0]]]))
        tensor([[[4., 3., 4.],
                 [2., 1., 2.],
                 [4., 3., 4.]]])
    """

    _spatial_dims = 2


@_own_constructor
class ReflectionPad3d(_ReflectionPadNd):
    """Mirror the last three dimensions at their edges, which are not repeated.

    Args:
        padding: how much, for all sides or as (left, right, top, bottom, front, back)

    Shape: (N, C, D, H, W) to (N, C, D_out, H_out, W_out), or both without N

    Example:
        >>> nn.ReflectionPad3d(1)(clew.zeros(1, 2, 3, 4, 5)).shape
        torch.Size([1, 2, 5, 6, 7])
    """

    _spatial_dims = 3


# ---------------------------------------------------------------- replication


class _ReplicationPadNd(_PadNd):
    _mode = "replicate"


@_own_constructor
class ReplicationPad1d(_ReplicationPadNd):
    """Repeat the edges of the last dimension.

    Args:
        padding: how much, for both ends or as a pair (left, right)

    Shape: (N, C, L) to (N, C, L_out), or both without N

    Example:
        >>> nn.ReplicationPad1d(2)(clew.tensor([[1.0, 2.0, 3.0]]))
        tensor([[1., 1., 1., 2., 3., 3., 3.]])
    """

    _spatial_dims = 1


@_own_constructor
class ReplicationPad2d(_ReplicationPadNd):
    """Repeat the edges of the last two dimensions.

    Args:
        padding: how much, for all sides or as (left, right, top, bottom)

    Shape: (N, C, H, W) to (N, C, H_out, W_out), or both without N

    Example:
        >>> nn.ReplicationPad2d((1, 0, 1, 0))(clew.tensor([[[1.0, 2.0], [3.0, 4.0]]]))
        tensor([[[1., 1., 2.],
                 [1., 1., 2.],
                 [3., 3., 4.]]])
    """

    _spatial_dims = 2


@_own_constructor
class ReplicationPad3d(_ReplicationPadNd):
    """Repeat the edges of the last three dimensions.

    Args:
        padding: how much, for all sides or as (left, right, top, bottom, front, back)

    Shape: (N, C, D, H, W) to (N, C, D_out, H_out, W_out), or both without N

    Example:
        >>> nn.ReplicationPad3d(1)(clew.zeros(1, 2, 3, 4, 5)).shape
        torch.Size([1, 2, 5, 6, 7])
    """

    _spatial_dims = 3
