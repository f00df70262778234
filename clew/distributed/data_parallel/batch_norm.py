"""Batch normalisation over the batches of all ranks."""

from __future__ import annotations

from typing import Any

from clew.core.state import local
from clew.core.tensor import Tensor
from clew.distributed.nn.functional import all_reduce
from clew.distributed.runtime import world


def normalize(layer: Any, input: Tensor) -> Tensor:
    """What `SyncBatchNorm` does while it trains: mean and variance are those of all ranks."""
    group = world.default_group() if layer.process_group is None else layer.process_group
    dims = [dim for dim in range(input.dim()) if dim != 1]
    shape = [1, -1] + [1] * (input.dim() - 2)
    wide = input if input.dtype.itemsize >= 4 else input.float()
    count = input.new_tensor([float(input.numel() // max(1, input.shape[1]))], dtype=wide.dtype)
    total = all_reduce(count, group=group)
    mean = all_reduce(wide.sum(dims), group=group) / total
    centered = wide - mean.view(shape)
    variance = all_reduce((centered * centered).sum(dims), group=group) / total
    result = centered * (variance + layer.eps).rsqrt().view(shape)
    if layer.track_running_stats and layer.training:
        _update(layer, mean.detach(), variance.detach() * (total / (total - 1).clamp(min=1)))
    if layer.weight is not None:
        result = result * layer.weight.view(shape)
    if layer.bias is not None:
        result = result + layer.bias.view(shape)
    return result.to(input.dtype)


def _update(layer: Any, mean: Tensor, variance: Tensor) -> None:
    """Move the running statistics; without a momentum they are the plain average."""
    state = local.state
    before, state.grad_enabled = state.grad_enabled, False
    try:
        layer.num_batches_tracked.add_(1)
        weight = layer.momentum
        if weight is None:
            weight = 1.0 / float(layer.num_batches_tracked.item())
        layer.running_mean.lerp_(mean.to(layer.running_mean.dtype), weight)
        layer.running_var.lerp_(variance.to(layer.running_var.dtype), weight)
    finally:
        state.grad_enabled = before
