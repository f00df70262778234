"""Affine layers: Linear, Bilinear, and the layer that does nothing."""

from __future__ import annotations

import math
from typing import Any

from clew import errors
from clew.core.tensor import Tensor
from clew.nn import functional as F
from clew.nn import init
from clew.nn.modules.lazy import LazyModuleMixin
from clew.nn.modules.module import Module
from clew.nn.parameter import Parameter, UninitializedParameter
from clew.ops.create.constants import empty

__all__ = ["Bilinear", "Identity", "LazyLinear", "Linear"]


class Identity(Module):
    """Returns its input; takes any arguments.

    It stands in for a layer that is left out.

    Args:
        args, kwargs: ignored

    Shape: any; the output's is the same

    Example:
        >>> nn.Identity(54, unused=True)(clew.ones(2))
        tensor([1., 1.])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Linear(Module):
    """`input @ weight.T + bias`, over the last dimension.

    Args:
        in_features: the size of the input's last dimension
        out_features: the size of the output's
        bias: whether there is a bias
        device, dtype: of the parameters

    Shape: (*, in_features) to (*, out_features)

    Example:
        >>> layer = nn.Linear(3, 2)
        >>> layer(clew.ones(5, 3)).shape
        torch.Size([5, 2])
        >>> layer.weight.shape
        torch.Size([2, 3])
    """

    in_features: int
    out_features: int
    weight: Tensor
    bias: Tensor | None

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(empty((out_features, in_features), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new weights and biases, uniform in ±1/sqrt(in_features)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        own: Any = self._parameters
        if type(self) is Linear and "weight" in own and "bias" in own:
            # Found more quickly than as attributes; pruning and the like has them elsewhere.
            return F.linear(input, own["weight"], own["bias"])
        return F.linear(input, self.weight, self.bias)

    def _mismatch(self, *args: Any, **kwargs: Any) -> str:
        input = args[0] if args else kwargs.get("input")
        if not isinstance(input, Tensor):
            return ""
        shape = input._array.shape
        if not shape or shape[-1] != self.in_features:
            size = shape[-1] if shape else "missing"
            return (
                f"the last dimension of its input {errors.shape_list(shape)} is {size}, and must "
                f"be in_features={self.in_features}"
            )
        return _dtype_hint(input, self.weight)

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


def _dtype_hint(input: Tensor, weight: Tensor) -> str:
    if input.dtype is weight.dtype:
        return ""
    name = weight.dtype.name
    return f"its input is {input.dtype!r} and its weight {weight.dtype!r}: write x.to(torch.{name})"


class NonDynamicallyQuantizableLinear(Linear):
    """A Linear under another name, which older models' state and printing know."""


class Bilinear(Module):
    """`input1 @ weight[k] @ input2 + bias[k]` for every output feature `k`.

    Args:
        in1_features: the size of the first input's last dimension
        in2_features: the size of the second input's
        out_features: the size of the output's
        bias: whether there is a bias
        device, dtype: of the parameters

    Shape: (*, in1_features) and (*, in2_features) to (*, out_features)

    Example:
        >>> nn.Bilinear(3, 4, 2)(clew.ones(5, 3), clew.ones(5, 4)).shape
        torch.Size([5, 2])
    """

    in1_features: int
    in2_features: int
    out_features: int
    weight: Tensor
    bias: Tensor | None

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got ({in1_features=})")
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        sizes = (out_features, in1_features, in2_features)
        self.weight = Parameter(empty(sizes, device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new weights and biases, uniform in ±1/sqrt(in1_features)."""
        bound = 1 / math.sqrt(self.weight.size(1))
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )


class LazyLinear(LazyModuleMixin, Linear):
    """A Linear that takes `in_features` from its first input.

    Args:
        out_features: the size of the output's last dimension
        bias: whether there is a bias
        device, dtype: of the parameters

    Shape: (*, any size) to (*, out_features)

    Example:
        >>> layer = nn.LazyLinear(2)
        >>> layer(clew.ones(5, 3)).shape
        torch.Size([5, 2])
        >>> layer
        Linear(in_features=3, out_features=2, bias=True)
    """

    cls_to_become = Linear
    weight: UninitializedParameter
    bias: Any

    def __init__(
        self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(0, 0, False)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_features = out_features
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Give weight and bias their shapes, and draw them."""
        if not self.has_uninitialized_params():
            if self.in_features == 0:
                self.in_features = self.weight.shape[-1]
            return
        self.in_features = input.shape[-1]
        self.weight.materialize((self.out_features, self.in_features))
        if self.bias is not None:
            self.bias.materialize((self.out_features,))
        self.reset_parameters()
