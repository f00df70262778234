"""The former place of `torch.distributed.device_mesh`."""

from clew.distributed.device_mesh import DeviceMesh, init_device_mesh

__all__ = ["DeviceMesh", "init_device_mesh"]
