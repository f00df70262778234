"""`torch.distributed.tensor`: tensors in parts over ranks."""

from __future__ import annotations

from clew.distributed.device_mesh import DeviceMesh, init_device_mesh
from clew.distributed.tensor import rules
from clew.distributed.tensor.dtensor import DTensor, distribute_tensor
from clew.distributed.tensor.making import empty, full, ones, rand, randn, zeros
from clew.distributed.tensor.modules import distribute_module
from clew.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard

__all__ = [
    "DTensor", "DeviceMesh", "Partial", "Placement", "Replicate", "Shard", "distribute_module",
    "distribute_tensor", "empty", "full", "init_device_mesh", "ones", "rand", "randn", "rules",
    "zeros",
]  # fmt: skip
