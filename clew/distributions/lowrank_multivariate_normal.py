"""The multivariate normal distribution whose covariance is diagonal plus low rank."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from clew import errors
from clew.core.tensor import Size, Tensor
from clew.distributions import constraints
from clew.distributions.distribution import Shape
from clew.distributions.multivariate_normal import (
    _batch_mahalanobis,
    _batch_mv,
    log_diagonal_sum,
)
from clew.distributions.parametrized import SymmetricAboutLoc
from clew.distributions.utils import _standard_normal, lazy_property
from clew.ops.create.ranges import eye
from clew.ops.linalg.solve import cholesky, solve_triangular
from clew.ops.shape.broadcasting import broadcast_shapes

__all__ = ["LowRankMultivariateNormal"]


def _plus_identity(matrix: Tensor) -> Tensor:
    return matrix + eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)


def _batch_capacitance_tril(W: Tensor, D: Tensor) -> Tensor:
    """The Cholesky factor of the capacitance matrix I + Wᵀ D⁻¹ W."""
    return cholesky(_plus_identity(W.mT / D.unsqueeze(-2) @ W))


def _batch_lowrank_logdet(W: Tensor, D: Tensor, capacitance_tril: Tensor) -> Tensor:
    """log det(W Wᵀ + D), by the matrix determinant lemma."""
    return 2 * log_diagonal_sum(capacitance_tril) + D.log().sum(-1)


def _batch_lowrank_mahalanobis(W: Tensor, D: Tensor, x: Tensor, capacitance_tril: Tensor) -> Tensor:
    """xᵀ (W Wᵀ + D)⁻¹ x, by the Woodbury formula."""
    projected = _batch_mv(W.mT / D.unsqueeze(-2), x)
    return (x.pow(2) / D).sum(-1) - _batch_mahalanobis(capacitance_tril, projected)


def _check_dims(loc: Tensor, cov_factor: Tensor, cov_diag: Tensor) -> None:
    event_shape = loc.shape[-1:]
    problem = ""
    if loc.dim() < 1:
        problem = "loc must be at least one-dimensional."
    elif cov_factor.dim() < 2:
        problem = (
            "cov_factor must be at least two-dimensional, with optional leading batch dimensions"
        )
    elif cov_factor.shape[-2:-1] != event_shape:
        problem = f"cov_factor must be a batch of matrices with shape {event_shape[0]} x m"
    elif cov_diag.shape[-1:] != event_shape:
        problem = f"cov_diag must be a batch of vectors with shape {event_shape}"
    if problem:
        raise ValueError(problem + errors.at_user_line())


class LowRankMultivariateNormal(SymmetricAboutLoc):
    """Normal vectors with mean `loc` and covariance cov_factor cov_factorᵀ + diag(cov_diag).

    Args:
        loc: the mean, shape (..., n)
        cov_factor: the factor of the part of low rank, shape (..., n, rank)
        cov_diag: the diagonal part, shape (..., n); positive
        validate_args: whether to check arguments and values; by default, yes

    Example:
        >>> from clew.distributions import LowRankMultivariateNormal
        >>> factor = clew.tensor([[1.], [2.]])
        >>> d = LowRankMultivariateNormal(clew.zeros(2), factor, clew.ones(2))
        >>> d.covariance_matrix
        tensor([[2., 2.],
                [2., 5.]])
    """

    arg_constraints: ClassVar = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        loc: Tensor,
        cov_factor: Tensor,
        cov_diag: Tensor,
        validate_args: bool | None = None,
    ) -> None:
        _check_dims(loc, cov_factor, cov_diag)
        try:
            batch_shape = broadcast_shapes(
                loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1]
            )
        except RuntimeError as error:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, "
                f"cov_diag {cov_diag.shape}" + errors.at_user_line()
            ) from error
        self.loc = loc.expand(batch_shape + (-1,))
        self.cov_factor = cov_factor.expand(batch_shape + (-1, -1))
        self.cov_diag = cov_diag.expand(batch_shape + (-1,))
        self._unbroadcasted_cov_factor = cov_factor
        self._unbroadcasted_cov_diag = cov_diag
        self._capacitance_tril = _batch_capacitance_tril(cov_factor, cov_diag)
        super().__init__(batch_shape, loc.shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        new = self._blank(_instance)
        batch_shape = Size(batch_shape)
        new.loc = self.loc.expand(batch_shape + self.event_shape)
        new.cov_diag = self.cov_diag.expand(batch_shape + self.event_shape)
        new.cov_factor = self.cov_factor.expand(batch_shape + self.cov_factor.shape[-2:])
        for name in ("_unbroadcasted_cov_factor", "_unbroadcasted_cov_diag", "_capacitance_tril"):
            new.__dict__[name] = self.__dict__[name]
        return self._finish_expanded(new, batch_shape)

    @lazy_property
    def variance(self) -> Tensor:
        squares = self._unbroadcasted_cov_factor.pow(2).sum(-1)
        variance = squares + self._unbroadcasted_cov_diag
        return variance.expand(self._batch_shape + self._event_shape)

    def _for_the_batch(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """D^½ times the Cholesky factor of D^-½ W Wᵀ D^-½ + I, whose condition is better."""
        deviation = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        scaled = self._unbroadcasted_cov_factor / deviation
        return self._for_the_batch(deviation * cholesky(_plus_identity(scaled @ scaled.mT)))

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        factor = self._unbroadcasted_cov_factor
        return self._for_the_batch(factor @ factor.mT + self._unbroadcasted_cov_diag.diag_embed())

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """D⁻¹ - D⁻¹ W C⁻¹ Wᵀ D⁻¹, with C the capacitance matrix."""
        diag = self._unbroadcasted_cov_diag
        scaled = self._unbroadcasted_cov_factor.mT / diag.unsqueeze(-2)
        half = solve_triangular(self._capacitance_tril, scaled, upper=False)
        return self._for_the_batch(diag.reciprocal().diag_embed() - half.mT @ half)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        options: Any = {"dtype": self.loc.dtype, "device": self.loc.device}
        rank = self.cov_factor.shape[-1:]
        along_factor = _standard_normal(shape[:-1] + rank, **options)
        own = _standard_normal(shape, **options)
        correlated = _batch_mv(self._unbroadcasted_cov_factor, along_factor)
        return self.loc + correlated + self._unbroadcasted_cov_diag.sqrt() * own

    def _log_det(self) -> Tensor:
        return _batch_lowrank_logdet(
            self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag, self._capacitance_tril
        )

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        distance = _batch_lowrank_mahalanobis(
            self._unbroadcasted_cov_factor,
            self._unbroadcasted_cov_diag,
            value - self.loc,
            self._capacitance_tril,
        )
        constant = self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (constant + self._log_det() + distance)

    def entropy(self) -> Tensor:
        constant = self._event_shape[0] * (1.0 + math.log(2 * math.pi))
        return (0.5 * (constant + self._log_det())).expand(self._batch_shape)
