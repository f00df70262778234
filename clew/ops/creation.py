"""Making tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from clew.backend import dtypes
from clew.core.public import public
from clew.core.tensor import Tensor, wrap


@public(method=False, out=False)
def tensor(
    data: Any,
    *,
    dtype: dtypes.dtype | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A new tensor with a copy of `data`."""
    array = np.array(data)
    if dtype is None:
        found = dtypes.of_array(array)
        if not isinstance(data, np.ndarray) and found is dtypes.float64:
            found = dtypes.get_default_dtype()
        dtype = found
    result = wrap(np.array(array, dtype.np))
    return result.requires_grad_() if requires_grad else result


@public(method=False, out=False)
def from_numpy(array: np.ndarray) -> Tensor:
    """A tensor that shares memory with an ndarray."""
    dtypes.of_array(array)
    return wrap(array)
