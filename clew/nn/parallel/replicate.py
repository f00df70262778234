"""Copies of a module for several devices, of which there is one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clew.nn.modules.module import Module

__all__ = ["replicate"]


def replicate(network: Module, devices: Sequence[Any], detach: bool = False) -> list[Module]:
    """The module, once for each device: there is one memory.

    Args:
        network: the module
        devices: the devices
        detach: ignored: a copy would have weights without history
    """
    return [network for _ in devices]
