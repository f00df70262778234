"""The LKJ distribution over Cholesky factors of correlation matrices."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from clew import errors
from clew.autograd.grad_mode import no_grad
from clew.backend.dtypes import finfo
from clew.core.tensor import Size, Tensor
from clew.distributions import constraints
from clew.distributions.beta import Beta
from clew.distributions.distribution import Distribution, Shape
from clew.distributions.utils import broadcast_all
from clew.ops.create.random import randn
from clew.ops.create.ranges import arange
from clew.ops.pointwise.special import mvlgamma
from clew.ops.shape.joining import cat

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Cholesky factors L of dim×dim correlation matrices, density ∝ det(L Lᵀ)^(concentration - 1).

    Lewandowski, Kurowicka and Joe (2009); sampled by their onion method, row after row.

    Args:
        dim: the number of rows of the matrices; at least 2
        concentration: 1 makes all correlation matrices equally likely, more favours the identity
        validate_args: whether to check arguments and values; by default, yes

    Example:
        >>> from clew.distributions import LKJCholesky
        >>> _ = clew.manual_seed(0)
        >>> factor = LKJCholesky(3, 2.0).sample()
        >>> (factor @ factor.T).diagonal().round(decimals=4)
        tensor([1., 1., 1.])
    """

    arg_constraints: ClassVar = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(
        self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None
    ) -> None:
        if dim < 2:
            raise ValueError(
                "Expected dim to be an integer greater than or equal to 2. "
                f"Found dim={dim}." + errors.at_user_line()
            )
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        # How much of a row of length 1 lies before the diagonal is a beta variable.
        kind, device = self.concentration.dtype, self.concentration.device
        steps = arange(dim - 1, dtype=kind, device=device)
        rows = cat([steps.new_zeros((1,)), steps])
        marginal = self.concentration + 0.5 * (dim - 2)
        self._beta = Beta(rows + 0.5, marginal.unsqueeze(-1) - 0.5 * rows)
        event_shape = (dim, dim)
        super().__init__(self.concentration.shape, event_shape, validate_args=validate_args)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        new = self._blank(_instance)
        new.dim = self.dim
        new.concentration = self.concentration.expand(Size(batch_shape))
        new._beta = self._beta.expand(Size(batch_shape) + (self.dim,))
        return self._finish_expanded(new, batch_shape)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with no_grad():
            squared_length = self._beta.sample(sample_shape).unsqueeze(-1)
            shape = self._extended_shape(sample_shape)
            kind, device = squared_length.dtype, squared_length.device
            directions = randn(shape, dtype=kind, device=device).tril(-1)
            directions = directions / directions.norm(dim=-1, keepdim=True)
            directions[..., 0, :].fill_(0.0)  # nothing lies before the first diagonal entry
            rows = squared_length.sqrt() * directions
            left = (1 - rows.square().sum(dim=-1)).clamp(min=finfo(kind).tiny)
            return rows + left.sqrt().diag_embed()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        kind, device = self.concentration.dtype, self.concentration.device
        order = arange(2, self.dim + 1, dtype=kind, device=device)
        exponents = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - order
        unnormalized = (exponents * diagonal.log()).sum(dim=-1)
        smaller = self.dim - 1
        alpha = self.concentration + 0.5 * smaller
        constant = 0.5 * smaller * math.log(math.pi)
        normalizer = constant + mvlgamma(alpha - 0.5, smaller) - alpha.lgamma() * smaller
        return unnormalized - normalizer
