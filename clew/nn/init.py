"""Initial values of parameters, in place and without history: `torch.nn.init`'s names and numbers.

Each function draws from the random stream in PyTorch's order, so a seed gives the same parameters.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable
from typing import Any, Literal

from clew import errors
from clew.autograd.grad_mode import no_grad
from clew.backend.random import Generator
from clew.core.overrides import overridable
from clew.core.tensor import Tensor
from clew.linalg import qr
from clew.nn.truncated_normal import (
    trunc_normal_,
)
from clew.ops.create import ranges
from clew.ops.create.random import randperm
from clew.source import user_stacklevel

__all__ = [
    "calculate_gain",
    "uniform_",
    "normal_",
    "trunc_normal_",
    "constant_",
    "ones_",
    "zeros_",
    "eye_",
    "dirac_",
    "xavier_uniform_",
    "xavier_normal_",
    "kaiming_uniform_",
    "kaiming_normal_",
    "orthogonal_",
    "sparse_",
    "uniform",
    "normal",
    "constant",
    "eye",
    "dirac",
    "xavier_uniform",
    "xavier_normal",
    "kaiming_uniform",
    "kaiming_normal",
    "orthogonal",
    "sparse",
]

FanMode = Literal["fan_in", "fan_out"]

_FIXED_GAINS = {
    **dict.fromkeys(("linear", "conv1d", "conv2d", "conv3d", "sigmoid"), 1),
    **dict.fromkeys(("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"), 1),
    "tanh": 5.0 / 3,
    "relu": math.sqrt(2.0),
    "selu": 3.0 / 4,
}


def calculate_gain(nonlinearity: str, param: int | float | None = None) -> float:
    """The factor by which weights make up for what a nonlinearity does to the variance.

    Args:
        nonlinearity: the function's name, such as "relu", "leaky_relu", "tanh", "sigmoid" or
            "linear"
        param: the negative slope of "leaky_relu"; None is 0.01

    Example:
        >>> nn.init.calculate_gain("tanh")
        1.6666666666666667
        >>> nn.init.calculate_gain("leaky_relu", 0.2)
        1.3867504905630728
    """
    if nonlinearity in _FIXED_GAINS:
        return _FIXED_GAINS[nonlinearity]
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, (int, float)):
            raise ValueError(f"negative_slope {param} not a valid number" + errors.at_user_line())
        return math.sqrt(2.0 / (1 + slope**2))
    known = ", ".join([*_FIXED_GAINS, "leaky_relu"])
    raise ValueError(
        f"Unsupported nonlinearity {nonlinearity}\n  Known are {known}" + errors.at_user_line()
    )


# ---------------------------------------------------------------- independent values


@no_grad()
def uniform_(
    tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Fill with values drawn evenly from [a, b).

    Args:
        tensor: what to fill; it is returned
        a: the lower bound
        b: the upper bound
        generator: where the random numbers come from; None is the default generator

    Example:
        >>> _ = clew.manual_seed(0)
        >>> nn.init.uniform_(clew.empty(3), -1, 1)
        tensor([-0.0075,  0.5364, -0.8230])
    """
    return tensor.uniform_(a, b, generator=generator)


@no_grad()
def normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Fill with values drawn from a normal distribution.

    Args:
        tensor: what to fill; it is returned
        mean: the distribution's mean
        std: its standard deviation
        generator: where the random numbers come from; None is the default generator

    Example:
        >>> _ = clew.manual_seed(0)
        >>> nn.init.normal_(clew.empty(3), std=0.02)
        tensor([ 0.0308, -0.0059, -0.0436])
    """
    return tensor.normal_(mean, std, generator=generator)


@no_grad()
def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with one value.

    Args:
        tensor: what to fill; it is returned
        val: the value

    Example:
        >>> nn.init.constant_(clew.empty(2, 2), 0.3)
        tensor([[0.3000, 0.3000],
                [0.3000, 0.3000]])
    """
    return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Fill with 1.

    Args:
        tensor: what to fill; it is returned

    Example:
        >>> nn.init.ones_(clew.empty(3))
        tensor([1., 1., 1.])
    """
    return constant_(tensor, 1.0)


@no_grad()
def zeros_(tensor: Tensor) -> Tensor:
    """Fill with 0.

    Args:
        tensor: what to fill; it is returned

    Example:
        >>> layer = nn.Linear(2, 3)
        >>> nn.init.zeros_(layer.bias)
        Parameter containing:
        tensor([0., 0., 0.], requires_grad=True)
    """
    return tensor.zero_()


# ---------------------------------------------------------------- identities


@no_grad()
def eye_(tensor: Tensor) -> Tensor:
    """Fill a matrix with the identity: a linear layer that passes on its inputs.

    Args:
        tensor: a matrix, which is filled and returned; it need not be square

    Example:
        >>> nn.init.eye_(clew.empty(2, 3))
        tensor([[1., 0., 0.],
                [0., 1., 0.]])
    """
    _require_matrix(tensor)
    return tensor.copy_(ranges.eye(*tensor.shape, dtype=tensor.dtype))


@no_grad()
def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill a convolution's weight so that each group passes on as many channels as it can.

    Args:
        tensor: a weight (out, in, ...) of 3 to 5 dimensions, which is filled and returned
        groups: the convolution's number of groups

    Example:
        >>> conv = nn.Conv1d(2, 2, 3, padding=1, bias=False)
        >>> _ = nn.init.dirac_(conv.weight)
        >>> x = clew.randn(1, 2, 5)
        >>> bool((conv(x) == x).all())
        True
    """
    if tensor.ndim not in (3, 4, 5):
        raise ValueError(
            "Only tensors with 3, 4, or 5 dimensions are supported\n"
            f"  It fills the weight of a convolution; this tensor has shape {tuple(tensor.shape)}"
            + errors.at_user_line()
        )
    if tensor.shape[0] % groups != 0:
        raise ValueError(
            f"dim 0 must be divisible by groups\n  {tensor.shape[0]} is not divisible by {groups}"
            + errors.at_user_line()
        )
    tensor.zero_()
    group_size = tensor.shape[0] // groups
    centre = tuple(size // 2 for size in tensor.shape[2:])
    for group in range(groups):
        for channel in range(min(group_size, tensor.shape[1])):
            tensor[(group * group_size + channel, channel, *centre)] = 1
    return tensor


# ---------------------------------------------------------------- scaled by the number of inputs


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """How many inputs one output sees through this weight, and how many outputs one input."""
    if tensor.dim() < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions\n"
            f"  This one has shape {tuple(tensor.shape)}" + errors.at_user_line()
        )
    receptive_field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * receptive_field, tensor.shape[0] * receptive_field


def _calculate_correct_fan(tensor: Tensor, mode: FanMode) -> int:
    lowered = mode.lower()
    if lowered not in ("fan_in", "fan_out"):
        raise ValueError(
            f"Mode {lowered} not supported, please use one of ['fan_in', 'fan_out']"
            + errors.at_user_line()
        )
    return _calculate_fan_in_and_fan_out(tensor)[lowered == "fan_out"]


def _xavier_std(tensor: Tensor, gain: float) -> float:
    return gain * math.sqrt(2.0 / float(sum(_calculate_fan_in_and_fan_out(tensor))))


def xavier_uniform_(
    tensor: Tensor, gain: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Even values whose variance is 2 gain² / (fan_in + fan_out) (Glorot and Bengio, 2010).

    Args:
        tensor: a weight (out, in, ...), which is filled and returned
        gain: the factor for what follows the layer; see `calculate_gain`
        generator: where the random numbers come from; None is the default generator

    Example:
        >>> weight = nn.init.xavier_uniform_(clew.empty(30, 20))
        >>> bool(weight.abs().max() <= (6 / 50) ** 0.5)
        True
    """
    bound = math.sqrt(3.0) * _xavier_std(tensor, gain)
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Normal values whose variance is 2 gain² / (fan_in + fan_out).

    Args:
        tensor: a weight (out, in, ...), which is filled and returned
        gain: the factor for what follows the layer; see `calculate_gain`
        generator: where the random numbers come from; None is the default generator

    Example:
        >>> weight = nn.init.xavier_normal_(clew.empty(300, 200))
        >>> round(weight.std().item() * 250**0.5, 1)
        1.0
    """
    return normal_(tensor, 0.0, _xavier_std(tensor, gain), generator)


def _kaiming_std(tensor: Tensor, a: float, mode: FanMode, nonlinearity: str) -> float | None:
    """None for a tensor without elements, whose fan can be zero; that is warned of."""
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=user_stacklevel())
        return None
    fan = _calculate_correct_fan(tensor, mode)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: FanMode = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Even values whose variance is gain² / fan (He et al., 2015).

    Args:
        tensor: a weight (out, in, ...), which is filled and returned
        a: the negative slope, for `nonlinearity="leaky_relu"`
        mode: "fan_in" keeps the variance in the forward pass, "fan_out" in the backward pass
        nonlinearity: what follows the layer; it sets the gain, as in `calculate_gain`
        generator: where the random numbers come from; None is the default generator

    Example:
        >>> weight = nn.init.kaiming_uniform_(clew.empty(5, 24), nonlinearity="relu")
        >>> bool(weight.abs().max() <= (6 / 24) ** 0.5)
        True
    """
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    if std is None:
        return tensor
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: FanMode = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Normal values whose variance is gain² / fan (He et al., 2015).

    Args:
        tensor: a weight (out, in, ...), which is filled and returned
        a: the negative slope, for `nonlinearity="leaky_relu"`
        mode: "fan_in" keeps the variance in the forward pass, "fan_out" in the backward pass
        nonlinearity: what follows the layer; it sets the gain, as in `calculate_gain`
        generator: where the random numbers come from; None is the default generator

    Example:
        >>> weight = nn.init.kaiming_normal_(clew.empty(400, 200), mode="fan_out")
        >>> round(weight.std().item() * 200**0.5, 1)
        1.0
    """
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    return tensor if std is None else normal_(tensor, 0.0, std, generator)


# ---------------------------------------------------------------- matrices as a whole


@no_grad()
def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor:
    """Fill so that rows (or columns, whichever are fewer) are orthonormal, times `gain`.

    Args:
        tensor: two or more dimensions, those after the first taken as one; filled and returned
        gain: the length of the rows or columns
        generator: where the random numbers come from; None is the default generator

    Example:
        >>> weight = nn.init.orthogonal_(clew.empty(3, 5))
        >>> clew.allclose(weight @ weight.T, clew.eye(3), atol=1e-6)
        True
    """
    if tensor.ndim < 2:
        raise ValueError(
            "Only tensors with 2 or more dimensions are supported\n"
            f"  This one has shape {tuple(tensor.shape)}" + errors.at_user_line()
        )
    if tensor.numel() == 0:
        return tensor
    rows = tensor.shape[0]
    columns = tensor.numel() // rows
    draw = tensor.new_empty((rows, columns)).normal_(0, 1, generator=generator)
    tall, upper = qr(draw.t() if rows < columns else draw)
    # A positive diagonal of R makes the draw uniform over all orthogonal matrices.
    tall = tall * upper.diagonal().sign()
    orthonormal = tall.t() if rows < columns else tall
    tensor.copy_(orthonormal.reshape(tensor.shape))
    return tensor.mul_(gain)


@no_grad()
def sparse_(
    tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None
) -> Tensor:
    """Fill a matrix with normal values, then set the given part of each column to zero.

    Args:
        tensor: a matrix, which is filled and returned
        sparsity: how much of each column is zero, from 0 to 1
        std: the standard deviation of the other values
        generator: where the random numbers come from; None is the default generator

    Example:
        >>> weight = nn.init.sparse_(clew.empty(10, 4), sparsity=0.3)
        >>> (weight == 0).sum(0)
        tensor([3, 3, 3, 3])
    """
    _require_matrix(tensor)
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    tensor.normal_(0, std, generator=generator)
    for column in range(columns):
        # Which rows become zero is drawn from the default stream even if `generator` is given.
        tensor[randperm(rows)[:zeros], column] = 0
    return tensor


def _require_matrix(tensor: Tensor) -> None:
    if tensor.ndim != 2:
        raise ValueError(
            "Only tensors with 2 dimensions are supported\n"
            f"  This one has shape {tuple(tensor.shape)}" + errors.at_user_line()
        )


# ---------------------------------------------------------------- old names


def _deprecated(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    new_name = function.__name__
    old_name = new_name[:-1]

    @functools.wraps(function)
    def old(*args: Any, **kwargs: Any) -> Tensor:
        warnings.warn(
            f"`nn.init.{old_name}` is now deprecated in favor of `nn.init.{new_name}`.",
            FutureWarning,
            stacklevel=user_stacklevel(),
        )
        return function(*args, **kwargs)

    old.__name__ = old_name
    old.__doc__ = f"Deprecated: the old name of `{new_name}`."
    return old


uniform = _deprecated(uniform_)
normal = _deprecated(normal_)
constant = _deprecated(constant_)
eye = _deprecated(eye_)
dirac = _deprecated(dirac_)
xavier_uniform = _deprecated(xavier_uniform_)
xavier_normal = _deprecated(xavier_normal_)
kaiming_uniform = _deprecated(kaiming_uniform_)
kaiming_normal = _deprecated(kaiming_normal_)
orthogonal = _deprecated(orthogonal_)
sparse = _deprecated(sparse_)

# No history is recorded by any of these functions; PyTorch has second names that say so.
_no_grad_uniform_ = uniform_
_no_grad_normal_ = normal_
_no_grad_trunc_normal_ = trunc_normal_
_no_grad_fill_ = constant_
_no_grad_zero_ = zeros_

overridable("torch.nn.init", globals(), "uniform_", "normal_", "constant_", "kaiming_uniform_")
