"""`DeviceMesh`: an arrangement of processes, of which there is one."""

from __future__ import annotations

from clew.distributed.refusing import Refused, refused

__all__ = ["DeviceMesh", "init_device_mesh"]


class DeviceMesh(Refused):
    """An arrangement of processes: for annotations and `isinstance`. Making one raises."""


init_device_mesh = refused("init_device_mesh")
