"""Transforms of each number by itself."""

from __future__ import annotations

import math
from numbers import Number
from typing import Any

from clew.backend.dtypes import finfo
from clew.core.tensor import Tensor
from clew.distributions import constraints
from clew.distributions.distribution import Distribution
from clew.distributions.transforms.base import Shape, Transform, _EqualByType
from clew.distributions.utils import _sum_rightmost, broadcast_all
from clew.ops.create.constants import full_like
from clew.ops.nn.activation.unary import softplus
from clew.ops.shape.broadcasting import broadcast_shapes


class ExpTransform(_EqualByType):
    """y = exp(x): all numbers to positive ones.

    Args:
        cache_size: 1 keeps the last input and output, so that `inv` of it is exact; 0 does not

    Example:
        >>> from clew.distributions import ExpTransform
        >>> ExpTransform()(clew.tensor([0., 1.]))
        tensor([1.0000, 2.7183])
    """

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = +1

    def _call(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x


def _shape_of(value: Any) -> Shape:
    return value.shape if isinstance(value, Tensor) else ()


class PowerTransform(Transform):
    """y = x^exponent, for positive x.

    Args:
        exponent: a number or a tensor; not 0
        cache_size: 1 keeps the last input and output, so that `inv` of it is exact; 0 does not

    Example:
        >>> from clew.distributions import PowerTransform
        >>> square = PowerTransform(2.)
        >>> square(clew.tensor(3.)), square.inv(clew.tensor(9.))
        (tensor(9.), tensor(3.))
    """

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        (self.exponent,) = broadcast_all(exponent)

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return PowerTransform(self.exponent, cache_size=cache_size)

    @property
    def sign(self) -> Tensor:
        return self.exponent.sign()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and _equal(self.exponent, other.exponent)

    __hash__ = None

    def _call(self, x: Tensor) -> Tensor:
        return x.pow(self.exponent)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Shape) -> Shape:
        return broadcast_shapes(shape, self.exponent.shape)

    def inverse_shape(self, shape: Shape) -> Shape:
        return broadcast_shapes(shape, self.exponent.shape)


def _equal(first: Any, second: Any) -> bool:
    """Whether two parameters, numbers or tensors, have the same values."""
    if isinstance(first, Tensor) or isinstance(second, Tensor):
        return bool((first == second).all())
    return first == second


def clipped_sigmoid(x: Tensor) -> Tensor:
    """The logistic function, kept so far from 0 and 1 that its inverse is finite."""
    limits = finfo(x.dtype)
    return x.sigmoid().clamp(min=limits.tiny, max=1.0 - limits.eps)


class SigmoidTransform(_EqualByType):
    """y = 1 / (1 + exp(-x)): all numbers to those between 0 and 1.

    Args:
        cache_size: 1 keeps the last input and output, so that `inv` of it is exact; 0 does not

    Example:
        >>> from clew.distributions import SigmoidTransform
        >>> SigmoidTransform()(clew.tensor([0., 2.]))
        tensor([0.5000, 0.8808])
    """

    domain = constraints.real
    codomain = constraints.unit_interval
    bijective = True
    sign = +1

    def _call(self, x: Tensor) -> Tensor:
        return clipped_sigmoid(x)

    def _inverse(self, y: Tensor) -> Tensor:
        limits = finfo(y.dtype)
        y = y.clamp(min=limits.tiny, max=1.0 - limits.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -softplus(-x) - softplus(x)


class SoftplusTransform(_EqualByType):
    """y = log(1 + exp(x)): all numbers to positive ones, nearly unchanged above 20.

    Args:
        cache_size: 1 keeps the last input and output, so that `inv` of it is exact; 0 does not

    Example:
        >>> from clew.distributions import SoftplusTransform
        >>> SoftplusTransform()(clew.tensor([-1., 0., 50.]))
        tensor([ 0.3133,  0.6931, 50.0000])
    """

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = +1

    def _call(self, x: Tensor) -> Tensor:
        return softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -softplus(-x)


class TanhTransform(_EqualByType):
    """y = tanh(x): all numbers to those between -1 and 1.

    `cache_size=1` is wise: near ±1 the inverse loses precision.

    Args:
        cache_size: 1 keeps the last input and output, so that `inv` of it is exact; 0 does not

    Example:
        >>> from clew.distributions import TanhTransform
        >>> t, x = TanhTransform(cache_size=1), clew.tensor(20.)
        >>> t.inv(t(x)), TanhTransform().inv(t(x))
        (tensor(20.), tensor(inf))
    """

    domain = constraints.real
    codomain = constraints.interval(-1.0, 1.0)
    bijective = True
    sign = +1

    def _call(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        # log(1 - tanh(x)^2) without the cancellation that it has for large x.
        return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))


class AbsTransform(_EqualByType):
    """y = |x|; its inverse is the positive one.

    Args:
        cache_size: 1 keeps the last input and output, so that `inv` of it is exact; 0 does not

    Example:
        >>> from clew.distributions import AbsTransform
        >>> t = AbsTransform()
        >>> t.inv(t(clew.tensor([-1., 2.])))
        tensor([1., 2.])
    """

    domain = constraints.real
    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y


class AffineTransform(Transform):
    """y = loc + scale * x.

    Args:
        loc: what is added, a number or a tensor
        scale: what `x` is multiplied by, a number or a tensor
        event_dim: how many of the last dimensions belong to one event
        cache_size: 1 keeps the last input and output, so that `inv` of it is exact; 0 does not

    Example:
        >>> from clew.distributions import AffineTransform
        >>> t = AffineTransform(1., 2.)
        >>> t(clew.tensor(3.)), t.inv(clew.tensor(7.))
        (tensor(7.), tensor(3.))
    """

    bijective = True

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.loc = loc
        self.scale = scale
        self._event_dim = event_dim

    @property
    def event_dim(self) -> int:
        return self._event_dim

    @property
    def domain(self) -> constraints.Constraint:
        real = constraints.real
        return real if self.event_dim == 0 else constraints.independent(real, self.event_dim)

    codomain = domain

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return AffineTransform(self.loc, self.scale, self.event_dim, cache_size=cache_size)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AffineTransform):
            return False
        return _equal(self.loc, other.loc) and _equal(self.scale, other.scale)

    __hash__ = None

    @property
    def sign(self) -> Any:
        if isinstance(self.scale, Number):
            scale: Any = self.scale
            return (scale > 0) - (scale < 0)
        return self.scale.sign()

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        shape = x.shape
        if isinstance(self.scale, Tensor):
            result = self.scale.abs().log()
        else:
            result = full_like(x, math.log(abs(self.scale)))
        if self.event_dim:
            result = _sum_rightmost(result, self.event_dim)
            shape = shape[: -self.event_dim]
        return result.expand(shape)

    def forward_shape(self, shape: Shape) -> Shape:
        return broadcast_shapes(shape, _shape_of(self.loc), _shape_of(self.scale))

    def inverse_shape(self, shape: Shape) -> Shape:
        return self.forward_shape(shape)


class CumulativeDistributionTransform(Transform):
    """y = the probability of values up to x, under a distribution.

    Args:
        distribution: the distribution whose `cdf` and `icdf` are used
        cache_size: 1 keeps the last input and output, so that `inv` of it is exact; 0 does not

    Example:
        >>> from clew.distributions import CumulativeDistributionTransform, Normal
        >>> t = CumulativeDistributionTransform(Normal(0., 1.))
        >>> t(clew.tensor([-1., 0., 1.]))
        tensor([0.1587, 0.5000, 0.8413])
    """

    bijective = True
    codomain = constraints.unit_interval
    sign = +1

    def __init__(self, distribution: Distribution, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Any:
        return self.distribution.support

    def _call(self, x: Tensor) -> Tensor:
        return self.distribution.cdf(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return self.distribution.log_prob(x)

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return CumulativeDistributionTransform(self.distribution, cache_size=cache_size)
