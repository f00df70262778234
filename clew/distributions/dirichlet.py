"""The Dirichlet distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from clew import errors
from clew.autograd.function import Function, once_differentiable
from clew.core.tensor import Tensor
from clew.distributions import constraints
from clew.distributions.distribution import Distribution, Shape
from clew.distributions.exp_family import ExponentialFamily
from clew.distributions.parametrized import Parametrized
from clew.ops.create.implicit_reparameterization import dirichlet_grad
from clew.ops.create.sampling import sample_dirichlet
from clew.ops.nn.embedding import one_hot
from clew.ops.pointwise.special import xlogy

__all__ = ["Dirichlet"]


def _Dirichlet_backward(x: Tensor, concentration: Tensor, grad_output: Tensor) -> Tensor:
    """The gradient of the weights from that of the shares x that were drawn."""
    total = concentration.sum(-1, True).expand_as(concentration)
    # When one share grows, the others shrink in proportion.
    move = dirichlet_grad(x, concentration, total)
    return move * (grad_output - (x * grad_output).sum(-1, True))


class _Dirichlet(Function):
    """Dirichlet samples that move with their weights."""

    @staticmethod
    def forward(concentration: Tensor) -> Tensor:
        return sample_dirichlet(concentration)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        ctx.save_for_backward(output, *inputs)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        shares, concentration = ctx.saved_tensors
        return _Dirichlet_backward(shares, concentration, grad_output)


class Dirichlet(Parametrized, ExponentialFamily):
    """The Dirichlet distribution over vectors of shares, which sum to 1.

    Args:
        concentration: weights of the shares, shape (..., shares); positive
        validate_args: whether to check arguments and values; by default, yes

    Example:
        >>> from clew.distributions import Dirichlet
        >>> d = Dirichlet(clew.tensor([1., 2., 5.]))
        >>> d.mean
        tensor([0.1250, 0.2500, 0.6250])
        >>> _ = clew.manual_seed(0)
        >>> d.sample().sum().round(decimals=4)
        tensor(1.)
    """

    arg_constraints: ClassVar = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError(
                "`concentration` parameter must be at least one-dimensional."
                + errors.at_user_line()
            )
        self.concentration = concentration
        shape = concentration.shape
        Distribution.__init__(self, shape[:-1], shape[-1:], validate_args=validate_args)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return _Dirichlet.apply(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return (
            xlogy(self.concentration - 1.0, value).sum(-1)
            + self.concentration.sum(-1).lgamma()
            - self.concentration.lgamma().sum(-1)
        )

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Tensor:
        excess = (self.concentration - 1).clamp(min=0.0)
        mode = excess / excess.sum(-1, True)
        # With all weights below 1 the density is largest at the corners.
        corners = (self.concentration < 1).all(dim=-1)
        shares = mode[corners].argmax(dim=-1)
        mode[corners] = one_hot(shares, self.concentration.shape[-1]).to(mode)
        return mode

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def entropy(self) -> Tensor:
        count = self.concentration.size(-1)
        total = self.concentration.sum(-1)
        return (
            self.concentration.lgamma().sum(-1)
            - total.lgamma()
            - (count - total) * total.digamma()
            - ((self.concentration - 1.0) * self.concentration.digamma()).sum(-1)
        )

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.concentration,)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return x.lgamma().sum(-1) - x.sum(-1).lgamma()
