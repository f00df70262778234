"""Gradients of convolutions as functions: with respect to the input, or to the weight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clew import errors
from clew.core.tensor import Tensor
from clew.ops.nn.convolution import (
    CONVOLUTION_TRANSPOSE,
    CONVOLUTION_WEIGHT,
    gradient_options,
)

Sizes = int | Sequence[int]


def _of_input(
    dims: int, input_size: Any, weight: Tensor, grad_output: Tensor, *options: Any
) -> Tensor:
    if input_size is None:
        raise errors.wrong_argument("expand", "size", 1, "tuple of ints", input_size)
    size = tuple(input_size)
    checked = gradient_options(dims, size, weight._array.shape, grad_output, weight, *options)
    result: Tensor = CONVOLUTION_TRANSPOSE(
        grad_output, weight.conj_physical(), output_shape=size, **checked
    )
    return result


def _of_weight(
    dims: int, input: Tensor, weight_size: Any, grad_output: Tensor, *options: Any
) -> Tensor:
    if weight_size is None:
        raise errors.wrong_argument("expand", "size", 1, "tuple of ints", weight_size)
    size = tuple(weight_size)
    checked = gradient_options(dims, input._array.shape, size, grad_output, input, *options)
    result: Tensor = CONVOLUTION_WEIGHT(
        grad_output, input.conj_physical(), weight_shape=size, **checked
    )
    return result


def conv1d_input(
    input_size: Sequence[int], weight: Tensor, grad_output: Tensor, stride: Sizes = 1,
    padding: Sizes = 0, dilation: Sizes = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """The gradient of `conv1d` with respect to its input.

    Args:
        input_size: the shape of the input
        weight: the weight of the convolution
        grad_output: the gradient with respect to its output
        stride, padding, dilation, groups: those of the convolution

    Example:
        >>> weight, grad = clew.ones(1, 1, 3), clew.ones(1, 1, 2)
        >>> nn.grad.conv1d_input((1, 1, 4), weight, grad)
        tensor([[[1., 2., 2., 1.]]])
    """
    return _of_input(1, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv1d_weight(
    input: Tensor, weight_size: Sequence[int], grad_output: Tensor, stride: Sizes = 1,
    padding: Sizes = 0, dilation: Sizes = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """The gradient of `conv1d` with respect to its weight.

    Args:
        input: the input of the convolution
        weight_size: the shape of its weight
        grad_output: the gradient with respect to its output
        stride, padding, dilation, groups: those of the convolution

    Example:
        >>> input, grad = clew.ones(1, 1, 4), clew.ones(1, 1, 2)
        >>> nn.grad.conv1d_weight(input, (1, 1, 3), grad)
        tensor([[[2., 2., 2.]]])
    """
    return _of_weight(1, input, weight_size, grad_output, stride, padding, dilation, groups)


def conv2d_input(
    input_size: Sequence[int], weight: Tensor, grad_output: Tensor, stride: Sizes = 1,
    padding: Sizes = 0, dilation: Sizes = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """The gradient of `conv2d` with respect to its input.

    Args:
        input_size: the shape of the input
        weight: the weight of the convolution
        grad_output: the gradient with respect to its output
        stride, padding, dilation, groups: those of the convolution

    Example:
        >>> weight, grad = clew.ones(1, 1, 3, 3), clew.ones(1, 1, 2, 2)
        >>> nn.grad.conv2d_input((1, 1, 4, 4), weight, grad).shape
        torch.Size([1, 1, 4, 4])
    """
    return _of_input(2, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv2d_weight(
    input: Tensor, weight_size: Sequence[int], grad_output: Tensor, stride: Sizes = 1,
    padding: Sizes = 0, dilation: Sizes = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """The gradient of `conv2d` with respect to its weight.

    Args:
        input: the input of the convolution
        weight_size: the shape of its weight
        grad_output: the gradient with respect to its output
        stride, padding, dilation, groups: those of the convolution

    Example:
        >>> input, grad = clew.ones(1, 1, 4, 4), clew.ones(1, 1, 2, 2)
        >>> nn.grad.conv2d_weight(input, (1, 1, 3, 3), grad).shape
        torch.Size([1, 1, 3, 3])
    """
    return _of_weight(2, input, weight_size, grad_output, stride, padding, dilation, groups)


def conv3d_input(
    input_size: Sequence[int], weight: Tensor, grad_output: Tensor, stride: Sizes = 1,
    padding: Sizes = 0, dilation: Sizes = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """The gradient of `conv3d` with respect to its input.

    Args:
        input_size: the shape of the input
        weight: the weight of the convolution
        grad_output: the gradient with respect to its output
        stride, padding, dilation, groups: those of the convolution

    Example:
        >>> weight, grad = clew.ones(1, 1, 3, 3, 3), clew.ones(1, 1, 2, 2, 2)
        >>> nn.grad.conv3d_input((1, 1, 4, 4, 4), weight, grad).shape
        torch.Size([1, 1, 4, 4, 4])
    """
    return _of_input(3, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv3d_weight(
    input: Tensor, weight_size: Sequence[int], grad_output: Tensor, stride: Sizes = 1,
    padding: Sizes = 0, dilation: Sizes = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """The gradient of `conv3d` with respect to its weight.

    Args:
        input: the input of the convolution
        weight_size: the shape of its weight
        grad_output: the gradient with respect to its output
        stride, padding, dilation, groups: those of the convolution

    Example:
        >>> input, grad = clew.ones(1, 1, 4, 4, 4), clew.ones(1, 1, 2, 2, 2)
        >>> nn.grad.conv3d_weight(input, (1, 1, 3, 3, 3), grad).shape
        torch.Size([1, 1, 3, 3, 3])
    """
    return _of_weight(3, input, weight_size, grad_output, stride, padding, dilation, groups)
