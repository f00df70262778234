"""Products of small integers, as quantized layers compute them."""

from __future__ import annotations

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.op import Op
from clew.core.public import public
from clew.core.tensor import Tensor


def _int_product(self: np.ndarray, mat2: np.ndarray) -> np.ndarray:
    # Sums of products of bytes are exact in double precision, which has a compiled product.
    return (self.astype(np.float64) @ mat2.astype(np.float64)).astype(np.int32)


INT_MM = Op("_int_mm", _int_product)


@public(method=False, name="_int_mm")
def int_mm(self: Tensor, mat2: Tensor) -> Tensor:
    """The product of two matrices of int8, in int32.

    Args:
        self: (n, m)
        mat2: (m, p)
    """
    for which, each in (("self", self), ("mat2", mat2)):
        if each._array.ndim != 2:
            raise RuntimeError(
                f"int_mm_out_cpu: Expected {which} to be of dimension 2 but got {each._array.ndim}"
                + errors.at_user_line()
            )
    if self._array.shape[1] != mat2._array.shape[0]:
        raise RuntimeError(
            "int_mm_out_cpu: self.size(1) needs to match mat2.size(0) but got "
            f"{self._array.shape[1]} and {mat2._array.shape[0]}" + errors.at_user_line()
        )
    if self.dtype not in (dtypes.int8, dtypes.uint8):
        raise RuntimeError(
            "int_mm_out_cpu: Expected self dtype to be int8 or uint8 but got "
            f"{self.dtype.c_name}" + errors.at_user_line()
        )
    if mat2.dtype is not dtypes.int8:
        raise RuntimeError(
            "int_mm_out_cpu: Expected mat2 dtype to be of type int8 but got "
            f"{mat2.dtype.c_name}" + errors.at_user_line()
        )
    return INT_MM(self, mat2)
