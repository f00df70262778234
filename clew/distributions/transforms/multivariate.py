"""Transforms of vectors and matrices: onto shares, Cholesky factors, positive definite matrices."""

from __future__ import annotations

import math

from clew import errors
from clew.backend.dtypes import finfo
from clew.core.tensor import Tensor
from clew.distributions import constraints
from clew.distributions.transforms.base import Shape, Transform, _EqualByType
from clew.distributions.transforms.elementwise import clipped_sigmoid
from clew.distributions.utils import tril_matrix_to_vec, vec_to_tril_matrix
from clew.ops.create.ranges import arange, eye
from clew.ops.linalg.solve import cholesky
from clew.ops.nn.activation.unary import logsigmoid, softplus
from clew.ops.nn.padding import pad


def require_dims(shape: Shape, count: int) -> None:
    """Raise if a shape has fewer dimensions than one event needs."""
    if len(shape) < count:
        raise ValueError(
            f"Too few dimensions on input: {tuple(shape)} has fewer than {count}"
            + errors.at_user_line()
        )


class SoftmaxTransform(_EqualByType):
    """Vectors to shares by softmax; not bijective, since adding a constant changes nothing.

    Args:
        cache_size: 1 keeps the last input and output, so that `inv` of it is exact; 0 does not

    Example:
        >>> from clew.distributions import SoftmaxTransform
        >>> SoftmaxTransform()(clew.tensor([0., 0., 1.]))
        tensor([0.2119, 0.2119, 0.5761])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Tensor) -> Tensor:
        weights = (x - x.max(-1, True)[0]).exp()
        return weights / weights.sum(-1, True)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def forward_shape(self, shape: Shape) -> Shape:
        require_dims(shape, 1)
        return shape

    def inverse_shape(self, shape: Shape) -> Shape:
        require_dims(shape, 1)
        return shape


def _pieces_left(x: Tensor, count: int) -> Tensor:
    """How many pieces are still to be broken off at each step: count, ..., 2, 1."""
    return arange(count, 0, -1, dtype=x.dtype, device=x.device)


class StickBreakingTransform(_EqualByType):
    """Vectors to shares, one entry more, by breaking off a fraction of what is left each time.

    Args:
        cache_size: 1 keeps the last input and output, so that `inv` of it is exact; 0 does not

    Example:
        >>> from clew.distributions import StickBreakingTransform
        >>> StickBreakingTransform()(clew.zeros(2))
        tensor([0.3333, 0.3333, 0.3333])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        fraction = clipped_sigmoid(x - _pieces_left(x, x.shape[-1]).log())
        left = (1 - fraction).cumprod(-1)
        return pad(fraction, [0, 1], value=1) * pad(left, [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        broken = y[..., :-1]
        left = (1 - broken.cumsum(-1)).clamp(min=finfo(y.dtype).tiny)
        return broken.log() - left.log() + _pieces_left(y, broken.shape[-1]).log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        x = x - _pieces_left(x, x.shape[-1]).log()
        return (-x + logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Shape) -> Shape:
        require_dims(shape, 1)
        return tuple(shape[:-1]) + (shape[-1] + 1,)

    def inverse_shape(self, shape: Shape) -> Shape:
        require_dims(shape, 1)
        return tuple(shape[:-1]) + (shape[-1] - 1,)


class CorrCholeskyTransform(Transform):
    """Vectors of n(n-1)/2 numbers to Cholesky factors of n×n correlation matrices.

    The numbers, through tanh, are partial correlations; each takes its share of what is left of
    the length 1 of its row.

    Args:
        cache_size: 1 keeps the last input and output, so that `inv` of it is exact; 0 does not

    Example:
        >>> from clew.distributions import CorrCholeskyTransform
        >>> CorrCholeskyTransform()(clew.tensor([0.5]))
        tensor([[1.0000, 0.0000],
                [0.4621, 0.8868]])
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        x = x.tanh()
        eps = finfo(x.dtype).eps
        partial = vec_to_tril_matrix(x.clamp(min=-1 + eps, max=1 - eps), diag=-1)
        length_left = (1 - partial**2).sqrt().cumprod(-1)
        with_diagonal = partial + eye(partial.shape[-1], dtype=x.dtype, device=x.device)
        return with_diagonal * pad(length_left[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        square_left = 1 - (y * y).cumsum(-1)
        before = pad(square_left[..., :-1], [1, 0], value=1)
        partial = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(before, diag=-1).sqrt()
        return (partial.log1p() - partial.neg().log1p()) / 2

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        square_left = tril_matrix_to_vec(1 - (y * y).cumsum(-1), diag=-2)
        rows = 0.5 * square_left.log().sum(-1)
        return rows - 2 * (x + softplus(-2 * x) - math.log(2.0)).sum(dim=-1)

    def forward_shape(self, shape: Shape) -> Shape:
        require_dims(shape, 1)
        count = shape[-1]
        size = round((0.25 + 2 * count) ** 0.5 + 0.5)
        if size * (size - 1) // 2 != count:
            raise ValueError(
                "Input is not a flattened lower-diagonal number"
                f" (n(n-1)/2): {count}" + errors.at_user_line()
            )
        return tuple(shape[:-1]) + (size, size)

    def inverse_shape(self, shape: Shape) -> Shape:
        require_dims(shape, 2)
        if shape[-2] != shape[-1]:
            raise ValueError(f"Input is not square: {tuple(shape)}" + errors.at_user_line())
        size = shape[-1]
        return tuple(shape[:-2]) + (size * (size - 1) // 2,)


class LowerCholeskyTransform(_EqualByType):
    """Square matrices to lower triangular ones with a positive diagonal.

    Args:
        cache_size: 1 keeps the last input and output, so that `inv` of it is exact; 0 does not

    Example:
        >>> from clew.distributions import LowerCholeskyTransform
        >>> LowerCholeskyTransform()(clew.tensor([[0., 5.], [3., 1.]]))
        tensor([[1.0000, 0.0000],
                [3.0000, 2.7183]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(_EqualByType):
    """Square matrices to positive definite ones.

    Args:
        cache_size: 1 keeps the last input and output, so that `inv` of it is exact; 0 does not

    Example:
        >>> from clew.distributions import PositiveDefiniteTransform
        >>> PositiveDefiniteTransform()(clew.tensor([[0., 5.], [3., 0.]]))
        tensor([[ 1.,  3.],
                [ 3., 10.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x: Tensor) -> Tensor:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform().inv(cholesky(y))
