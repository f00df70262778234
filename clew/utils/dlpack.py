"""Memory that is shared with other libraries by the DLPack protocol."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from clew import errors
from clew.core.tensor import Tensor
from clew.ops.create.from_memory import from_dlpack

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]


class DLDeviceType(IntEnum):
    """The kinds of devices that DLPack numbers; tensors are on the first.

    Example:
        >>> clew.utils.dlpack.DLDeviceType(clew.ones(1).__dlpack_device__()[0]).name
        'kDLCPU'
    """

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17


def to_dlpack(tensor: Tensor) -> Any:
    """A capsule for libraries that do not ask the tensor itself for its `__dlpack__`.

    Args:
        tensor: the tensor whose memory to share

    Example:
        >>> x = clew.ones(2)
        >>> y = clew.from_dlpack(clew.utils.dlpack.to_dlpack(x))
        >>> y.data_ptr() == x.data_ptr()
        True
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(
            f"data must be a Tensor, not {type(tensor).__name__}" + errors.at_user_line()
        )
    return tensor.__dlpack__()
