"""The named tuples that functions with several results return: `torch.return_types.max`."""

# ruff: noqa: F401  (names are imported here to be found here)

from clew.ops.define.return_types import (
    aminmax,
    cummax,
    cummin,
    frexp,
    histogram,
    histogramdd,
    kthvalue,
    max,
    median,
    min,
    mode,
    nanmedian,
    sort,
    topk,
)
from clew.ops.linalg.decompositions import eigh_result as linalg_eigh
from clew.ops.linalg.decompositions import old_svd_result as svd
from clew.ops.linalg.decompositions import svd_result as linalg_svd
from clew.ops.linalg.determinants import slogdet_result as linalg_slogdet
from clew.ops.linalg.householder import geqrf_result as geqrf
from clew.ops.linalg.inverse import inv_ex_result as linalg_inv_ex
from clew.ops.linalg.ldl import ldl_factor_ex_result as linalg_ldl_factor_ex
from clew.ops.linalg.ldl import ldl_factor_result as linalg_ldl_factor
from clew.ops.linalg.lu import lu_factor_ex_result as linalg_lu_factor_ex
from clew.ops.linalg.lu import lu_factor_result as linalg_lu_factor
from clew.ops.linalg.lu import lu_result as linalg_lu
from clew.ops.linalg.matrix_functions import lstsq_result as linalg_lstsq
from clew.ops.linalg.qr import qr_result as linalg_qr
from clew.ops.linalg.solve import cholesky_ex_result as linalg_cholesky_ex
from clew.ops.linalg.solve import solve_ex_result as linalg_solve_ex
from clew.ops.linalg.solve import triangular_solve_result as triangular_solve
