"""The older names of `clew.amp` for the CPU."""

from clew.cpu.amp.autocast_mode import autocast
from clew.cpu.amp.grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast"]
