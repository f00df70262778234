"""The Wishart distribution."""

from __future__ import annotations

import math
import warnings
from numbers import Number
from typing import Any

from clew import errors
from clew.backend.dtypes import finfo
from clew.core.tensor import Size, Tensor
from clew.distributions import constraints
from clew.distributions.chi2 import Chi2
from clew.distributions.distribution import Shape
from clew.distributions.exp_family import ExponentialFamily
from clew.distributions.multivariate_normal import FromMatrix, log_diagonal_sum, the_given
from clew.ops.create.from_data import tensor
from clew.ops.create.random import randn
from clew.ops.create.ranges import arange, tril_indices
from clew.ops.linalg.determinants import slogdet
from clew.ops.linalg.solve import cholesky_solve
from clew.ops.pointwise.clamping import where
from clew.ops.pointwise.special import mvlgamma
from clew.ops.shape.broadcasting import broadcast_shapes

__all__ = ["Wishart"]

_LOG_2 = math.log(2)


def _mvdigamma(x: Tensor, p: int) -> Tensor:
    """The derivative of `mvlgamma`."""
    steps = arange(p, dtype=x.dtype, device=x.device) / 2
    return (x.unsqueeze(-1) - steps).digamma().sum(-1)


class Wishart(FromMatrix, ExponentialFamily):
    """The scatter matrix of `df` normal vectors with a covariance.

    The covariance is given in one of three ways.

    Args:
        df: degrees of freedom; above the number of rows less one
        covariance_matrix: the covariance, positive definite, shape (..., n, n)
        precision_matrix: its inverse
        scale_tril: its Cholesky factor, lower triangular with a positive diagonal
        validate_args: whether to check arguments and values; by default, yes

    Example:
        >>> from clew.distributions import Wishart
        >>> Wishart(clew.tensor(3.), covariance_matrix=clew.eye(2)).mean
        tensor([[3., 0.],
                [0., 3.]])
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self.event_shape[-1] - 1),
        }

    def __init__(
        self,
        df: Any,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        matrices = {
            "covariance_matrix": covariance_matrix,
            "precision_matrix": precision_matrix,
            "scale_tril": scale_tril,
        }
        name, matrix = the_given(matrices, AssertionError)
        if matrix.dim() < 2:
            raise ValueError(
                "scale_tril must be at least two-dimensional, with optional leading batch "
                "dimensions" + errors.at_user_line()
            )
        batch_shape = self._set_df(df, matrix)
        self._set_matrix(name, matrix, batch_shape)
        super().__init__(batch_shape, matrix.shape[-2:], validate_args=validate_args)
        self._set_factor(name, matrix)
        self._dist_chi2 = self._diagonal_distribution()

    def _set_df(self, df: Any, matrix: Tensor) -> Size:
        size = matrix.shape[-1]
        if isinstance(df, Number):
            batch_shape = Size(matrix.shape[:-2])
            self.df = tensor(df, dtype=matrix.dtype, device=matrix.device)
        else:
            batch_shape = broadcast_shapes(matrix.shape[:-2], df.shape)
            self.df = df.expand(batch_shape)
        if self.df.le(size - 1).any():
            raise ValueError(
                f"Value of df={df} expected to be greater than ndim - 1 = {size - 1}."
                + errors.at_user_line()
            )
        if self.df.lt(size).any():
            warnings.warn(
                "Low df values detected. Singular samples are highly likely to occur for "
                "ndim - 1 < df < ndim.",
                stacklevel=3,
            )
        return batch_shape

    def _diagonal_distribution(self) -> Chi2:
        steps = arange(self._event_shape[-1], dtype=self.df.dtype, device=self.df.device)
        return Chi2(self.df.unsqueeze(-1) - steps.expand(self._batch_shape + (-1,)))

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        new = self._blank(_instance)
        batch_shape = Size(batch_shape)
        new.df = self.df.expand(batch_shape)
        self._expand_matrices(new, batch_shape)
        self._finish_expanded(new, batch_shape)
        new._dist_chi2 = new._diagonal_distribution()
        return new

    def _by_df(self, factor: Tensor, matrix: Tensor) -> Tensor:
        return factor.view(self._batch_shape + (1, 1)) * matrix

    @property
    def mean(self) -> Tensor:
        return self._by_df(self.df, self.covariance_matrix)

    @property
    def mode(self) -> Tensor:
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        return self._by_df(factor.masked_fill(factor <= 0, math.nan), self.covariance_matrix)

    @property
    def variance(self) -> Tensor:
        covariance = self.covariance_matrix
        diagonal = covariance.diagonal(dim1=-2, dim2=-1)
        products = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self._by_df(self.df, covariance.pow(2) + products)

    def _bartlett_sampling(self, sample_shape: Shape = ()) -> Tensor:
        """L A Aᵀ Lᵀ: A has chi variables on its diagonal and normal ones below."""
        size = self._event_shape[-1]
        diagonal = self._dist_chi2.rsample(sample_shape).sqrt()
        noise = diagonal.clamp(min=finfo(diagonal.dtype).eps).diag_embed(dim1=-2, dim2=-1)
        rows, columns = tril_indices(size, size, offset=-1)
        shape = Size(sample_shape) + self._batch_shape + (size * (size - 1) // 2,)
        noise[..., rows, columns] = randn(shape, dtype=noise.dtype, device=noise.device)
        factor = self._unbroadcasted_scale_tril @ noise
        return factor @ factor.mT

    def rsample(self, sample_shape: Shape = (), max_try_correction: int | None = None) -> Tensor:
        """Samples; those that come out singular are drawn again, by default up to 10 times."""
        if max_try_correction is None:
            max_try_correction = 10
        sample = self._bartlett_sampling(sample_shape)
        is_singular = self._is_singular(sample)
        if not is_singular.any():
            return sample
        warnings.warn("Singular sample detected.", stacklevel=2)
        for _ in range(max_try_correction):
            again = self._bartlett_sampling(sample_shape)
            replace = is_singular.view(is_singular.shape + (1, 1))
            sample = where(replace, again, sample)
            is_singular = is_singular & self._is_singular(again)
            if not is_singular.any():
                break
        return sample

    def _is_singular(self, sample: Tensor) -> Tensor:
        return ~self.support.check(sample)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        df, size = self.df, self._event_shape[-1]
        factor = self._unbroadcasted_scale_tril
        trace = cholesky_solve(value, factor).diagonal(dim1=-2, dim2=-1).sum(-1)
        return (
            -df * (size * _LOG_2 / 2 + log_diagonal_sum(factor))
            - mvlgamma(df / 2, size)
            + (df - size - 1) / 2 * slogdet(value).logabsdet
            - trace / 2
        )

    def entropy(self) -> Tensor:
        df, size = self.df, self._event_shape[-1]
        half_log_det = log_diagonal_sum(self._unbroadcasted_scale_tril)
        return (
            (size + 1) * (size * _LOG_2 / 2 + half_log_det)
            + mvlgamma(df / 2, size)
            - (df - size - 1) / 2 * _mvdigamma(df / 2, size)
            + df * size / 2
        )

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        size = self._event_shape[-1]
        half_df = y + (size + 1) / 2
        return half_df * (-slogdet(-2 * x).logabsdet + _LOG_2 * size) + mvlgamma(half_df, size)
