"""State dicts of models over several processes. Calling it raises."""

from __future__ import annotations

from dataclasses import dataclass

from clew.distributed.refusing import refused

__all__ = [
    "StateDictOptions", "get_model_state_dict", "get_optimizer_state_dict", "get_state_dict",
    "set_model_state_dict", "set_optimizer_state_dict", "set_state_dict",
]  # fmt: skip


@dataclass
class StateDictOptions:
    """How a state dict is made."""

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False


get_model_state_dict = refused("get_model_state_dict")
get_optimizer_state_dict = refused("get_optimizer_state_dict")
get_state_dict = refused("get_state_dict")
set_model_state_dict = refused("set_model_state_dict")
set_optimizer_state_dict = refused("set_optimizer_state_dict")
set_state_dict = refused("set_state_dict")
