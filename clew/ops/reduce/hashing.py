"""hash_tensor: a checksum of the elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.op import Op
from clew.core.public import public
from clew.core.tensor import Tensor
from clew.ops.define.dims import wrap_dim, wrap_dims

Array = np.ndarray


def _hash(self: Array, *, dims: tuple[int, ...], keepdim: bool) -> Array:
    is_real = dtypes.of_array(self).category >= dtypes.FLOAT
    bits = self.real.astype(np.float64 if is_real else np.int64).view(np.uint64)
    xor: Any = np.bitwise_xor
    return xor.reduce(bits, axis=dims, keepdims=keepdim) if self.ndim else bits


def _check_out(args: Any, kwargs: Any, out: Tensor) -> None:
    if out.dtype is not dtypes.uint64:
        raise RuntimeError(
            f"Expected result to be of dtype uint64, but got {out.dtype.scalar_name}"
            + errors.at_user_line()
        )


HASH_TENSOR = Op("hash_tensor", _hash, non_differentiable="integer output")


@public(checked=True, out=_check_out, differentiable=False)
def hash_tensor(input: Tensor, dim: Any = (), *, keepdim: bool = False, mode: int = 0) -> Tensor:
    """The exclusive or of the bits of all elements, widened to 64 bits: a checksum.

    Args:
        input: the tensor; floats become float64, integers int64
        dim: the dimensions to reduce; all without it
        keepdim: whether reduced dimensions stay, with size 1
        mode: 0, the only one there is

    Example:
        >>> clew.hash_tensor(clew.tensor([1, 2, 4]))
        tensor(7, dtype=torch.uint64)
    """
    if not isinstance(mode, int):
        raise errors.wrong_argument("hash_tensor", "mode", None, "int", mode)
    if mode != 0:
        raise RuntimeError(f"Unknown hash_tensor mode: {mode}" + errors.at_user_line())
    if input.dtype.is_complex and input._array.size:
        raise errors.no_kernel("xor_sum_cpu", input.dtype)
    if not input._array.size and dim == ():
        raise RuntimeError(
            "hash_tensor: Expected reduction dim to be specified for input.numel() == 0. Specify "
            "the reduction dim with the 'dim' argument." + errors.at_user_line()
        )
    for each in () if input._array.size else dim if isinstance(dim, (tuple, list)) else (dim,):
        if input._array.ndim and not input._array.shape[wrap_dim(each, input._array.ndim)]:
            raise IndexError(
                f"hash_tensor: Expected reduction dim {each} to have non-zero size."
                + errors.at_user_line()
            )
    return HASH_TENSOR(input, dims=wrap_dims(dim, input._array.ndim), keepdim=bool(keepdim))
