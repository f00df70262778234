"""Collectives that gradients go through; like those of `clew.distributed` they raise."""

from __future__ import annotations

from clew.distributed import _needs_group

__all__ = [
    "all_gather", "all_reduce", "all_to_all", "all_to_all_single", "broadcast", "gather", "reduce",
    "reduce_scatter", "scatter",
]  # fmt: skip

all_gather, all_reduce = _needs_group("all_gather"), _needs_group("all_reduce")
all_to_all, all_to_all_single = _needs_group("all_to_all"), _needs_group("all_to_all_single")
broadcast, gather, reduce = (
    _needs_group("broadcast"),
    _needs_group("gather"),
    _needs_group("reduce"),
)
reduce_scatter, scatter = _needs_group("reduce_scatter"), _needs_group("scatter")
