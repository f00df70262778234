"""clew.nn.grad: the gradients of convolutions, by themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clew.core.tensor import Tensor
from clew.kernels.numpy.convolution import conv_output_shape
from clew.ops.nn.convolution import CONVOLUTION_TRANSPOSE, CONVOLUTION_WEIGHT
from clew.ops.nn.spatial import Shape, failure, integers, located

__all__ = [
    "conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input",
    "conv3d_weight",
]  # fmt: skip

_DOC = """The gradient of a {dims}-d convolution with respect to its {what}.

Args:
    {first}
    {second}
    grad_output: the gradient of the convolution's result
    stride: of the convolution
    padding: of the convolution
    dilation: of the convolution
    groups: of the convolution

Example:
    >>> input, weight = clew.ones({input}), clew.ones({weight})
    >>> grad_output = clew.ones_like(F.conv{dims}d(input, weight))
    >>> clew.nn.grad.conv{dims}d_{what}({call}, grad_output)
    {result}
"""


def _options(dims: int, groups: int, **given: Any) -> dict[str, Any]:
    """Strides and so on, one number for each axis."""
    options: dict[str, Any] = {"groups": groups}
    for name, value in given.items():
        values = integers(f"conv{dims}d", name, value)
        options[name] = values if len(values) == dims else values * dims
    return options


def _check(input: Shape, weight: Shape, grad_output: Tensor, options: dict[str, Any]) -> None:
    shape = located(conv_output_shape)(input, weight, **options)
    if tuple(shape) != grad_output._array.shape:
        raise failure(
            f"grad_output has shape {list(grad_output._array.shape)}, but convolution of an input "
            f"of shape {list(input)} with a weight of shape {list(weight)} gives {list(shape)}"
        )


def _by_input(dims: int, example: str) -> Callable[..., Tensor]:
    def function(
        input_size: Any, weight: Tensor, grad_output: Tensor, stride: Any = 1, padding: Any = 0,
        dilation: Any = 1, groups: int = 1,
    ) -> Tensor:  # fmt: skip
        options = _options(dims, groups, stride=stride, padding=padding, dilation=dilation)
        size = tuple(input_size)
        _check(size, weight._array.shape, grad_output, options)
        return CONVOLUTION_TRANSPOSE(
            grad_output, weight.conj_physical(), output_shape=size, **options
        )

    return _named(
        function, dims, "input", "input_size: the shape of the input",
        "weight: the weight of the convolution", "input.shape, weight", example,
    )  # fmt: skip


def _by_weight(dims: int, example: str) -> Callable[..., Tensor]:
    def function(
        input: Tensor, weight_size: Any, grad_output: Tensor, stride: Any = 1, padding: Any = 0,
        dilation: Any = 1, groups: int = 1,
    ) -> Tensor:  # fmt: skip
        options = _options(dims, groups, stride=stride, padding=padding, dilation=dilation)
        size = tuple(weight_size)
        _check(input._array.shape, size, grad_output, options)
        return CONVOLUTION_WEIGHT(grad_output, input.conj_physical(), weight_shape=size, **options)

    return _named(
        function, dims, "weight", "input: the input of the convolution",
        "weight_size: the shape of the weight", "input, weight.shape", example,
    )  # fmt: skip


def _named(
    function: Callable[..., Tensor], dims: int, what: str, first: str, second: str, call: str,
    result: str,
) -> Callable[..., Tensor]:  # fmt: skip
    function.__name__ = function.__qualname__ = f"conv{dims}d_{what}"
    ones = ", 1" * (dims - 1)
    function.__doc__ = _DOC.format(
        dims=dims, what=what, first=first, second=second, call=call, result=result,
        input=f"1, 1{ones}, 3", weight=f"1, 1{ones}, 2",
    )  # fmt: skip
    return function


conv1d_input = _by_input(1, "tensor([[[1., 2., 1.]]])")
conv1d_weight = _by_weight(1, "tensor([[[2., 2.]]])")
conv2d_input = _by_input(2, "tensor([[[[1., 2., 1.]]]])")
conv2d_weight = _by_weight(2, "tensor([[[[2., 2.]]]])")
conv3d_input = _by_input(3, "tensor([[[[[1., 2., 1.]]]]])")
conv3d_weight = _by_weight(3, "tensor([[[[[2., 2.]]]]])")
