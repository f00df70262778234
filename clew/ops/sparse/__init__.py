"""Sparse tensors: COO, and the compressed layouts CSR, CSC, BSR and BSC.

Importing any part of it imports all: a sparse tensor needs all of its rules.
"""

from clew.ops.sparse import (
    construction,
    conversion,
    core_ops,
    inspection,
    named_products,
    pointwise,
    products,
    reductions,
    shaping,
    tensor,
    text,
)

__all__ = [
    "construction",
    "conversion",
    "core_ops",
    "inspection",
    "named_products",
    "pointwise",
    "products",
    "reductions",
    "shaping",
    "tensor",
    "text",
]
