"""Power-average pooling: the p-norm of windows."""

from __future__ import annotations

from math import inf, prod
from typing import Any

from clew.core.arguments import typed
from clew.core.tensor import Tensor
from clew.ops.nn.average_pooling import avg_pool1d, avg_pool2d, avg_pool3d
from clew.ops.nn.max_pooling import max_pool1d, max_pool2d, max_pool3d
from clew.ops.nn.spatial import integers

_AVERAGE = {1: avg_pool1d, 2: avg_pool2d, 3: avg_pool3d}
_LARGEST: dict[int, Any] = {1: max_pool1d, 2: max_pool2d, 3: max_pool3d}


def _pooled(
    dims: int, input: Tensor, norm_type: float, kernel_size: Any, stride: Any, ceil_mode: bool
) -> Tensor:
    if norm_type in (inf, -inf):
        sign = 1 if norm_type > 0 else -1
        largest: Tensor = _LARGEST[dims](
            input.abs() * sign, kernel_size, stride, ceil_mode=ceil_mode
        )
        return largest * sign
    averages = _AVERAGE[dims](input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    widths = integers(f"lp_pool{dims}d", "kernel_size", kernel_size)
    elements = prod(widths * dims if len(widths) == 1 else widths)
    # The sign and relu only matter for odd powers of negative averages.
    return (averages.sign() * averages.abs().relu()).mul(elements).pow(1.0 / norm_type)


@typed
def lp_pool1d(
    input: Tensor, norm_type: float, kernel_size: int, stride: Any = None, ceil_mode: bool = False
) -> Tensor:
    """(sum of x ** p) ** (1 / p) over windows along the last dimension.

    Args:
        input: (N, C, L) or (C, L)
        norm_type: the order p of the norm; inf is the largest magnitude, -inf the smallest
        kernel_size: the size of the windows
        stride: the distance between windows; None is `kernel_size`
        ceil_mode: let the last window start inside even if it ends outside

    Example:
        >>> F.lp_pool1d(clew.tensor([[3.0, 4.0, 0.0, 1.0]]), 2, 2)
        tensor([[5., 1.]])
    """
    return _pooled(1, input, norm_type, kernel_size, stride, ceil_mode)


@typed
def lp_pool2d(
    input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
) -> Tensor:
    """(sum of x ** p) ** (1 / p) over windows of the last two dimensions.

    Args:
        input: (N, C, H, W) or (C, H, W)
        norm_type: the order p of the norm; inf is the largest magnitude, -inf the smallest
        kernel_size: the size of the windows
        stride: the distance between windows; None is `kernel_size`
        ceil_mode: let the last window start inside even if it ends outside

    Example:
        >>> F.lp_pool2d(clew.tensor([[[3.0, 4.0]]]), 2, (1, 2))
        tensor([[[5.]]])
    """
    return _pooled(2, input, norm_type, kernel_size, stride, ceil_mode)


@typed
def lp_pool3d(
    input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
) -> Tensor:
    """(sum of x ** p) ** (1 / p) over windows of the last three dimensions.

    Args:
        input: (N, C, D, H, W) or (C, D, H, W)
        norm_type: the order p of the norm; inf is the largest magnitude, -inf the smallest
        kernel_size: the size of the windows
        stride: the distance between windows; None is `kernel_size`
        ceil_mode: let the last window start inside even if it ends outside

    Example:
        >>> F.lp_pool3d(clew.ones(1, 8, 4, 4, 4), 2, 2).shape
        torch.Size([1, 8, 2, 2, 2])
    """
    return _pooled(3, input, norm_type, kernel_size, stride, ceil_mode)
