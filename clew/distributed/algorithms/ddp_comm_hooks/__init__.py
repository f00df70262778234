"""Hooks with which processes exchange gradients, registered with `register_comm_hook`."""

from clew.distributed.algorithms.ddp_comm_hooks import (
    debugging_hooks,
    default_hooks,
    post_localSGD_hook,
    powerSGD_hook,
)

__all__ = ["debugging_hooks", "default_hooks", "post_localSGD_hook", "powerSGD_hook"]
