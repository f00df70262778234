"""The multivariate normal distribution."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

from clew import errors
from clew.core.tensor import Size, Tensor
from clew.distributions import constraints
from clew.distributions.distribution import Distribution, Shape
from clew.distributions.parametrized import SymmetricAboutLoc
from clew.distributions.utils import _standard_normal, lazy_property
from clew.ops.create.ranges import eye
from clew.ops.linalg.solve import cholesky, cholesky_inverse, solve_triangular
from clew.ops.shape.broadcasting import broadcast_shapes

__all__ = ["MultivariateNormal"]


def _batch_mv(matrix: Tensor, vector: Tensor) -> Tensor:
    """Matrix times vector, both in batches that broadcast."""
    return (matrix @ vector.unsqueeze(-1)).squeeze(-1)


def _batch_mahalanobis(factor: Tensor, x: Tensor) -> Tensor:
    """|L⁻¹ x|² for lower triangular L, over batches that broadcast."""
    extra = max(x.dim() - factor.dim() + 1, 0)
    # All dimensions that L lacks become columns of one system, which is solved at once.
    columns = x.reshape((math.prod(x.shape[:extra]),) + x.shape[extra:]).movedim(0, -1)
    squares = solve_triangular(factor, columns, upper=False).square().sum(-2)
    batch = squares.shape[:-1]
    return squares.movedim(-1, 0).reshape(x.shape[:extra] + batch)


def _precision_to_scale_tril(precision: Tensor) -> Tensor:
    """The Cholesky factor of the inverse, without inverting.

    With J reversing the order, JPJ = FFᵀ; then P = UUᵀ for the upper triangular U = JFJ, so
    P⁻¹ = U⁻ᵀU⁻¹, whose lower factor is U⁻ᵀ.
    """
    factor = cholesky(precision.flip((-2, -1)))
    inverse_factor = factor.flip((-2, -1)).mT
    identity = eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return solve_triangular(inverse_factor, identity, upper=False)


def log_diagonal_sum(factor: Tensor) -> Tensor:
    """Half the log determinant of L Lᵀ."""
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def the_given(
    matrices: Mapping[str, Tensor | None], mistake: type[Exception] = ValueError
) -> tuple[str, Tensor]:
    """The name and value of the only matrix that is given."""
    given = [(name, value) for name, value in matrices.items() if value is not None]
    if len(given) != 1:
        raise mistake(
            "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified."
            + errors.at_user_line()
        )
    return given[0]


class FromMatrix(Distribution):
    """Given by a covariance, its inverse or its Cholesky factor; the others are computed."""

    _unbroadcasted_scale_tril: Tensor

    def _set_matrix(self, name: str, value: Tensor, batch_shape: Shape) -> None:
        self.__dict__[name] = value.expand(tuple(batch_shape) + (-1, -1))

    def _set_factor(self, name: str, value: Tensor) -> None:
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = value
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = cholesky(value)
        else:
            self._unbroadcasted_scale_tril = _precision_to_scale_tril(value)

    def _expand_matrices(self, new: Any, batch_shape: Size) -> None:
        size = (self._event_shape[-1],) * 2
        for name in ("covariance_matrix", "scale_tril", "precision_matrix"):
            if name in self.__dict__:
                new.__dict__[name] = self.__dict__[name].expand(batch_shape + size)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril

    def _for_the_batch(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + (self._event_shape[-1],) * 2)

    @lazy_property
    def scale_tril(self) -> Tensor:
        return self._for_the_batch(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        factor = self._unbroadcasted_scale_tril
        return self._for_the_batch(factor @ factor.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        return self._for_the_batch(cholesky_inverse(self._unbroadcasted_scale_tril))


class MultivariateNormal(SymmetricAboutLoc, FromMatrix):
    """Normal vectors with mean `loc` and a covariance.

    The covariance is given in one of three ways; `scale_tril` is the fastest.

    Args:
        loc: the mean, shape (..., n)
        covariance_matrix: the covariance, positive definite, shape (..., n, n)
        precision_matrix: its inverse
        scale_tril: its Cholesky factor, lower triangular with a positive diagonal
        validate_args: whether to check arguments and values; by default, yes

    Example:
        >>> from clew.distributions import MultivariateNormal
        >>> d = MultivariateNormal(clew.zeros(2), clew.tensor([[4., 2.], [2., 2.]]))
        >>> d.scale_tril
        tensor([[2., 0.],
                [1., 1.]])
        >>> d.log_prob(clew.zeros(2))
        tensor(-2.5310)
    """

    arg_constraints: ClassVar = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional." + errors.at_user_line())
        matrices = {
            "covariance_matrix": covariance_matrix,
            "precision_matrix": precision_matrix,
            "scale_tril": scale_tril,
        }
        name, matrix = the_given(matrices)
        if matrix.dim() < 2:
            label = "scale_tril matrix" if name == "scale_tril" else name
            raise ValueError(
                f"{label} must be at least two-dimensional, with optional leading batch dimensions"
                + errors.at_user_line()
            )
        batch_shape = broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        self._set_matrix(name, matrix, batch_shape)
        self.loc = loc.expand(batch_shape + (-1,))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        self._set_factor(name, matrix)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        new = self._blank(_instance)
        batch_shape = Size(batch_shape)
        new.loc = self.loc.expand(batch_shape + self.event_shape)
        self._expand_matrices(new, batch_shape)
        return self._finish_expanded(new, batch_shape)

    @property
    def variance(self) -> Tensor:
        diagonal = self._unbroadcasted_scale_tril.pow(2).sum(-1)
        return diagonal.expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        noise = _standard_normal(shape, dtype=self.loc.dtype, device=self.loc.device)
        return self.loc + _batch_mv(self._unbroadcasted_scale_tril, noise)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        factor = self._unbroadcasted_scale_tril
        distance = _batch_mahalanobis(factor, value - self.loc)
        constant = self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (constant + distance) - log_diagonal_sum(factor)

    def entropy(self) -> Tensor:
        constant = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi))
        entropy = constant + log_diagonal_sum(self._unbroadcasted_scale_tril)
        return entropy.expand(self._batch_shape)
