"""Memory formats of convolution weights."""

from __future__ import annotations

from typing import TypeVar

from clew.backend.layout import memory_format as MemoryFormat
from clew.nn.modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d
from clew.nn.modules.module import Module

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]

M = TypeVar("M", bound=Module)


def convert_conv2d_weight_memory_format(module: M, memory_format: MemoryFormat) -> M:
    """Store the weight of every 2-D convolution inside in this format; other layers stay.

    Args:
        module: the module, which is returned
        memory_format: such as `clew.channels_last`

    Example:
        >>> conv = nn.Conv2d(3, 4, 3)
        >>> conv = nn.utils.convert_conv2d_weight_memory_format(conv, clew.channels_last)
        >>> conv.weight.is_contiguous(memory_format=clew.channels_last)
        True
    """
    return _convert(module, memory_format, (Conv2d, ConvTranspose2d))


def convert_conv3d_weight_memory_format(module: M, memory_format: MemoryFormat) -> M:
    """Store the weight of every 3-D convolution inside in this format; other layers stay.

    Args:
        module: the module, which is returned
        memory_format: such as `clew.channels_last_3d`

    Example:
        >>> conv = nn.Conv3d(3, 4, 3)
        >>> conv = nn.utils.convert_conv3d_weight_memory_format(conv, clew.channels_last_3d)
        >>> conv.weight.is_contiguous(memory_format=clew.channels_last_3d)
        True
    """
    return _convert(module, memory_format, (Conv3d, ConvTranspose3d))


def _convert(module: M, memory_format: MemoryFormat, kinds: tuple[type[Module], ...]) -> M:
    for each in module.modules():
        if isinstance(each, kinds):
            each.weight.data = each.weight.detach().clone(memory_format=memory_format)
    return module
