"""The von Mises distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from clew.autograd.grad_mode import no_grad
from clew.backend.dtypes import bool_, float64
from clew.core.tensor import Size, Tensor
from clew.distributions import constraints
from clew.distributions.distribution import Shape
from clew.distributions.parametrized import Parametrized, SymmetricAboutLoc
from clew.distributions.utils import lazy_property
from clew.ops.create.constants import empty, zeros
from clew.ops.create.random import rand
from clew.ops.pointwise.clamping import where
from clew.ops.pointwise.special import i0e, i1e

__all__ = ["VonMises"]


def _rejection_sample(
    loc: Tensor, concentration: Tensor, proposal_r: Tensor, shape: Shape
) -> Tensor:
    """Best and Fisher (1979): angles from a wrapped Cauchy distribution, accepted or drawn anew."""
    angle = empty(shape, dtype=loc.dtype, device=loc.device)
    done = zeros(shape, dtype=bool_, device=loc.device)
    while not done.all():
        u1, u2, u3 = rand((3, *shape), dtype=loc.dtype, device=loc.device).unbind()
        z = (math.pi * u1).cos()
        f = (1 + proposal_r * z) / (proposal_r + z)
        c = concentration * (proposal_r - f)
        accept = ((c * (2 - c) - u2) > 0) | ((c / u2).log() + 1 - c >= 0)
        if accept.any():
            angle = where(accept, (u3 - 0.5).sign() * f.acos(), angle)
            done = done | accept
    return (angle + math.pi + loc) % (2 * math.pi) - math.pi


class VonMises(SymmetricAboutLoc, Parametrized):
    """Angles around `loc`; `concentration` is like an inverse variance.

    Args:
        loc: the mean angle in radians
        concentration: how close to `loc` the angles are; positive
        validate_args: whether to check arguments and values; by default, yes

    Example:
        >>> from clew.distributions import VonMises
        >>> VonMises(clew.tensor(0.), clew.tensor([1., 10.])).variance
        tensor([0.5536, 0.0514])
    """

    arg_constraints: ClassVar = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False
    concentration: Tensor

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self._broadcast_parameters(validate_args, loc=loc, concentration=concentration)

    # Samples are drawn in double precision: for small concentrations the proposal needs it.

    @lazy_property
    def _loc(self) -> Tensor:
        return self.loc.to(float64)

    @lazy_property
    def _concentration(self) -> Tensor:
        return self.concentration.to(float64)

    @lazy_property
    def _proposal_r(self) -> Tensor:
        kappa = self._concentration
        tau = 1 + (1 + 4 * kappa**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
        exact = (1 + rho**2) / (2 * rho)
        return where(kappa < 1e-5, 1 / kappa + kappa, exact)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            drawn = _rejection_sample(self._loc, self._concentration, self._proposal_r, shape)
            return drawn.to(self.loc.dtype)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        # i0e is I0 without its exponential growth, which is put back here.
        log_bessel = i0e(self.concentration).log() + self.concentration
        cosine = (value - self.loc).cos()
        return self.concentration * cosine - math.log(2 * math.pi) - log_bessel

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        for name in ("_loc", "_concentration", "_proposal_r"):
            if name in self.__dict__:
                new.__dict__[name] = self.__dict__[name].expand(Size(batch_shape))
        return new

    @lazy_property
    def variance(self) -> Tensor:
        """The circular variance."""
        return 1 - i1e(self.concentration) / i0e(self.concentration)
