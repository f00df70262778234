"""The tensor class at the place where pickles of PyTorch's look for what belongs to it."""

from clew.core.tensor import Tensor
from clew.serialization.making import rebuild_from_type_v2 as _rebuild_from_type_v2

__all__ = ["Tensor", "_rebuild_from_type_v2"]
