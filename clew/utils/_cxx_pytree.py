"""The same functions as `_pytree`: PyTorch has them a second time over a compiled package."""

# ruff: noqa: F403  (all names are those of the other module)

from clew.utils import _pytree
from clew.utils._pytree import *

__all__ = _pytree.__all__
