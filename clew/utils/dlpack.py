"""Memory that is shared with other libraries by the DLPack protocol."""

from __future__ import annotations

from typing import Any

from clew.core.tensor import Tensor
from clew.ops.create.from_memory import from_dlpack

__all__ = ["from_dlpack", "to_dlpack"]


def to_dlpack(tensor: Tensor) -> Any:
    """A capsule for libraries that do not ask the tensor itself for its `__dlpack__`."""
    return tensor.__dlpack__()
