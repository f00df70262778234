"""Linear algebra: `clew.linalg`, with the functions of `torch.linalg`."""

from collections.abc import Callable as _Callable
from typing import Any as _Any

from clew.core.arguments import typed as _typed
from clew.core.overrides import overridable as _overridable
from clew.core.public import Accept as _Accept
from clew.core.public import findable as _findable
from clew.core.public import with_out as _with_out
from clew.ops.define import out_checks as _outs
from clew.ops.define.rows import out_form as _out_form
from clew.ops.linalg import decompositions as _decompositions
from clew.ops.linalg import determinants as _determinants
from clew.ops.linalg import householder as _reflections
from clew.ops.linalg import inverse as _inverses
from clew.ops.linalg import ldl as _ldl
from clew.ops.linalg import lu as _lu
from clew.ops.linalg import matmul as _matmul
from clew.ops.linalg import matrix_functions as _linalg
from clew.ops.linalg import matrix_norms as _matrix_norms
from clew.ops.linalg import products as _products
from clew.ops.linalg import qr as _qr
from clew.ops.linalg import solve as _solving
from clew.ops.linalg.checks import LinAlgError
from clew.ops.reduce import norms as _norms

_Function = _Callable[..., _Any]


def _checked(
    function: _Function, accept: _Accept = _outs.exact, differentiable: bool | None = True
) -> _Function:
    if differentiable is False:
        accept = _outs.composed(accept)
    return _with_out(_typed(function), accept=accept, differentiable=differentiable)


# Each function takes out=, except for the views.
inv = _checked(_inverses.inv)
inv_ex = _checked(_inverses.inv_ex)
solve = _checked(_solving.solve)
solve_ex = _checked(_solving.solve_ex)
solve_triangular = _checked(
    _solving.solve_triangular, _outs.of_result_dtype(_outs.found_scalar_type)
)
cholesky = _checked(_solving.cholesky)
cholesky_ex = _checked(_solving.cholesky_ex)
lu = _checked(_lu.lu)
lu_factor = _checked(_lu.lu_factor)
lu_factor_ex = _checked(_lu.lu_factor_ex)
lu_solve = _checked(_lu.lu_solve)
ldl_factor = _with_out(_typed(_ldl.ldl_factor), _ldl.first_of_input_dtype, None)
ldl_factor_ex = _with_out(_typed(_ldl.ldl_factor_ex), _ldl.first_of_input_dtype, None)
ldl_solve = _out_form(_typed(_ldl.ldl_solve), _outs.EXACT_OUT, differentiable=None)
qr = _checked(_qr.qr)
svd = _checked(_decompositions.svd)
svdvals = _checked(_decompositions.svdvals)
eigh = _checked(_decompositions.eigh)
eigvalsh = _checked(_decompositions.eigvalsh)
eig = _checked(
    _decompositions.eig, _outs.castable("torch.linalg.eig", "eigenvalues", "eigenvectors")
)
eigvals = _checked(
    _decompositions.eigvals, _outs.castable("torch.linalg.eigvals", "eigenvalues"), None
)
det = _checked(_determinants.det)
slogdet = _checked(_determinants.slogdet)
pinv = _checked(_linalg.pinv, _outs.castable("linalg.pinv"))
lstsq = _checked(
    _linalg.lstsq,
    _outs.castable("torch.linalg.lstsq", "solution", "solution", "rank", "singular_values"),
)
matrix_power = _checked(_linalg.matrix_power, _outs.castable("matrix_power"))
matrix_exp = _typed(_linalg.matrix_exp)
matrix_rank = _checked(_linalg.matrix_rank, _outs.castable("torch.linalg.matrix_rank"), False)
# Composed of others, so inputs with history are no obstacle to `out=`.
tensorinv = _checked(_linalg.tensorinv, _outs.castable("tensorinv"), False)
tensorsolve = _checked(_linalg.tensorsolve, _outs.castable("tensorsolve"), False)
norm = _checked(_matrix_norms.norm, _outs.of_result_dtype(_outs.norm_words("linalg.norm")), False)
vector_norm = _with_out(_norms.vector_norm, accept=_outs.exact)
matrix_norm = _checked(
    _matrix_norms.matrix_norm, _outs.of_result_dtype(_outs.norm_words("linalg.matrix_norm")), False
)
cond = _checked(_matrix_norms.cond, _outs.castable("linalg.cond"), False)
vander = _typed(_matrix_norms.vander)
vecdot = _checked(_matrix_norms.vecdot, _outs.of_result_dtype(_outs.vecdot_words))
cross = _with_out(_typed(_matrix_norms.linalg_cross), _matrix_norms.cross_out)
diagonal = _typed(_matrix_norms.diagonal)
matmul = _out_form(_matmul.matmul, _outs.EXACT_OUT, elementwise=False)
multi_dot = _with_out(_products.multi_dot, accept=_outs.of_result_dtype(_outs.multi_dot_words))
householder_product = _checked(
    _reflections.householder_product, _outs.castable("torch.linalg.householder_product")
)

__all__ = [
    "LinAlgError", "cholesky", "cholesky_ex", "cond", "cross", "det", "diagonal", "eig", "eigh",
    "eigvals", "eigvalsh", "householder_product", "inv", "inv_ex", "ldl_factor", "ldl_factor_ex",
    "ldl_solve", "lstsq", "lu", "lu_factor", "lu_factor_ex", "lu_solve", "matmul", "matrix_exp",
    "matrix_norm", "matrix_power", "matrix_rank", "multi_dot", "norm", "pinv", "qr", "slogdet",
    "solve", "solve_ex", "solve_triangular", "svd", "svdvals", "tensorinv", "tensorsolve",
    "vander", "vecdot", "vector_norm",
]  # fmt: skip

_findable(globals())
_overridable("torch.linalg", globals(), *__all__)
