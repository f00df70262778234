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
from clew.autograd.mode import no_grad
from clew.backend.random import Generator
from clew.core.tensor import Tensor
from clew.linalg import qr
from clew.ops.create import ranges
from clew.ops.create.constants import empty_like
from clew.ops.create.random import randperm
from clew.ops.pointwise.clamping import where

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
    """The factor by which weights make up for what a nonlinearity does to the variance."""
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
    """Fill with values drawn evenly from [a, b)."""
    return tensor.uniform_(a, b, generator=generator)


@no_grad()
def normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Fill with values drawn from a normal distribution."""
    return tensor.normal_(mean, std, generator=generator)


@no_grad()
def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Fill from the part of a normal distribution that lies between a and b."""
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. "
            "The distribution of values may be incorrect.",
            stacklevel=3,
        )
    low, high = (0.5 * (1 + math.erf((edge - mean) / std / math.sqrt(2))) for edge in (a, b))
    if high - low > _OFTEN_INSIDE:
        return _reject_normals(tensor, mean, std, a, b, generator)
    return _reject_uniforms(tensor, mean, std, a, b, generator)


_OFTEN_INSIDE = 0.3
"""The probability of [a, b] above which drawing normal values until they fall inside is fast."""


def _reject_normals(
    tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Generator | None
) -> Tensor:
    """Draw normal values, and draw all anew for the places where they lie outside [a, b]."""
    # The edges as the dtype has them: a value that is rounded to one lies inside.
    low, high = (tensor.new_tensor(edge).item() for edge in (a, b))
    tensor.normal_(mean, std, generator=generator)
    while (outside := (tensor < low) | (tensor > high)).any():
        again = empty_like(tensor).normal_(mean, std, generator=generator)
        tensor.copy_(where(outside, again, tensor))
    return tensor


def _reject_uniforms(
    tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Generator | None
) -> Tensor:
    """Draw evenly from [a, b], and keep each value as often as its density asks for.

    The density is relative to the highest inside [a, b], so this stays fast far out in a tail.
    """
    highest = -0.5 * ((min(max(mean, a), b) - mean) / std) ** 2
    rejected = None
    while rejected is None or rejected.any():
        draw = empty_like(tensor).uniform_(a, b, generator=generator)
        tensor.copy_(draw if rejected is None else where(rejected, draw, tensor))
        log_density = draw.sub_(mean).div_(std).pow_(2).mul_(-0.5).sub_(highest)
        level = empty_like(tensor).uniform_(generator=generator).log_()
        above = level > log_density
        rejected = above if rejected is None else rejected & above
    return tensor


@no_grad()
def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with one value."""
    return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Fill with 1."""
    return constant_(tensor, 1.0)


@no_grad()
def zeros_(tensor: Tensor) -> Tensor:
    """Fill with 0."""
    return tensor.zero_()


# ---------------------------------------------------------------- identities


@no_grad()
def eye_(tensor: Tensor) -> Tensor:
    """Fill a matrix with the identity: a linear layer that passes on its inputs."""
    _require_matrix(tensor)
    return tensor.copy_(ranges.eye(*tensor.shape, dtype=tensor.dtype))


@no_grad()
def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill a convolution's weight so that each group passes on as many channels as it can."""
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
    """Even values whose variance is 2 gain² / (fan_in + fan_out) (Glorot and Bengio, 2010)."""
    bound = math.sqrt(3.0) * _xavier_std(tensor, gain)
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Normal values whose variance is 2 gain² / (fan_in + fan_out)."""
    return normal_(tensor, 0.0, _xavier_std(tensor, gain), generator)


def _kaiming_std(tensor: Tensor, a: float, mode: FanMode, nonlinearity: str) -> float | None:
    """None for a tensor without elements, whose fan can be zero; that is warned of."""
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
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
    """Even values whose variance is gain² / fan (He et al., 2015); `a` is leaky_relu's slope."""
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
    """Normal values whose variance is gain² / fan; `a` is leaky_relu's slope."""
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    return tensor if std is None else normal_(tensor, 0.0, std, generator)


# ---------------------------------------------------------------- matrices as a whole


@no_grad()
def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor:
    """Fill so that rows (or columns, whichever are fewer) are orthonormal, times `gain`."""
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
    """Fill a matrix with normal values, then set the given part of each column to zero."""
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
            stacklevel=2,
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
