"""Importing this module gives every operation its batching rule; all operations must exist."""

from clew.ops.batching import (
    convolutions,
    indexing,
    layers,
    losses,
    matrices,
    random,
    reductions,
    shapes,
)

__all__ = [
    "convolutions",
    "indexing",
    "layers",
    "losses",
    "matrices",
    "random",
    "reductions",
    "shapes",
]
