"""Ready-made parametrizations: orthogonal matrices, weight and spectral normalization."""

from __future__ import annotations

from enum import Enum, auto
from typing import Any, TypeVar

import numpy as np

from clew.autograd.grad_mode import no_grad
from clew.backend import dtypes
from clew.core.tensor import Tensor, wrap
from clew.linalg import householder_product, matrix_exp, qr, solve
from clew.nn.functional import normalize
from clew.nn.modules.module import Module
from clew.nn.utils import parametrize
from clew.nn.utils.parametrize import _value_error
from clew.nn.utils.spectral_norm import as_matrix, check_iterations, output_dim, random_unit
from clew.nn.utils.weight_norm import norm_except_dim, normalized_weight
from clew.ops.create.constants import zeros_like
from clew.ops.create.random import randn
from clew.ops.create.ranges import eye
from clew.ops.pointwise.comparison import allclose
from clew.ops.shape.joining import cat

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]

M = TypeVar("M", bound=Module)


# ---------------------------------------------------------------- orthogonal matrices


def _is_orthogonal(Q: Tensor, eps: float | None = None) -> bool:
    rows, columns = Q.shape[-2:]
    if eps is None:
        eps = 10.0 * rows * dtypes.finfo(Q.dtype).eps
    return allclose(Q.mH @ Q, eye(columns, dtype=Q.dtype), atol=eps)


def _make_orthogonal(A: Tensor) -> Tensor:
    """An orthogonal matrix with the same span; for an orthogonal one, the same matrix."""
    Q, R = qr(A)
    return Q * R.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


def _reflections(A: Tensor) -> tuple[Tensor, Tensor]:
    """The Householder vectors and factors of a QR decomposition, as LAPACK packs them."""
    packed, factors = np.linalg.qr(A.detach()._array, mode="raw")
    return wrap(np.swapaxes(packed, -1, -2).copy()), wrap(factors)


class _OrthMaps(Enum):
    matrix_exp = auto()
    cayley = auto()
    householder = auto()


class _Orthogonal(Module):
    """Turns any matrix (or stack of them) into one with orthonormal rows or columns.

    With `use_trivialization` this happens around a `base`, so that every orthogonal matrix can be
    assigned.
    """

    base: Tensor  # None until a matrix is assigned, which registering does

    def __init__(
        self, weight: Tensor, orthogonal_map: _OrthMaps, *, use_trivialization: bool = True
    ) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map is _OrthMaps.householder:
            raise _value_error("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        wide = X.shape[-2] < X.shape[-1]
        if wide:
            X = X.mT
        if self.orthogonal_map is _OrthMaps.householder:
            Q = _reflected(X)
        else:
            Q = self._mapped(X)
        if hasattr(self, "base"):
            Q = self.base @ Q
        return Q.mT if wide else Q

    def _mapped(self, X: Tensor) -> Tensor:
        """The exponential or Cayley map of the skew-symmetric matrix of X's lower triangle."""
        rows, columns = X.shape[-2:]
        X = X.tril()
        if rows != columns:
            rest = X.new_zeros(rows, rows - columns).expand(*X.shape[:-2], -1, -1)
            X = cat([X, rest], dim=-1)
        A = X - X.mH
        if self.orthogonal_map is _OrthMaps.matrix_exp:
            Q = matrix_exp(A)
        else:
            identity = eye(rows, dtype=A.dtype)
            Q = solve(identity.add(A, alpha=-0.5), identity.add(A, alpha=0.5))
        return Q if rows == columns else Q[..., :columns]

    @no_grad()
    def right_inverse(self, Q: Tensor) -> Tensor:
        if Q.shape != self.shape:
            raise _value_error(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of "
                f"shape {Q.shape}."
            )
        wide = Q.shape[-2] < Q.shape[-1]
        tall = Q.mT if wide else Q
        if not hasattr(self, "base"):
            vectors = self._vectors_of(tall)
            return vectors.mT if wide else vectors
        self.base = _extended_to_square(tall)
        # What both maps and the reflections turn into the identity.
        result = zeros_like(Q)
        result.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return result

    def _vectors_of(self, Q: Tensor) -> Tensor:
        """The reflections whose product is Q, with signs on the diagonal."""
        if self.orthogonal_map is not _OrthMaps.householder:
            raise NotImplementedError(
                "It is not possible to assign to the matrix exponential or the Cayley "
                "parametrizations when use_trivialization=False."
            )
        vectors, factors = _reflections(Q)
        signs = vectors.diagonal(dim1=-2, dim2=-1)
        signs.sign_()
        # A factor of 0 reflects nothing, where forward computes a reflection of one axis.
        signs[factors == 0.0] *= -1
        return vectors


def _reflected(X: Tensor) -> Tensor:
    """The product of the reflections along X's columns below the diagonal, with its signs."""
    vectors = X.tril(diagonal=-1)
    factors = 2.0 / (1.0 + (vectors * vectors).sum(dim=-2))
    Q = householder_product(vectors, factors)
    return Q * X.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)


def _extended_to_square(Q: Tensor) -> Tensor:
    """An orthogonal square matrix that begins with Q's columns."""
    rows, columns = Q.shape[-2:]
    if rows == columns:
        return Q.clone() if _is_orthogonal(Q) else _make_orthogonal(Q)
    rest = randn(*Q.shape[:-2], rows, rows - columns, dtype=Q.dtype)
    return _make_orthogonal(cat([Q, rest], dim=-1))


def _tensor_of(module: Module, name: str) -> Tensor:
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise _value_error(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return weight


def orthogonal(
    module: M,
    name: str = "weight",
    orthogonal_map: str | None = None,
    *,
    use_trivialization: bool = True,
) -> M:
    """Keep a weight orthogonal (unitary, if complex): its rows or columns are orthonormal.

    Args:
        module: the module, which is returned
        name: the weight's name
        orthogonal_map: how it is computed: "matrix_exp", "cayley" or "householder"; None is
            "householder", or "matrix_exp" for square or complex weights
        use_trivialization: multiply by a fixed orthogonal factor, so that any orthogonal weight can
            be assigned

    Example:
        >>> layer = nn.utils.parametrizations.orthogonal(nn.Linear(3, 3))
        >>> clew.allclose(layer.weight @ layer.weight.T, clew.eye(3), atol=1e-5)
        True
    """
    weight = _tensor_of(module, name)
    if weight.ndim < 2:
        raise _value_error(
            f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions."
        )
    if orthogonal_map is None:
        square = weight.shape[-2] == weight.shape[-1]
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    if orthogonal_map not in _OrthMaps.__members__:
        raise _value_error(
            'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". '
            f"Got: {orthogonal_map}"
        )
    chosen = _OrthMaps[orthogonal_map]
    parametrization = _Orthogonal(weight, chosen, use_trivialization=use_trivialization)
    return parametrize.register_parametrization(module, name, parametrization, unsafe=True)


# ---------------------------------------------------------------- weight normalization


class _WeightNorm(Module):
    """A weight from its lengths along `dim` (-1 or None: one length) and its directions."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return normalized_weight(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return norm_except_dim(weight, self.dim), weight


def weight_norm(module: M, name: str = "weight", dim: int | None = 0) -> M:
    """Train a weight's lengths along `dim` and its directions separately.

    Args:
        module: the module, which is returned
        name: the weight's name
        dim: the dimension whose every index has a length of its own; None: one length for all

    Example:
        >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(3, 4))
        >>> [tuple(each.shape) for each in layer.parametrizations.weight.parameters()]
        [(4, 1), (4, 3)]
    """
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def load_old_names(state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        """Take what the older `clew.nn.utils.weight_norm` has saved."""
        old = f"{prefix}{name}_g", f"{prefix}{name}_v"
        if all(key in state_dict for key in old):
            for index, key in enumerate(old):
                new = f"{prefix}parametrizations.{name}.original{index}"
                state_dict[new] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(load_old_names)
    return module


# ---------------------------------------------------------------- spectral normalization


class _SpectralNorm(Module):
    """A weight divided by its largest singular value, whose vectors power iterations follow."""

    def __init__(
        self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        super().__init__()
        ndim = weight.ndim
        if not -ndim <= dim < ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but "
                f"got {dim})"
            )
        check_iterations(n_power_iterations)
        self.dim = dim if dim >= 0 else dim + ndim
        self.eps = eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._reshape_weight_to_matrix(weight)
            rows, columns = matrix.shape
            self.register_buffer("_u", random_unit(matrix, rows, eps))
            self.register_buffer("_v", random_unit(matrix, columns, eps))
            self._power_method(matrix, _FIRST_ITERATIONS)

    def _reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        return as_matrix(weight, self.dim)

    @no_grad()
    def _power_method(self, weight_mat: Tensor, n_power_iterations: int) -> None:
        for _ in range(n_power_iterations):
            self._u.copy_(normalize(weight_mat.mv(self._v), dim=0, eps=self.eps))
            self._v.copy_(normalize(weight_mat.H.mv(self._u), dim=0, eps=self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return normalize(weight, dim=0, eps=self.eps)
        matrix = self._reshape_weight_to_matrix(weight)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        # The next forward writes to the buffers, which this one's backward still needs.
        left, right = self._u.clone(), self._v.clone()
        return weight / left.vdot(matrix.mv(right))

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


_FIRST_ITERATIONS = 15
"""Power iterations at registration: random vectors are far from the singular ones."""


def spectral_norm(
    module: M,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> M:
    """Keep a weight divided by its largest singular value.

    Args:
        module: the module, which is returned
        name: the weight's name
        n_power_iterations: how many steps each forward in training improves the estimate by
        eps: a lower bound for the lengths that are divided by
        dim: the dimension of the outputs; None is 0, and 1 for transposed convolutions

    Example:
        >>> layer = nn.utils.parametrizations.spectral_norm(nn.Linear(3, 4), n_power_iterations=50)
        >>> round(clew.linalg.matrix_norm(layer.weight, 2).item(), 3)
        1.0
    """
    weight = _tensor_of(module, name)
    along = output_dim(module) if dim is None else dim
    parametrization = _SpectralNorm(weight, n_power_iterations, along, eps)
    return parametrize.register_parametrization(module, name, parametrization)
