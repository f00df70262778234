"""Smooth activation functions as layers, and those along a dimension."""

# ruff: noqa: RUF012  (`__constants__` is a list, as in PyTorch)

from __future__ import annotations

from clew import errors
from clew.core.tensor import Tensor
from clew.nn import functional as F
from clew.nn.modules.activation_base import (
    _Activation,
    _InplaceActivation,
)


class Sigmoid(_Activation):
    """1 / (1 + exp(-x)): any number to one between 0 and 1.

    Shape: any; the output's is the same

    Example:
        >>> nn.Sigmoid()(clew.tensor([-2.0, 0.0, 2.0]))
        tensor([0.1192, 0.5000, 0.8808])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.sigmoid(input)


class Tanh(_Activation):
    """The hyperbolic tangent: any number to one between -1 and 1.

    Shape: any; the output's is the same

    Example:
        >>> nn.Tanh()(clew.tensor([-1.0, 0.0, 1.0]))
        tensor([-0.7616,  0.0000,  0.7616])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.tanh(input)


class SiLU(_InplaceActivation):
    """x times sigmoid(x), also known as swish.

    Args:
        inplace: overwrite the input with the result

    Shape: any; the output's is the same

    Example:
        >>> nn.SiLU()(clew.tensor([-1.0, 0.0, 1.0]))
        tensor([-0.2689,  0.0000,  0.7311])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input, self.inplace)


class Mish(_InplaceActivation):
    """x times tanh(softplus(x)).

    Args:
        inplace: overwrite the input with the result

    Shape: any; the output's is the same

    Example:
        >>> nn.Mish()(clew.tensor([-1.0, 0.0, 1.0]))
        tensor([-0.3034,  0.0000,  0.8651])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.mish(input, self.inplace)


class _ScaledExponential(_Activation):
    """An activation that ends in an exponential below 0, of size `alpha`."""

    __constants__ = ["alpha", "inplace"]

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace


class ELU(_ScaledExponential):
    """x above 0, alpha * (exp(x) - 1) below.

    Args:
        alpha: minus the value far below 0
        inplace: overwrite the input with the result

    Shape: any; the output's is the same

    Example:
        >>> nn.ELU()(clew.tensor([-1.0, 2.0]))
        tensor([-0.6321,  2.0000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.elu(input, self.alpha, self.inplace)


class CELU(_ScaledExponential):
    """x above 0, alpha * (exp(x / alpha) - 1) below: an ELU without a bend at 0.

    Args:
        alpha: minus the value far below 0
        inplace: overwrite the input with the result

    Shape: any; the output's is the same

    Example:
        >>> nn.CELU(2.0)(clew.tensor([-1.0, 2.0]))
        tensor([-0.7869,  2.0000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.celu(input, self.alpha, self.inplace)


class SELU(_InplaceActivation):
    """`ELU`, scaled so that mean 0 and variance 1 stay so through many layers.

    Args:
        inplace: overwrite the input with the result

    Shape: any; the output's is the same

    Example:
        >>> nn.SELU()(clew.tensor([-1.0, 1.0]))
        tensor([-1.1113,  1.0507])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.selu(input, self.inplace)


class GLU(_Activation):
    """The first half along `dim`, times the sigmoid of the second half.

    Args:
        dim: the dimension that is halved

    Shape: (*, 2 n, *) to (*, n, *)

    Example:
        >>> nn.GLU()(clew.tensor([1.0, 2.0, 0.0, 0.0]))
        tensor([0.5000, 1.0000])
    """

    __constants__ = ["dim"]

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.glu(input, self.dim)


class GELU(_Activation):
    """x times the normal distribution function of x, or its approximation by tanh.

    Args:
        approximate: "none" for the exact function, "tanh" for the approximation

    Shape: any; the output's is the same

    Example:
        >>> nn.GELU()(clew.tensor([-1.0, 1.0]))
        tensor([-0.1587,  0.8413])
        >>> nn.GELU("tanh")(clew.tensor([-1.0, 1.0]))
        tensor([-0.1588,  0.8412])
    """

    __constants__ = ["approximate"]

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)


class LogSigmoid(_Activation):
    """The logarithm of the sigmoid, computed without its underflow.

    Shape: any; the output's is the same

    Example:
        >>> nn.LogSigmoid()(clew.tensor([-200.0, 0.0]))
        tensor([-200.0000,   -0.6931])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


class Softplus(_Activation):
    """log(1 + exp(beta * x)) / beta; x itself where beta * x exceeds `threshold`.

    Args:
        beta: how sharp the bend at 0 is
        threshold: from where on the result is x

    Shape: any; the output's is the same

    Example:
        >>> nn.Softplus()(clew.tensor([-1.0, 0.0, 30.0]))
        tensor([ 0.3133,  0.6931, 30.0000])
    """

    __constants__ = ["beta", "threshold"]

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)


class Softsign(_Activation):
    """x / (1 + |x|): any number to one between -1 and 1.

    Shape: any; the output's is the same

    Example:
        >>> nn.Softsign()(clew.tensor([-1.0, 3.0]))
        tensor([-0.5000,  0.7500])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softsign(input)


class Tanhshrink(_Activation):
    """x - tanh(x): next to nothing near 0, x ± 1 far from it.

    Shape: any; the output's is the same

    Example:
        >>> nn.Tanhshrink()(clew.tensor([-1.0, 0.1, 9.0]))
        tensor([-2.3841e-01,  3.3201e-04,  8.0000e+00])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.tanhshrink(input)


class _AlongDim(_Activation):
    """A normalisation along `dim`; None lets the number of dimensions decide, with a warning."""

    __constants__ = ["dim"]

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim


class Softmin(_AlongDim):
    """`Softmax` of the negated input.

    Args:
        dim: the dimension along which the results sum to 1; None, deprecated, chooses by rank

    Shape: any; the output's is the same

    Example:
        >>> nn.Softmin(dim=0)(clew.tensor([1.0, 2.0]))
        tensor([0.7311, 0.2689])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softmin(input, self.dim)


class Softmax(_AlongDim):
    """exp(x) divided by its sum along `dim`.

    Args:
        dim: the dimension along which the results sum to 1; None, deprecated, chooses by rank

    Shape: any; the output's is the same

    Example:
        >>> nn.Softmax(dim=1)(clew.tensor([[0.0, 1.0], [5.0, 5.0]]))
        tensor([[0.2689, 0.7311],
                [0.5000, 0.5000]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim)


class LogSoftmax(_AlongDim):
    """The logarithm of `Softmax`, computed without its underflow.

    Args:
        dim: the dimension along which the probabilities sum to 1; None, deprecated, chooses by rank

    Shape: any; the output's is the same

    Example:
        >>> nn.LogSoftmax(dim=0)(clew.tensor([0.0, 100.0]))
        tensor([-100.,    0.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim)


class Softmax2d(_Activation):
    """`Softmax` over the channels of (N, C, H, W) or (C, H, W).

    Shape: any; the output's is the same

    Example:
        >>> nn.Softmax2d()(clew.zeros(4, 1, 2))[0]
        tensor([[0.2500, 0.2500]])
    """

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (3, 4):
            raise ValueError(
                f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead"
                + errors.at_user_line()
            )
        return F.softmax(input, -3)
