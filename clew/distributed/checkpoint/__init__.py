"""`torch.distributed.checkpoint`: state dicts written by several processes. Calling it raises."""

from __future__ import annotations

from clew.distributed.refusing import Refused, refused

__all__ = [
    "DefaultLoadPlanner", "DefaultSavePlanner", "FileSystemReader", "FileSystemWriter",
    "async_save", "load", "load_state_dict", "save", "save_state_dict",
]  # fmt: skip


class FileSystemReader(Refused):
    """Reads parts of a state dict. Making one raises."""


class FileSystemWriter(Refused):
    """Writes parts of a state dict. Making one raises."""


class DefaultSavePlanner(Refused):
    """Decides who writes what. Making one raises."""


class DefaultLoadPlanner(Refused):
    """Decides who reads what. Making one raises."""


save, load = refused("checkpoint.save"), refused("checkpoint.load")
save_state_dict, load_state_dict = refused("save_state_dict"), refused("load_state_dict")
async_save = refused("async_save")
