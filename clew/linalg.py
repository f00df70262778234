"""Linear algebra: `clew.linalg`, with the functions of `torch.linalg`."""

from clew.core.public import with_out as _with_out
from clew.ops import decompositions as _decompositions
from clew.ops import linalg as _linalg
from clew.ops import lu as _lu
from clew.ops import matmul as _matmul
from clew.ops import matrix_norms as _matrix_norms
from clew.ops import norms as _norms
from clew.ops import products as _products
from clew.ops import reflections as _reflections
from clew.ops import solving as _solving
from clew.ops.linalg_checks import LinAlgError
from clew.ops.matmul import EXACT_OUT as _EXACT_OUT
from clew.ops.rows import out_form as _out_form

# Each function takes out=, except for the views.
inv = _out_form(_solving.inv, _EXACT_OUT)
inv_ex = _with_out(_solving.inv_ex)
solve = _out_form(_solving.solve, _EXACT_OUT)
solve_ex = _with_out(_solving.solve_ex)
solve_triangular = _out_form(_solving.solve_triangular, _EXACT_OUT)
cholesky = _out_form(_solving.cholesky, _EXACT_OUT)
cholesky_ex = _with_out(_solving.cholesky_ex)
lu = _with_out(_lu.lu)
lu_factor = _with_out(_lu.lu_factor)
lu_factor_ex = _with_out(_lu.lu_factor_ex)
lu_solve = _with_out(_lu.lu_solve)
qr = _with_out(_decompositions.qr)
svd = _with_out(_decompositions.svd)
svdvals = _with_out(_decompositions.svdvals)
eigh = _with_out(_decompositions.eigh)
eigvalsh = _with_out(_decompositions.eigvalsh)
eig = _with_out(_decompositions.eig)
eigvals = _with_out(_decompositions.eigvals)
det = _out_form(_linalg.det, _EXACT_OUT)
slogdet = _with_out(_linalg.slogdet)
pinv = _with_out(_linalg.pinv)
lstsq = _linalg.lstsq
matrix_power = _with_out(_linalg.matrix_power)
matrix_exp = _linalg.matrix_exp
matrix_rank = _with_out(_linalg.matrix_rank)
tensorinv = _with_out(_linalg.tensorinv)
tensorsolve = _with_out(_linalg.tensorsolve)
norm = _with_out(_matrix_norms.norm)
vector_norm = _with_out(_norms.vector_norm)
matrix_norm = _with_out(_matrix_norms.matrix_norm)
cond = _with_out(_matrix_norms.cond)
vander = _matrix_norms.vander
vecdot = _with_out(_matrix_norms.vecdot)
cross = _with_out(_matrix_norms.linalg_cross)
diagonal = _matrix_norms.diagonal
matmul = _out_form(_matmul.matmul, _EXACT_OUT)
multi_dot = _with_out(_products.multi_dot)
householder_product = _with_out(_reflections.householder_product)

__all__ = [
    "LinAlgError", "cholesky", "cholesky_ex", "cond", "cross", "det", "diagonal", "eig", "eigh",
    "eigvals", "eigvalsh", "householder_product", "inv", "inv_ex", "lstsq", "lu", "lu_factor",
    "lu_factor_ex", "lu_solve", "matmul", "matrix_exp", "matrix_norm", "matrix_power",
    "matrix_rank", "multi_dot", "norm", "pinv", "qr", "slogdet", "solve", "solve_ex",
    "solve_triangular", "svd", "svdvals", "tensorinv", "tensorsolve", "vander", "vecdot",
    "vector_norm",
]  # fmt: skip
