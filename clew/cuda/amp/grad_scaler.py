"""The scaler at its older place."""

from clew.amp.grad_scaler import OptState
from clew.cuda.amp import GradScaler

__all__ = ["GradScaler", "OptState"]
