"""Rounding to a grid of so many steps, with gradients that pass where nothing was clamped."""

from __future__ import annotations

from typing import Any

from clew.autograd.function import Function
from clew.core.overrides import overridable
from clew.core.tensor import Tensor

__all__ = ["fake_quantize_per_channel_affine", "fake_quantize_per_tensor_affine"]


class FakeQuantizeFunction(Function):
    """`(clamp(round(x / scale) + zero_point) - zero_point) * scale`; straight-through backward."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Any, zero_point: Any, low: int, high: int) -> Tensor:
        # The reciprocal is what PyTorch's kernels multiply by.
        steps = (x * (1.0 / scale) + zero_point).round()
        ctx.save_for_backward((steps >= low) & (steps <= high))
        return (steps.clamp(low, high) - zero_point) * scale

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return grads[0] * ctx.saved_tensors[0], None, None, None, None


def fake_quantize_per_tensor_affine(
    input: Tensor, scale: Any, zero_point: Any, quant_min: int, quant_max: int
) -> Tensor:
    """Round to multiples of a scale, as quantization would; gradients pass where it fits.

    Args:
        input: the tensor
        scale: the distance of two steps
        zero_point: the step that stands for zero
        quant_min, quant_max: the first and the last step

    Example:
        >>> x = clew.tensor([0.12, 0.5, 9.0])
        >>> clew.fake_quantize_per_tensor_affine(x, 0.1, 0, 0, 10)
        tensor([0.1000, 0.5000, 1.0000])
    """
    result: Tensor = FakeQuantizeFunction.apply(input, scale, zero_point, quant_min, quant_max)
    return result


def fake_quantize_per_channel_affine(
    input: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int
) -> Tensor:
    """The same with a scale and a zero point for each index of a dimension.

    Args:
        input: the tensor
        scale, zero_point: one for each index
        axis: the dimension
        quant_min, quant_max: the first and the last step

    Example:
        >>> x = clew.tensor([[0.12, 0.5], [0.12, 0.5]])
        >>> scale, zero = clew.tensor([0.1, 0.2]), clew.zeros(2, dtype=clew.int32)
        >>> clew.fake_quantize_per_channel_affine(x, scale, zero, 0, 0, 10)
        tensor([[0.1000, 0.5000],
                [0.2000, 0.4000]])
    """
    shape = [-1 if dim == axis % input.dim() else 1 for dim in range(input.dim())]
    result: Tensor = FakeQuantizeFunction.apply(
        input, scale.reshape(shape), zero_point.reshape(shape), quant_min, quant_max
    )
    return result


overridable("torch", globals(), *__all__)
