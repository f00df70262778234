"""The former place of `fully_shard`, and `replicate`: calling one raises."""

from clew.distributed.fsdp import fully_shard
from clew.distributed.refusing import refused

__all__ = ["checkpoint", "contract", "fully_shard", "replicate"]

checkpoint, contract, replicate = refused("checkpoint"), refused("contract"), refused("replicate")
