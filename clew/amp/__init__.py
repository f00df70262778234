"""Mixed precision: `autocast` chooses the dtype of each function, `GradScaler` scales losses.

The scale keeps small gradients of half precision from vanishing.
"""

from clew.amp.autocast_mode import autocast, custom_bwd, custom_fwd, is_autocast_available
from clew.amp.grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]
