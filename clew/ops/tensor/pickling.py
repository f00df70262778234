"""copy, deepcopy and pickle."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.mirror import bits_of, memory_behind, with_bits
from clew.core.public import methods
from clew.core.result_layout import memory_order
from clew.core.tensor import Tensor, alias, retyped, wrap
from clew.kernels.numpy.strides import owner_of
from clew.kernels.runtime.numpy_capi import address_of
from clew.ops.define import memory_layout
from clew.ops.tensor.untyped_storage import copied_memory


def _rebuild(
    kind: type[Tensor],
    data: Any,
    dtype: dtypes.dtype,
    shape: tuple[int, ...],
    order: tuple[int, ...],
    requires_grad: bool,
    attributes: dict[str, Any] | None,
    bits: int = 0,
) -> Tensor:
    """The tensor back from what `_reduce` wrote."""
    flat = np.frombuffer(data, dtype.np)
    if not flat.flags.writeable:
        flat = flat.copy()
    laid_out = flat.reshape([shape[dim] for dim in order])
    array = laid_out.transpose(np.argsort(order)) if order else laid_out
    result = retyped(wrap(with_bits(array, bits)), kind)
    result._requires_grad = requires_grad
    if attributes:
        result.__dict__.update(attributes)
    return result


def _reduce(self: Tensor, protocol: int) -> Any:
    array, bits = memory_behind(self._array), bits_of(self._array)
    order = memory_order(array)
    in_order = np.ascontiguousarray(array.transpose(order))
    # From protocol 5 on whoever pickles may take the memory as it is, without a copy.
    data: Any = in_order.reshape(-1).view(np.uint8)
    data = pickle.PickleBuffer(data) if protocol >= 5 else data.tobytes()
    return _rebuild, (
        type(self), data, self.dtype, tuple(self._array.shape), order, self.requires_grad,
        dict(self.__dict__) or None, *([bits] if bits else []),
    )  # fmt: skip


def _copy(self: Tensor) -> Tensor:
    """A leaf over the same memory."""
    result = retyped(alias(self), type(self))
    result._requires_grad = self.requires_grad
    result.__dict__.update(self.__dict__)
    return result


def _deepcopy(self: Tensor, memo: dict[int, Any]) -> Tensor:
    """A leaf with a copy of the memory; tensors that share memory go on sharing it."""
    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
            "protocol at the moment.  A copy of a computed tensor would need a copy of its graph: "
            "deepcopy tensor.detach() for the values alone." + errors.at_user_line()
        )
    if id(self) in memo:
        return memo[id(self)]
    result = retyped(_copied_memory(self, memo), type(self))
    memo[id(self)] = result
    result._requires_grad = self.requires_grad
    if self._grad is not None:
        result._grad = _deepcopy(self._grad, memo)
    for name, value in self.__dict__.items():
        result.__dict__[name] = copy.deepcopy(value, memo)
    return result


def _copied_memory(self: Tensor, memo: dict[int, Any]) -> Tensor:
    """A tensor at the same place of a copy of the whole storage, which is copied only once."""
    array = self._array
    if bits_of(array):
        return wrap(memory_layout.copy_in_format(array, array.dtype))
    owner = owner_of(array)
    whole = copied_memory(owner, memo)
    copied = np.ndarray(
        array.shape,
        array.dtype,
        buffer=whole._array,
        offset=address_of(array) - address_of(owner),
        strides=array.strides,
    )
    return alias(whole, copied)


methods(__reduce_ex__=_reduce, __copy__=_copy, __deepcopy__=_deepcopy)
