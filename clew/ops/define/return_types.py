"""The named tuples that functions with several results return, under PyTorch's names."""

from typing import Any, NamedTuple

from clew.core.tensor import Tensor


class max(NamedTuple):
    values: Tensor
    indices: Tensor


class min(NamedTuple):
    values: Tensor
    indices: Tensor


class aminmax(NamedTuple):
    min: Tensor
    max: Tensor


class median(NamedTuple):
    values: Tensor
    indices: Tensor


class nanmedian(NamedTuple):
    values: Tensor
    indices: Tensor


class mode(NamedTuple):
    values: Tensor
    indices: Tensor


class kthvalue(NamedTuple):
    values: Tensor
    indices: Tensor


class topk(NamedTuple):
    values: Tensor
    indices: Tensor


class sort(NamedTuple):
    values: Tensor
    indices: Tensor


class cummax(NamedTuple):
    values: Tensor
    indices: Tensor


class cummin(NamedTuple):
    values: Tensor
    indices: Tensor


class histogram(NamedTuple):
    hist: Tensor
    bin_edges: Tensor


class histogramdd(NamedTuple):
    hist: Tensor
    bin_edges: tuple[Tensor, ...]


class frexp(NamedTuple):
    mantissa: Tensor
    exponent: Tensor


class geqrf(NamedTuple):
    a: Tensor
    tau: Tensor


class linalg_cholesky_ex(NamedTuple):
    L: Tensor
    info: Tensor


class linalg_eig(NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor


class linalg_eigh(NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor


class linalg_inv_ex(NamedTuple):
    inverse: Tensor
    info: Tensor


class linalg_ldl_factor(NamedTuple):
    LD: Tensor
    pivots: Tensor


class linalg_ldl_factor_ex(NamedTuple):
    LD: Tensor
    pivots: Tensor
    info: Tensor


class linalg_lstsq(NamedTuple):
    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor


class linalg_lu(NamedTuple):
    P: Tensor
    L: Tensor
    U: Tensor


class linalg_lu_factor(NamedTuple):
    LU: Tensor
    pivots: Tensor


class linalg_lu_factor_ex(NamedTuple):
    LU: Tensor
    pivots: Tensor
    info: Tensor


class linalg_qr(NamedTuple):
    Q: Tensor
    R: Tensor


class linalg_slogdet(NamedTuple):
    sign: Tensor
    logabsdet: Tensor


class linalg_solve_ex(NamedTuple):
    result: Tensor
    info: Tensor


class linalg_svd(NamedTuple):
    U: Tensor
    S: Tensor
    Vh: Tensor


class lu_unpack(NamedTuple):
    P: Tensor
    L: Tensor
    U: Tensor


class _lu_with_info(NamedTuple):
    LU: Tensor
    pivots: Tensor
    info: Tensor


class qr(NamedTuple):
    Q: Tensor
    R: Tensor


class svd(NamedTuple):
    U: Tensor
    S: Tensor
    V: Tensor


class triangular_solve(NamedTuple):
    solution: Tensor
    cloned_coefficient: Tensor


def _printed(self: Any) -> str:
    fields = ",\n".join(f"{name}={value!r}" for name, value in zip(self._fields, self))
    return f"torch.return_types.{type(self).__name__}(\n{fields})"


for _kind in tuple(vars().values()):
    if isinstance(_kind, type) and issubclass(_kind, tuple):
        _kind.__repr__ = _printed  # type: ignore[method-assign]  # of named tuples only
