"""Normalisations of single samples: over their last dimensions, groups, or near channels."""

# ruff: noqa: RUF012  (`__constants__` is a list, as in PyTorch)

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

from clew import errors
from clew.core.tensor import Tensor
from clew.nn import functional as F
from clew.nn import init
from clew.nn.modules.module import Module
from clew.nn.parameter import Parameter
from clew.ops.create.constants import empty
from clew.ops.create.ranges import arange

__all__ = ["LocalResponseNorm", "CrossMapLRN2d", "LayerNorm", "GroupNorm", "RMSNorm"]


# -- over neighbouring channels ------------------------------------------------------------


class _NearChannelsNorm(Module):
    """The settings of a normalisation by the squares of neighbouring channels."""

    __constants__ = ["size", "alpha", "beta", "k"]

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class LocalResponseNorm(_NearChannelsNorm):
    """Each element, divided by a power of the squares of its neighbours among channels.

    The divisor is `(k + alpha * mean of the squares) ** beta`.

    Args:
        size: the number of channels in a window
        alpha: the factor of the mean of the squares
        beta: the power
        k: what is added to it

    Shape: (N, C, *), the same out

    Example:
        >>> nn.LocalResponseNorm(2)(clew.ones(1, 4, 3)).shape
        torch.Size([1, 4, 3])
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__(size, alpha, beta, k)

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)


class CrossMapLRN2d(_NearChannelsNorm):
    """`LocalResponseNorm` of images (N, C, H, W), with the windows of PyTorch's layer.

    They reach `(size - 1) // 2` channels to both sides, and the first channel is in all of them.
    The gradient is that of this function; PyTorch's is that of windows without the first channel.

    Args:
        size: the number of channels in a window
        alpha: the factor of the mean of the squares
        beta: the power
        k: what is added to it

    Shape: (N, C, H, W), the same out

    Example:
        >>> nn.CrossMapLRN2d(3)(clew.ones(1, 4, 2, 2)).shape
        torch.Size([1, 4, 2, 2])
    """

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() != 4:
            raise ValueError(
                f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead."
                + errors.at_user_line()
            )
        channel = arange(input.shape[1], device=input.device)
        reach = (self.size - 1) // 2
        near = ((channel.unsqueeze(1) - channel).abs() <= reach) | (channel == 0)
        squares = (input * input).flatten(2)
        total = near.to(input.dtype).matmul(squares).view(input.shape)
        return input * (self.k + self.alpha / self.size * total) ** -self.beta


# -- over the last dimensions --------------------------------------------------------------


class _LastDimensionsNorm(Module):
    """A normalisation over the last dimensions, with a trained scale for each element of them."""

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]
    normalized_shape: tuple[int, ...]

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None,
        elementwise_affine: bool,
        device: Any,
        dtype: Any,
    ) -> None:
        super().__init__()
        if isinstance(normalized_shape, numbers.Integral):
            normalized_shape = (int(normalized_shape),)
        # Only a sequence is left: mypy does not see that an int is an Integral.
        self.normalized_shape = tuple(normalized_shape)  # type: ignore[arg-type]
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self._register_vector("weight", elementwise_affine, device, dtype)

    def _register_vector(self, name: str, present: bool, device: Any, dtype: Any) -> None:
        vector = None
        if present:
            vector = Parameter(empty(self.normalized_shape, device=device, dtype=dtype))
        self.register_parameter(name, vector)

    def reset_parameters(self) -> None:
        if self.elementwise_affine:
            init.ones_(self.weight)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )


class LayerNorm(_LastDimensionsNorm):
    """Mean 0 and variance 1 over the last dimensions, then a scale and a shift.

    Args:
        normalized_shape: the sizes of those dimensions; one number is the last dimension
        eps: what is added to the variance
        elementwise_affine: whether there are a trained scale and shift for each element
        bias: whether the shift is part of them
        device, dtype: of the parameters

    Shape: (*, *normalized_shape), the same out

    Example:
        >>> nn.LayerNorm(4)(clew.tensor([[1.0, 2.0, 3.0, 4.0]]))
        tensor([[-1.3416, -0.4472,  0.4472,  1.3416]],
               grad_fn=<NativeLayerNormBackward0>)
    """

    eps: float

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(normalized_shape, eps, elementwise_affine, device, dtype)
        self._register_vector("bias", elementwise_affine and bias, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, bias={self.bias is not None}"


class RMSNorm(_LastDimensionsNorm):
    """The input divided by the root of its mean square over the last dimensions, then scaled.

    Args:
        normalized_shape: the sizes of those dimensions; one number is the last dimension
        eps: what is added to the mean square; None is the dtype's smallest step at 1
        elementwise_affine: whether there is a trained scale for each element
        device, dtype: of the parameters

    Shape: (*, *normalized_shape), the same out

    Example:
        >>> nn.RMSNorm(2, elementwise_affine=False)(clew.tensor([[3.0, 4.0]]))
        tensor([[0.8485, 1.1314]])
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(normalized_shape, eps, elementwise_affine, device, dtype)
        self.reset_parameters()

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)


# -- over groups of channels ---------------------------------------------------------------


class GroupNorm(Module):
    """Mean 0 and variance 1 of each group of channels, then a scale and a shift per channel.

    Args:
        num_groups: the number of groups, which divides the number of channels
        num_channels: the number of channels
        eps: what is added to the variance
        affine: whether there are a trained scale and shift for each channel
        device, dtype: of the parameters
        bias: whether the shift is part of them

    Shape: (N, num_channels, *), the same out

    Example:
        >>> x = nn.GroupNorm(2, 6)(clew.randn(1, 6, 8))
        >>> bool(x.reshape(2, -1).mean(1).abs().max() < 1e-6)
        True
    """

    __constants__ = ["num_groups", "num_channels", "eps", "affine"]

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(
                f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})"
                + errors.at_user_line()
            )
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        for name, present in (("weight", affine), ("bias", affine and bias)):
            vector = Parameter(empty(num_channels, device=device, dtype=dtype)) if present else None
            self.register_parameter(name, vector)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )
