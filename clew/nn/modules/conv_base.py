"""What all convolutions have: weight, bias, and the checks of the numbers that describe them."""

# ruff: noqa: RUF012  (`__constants__` is a list, as in PyTorch)

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from clew import errors
from clew.autograd.grad_mode import no_grad
from clew.backend.dtypes import dtype as DType
from clew.core.tensor import Tensor
from clew.nn import init
from clew.nn.modules.module import Module
from clew.nn.modules.utils import _reverse_repeat_tuple
from clew.nn.parameter import Parameter, is_lazy
from clew.ops.create.constants import empty

_PADDING_WORDS = {"same", "valid"}
_PADDING_MODES = {"zeros", "reflect", "replicate", "circular"}


class _ConvNd(Module):
    """What all convolutions have: weight, bias, and the numbers that describe them."""

    __constants__ = [
        "stride",
        "padding",
        "dilation",
        "groups",
        "padding_mode",
        "output_padding",
        "in_channels",
        "out_channels",
        "kernel_size",
    ]

    weight: Tensor
    bias: Tensor | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        padding: str | tuple[int, ...],
        dilation: tuple[int, ...],
        transposed: bool,
        output_padding: tuple[int, ...],
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        if groups <= 0:
            raise ValueError(
                f"groups must be a positive integer\n  This is groups={groups}"
                + errors.at_user_line()
            )
        _check_divisible("in_channels", in_channels, groups)
        _check_divisible("out_channels", out_channels, groups)
        _check_padding(padding, stride, padding_mode)
        if transposed and padding_mode != "zeros":
            raise ValueError(
                f'Only "zeros" padding mode is supported for {type(self).__name__}\n'
                f"  This is padding_mode={padding_mode!r}" + errors.at_user_line()
            )
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.transposed = transposed
        self.output_padding = output_padding
        self.groups = groups
        self.padding_mode = padding_mode
        self._reversed_padding_repeated_twice = _padding_of_input(padding, kernel_size, dilation)
        self.weight = Parameter(empty(self._weight_shape(), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(empty(out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _weight_shape(self) -> tuple[int, ...]:
        first, second = self.out_channels, self.in_channels
        if self.transposed:
            first, second = second, first
        return (first, second // self.groups, *self.kernel_size)

    def reset_parameters(self) -> None:
        """Draw weight and bias anew, evenly from ±1/sqrt(inputs of one output)."""
        weight = self.weight
        if weight.is_contiguous() or is_lazy(weight):
            init.kaiming_uniform_(weight, a=math.sqrt(5))
        else:
            # The numbers depend on the seed alone, not on the format in memory.
            drawn = init.kaiming_uniform_(empty(weight.shape, dtype=weight.dtype), a=math.sqrt(5))
            with no_grad():
                weight.copy_(drawn)
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in != 0:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        parts = [str(self.in_channels), str(self.out_channels)]
        parts += [f"kernel_size={self.kernel_size}", f"stride={self.stride}"]
        usual = {
            "padding": (0,) * len(self.padding),
            "dilation": (1,) * len(self.dilation),
            "output_padding": (0,) * len(self.output_padding),
            "groups": 1,
        }
        parts += [
            f"{name}={getattr(self, name)}"
            for name, value in usual.items()
            if getattr(self, name) != value
        ]
        if self.bias is None:
            parts.append("bias=False")
        if self.padding_mode != "zeros":
            parts.append(f"padding_mode={self.padding_mode}")
        return ", ".join(parts)


def _check_divisible(name: str, channels: int, groups: int) -> None:
    if channels % groups != 0:
        raise ValueError(
            f"{name} must be divisible by groups\n  These are {name}={channels} and groups={groups}"
            + errors.at_user_line()
        )


def _check_padding(
    padding: str | tuple[int, ...], stride: tuple[int, ...], padding_mode: str
) -> None:
    if isinstance(padding, str):
        if padding not in _PADDING_WORDS:
            raise ValueError(
                f"Invalid padding string {padding!r}, should be one of {_PADDING_WORDS}"
                + errors.at_user_line()
            )
        if padding == "same" and any(step != 1 for step in stride):
            raise ValueError(
                "padding='same' is not supported for strided convolutions\n"
                f"  With stride={stride}, give the padding in numbers" + errors.at_user_line()
            )
    if padding_mode not in _PADDING_MODES:
        raise ValueError(
            f"padding_mode must be one of {_PADDING_MODES}, but got padding_mode='{padding_mode}'"
            + errors.at_user_line()
        )


def _padding_of_input(
    padding: str | tuple[int, ...], kernel_size: tuple[int, ...], dilation: tuple[int, ...]
) -> Sequence[int]:
    """Amounts of padding before and after each dimension, in the order of `F.pad`: last first."""
    if not isinstance(padding, str):
        return _reverse_repeat_tuple(padding, 2)
    amounts = [0, 0] * len(kernel_size)
    if padding == "same":
        for place, (size, step) in enumerate(zip(reversed(kernel_size), reversed(dilation))):
            total = step * (size - 1)
            amounts[2 * place : 2 * place + 2] = total // 2, total - total // 2
    return amounts
