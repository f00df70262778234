"""Changing dtype and device, and leaving for NumPy and Python."""

from __future__ import annotations

from typing import Any

import numpy as np

from clew.backend import dtypes
from clew.core.op import Op
from clew.core.public import methods
from clew.core.tensor import Tensor


def _cast(self: np.ndarray, *, dtype: np.dtype) -> np.ndarray:
    return self.astype(dtype, order="K")


TO_COPY = Op(
    "_to_copy", _cast, grads={"self": lambda g, self_dtype: g.to(self_dtype)}, linear=True,
    node="ToCopyBackward0",
)  # fmt: skip


def to_dtype(self: Tensor, dtype: dtypes.dtype, copy: bool = False) -> Tensor:
    """The tensor itself when it has that dtype already, else a converted copy."""
    if self.dtype is dtype and not copy:
        return self
    return TO_COPY(self, dtype=dtype.np)


def to(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    return to_dtype(self, args[0])


methods(to=to)


def numpy(self: Tensor, *, force: bool = False) -> np.ndarray:
    """The values as an ndarray that shares memory with the tensor."""
    return self._array


methods(numpy=numpy)
