"""The cross entropy of logits whose classes lie in parts over ranks."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from clew import distributed as dist
from clew.core.tensor import Tensor, wrap
from clew.distributed.tensor import moves
from clew.distributed.tensor.dtensor import SPECIAL, DTensor
from clew.distributed.tensor.placement_types import Shard
from clew.distributed.tensor.rules.samples import loss_of_classes

__all__ = ["loss_parallel"]

_active = 0


@contextlib.contextmanager
def loss_parallel() -> Iterator[None]:
    """Inside, `cross_entropy` takes logits in parts along the classes, without gathering them."""
    global _active
    _active += 1
    try:
        yield
    finally:
        _active -= 1


def _cross_entropy(
    func: Any,
    input: DTensor,
    target: Tensor,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    classes = 1 if input.dim() > 1 else 0
    placement = input.placements[0]
    is_cut = isinstance(placement, Shard) and placement.dim == classes
    if not _active or not is_cut or weight is not None or label_smoothing:
        options = {
            "weight": weight, "size_average": size_average, "ignore_index": ignore_index,
            "reduce": reduce, "reduction": reduction, "label_smoothing": label_smoothing,
        }  # fmt: skip
        return loss_of_classes(func, input, target, **options)
    group = input.device_mesh.get_group(0)
    target = target.to_local() if isinstance(target, DTensor) else target
    logits = input.to_local().movedim(classes, -1)
    losses = _losses(logits, target, input.shape[classes], group)
    kept = target != ignore_index
    losses = losses * kept.to(losses.dtype)
    if reduction == "none":
        return losses
    total = losses.sum()
    return total / kept.sum().to(total.dtype) if reduction == "mean" else total


def _losses(logits: Tensor, target: Tensor, classes: int, group: Any) -> Tensor:
    """log(sum(exp(logits))) - logit of the target, from the parts of ranks."""
    largest = wrap(logits._array.max(-1, initial=-np.inf))
    dist.all_reduce(largest, dist.ReduceOp.MAX, group)
    centered = logits - largest.unsqueeze(-1)
    total = moves.sum_all(centered.exp().sum(-1), group)
    start, end = moves.bounds(classes, group.size(), group.rank())
    mine = (target >= start) & (target < end)
    place = (target - start).clamp(0, max(0, end - start - 1)).unsqueeze(-1)
    chosen = centered.gather(-1, place).squeeze(-1) * mine.to(centered.dtype)
    return total.log() - moves.sum_all(chosen, group)


# In place of the rule for logits whose samples are cut, which is asked for all others.
SPECIAL["cross_entropy"] = _cross_entropy
