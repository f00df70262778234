"""`DistributedDataParallel`: a module in several processes, which clew does not have."""

from __future__ import annotations

from typing import Any

from clew import errors
from clew.nn.modules.module import Module

__all__ = ["DistributedDataParallel"]


class DistributedDataParallel(Module):
    """Exists for imports and `isinstance`; making one raises, as without a process group."""

    def __init__(self, module: Module, device_ids: Any = None, **kwargs: Any) -> None:
        raise ValueError(
            "Default process group has not been initialized, please make sure to call "
            "init_process_group. clew trains in one process and has no torch.distributed: use the "
            "module itself." + errors.at_user_line()
        )
