"""Nested tensors: batches of tensors whose sizes differ, in the jagged and the strided layout.

Importing any part of it imports all: a nested tensor needs all of its rules.
"""

from clew.ops.nested import (
    construction,
    cuts,
    inspection,
    padding,
    pointwise,
    products,
    reductions,
    shaping,
    shaping_strided,
    tensor,
)

__all__ = [
    "construction",
    "cuts",
    "inspection",
    "padding",
    "pointwise",
    "products",
    "reductions",
    "shaping",
    "shaping_strided",
    "tensor",
]
