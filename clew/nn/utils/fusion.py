"""Folding a batch normalization in evaluation mode into the layer before it."""

from __future__ import annotations

import copy
from typing import Any, TypeVar

from clew import errors
from clew.core.tensor import Tensor
from clew.nn.modules.batchnorm import _BatchNorm
from clew.nn.modules.conv_base import _ConvNd
from clew.nn.modules.linear import Linear
from clew.nn.modules.module import Module
from clew.nn.parameter import Parameter
from clew.ops.create.constants import ones_like, zeros_like

__all__ = [
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
]

ConvT = TypeVar("ConvT", bound=_ConvNd)
LinearT = TypeVar("LinearT", bound=Linear)


def fuse_conv_bn_eval(conv: ConvT, bn: _BatchNorm, transpose: bool = False) -> ConvT:
    """A copy of `conv` that computes `bn(conv(x))`, for evaluation.

    Args:
        conv: a convolution in evaluation mode
        bn: the batch normalization after it, in evaluation mode
        transpose: whether it is a transposed convolution

    Example:
        >>> conv, bn = nn.Conv2d(3, 4, 3).eval(), nn.BatchNorm2d(4).eval()
        >>> fused, x = nn.utils.fuse_conv_bn_eval(conv, bn), clew.randn(1, 3, 5, 5)
        >>> clew.allclose(fused(x), bn(conv(x)), atol=1e-6)
        True
    """
    statistics = _statistics(conv, bn)
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, *statistics, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """The weight and bias of a convolution that includes the normalization.

    Args:
        conv_w, conv_b: weight and bias of the convolution; the bias may be None
        bn_rm, bn_rv: running mean and variance
        bn_eps: what is added to the variance
        bn_w, bn_b: weight and bias of the normalization; None is 1 and 0
        transpose: whether it is a transposed convolution

    Example:
        >>> mean, variance = clew.zeros(1), clew.tensor([4.0])
        >>> weight, bias = nn.utils.fuse_conv_bn_weights(
        ...     clew.ones(1, 1, 2), clew.ones(1), mean, variance, 0.0, None, None
        ... )
        >>> weight.tolist(), bias.tolist()
        ([[[0.5, 0.5]]], [0.5])
    """
    channels = (1, -1) if transpose else (-1, 1)
    shape = (*channels, *(1,) * (conv_w.dim() - 2))
    return _fuse(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, shape)


def fuse_linear_bn_eval(linear: LinearT, bn: _BatchNorm) -> LinearT:
    """A copy of `linear` that computes `bn(linear(x))`, for evaluation.

    Args:
        linear: a linear layer in evaluation mode
        bn: the batch normalization after it, in evaluation mode

    Example:
        >>> linear, bn = nn.Linear(3, 4).eval(), nn.BatchNorm1d(4).eval()
        >>> fused, x = nn.utils.fuse_linear_bn_eval(linear, bn), clew.randn(2, 3)
        >>> clew.allclose(fused(x), bn(linear(x)), atol=1e-6)
        True
    """
    statistics = _statistics(linear, bn)
    if bn.num_features not in (linear.out_features, 1):
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
            f"linear.out_features={linear.out_features} and bn.num_features={bn.num_features}"
            + errors.at_user_line()
        )
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, *statistics, bn.eps, bn.weight, bn.bias
    )
    return fused


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
) -> tuple[Parameter, Parameter]:
    """The weight and bias of a linear layer that includes the normalization.

    Args:
        linear_w, linear_b: weight and bias of the layer; the bias may be None
        bn_rm, bn_rv: running mean and variance
        bn_eps: what is added to the variance
        bn_w, bn_b: weight and bias of the normalization

    Example:
        >>> one, four = clew.ones(1), clew.tensor([4.0])
        >>> weight, bias = nn.utils.fuse_linear_bn_weights(
        ...     clew.ones(1, 2), one, clew.zeros(1), four, 0.0, one, one
        ... )
        >>> weight.tolist(), bias.tolist()
        ([[0.5, 0.5]], [1.5])
    """
    return _fuse(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, (-1, 1))


def _statistics(layer: Module, bn: Any) -> tuple[Tensor, Tensor]:
    """The running mean and variance, if the two can be fused at all."""
    if layer.training or bn.training:
        raise AssertionError(
            "Fusion only for eval!\n  Call .eval() on both: in training the normalization depends "
            "on the batch." + errors.at_user_line()
        )
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError(
            "bn.running_mean and bn.running_var must not be None\n  Without track_running_stats "
            "the normalization depends on the batch." + errors.at_user_line()
        )
    return bn.running_mean, bn.running_var


def _fuse(
    weight: Tensor,
    bias: Tensor | None,
    mean: Tensor,
    variance: Tensor,
    eps: float,
    scale: Tensor | None,
    shift: Tensor | None,
    per_output: tuple[int, ...],
) -> tuple[Parameter, Parameter]:
    """`(w x + b - mean) * scale / sqrt(variance + eps) + shift` as one weight and one bias.

    `per_output` is the shape in which one number per output lies along the weight.
    """
    bias_dtype = weight.dtype if bias is None else bias.dtype
    bias = zeros_like(mean) if bias is None else bias
    scale = ones_like(mean) if scale is None else scale
    shift = zeros_like(mean) if shift is None else shift
    factor = scale * (variance + eps).rsqrt()
    fused_weight = (weight * factor.reshape(per_output)).to(dtype=weight.dtype)
    fused_bias = ((bias - mean) * factor + shift).to(dtype=bias_dtype)
    return (
        Parameter(fused_weight, weight.requires_grad),
        Parameter(fused_bias, bias.requires_grad),
    )
