"""How tensors are printed, at the place where PyTorch defines it."""

from __future__ import annotations

from typing import Any

from clew.core.printing import get_printoptions, set_printoptions
from clew.core.tensor import Tensor

__all__ = ["_str", "get_printoptions", "set_printoptions"]


def _str(self: Tensor, *, tensor_contents: Any = None) -> str:
    """A tensor as text."""
    return repr(self)
