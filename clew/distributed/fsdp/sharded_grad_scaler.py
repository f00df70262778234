"""`ShardedGradScaler`: in one process it is `GradScaler`."""

from __future__ import annotations

from clew.amp.grad_scaler import GradScaler

__all__ = ["ShardedGradScaler"]


class ShardedGradScaler(GradScaler):
    """`GradScaler` for gradients in parts; with one process there is one part."""
