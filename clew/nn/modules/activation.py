"""Activation functions as layers."""

# ruff: noqa: RUF012  (`__constants__` is a list, as in PyTorch)

from __future__ import annotations

import warnings
from typing import Any

from clew import errors
from clew.core.tensor import Tensor
from clew.nn import functional as F
from clew.nn import init
from clew.nn.modules.activation_base import (
    _Activation,
    _InplaceActivation,
)
from clew.nn.modules.activation_smooth import (
    CELU,
    ELU,
    GELU,
    GLU,
    SELU,
    LogSigmoid,
    LogSoftmax,
    Mish,
    Sigmoid,
    SiLU,
    Softmax,
    Softmax2d,
    Softmin,
    Softplus,
    Softsign,
    Tanh,
    Tanhshrink,
)
from clew.nn.modules.attention import MultiheadAttention
from clew.nn.parameter import Parameter
from clew.ops.create.constants import empty
from clew.source import user_stacklevel

__all__ = [
    "Threshold",
    "ReLU",
    "RReLU",
    "Hardtanh",
    "ReLU6",
    "Sigmoid",
    "Hardsigmoid",
    "Tanh",
    "SiLU",
    "Mish",
    "Hardswish",
    "ELU",
    "CELU",
    "SELU",
    "GLU",
    "GELU",
    "Hardshrink",
    "LeakyReLU",
    "LogSigmoid",
    "Softplus",
    "Softshrink",
    "MultiheadAttention",
    "PReLU",
    "Softsign",
    "Tanhshrink",
    "Softmin",
    "Softmax",
    "Softmax2d",
    "LogSoftmax",
]


# -- linear in pieces ----------------------------------------------------------------------


class Threshold(_Activation):
    """The input where it is above `threshold`, `value` elsewhere.

    Args:
        threshold: the largest input that is replaced
        value: what replaces it
        inplace: overwrite the input with the result

    Shape: any; the output's is the same

    Example:
        >>> nn.Threshold(0.5, -1.0)(clew.tensor([0.0, 0.5, 2.0]))
        tensor([-1., -1.,  2.])
    """

    __constants__ = ["threshold", "value", "inplace"]

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.threshold(input, self.threshold, self.value, self.inplace)


class ReLU(_InplaceActivation):
    """The positive part: max(x, 0).

    Args:
        inplace: overwrite the input with the result

    Shape: any; the output's is the same

    Example:
        >>> nn.ReLU()(clew.tensor([-1.0, 0.0, 2.0]))
        tensor([0., 0., 2.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input, self.inplace)


class RReLU(_Activation):
    """Leaky ReLU whose slope below 0 is drawn at random while training.

    In evaluation the slope is the middle of the two bounds.

    Args:
        lower: the smallest slope
        upper: the largest slope
        inplace: overwrite the input with the result

    Shape: any; the output's is the same

    Example:
        >>> nn.RReLU(0.1, 0.3).eval()(clew.tensor([-1.0, 2.0]))
        tensor([-0.2000,  2.0000])
    """

    __constants__ = ["lower", "upper", "inplace"]

    def __init__(
        self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False
    ) -> None:
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)


class Hardtanh(_Activation):
    """The input, held between `min_val` and `max_val`.

    Args:
        min_val: the lower bound
        max_val: the upper bound
        inplace: overwrite the input with the result
        min_value, max_value: deprecated names of `min_val` and `max_val`

    Shape: any; the output's is the same

    Example:
        >>> nn.Hardtanh()(clew.tensor([-3.0, 0.5, 2.0]))
        tensor([-1.0000,  0.5000,  1.0000])
    """

    __constants__ = ["min_val", "max_val", "inplace"]

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__()
        if min_value is not None:
            _warn_renamed("min_value", "min_val")
            min_val = min_value
        if max_value is not None:
            _warn_renamed("max_value", "max_val")
            max_val = max_value
        if not max_val > min_val:
            raise AssertionError(
                f"max_val ({max_val}) must be greater than min_val ({min_val})"
                + errors.at_user_line()
            )
        self.min_val = min_val
        self.max_val = max_val
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)


def _warn_renamed(old: str, new: str) -> None:
    warnings.warn(
        f"keyword argument `{old}` is deprecated and renamed to `{new}`",
        FutureWarning,
        stacklevel=user_stacklevel(),
    )


class ReLU6(Hardtanh):
    """The input, held between 0 and 6.

    Args:
        inplace: overwrite the input with the result

    Shape: any; the output's is the same

    Example:
        >>> nn.ReLU6()(clew.tensor([-1.0, 3.0, 9.0]))
        tensor([0., 3., 6.])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class LeakyReLU(_Activation):
    """The input above 0, `negative_slope` times the input below.

    Args:
        negative_slope: the slope below 0
        inplace: overwrite the input with the result

    Shape: any; the output's is the same

    Example:
        >>> nn.LeakyReLU(0.1)(clew.tensor([-1.0, 2.0]))
        tensor([-0.1000,  2.0000])
    """

    __constants__ = ["inplace", "negative_slope"]

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)


class PReLU(_Activation):
    """`LeakyReLU` whose slope is trained: one for all, or one per channel.

    Args:
        num_parameters: 1, or the number of channels, which are dimension 1
        init: where the slopes start
        device, dtype: of the slopes

    Shape: any; the output's is the same

    Example:
        >>> prelu = nn.PReLU(2)
        >>> prelu(clew.tensor([[-1.0, -2.0]]))
        tensor([[-0.2500, -0.5000]], grad_fn=<PreluKernelBackward0>)
    """

    __constants__ = ["num_parameters"]

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        init.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)


class Hardsigmoid(_InplaceActivation):
    """A sigmoid of three straight lines: x / 6 + 1 / 2, held between 0 and 1.

    Args:
        inplace: overwrite the input with the result

    Shape: any; the output's is the same

    Example:
        >>> nn.Hardsigmoid()(clew.tensor([-4.0, 0.0, 1.5]))
        tensor([0.0000, 0.5000, 0.7500])
    """

    def extra_repr(self) -> str:
        return ""

    def forward(self, input: Tensor) -> Tensor:
        return F.hardsigmoid(input, self.inplace)


class Hardswish(_InplaceActivation):
    """x times `Hardsigmoid` of x.

    Args:
        inplace: overwrite the input with the result

    Shape: any; the output's is the same

    Example:
        >>> nn.Hardswish()(clew.tensor([-4.0, 1.5, 4.0]))
        tensor([-0.0000, 1.1250, 4.0000])
    """

    def extra_repr(self) -> str:
        return ""

    def forward(self, input: Tensor) -> Tensor:
        return F.hardswish(input, self.inplace)


class _Shrink(_Activation):
    """A layer that takes inputs between -lambd and lambd to 0."""

    __constants__ = ["lambd"]

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def extra_repr(self) -> str:
        return str(self.lambd)


class Hardshrink(_Shrink):
    """The input where it lies outside of -lambd .. lambd, 0 inside.

    Args:
        lambd: where the zeros end

    Shape: any; the output's is the same

    Example:
        >>> nn.Hardshrink()(clew.tensor([-1.0, 0.3, 0.7]))
        tensor([-1.0000,  0.0000,  0.7000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.hardshrink(input, self.lambd)


class Softshrink(_Shrink):
    """The input, moved towards 0 by `lambd` and not past it.

    Args:
        lambd: how far, at least 0

    Shape: any; the output's is the same

    Example:
        >>> nn.Softshrink()(clew.tensor([-1.0, 0.3, 2.0]))
        tensor([-0.5000,  0.0000,  1.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softshrink(input, self.lambd)
