"""The arguments of `max_pool1d`, which PyTorch checks by rules of their own."""

from __future__ import annotations

from typing import Any

from clew import errors
from clew.core.state import local
from clew.core.tensor import Tensor
from clew.kernels import numpy as kernels
from clew.ops.nn.spatial import failure, integers

_LINE_WORDS = {
    "kernel_size": "an int, list of ints or tuple of ints",
    "stride": "None, an int, list of ints, or tuple of ints",
    "padding": "an int, list of ints, or tuple of ints",
    "dilation": "an int, list of ints or tuple of ints",
}
_LINE_POSITIONS = {name: position for position, name in enumerate(_LINE_WORDS, 2)}


def line_size(argument: str, value: Any) -> int:
    """The number that an argument gives, alone or in a list."""
    values = integers("max_pool1d", argument, value, _LINE_POSITIONS[argument])
    if len(values) != 1:
        raise failure(
            f"max_pool1d() {argument} must be {_LINE_WORDS[argument]} of size 1 but got size "
            f"{len(values)}"
        )
    return values[0]


def check_line(
    input: Tensor, kernel_size: int, stride: int, padding: int, dilation: int, ceil_mode: bool,
    with_indices: bool,
) -> None:  # fmt: skip
    """Refuse what PyTorch refuses, in its order."""
    shape = input._array.shape
    if with_indices:
        if len(shape) not in (2, 3):
            raise failure(
                f"Expected 2 to 3 dimensions, but got {len(shape)}-dimensional tensor for argument "
                "#1 'self' (while checking arguments for max_pool1d)"
            )
        return
    if len(shape) not in (2, 3) or 0 in shape[-2:]:
        raise failure(
            f"max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size "
            f"for input, but got:{errors.shape_list(shape)}"
        )
    named = {"kernel_size": kernel_size, "stride": stride, "dilation": dilation}
    for argument, value in named.items():
        if value < 1:
            raise failure(f"max_pool1d() {argument} must be greater than zero, but got {value}")
    if padding < 0:
        raise failure(f"max_pool1d() padding must be non-negative, but got {padding}")
    if padding > kernel_size // 2:
        raise failure(
            f"max_pool1d() padding should be at most half of kernel size, but got "
            f"padding={padding} and kernel_size={kernel_size}"
        )
    count = kernels.max_pool.pool_output_size(
        shape[-1], kernel_size, stride, padding, dilation, bool(ceil_mode)
    )
    if count < 1:
        raise failure(f"max_pool1d() Invalid computed output size: {count}")
    if not input.dtype.is_floating_point:
        is_recorded = input.requires_grad and local.state.grad_enabled
        raise errors.no_kernel("max_pool2d" if is_recorded else "max_pool1d_impl", input.dtype)
