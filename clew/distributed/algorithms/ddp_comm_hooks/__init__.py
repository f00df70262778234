"""Hooks with which processes exchange gradients: calling one raises."""

from clew.distributed.algorithms.ddp_comm_hooks import (
    default_hooks,
    post_localSGD_hook,
    powerSGD_hook,
)

__all__ = ["default_hooks", "post_localSGD_hook", "powerSGD_hook"]
