"""Convolutions and transposed convolutions over one, two and three axes.

There is one trilinear form, <g, conv(x, w)>, and its three partial derivatives are the operations
`convolution`, `convolution_transpose` and `convolution_weight`. The derivatives of each are the
other two, so gradients of every order are convolutions again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clew import errors
from clew.core.casting import LOWER, casts
from clew.core.op import Op
from clew.core.public import public
from clew.core.tensor import Tensor
from clew.kernels import numpy as kernels
from clew.ops.define.zero_share import zero_share
from clew.ops.nn.convolution_arguments import (
    Pads,
    check_operands,
    check_rank,
    check_ranks,
    check_weight_rank,
    per_axis,
    read_padding,
    read_pads,
    refuse_empty_space,
)
from clew.ops.nn.spatial import (
    Shape,
    batched,
    failure,
    integers,
    keeps_either_format,
    located,
    require_tensor,
    unbatched,
)

Array = np.ndarray
Grads = tuple[Tensor | None, ...]

_NODE = "ConvolutionBackward0"


# -- the three operations, and two with a bias -------------------------------------------------


@keeps_either_format
@located
def _convolution(
    input: Array, weight: Array, *, stride: Shape, padding: Pads, dilation: Shape, groups: int,
    output_size: Shape | None = None,
) -> Array:  # fmt: skip
    return kernels.convolution.conv_forward(
        input, weight, stride=stride, padding=padding, dilation=dilation, groups=groups,
        output_size=output_size,
    )  # fmt: skip


@keeps_either_format
@located
def _convolution_bias(
    input: Array, weight: Array, bias: Array, *, stride: Shape, padding: Pads, dilation: Shape,
    groups: int, output_size: Shape | None = None,
) -> Array:  # fmt: skip
    return kernels.convolution.conv_forward(
        input, weight, stride=stride, padding=padding, dilation=dilation, groups=groups,
        output_size=output_size, bias=bias,
    )  # fmt: skip


@keeps_either_format
@located
def _transposed(
    input: Array, weight: Array, *, output_shape: Shape, stride: Shape, padding: Pads,
    dilation: Shape, groups: int,
) -> Array:  # fmt: skip
    return kernels.convolution.conv_grad_input(
        input, weight, input_shape=output_shape, stride=stride, padding=padding,
        dilation=dilation, groups=groups,
    )  # fmt: skip


@keeps_either_format
@located
def _transposed_bias(
    input: Array, weight: Array, bias: Array, *, output_shape: Shape, stride: Shape,
    padding: Pads, dilation: Shape, groups: int,
) -> Array:  # fmt: skip
    return kernels.convolution.conv_grad_input(
        input, weight, input_shape=output_shape, stride=stride, padding=padding,
        dilation=dilation, groups=groups, bias=bias,
    )  # fmt: skip


@keeps_either_format
@located
def _weight(
    grad_output: Array, input: Array, *, weight_shape: Shape, stride: Shape, padding: Pads,
    dilation: Shape, groups: int,
) -> Array:  # fmt: skip
    return kernels.convolution.conv_grad_weight(
        grad_output, input, weight_shape=weight_shape, stride=stride, padding=padding,
        dilation=dilation, groups=groups,
    )  # fmt: skip


_SHARE = zero_share("ConvolutionBackwardBackward0", gives_zeros=False)


def _of_bias(g: Tensor) -> Tensor:
    return g.sum((0, *range(2, g._array.ndim)))


# PyTorch saves input and weight whichever gradients are wanted, so all gradients are one formula.
def _of_convolution(
    g: Tensor, input: Tensor, weight: Tensor, needs: tuple[bool, ...], stride: Shape,
    padding: Pads, dilation: Shape, groups: int,
) -> Grads:  # fmt: skip
    options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    grads: list[Tensor | None] = [None] * len(needs)
    if needs[0]:
        shape = input._array.shape
        of_input = CONVOLUTION_TRANSPOSE(g, weight.conj_physical(), output_shape=shape, **options)
        grads[0] = _SHARE(of_input, input)
    if needs[1]:
        shape = weight._array.shape
        of_weight = CONVOLUTION_WEIGHT(g, input.conj_physical(), weight_shape=shape, **options)
        grads[1] = _SHARE(of_weight, weight)
    if len(needs) == 3 and needs[2]:
        grads[2] = _of_bias(g)
    return tuple(grads)


def _of_transposed(
    g: Tensor, input: Tensor, weight: Tensor, needs: tuple[bool, ...], stride: Shape,
    padding: Pads, dilation: Shape, groups: int,
) -> Grads:  # fmt: skip
    options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    grads: list[Tensor | None] = [None] * len(needs)
    if needs[0]:
        size = input._array.shape[2:]
        of_input = CONVOLUTION(g, weight.conj_physical(), output_size=size, **options)
        grads[0] = _SHARE(of_input, input)
    if needs[1]:
        shape = weight._array.shape
        of_weight = CONVOLUTION_WEIGHT(input.conj_physical(), g, weight_shape=shape, **options)
        grads[1] = _SHARE(of_weight, weight)
    if len(needs) == 3 and needs[2]:
        grads[2] = _of_bias(g)
    return tuple(grads)


def _of_weight(
    g: Tensor, grad_output: Tensor, input: Tensor, needs: tuple[bool, ...], stride: Shape,
    padding: Pads, dilation: Shape, groups: int,
) -> Grads:  # fmt: skip
    options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    grads: list[Tensor | None] = [None, None]
    if needs[0]:
        size = grad_output._array.shape[2:]
        grads[0] = CONVOLUTION(input.conj_physical(), g, output_size=size, **options)
    if needs[1]:
        shape = input._array.shape
        grads[1] = CONVOLUTION_TRANSPOSE(
            grad_output.conj_physical(), g, output_shape=shape, **options
        )
    return tuple(grads)


CONVOLUTION = Op("convolution", _convolution, joint=_of_convolution, node=_NODE, multilinear=True)
CONVOLUTION_TRANSPOSE = Op(
    "convolution_transpose", _transposed, joint=_of_transposed, node=_NODE, multilinear=True
)
CONVOLUTION_WEIGHT = Op(
    "convolution_weight", _weight, joint=_of_weight, node="ConvolutionBackwardBackward0",
    multilinear=True,
)  # fmt: skip
# A bias makes the map affine: these two are apart because they are not multilinear.
CONVOLUTION_BIAS = Op(
    "convolution_bias", _convolution_bias, joint=_of_convolution, node=_NODE, affine="bias"
)
CONVOLUTION_TRANSPOSE_BIAS = Op(
    "convolution_transpose_bias", _transposed_bias, joint=_of_transposed, node=_NODE, affine="bias"
)


def _of_no_channels(
    input: np.ndarray, weight: np.ndarray, bias: np.ndarray | None, *, shape: Shape
) -> np.ndarray:
    return np.zeros(shape, input.dtype)


# No channels make no channels, as in PyTorch, and gradients of zeros. Operands are saved as ever.
CONVOLUTION_OF_NOTHING = Op(
    "convolution_of_nothing", _of_no_channels, node=_NODE,
    grads={
        "input": lambda g, input, weight: g.new_zeros(input.shape),
        "weight": lambda g, input, weight: g.new_zeros(weight.shape),
        "bias": lambda g, bias_shape: g.new_zeros(bias_shape),
    },
)  # fmt: skip


def gradient_options(
    dims: int, input_size: Shape, weight_size: Shape, grad_output: Tensor, operand: Tensor,
    stride: Any, padding: Any, dilation: Any, groups: int,
) -> dict[str, Any]:  # fmt: skip
    """The parameters of a convolution whose gradient is asked for, after a look at all sizes."""
    given = {"stride": stride, "padding": padding, "dilation": dilation}
    options: dict[str, Any] = {
        name: per_axis(name, integers(f"conv{dims}d", name, value), dims)
        for name, value in given.items()
    }
    options["groups"] = groups
    check_ranks(input_size, weight_size)
    expected = located(kernels.convolution.conv_output_shape)(input_size, weight_size, **options)
    if expected != grad_output._array.shape:
        raise failure(
            f"Expected grad_output to have the size of the output, {errors.shape_list(expected)}, "
            f"but got {errors.shape_list(grad_output._array.shape)}"
        )
    if operand._array.dtype != grad_output._array.dtype:
        raise failure(
            f"expected scalar type {grad_output.dtype.scalar_name} but found "
            f"{operand.dtype.scalar_name}"
        )
    return options


# -- the functions -----------------------------------------------------------------------------


def _run(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: Shape, padding: Pads,
    dilation: Shape, groups: int,
) -> Tensor:  # fmt: skip
    check_operands(input, weight, bias, groups, False, dilation)
    options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    result: Tensor
    if 0 in input._array.shape:
        batch, _, *sizes = located(kernels.convolution.conv_output_shape)(
            input._array.shape, weight._array.shape, **options
        )
        refuse_empty_space(input._array.shape)
        if not input._array.shape[1]:
            result = CONVOLUTION_OF_NOTHING(input, weight, bias, shape=(batch, 0, *sizes))
            return result
    if bias is None:
        result = CONVOLUTION(input, weight, **options)
    else:
        result = CONVOLUTION_BIAS(input, weight, bias, **options)
    return result


def _run_transposed(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: Shape, padding: Pads,
    output_padding: Shape, dilation: Shape, groups: int,
) -> Tensor:  # fmt: skip
    check_operands(input, weight, bias, groups, True, dilation)
    options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    shape = located(kernels.convolution.conv_transpose_output_shape)(
        input._array.shape, weight._array.shape, output_padding=output_padding, **options
    )
    refuse_empty_space(input._array.shape)
    result: Tensor
    if bias is None:
        result = CONVOLUTION_TRANSPOSE(input, weight, output_shape=shape, **options)
    else:
        result = CONVOLUTION_TRANSPOSE_BIAS(input, weight, bias, output_shape=shape, **options)
    return result


def _check_tensors(function: str, input: Any, weight: Any, bias: Any) -> None:
    require_tensor(function, "input", 1, input)
    require_tensor(function, "weight", 2, weight)
    if bias is not None:
        require_tensor(function, "bias", 3, bias)


_FORWARD_WORDS = """Cross-correlation of `input` with the kernels `weight`, over {dims}.

Args:
    input: (N, in, {sizes}) or (in, {sizes})
    weight: (out, in / groups, *kernel)
    bias: (out)
    stride: the distance between the kernels' places
    padding: zeros at both ends of a dimension; "valid" is 0, "same" keeps the size
    dilation: the distance between the elements of a kernel
    groups: the number of parts of the channels that do not see each other

Example:
    >>> F.conv{name}(clew.zeros(1, 3, {nine}), clew.zeros(8, 3, {three}), padding=1).shape
    torch.Size([1, 8, {nine}])
"""
_TRANSPOSED_WORDS = """Transposed convolution over {dims}: the gradient of `conv{name}`.

Args:
    input: (N, in, {sizes}) or (in, {sizes})
    weight: (in, out / groups, *kernel)
    bias: (out)
    stride: how far apart the input's elements come to lie
    padding: how much is cut off at both ends of a dimension
    output_padding: how much is added at one end, to choose among possible sizes
    groups: the number of parts of the channels that do not see each other
    dilation: the distance between the elements of a kernel

Example:
    >>> F.conv_transpose{name}(clew.zeros(1, 8, {nine}), clew.zeros(8, 3, {three})).shape
    torch.Size([1, 3, {more}])
"""


def _documented(words: str, dims: int) -> str:
    """The docstring of a convolution over so many dimensions."""
    return words.format(
        dims=f"{dims} dimension" if dims == 1 else f"{dims} dimensions",
        sizes=("L", "H, W", "D, H, W")[dims - 1], name=f"{dims}d",
        nine=", ".join(["9"] * dims), three=", ".join(["3"] * dims), more=", ".join(["11"] * dims),
    )  # fmt: skip


def _forward_function(dims: int) -> Callable[..., Tensor]:
    function = f"conv{dims}d"

    def conv(
        input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1,
        padding: Any = 0, dilation: Any = 1, groups: int = 1,
    ) -> Tensor:  # fmt: skip
        _check_tensors(function, input, weight, bias)
        check_rank(function, input, dims)
        axes = weight._array.ndim - 2
        steps = integers(function, "stride", stride)
        spacing = integers(function, "dilation", dilation)
        if axes != dims:
            check_weight_rank(
                function, input, weight, dims, groups, stride=stride, padding=padding,
                dilation=dilation,
            )  # fmt: skip
        if len(steps) != axes:
            steps = per_axis("stride", steps, axes)
        pads = read_padding(function, padding, weight, steps, spacing)
        spacing = per_axis("dilation", spacing, axes)
        batch, was_batched = batched(input, dims)
        return unbatched(_run(batch, weight, bias, steps, pads, spacing, groups), was_batched)

    conv.__name__ = conv.__qualname__ = function
    conv.__doc__ = _documented(_FORWARD_WORDS, dims)
    return public(method=False, out=False)(casts(LOWER)(conv))


def _transposed_function(dims: int) -> Callable[..., Tensor]:
    function = f"conv_transpose{dims}d"

    def conv_transpose(
        input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1,
        padding: Any = 0, output_padding: Any = 0, groups: int = 1, dilation: Any = 1,
    ) -> Tensor:  # fmt: skip
        _check_tensors(function, input, weight, bias)
        check_rank(function, input, dims)
        axes = weight._array.ndim - 2
        steps = integers(function, "stride", stride)
        spacing = integers(function, "dilation", dilation)
        if axes != dims:
            check_weight_rank(
                function, input, weight, dims, groups, stride=stride, padding=padding,
                dilation=dilation,
            )  # fmt: skip
        steps = per_axis("stride", steps, axes)
        pads = read_pads(function, padding, axes)
        extra = integers(function, "output_padding", output_padding)
        extra = per_axis("output_padding", extra, axes)
        spacing = per_axis("dilation", spacing, axes)
        batch, was_batched = batched(input, dims)
        result = _run_transposed(batch, weight, bias, steps, pads, extra, spacing, groups)
        return unbatched(result, was_batched)

    conv_transpose.__name__ = conv_transpose.__qualname__ = function
    conv_transpose.__doc__ = _documented(_TRANSPOSED_WORDS, dims)
    return public(method=False, out=False)(casts(LOWER)(conv_transpose))


conv1d, conv2d, conv3d = map(_forward_function, (1, 2, 3))
conv_transpose1d, conv_transpose2d, conv_transpose3d = map(_transposed_function, (1, 2, 3))


@public(checked=True, method=False, out=False)
def convolution(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: Any, padding: Any, dilation: Any,
    transposed: bool, output_padding: Any, groups: int,
) -> Tensor:  # fmt: skip
    """A convolution over any number of spatial axes, or with `transposed` its adjoint."""
    _check_tensors("convolution", input, weight, bias)
    dims = weight._array.ndim - 2
    given = {
        "stride": stride, "padding": padding, "dilation": dilation,
        "output_padding": output_padding,
    }  # fmt: skip
    read = {
        name: per_axis(name, integers("convolution", name, value), dims)
        for name, value in given.items()
    }
    if not transposed:
        del read["output_padding"]
        return _run(input, weight, bias, groups=groups, **read)
    return _run_transposed(input, weight, bias, groups=groups, **read)


@public(checked=True, method=False, out=False)
@casts(LOWER)
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """Convolution over time of (time, batch, channels) with weight (time, in, out).

    Args:
        input: (time, batch, in)
        weight: (kernel, in, out)
        bias: (out)
        pad: zeros at both ends of the time

    Example:
        >>> clew.conv_tbc(clew.zeros(10, 2, 3), clew.zeros(3, 3, 4), clew.zeros(4), pad=1).shape
        torch.Size([10, 2, 4])
    """
    _check_tensors("conv_tbc", input, weight, bias)
    result = conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad)
    return result.permute(2, 0, 1)
