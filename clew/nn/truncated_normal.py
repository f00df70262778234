"""The truncated normal distribution, drawn by rejection."""

from __future__ import annotations

import math
import warnings

from clew.autograd.grad_mode import no_grad
from clew.backend.random import Generator
from clew.core.tensor import Tensor
from clew.ops.create.constants import empty_like
from clew.ops.pointwise.clamping import where
from clew.source import user_stacklevel


@no_grad()
def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Fill from the part of a normal distribution that lies between a and b.

    Args:
        tensor: what to fill; it is returned
        mean: the mean of the whole distribution
        std: its standard deviation
        a: the smallest value, itself, not in units of `std`
        b: the largest value
        generator: where the random numbers come from; None is the default generator

    Example:
        >>> weight = nn.init.trunc_normal_(clew.empty(1000), std=5.0)
        >>> bool((weight.abs() <= 2).all())
        True
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. "
            "The distribution of values may be incorrect.",
            stacklevel=user_stacklevel(),
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
