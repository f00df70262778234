"""Sparse tensors: `clew.sparse`, with the functions of `torch.sparse`. docs/sparse.md."""

from clew.core.overrides import overridable as _overridable
from clew.ops.sparse.named_products import sampled_addmm
from clew.ops.sparse.named_products import sparse_addmm as addmm
from clew.ops.sparse.named_products import sparse_mm as mm
from clew.ops.sparse.reductions import log_softmax, softmax
from clew.ops.sparse.reductions import sparse_sum as sum
from clew.sparse.diagonals import spdiags
from clew.sparse.gradients import as_sparse_gradcheck
from clew.sparse.invariants import check_sparse_tensor_invariants
from clew.sparse.legacy_constructors import CONSTRUCTORS as _CONSTRUCTORS

__all__ = [
    "addmm",
    "as_sparse_gradcheck",
    "check_sparse_tensor_invariants",
    "log_softmax",
    "mm",
    "sampled_addmm",
    "softmax",
    "spdiags",
    "sum",
]
_overridable("torch.sparse", globals(), *__all__)
globals().update(_CONSTRUCTORS)
