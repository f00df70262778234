"""Batching rules: how every operation runs on all examples of a vmap at once."""

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
