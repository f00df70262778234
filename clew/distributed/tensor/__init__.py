"""`torch.distributed.tensor`: tensors in parts over processes. None can be made here."""

from __future__ import annotations

from clew.distributed.device_mesh import DeviceMesh, init_device_mesh
from clew.distributed.refusing import Refused, refused
from clew.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard

__all__ = [
    "DTensor", "DeviceMesh", "Partial", "Placement", "Replicate", "Shard", "distribute_module",
    "distribute_tensor", "empty", "full", "init_device_mesh", "ones", "rand", "randn", "zeros",
]  # fmt: skip


class DTensor(Refused):
    """A tensor in parts over processes: for `isinstance`. No tensor of clew's is one."""

    from_local = staticmethod(refused("DTensor.from_local"))


distribute_tensor = refused("distribute_tensor")
distribute_module = refused("distribute_module")
empty, full, ones = refused("empty"), refused("full"), refused("ones")
rand, randn, zeros = refused("rand"), refused("randn"), refused("zeros")
