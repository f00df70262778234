"""Operations by PyTorch's internal signatures, where those differ from the public functions'.

Programs call `torch.ops.aten.convolution(x, w, b, stride, ...)` with all arguments by position, and
rules for gradients call `aten.tanh_backward`. Each entry is a function over the public ones.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any

from clew import errors
from clew.backend import dtypes
from clew.core.public import FUNCTIONS
from clew.core.tensor import Tensor
from clew.ops.nn.activation.gated import gelu, glu, mish, silu
from clew.ops.nn.activation.leaky import leaky_relu, leaky_relu_
from clew.ops.nn.activation.piecewise import (
    hardshrink,
    hardsigmoid,
    hardswish,
    hardtanh,
    hardtanh_,
    relu6,
    softshrink,
    threshold,
)
from clew.ops.nn.activation.unary import elu, elu_, logsigmoid, softplus
from clew.ops.nn.attention import scaled_dot_product_attention
from clew.ops.nn.average_pooling import (
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    avg_pool2d,
    avg_pool3d,
)
from clew.ops.nn.embedding import embedding, one_hot
from clew.ops.nn.interpolate import RESIZING, interpolate
from clew.ops.nn.linear import linear
from clew.ops.nn.loss.classification import cross_entropy, nll_loss
from clew.ops.nn.loss.elementwise import huber_loss, l1_loss, mse_loss, smooth_l1_loss
from clew.ops.nn.loss.likelihood import binary_cross_entropy, binary_cross_entropy_with_logits
from clew.ops.nn.max_pooling import MAX
from clew.ops.nn.padding import pad
from clew.ops.nn.spatial import pool_sizes

SIGNATURES: dict[str, Callable[..., Any]] = {
    "avg_pool2d": avg_pool2d,
    "avg_pool3d": avg_pool3d,
    "_adaptive_avg_pool2d": adaptive_avg_pool2d,
    "_adaptive_avg_pool3d": adaptive_avg_pool3d,
    "adaptive_avg_pool2d": adaptive_avg_pool2d,
    "adaptive_avg_pool3d": adaptive_avg_pool3d,
    "elu": elu,
    "elu_": elu_,
    "gelu": gelu,
    "glu": glu,
    "hardshrink": hardshrink,
    "hardsigmoid": hardsigmoid,
    "hardswish": hardswish,
    "hardtanh": hardtanh,
    "hardtanh_": hardtanh_,
    "leaky_relu": leaky_relu,
    "leaky_relu_": leaky_relu_,
    "linear": linear,
    "log_sigmoid": logsigmoid,
    "mish": mish,
    "one_hot": one_hot,
    "pad": pad,
    "relu6": relu6,
    "scaled_dot_product_attention": scaled_dot_product_attention,
    "silu": silu,
    "softplus": softplus,
    "softshrink": softshrink,
    "threshold": threshold,
}


def _named(function: Callable[..., Any]) -> Callable[..., Any]:
    """Enter a function under its own name."""
    SIGNATURES[function.__name__] = function
    return function


# -- views and copies ------------------------------------------------------------------------------


@_named
def slice(
    self: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    index = (builtins.slice(None),) * (dim % self.dim()) + (builtins.slice(start, end, step),)
    return self[index]


@_named
def _to_copy(self: Tensor, *, memory_format: Any = None, **options: Any) -> Tensor:
    wanted = {name: value for name, value in options.items() if name in ("dtype", "device")}
    if memory_format is not None:
        wanted["memory_format"] = memory_format
    return self.to(copy=True, **wanted)


@_named
def _unsafe_view(self: Tensor, size: Sequence[int]) -> Tensor:
    return self.view(size)


@_named
def view(self: Tensor, size: Any) -> Tensor:
    return self.view(size)


@_named
def expand(self: Tensor, size: Sequence[int], *, implicit: bool = False) -> Tensor:
    return self.expand(size)


@_named
def sym_size(self: Tensor, dim: int) -> int:
    return self.shape[dim]


@_named
def alias(self: Tensor) -> Tensor:
    return self.view_as(self)


@_named
def lift_fresh(self: Tensor) -> Tensor:
    return self


@_named
def lift_fresh_copy(self: Tensor) -> Tensor:
    return self.clone()


@_named
def _local_scalar_dense(self: Tensor) -> Any:
    return self.item()


@_named
def index(self: Tensor, indices: Sequence[Tensor | None]) -> Tensor:
    places = tuple(builtins.slice(None) if each is None else each for each in indices)
    return self[places]


# -- reductions ------------------------------------------------------------------------------------


@_named
def sum(self: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    return self.sum(dtype=dtype) if dim is None else self.sum(dim, keepdim, dtype=dtype)


@_named
def mean(self: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    return self.mean(dtype=dtype) if dim is None else self.mean(dim, keepdim, dtype=dtype)


@_named
def _softmax(self: Tensor, dim: int, half_to_float: bool) -> Tensor:
    return (self.float() if half_to_float else self).softmax(dim)


@_named
def _log_softmax(self: Tensor, dim: int, half_to_float: bool) -> Tensor:
    return (self.float() if half_to_float else self).log_softmax(dim)


# -- layers ----------------------------------------------------------------------------------------


@_named
def convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Tensor:
    axes = weight.dim() - 2
    if transposed:
        function = FUNCTIONS[f"conv_transpose{axes}d"]
        return function(input, weight, bias, stride, padding, output_padding, groups, dilation)
    return FUNCTIONS[f"conv{axes}d"](input, weight, bias, stride, padding, dilation, groups)


SIGNATURES["embedding"] = lambda weight, indices, padding_idx=-1, scale=False, sparse=False: (
    embedding(indices, weight, None if padding_idx < 0 else padding_idx, sparse=sparse)
)


@_named
def _batch_norm_with_update(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    momentum: float,
    eps: float,
    **outs: Tensor,
) -> tuple[Tensor, ...]:
    found = FUNCTIONS["native_batch_norm"](
        input, weight, bias, running_mean, running_var, True, momentum, eps
    )
    results = *found, input.new_empty(0, dtype=dtypes.uint8)
    if outs and list(outs) != ["out", "save_mean", "save_invstd", "reserve"]:
        raise RuntimeError(
            "Overloaded torch operator invoked from Python failed to match any schema: out, "
            "save_mean, save_invstd and reserve go together" + errors.at_user_line()
        )
    for out, result in zip(outs.values(), results):
        out.resize_(result.shape).copy_(result)
    return tuple(outs.values()) or results


@_named
def native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    if not train:
        return input.clone(), FUNCTIONS["ones_like"](input, dtype=dtypes.bool_)
    mask = FUNCTIONS["rand_like"](input) >= p
    return input * mask * (1 / (1 - p) if p < 1 else 0), mask


# -- losses: the reduction is a number -------------------------------------------------------------

_REDUCTIONS = ("none", "mean", "sum")


def _loss(name: str, function: Callable[..., Any], *names: str) -> None:
    """A loss of `(self, target, reduction, options...)`."""

    def call(self: Tensor, target: Tensor, reduction: int = 1, *rest: Any, **named: Any) -> Tensor:
        named.update(zip(names, rest))
        return function(self, target, reduction=_REDUCTIONS[reduction], **named)

    SIGNATURES[name] = call


_loss("mse_loss", mse_loss)
_loss("l1_loss", l1_loss)
_loss("smooth_l1_loss", smooth_l1_loss, "beta")
_loss("huber_loss", huber_loss, "delta")


def _weighted_loss(name: str, function: Callable[..., Any], *names: str) -> None:
    """A loss of `(self, target, weight, ..., reduction, ...)`, in the order of the names."""

    def call(self: Tensor, target: Tensor, *given: Any, **named: Any) -> Tensor:
        named.update(zip(names, given))
        named["reduction"] = _REDUCTIONS[named.get("reduction", 1)]
        return function(self, target, **named)

    SIGNATURES[name] = call


_weighted_loss("nll_loss", nll_loss, "weight", "reduction", "ignore_index")
_weighted_loss("nll_loss2d", nll_loss, "weight", "reduction", "ignore_index")
_weighted_loss(
    "cross_entropy_loss", cross_entropy, "weight", "reduction", "ignore_index", "label_smoothing"
)
_weighted_loss("binary_cross_entropy", binary_cross_entropy, "weight", "reduction")
_weighted_loss(
    "binary_cross_entropy_with_logits",
    binary_cross_entropy_with_logits,
    "weight",
    "pos_weight",
    "reduction",
)


# -- resizing --------------------------------------------------------------------------------------


def _upsample(name: str, mode: str) -> None:
    aligned = mode in ("linear", "bilinear", "bicubic", "trilinear")

    def call(
        self: Tensor,
        output_size: Sequence[int] | None = None,
        *rest: Any,
        align_corners: bool = False,
        scale_factors: Sequence[float] | None = None,
        **scales: Any,
    ) -> Tensor:
        corners = rest[0] if aligned and rest else align_corners
        return interpolate(
            self,
            size=None if output_size is None else list(output_size),
            scale_factor=scale_factors if output_size is None else None,
            mode=mode,
            align_corners=bool(corners) if aligned else None,
        )

    SIGNATURES[name] = call


for _name, _mode in {
    "upsample_nearest1d": "nearest",
    "upsample_nearest2d": "nearest",
    "upsample_nearest3d": "nearest",
    "upsample_linear1d": "linear",
    "upsample_bilinear2d": "bilinear",
    "upsample_bicubic2d": "bicubic",
    "upsample_trilinear3d": "trilinear",
}.items():
    _upsample(_name, _mode)


@_named
def _upsample_bilinear2d_aa(
    input: Tensor,
    output_size: Sequence[int] | None,
    align_corners: bool,
    scale_factors: Any = None,
    scales_w: float | None = None,
    *,
    scales_h: float | None = None,
) -> Tensor:
    # One overload takes a list of factors, another one two numbers.
    scales = scale_factors
    if not isinstance(scales, (list, tuple, type(None))) or scales_h or scales_w:
        scales = (scales_h if scales is None else scales, scales_w)
    if output_size is None:
        output_size = [int(n * each) for n, each in zip(input.shape[2:], scales)]
    if input.dtype not in (dtypes.float32, dtypes.float64, dtypes.uint8):
        raise errors.no_kernel("compute_index_ranges_weights", input.dtype)
    result: Tensor = RESIZING["bilinear", 2, True](
        input, size=tuple(output_size), mode="bilinear", align_corners=align_corners,
        scales=None if scales is None else tuple(scales), antialias=True,
    )  # fmt: skip
    return result


# -- gradients -------------------------------------------------------------------------------------


@_named
def tanh_backward(grad_output: Tensor, output: Tensor) -> Tensor:
    return grad_output * (1 - output * output)


@_named
def sigmoid_backward(grad_output: Tensor, output: Tensor) -> Tensor:
    return grad_output * (1 - output) * output


@_named
def threshold_backward(grad_output: Tensor, self: Tensor, threshold: float) -> Tensor:
    return FUNCTIONS["where"](self > threshold, grad_output, 0)


@_named
def _log_softmax_backward_data(
    grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any
) -> Tensor:
    return grad_output - output.exp() * grad_output.sum(dim, keepdim=True)


@_named
def native_dropout_backward(grad_output: Tensor, mask: Tensor, scale: float) -> Tensor:
    return grad_output * mask * scale


@_named
def max_pool2d_with_indices_backward(
    grad_output: Tensor,
    self: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
    indices: Tensor,
) -> Tensor:
    sizes = pool_sizes("max_pool2d", 2, kernel_size, stride, padding, dilation)
    result: Tensor = MAX[2].grads["self"]((grad_output,), self, indices, *sizes, ceil_mode)
    return result
