"""copy, deepcopy and pickle."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np

from clew import aliasing, errors
from clew.backend import dtypes
from clew.core.meta import memory as meta_memory
from clew.core.meta.memory import is_meta
from clew.core.mirror import bits_of, memory_behind, with_bits
from clew.core.public import methods
from clew.core.result_layout import memory_order
from clew.core.tensor import Tensor, alias, retyped, wrap
from clew.kernels.numpy.strides import owner_of
from clew.kernels.runtime.numpy_capi import address_of
from clew.ops.define import memory_layout
from clew.ops.tensor.untyped_storage import copied_memory


def _rebuild(
    kind: type[Tensor] | None,
    data: Any,
    dtype: dtypes.dtype,
    shape: tuple[int, ...],
    order: tuple[int, ...],
    requires_grad: bool,
    state: Any,
    bits: int = 0,
) -> Tensor:
    """The tensor back from what `_reduce` wrote."""
    flat = np.frombuffer(data, dtype.np)
    if not flat.flags.writeable:
        flat = flat.copy()
    laid_out = flat.reshape([shape[dim] for dim in order])
    array = laid_out.transpose(np.argsort(order)) if order else laid_out
    result = retyped(wrap(with_bits(array, bits)), kind or Tensor)
    result._requires_grad = requires_grad
    return set_object_state(result, state)


def _rebuild_meta(
    kind: type[Tensor] | None,
    dtype: dtypes.dtype,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    requires_grad: bool,
    state: Any,
) -> Tensor:
    """A tensor of the meta device back from what `_reduce` wrote."""
    result = retyped(wrap(meta_memory.empty(shape, dtype.np, strides)), kind or Tensor)
    result._requires_grad = requires_grad
    return set_object_state(result, state)


def named_class(tensor: Tensor) -> type[Tensor] | None:
    """The class of a tensor to pickle: none for Tensor, which is torch's under `clew run`."""
    return None if type(tensor) is Tensor else type(tensor)


def object_state(tensor: Tensor) -> Any:
    """What a program has set on a tensor: attributes, slots of its class, or its own state."""
    kind = type(tensor)
    if kind.__getstate__ is not object.__getstate__:
        return tensor.__getstate__()
    slots = _slots(tensor)
    attributes = dict(tensor.__dict__) or None
    return (attributes, slots) if slots else attributes


def set_object_state(tensor: Tensor, state: Any) -> Tensor:
    """Give a tensor what `object_state` said of another one."""
    if hasattr(tensor, "__setstate__"):
        tensor.__setstate__(state)
        return tensor
    attributes, slots = state if isinstance(state, tuple) else (state, {})
    tensor.__dict__.update(attributes or {})
    for name, value in slots.items():
        setattr(tensor, name, value)
    return tensor


def _slots(tensor: Tensor) -> dict[str, Any]:
    """The slots that a subclass of Tensor declares, and what is in them."""
    names = names_of_slots(type(tensor))
    return {name: getattr(tensor, name) for name in names if hasattr(tensor, name)}


def names_of_slots(kind: type[Tensor]) -> list[str]:
    """The slots that a subclass of Tensor declares, without those of the library's classes."""
    own = Tensor.__mro__
    classes = [
        each for each in kind.__mro__
        if each not in own and not aliasing.is_own(each.__module__)
    ]  # fmt: skip
    declared = [each.__dict__.get("__slots__", ()) for each in classes]
    names = [name for slots in declared for name in ([slots] if isinstance(slots, str) else slots)]
    return [name for name in names if name not in ("__dict__", "__weakref__")]


def _reduce(self: Tensor, protocol: int) -> Any:
    if is_meta(self._layout):
        layout = self._layout
        return _rebuild_meta, (
            named_class(self), self.dtype, layout.shape, layout.strides, self.requires_grad,
            object_state(self),
        )  # fmt: skip
    array, bits = memory_behind(self._array), bits_of(self._array)
    order = memory_order(array)
    in_order = np.ascontiguousarray(array.transpose(order))
    # From protocol 5 on whoever pickles may take the memory as it is, without a copy.
    data: Any = in_order.reshape(-1).view(np.uint8)
    data = pickle.PickleBuffer(data) if protocol >= 5 else data.tobytes()
    return _rebuild, (
        named_class(self), data, self.dtype, tuple(self._array.shape), order, self.requires_grad,
        object_state(self), *([bits] if bits else []),
    )  # fmt: skip


def _copy(self: Tensor) -> Tensor:
    """A leaf over the same memory."""
    result = retyped(alias(self), type(self))
    result._requires_grad = self.requires_grad
    result.__dict__.update(self.__dict__)
    for name, value in _slots(self).items():
        setattr(result, name, value)
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
    result = _copied(self, memo)
    memo[id(self)] = result
    result._requires_grad = self.requires_grad
    if self._grad is not None:
        result._grad = _deepcopy(self._grad, memo)
    for name, value in self.__dict__.items():
        result.__dict__[name] = copy.deepcopy(value, memo)
    for name, value in _slots(self).items():
        setattr(result, name, copy.deepcopy(value, memo))
    return result


def _copied(self: Tensor, memo: dict[int, Any]) -> Tensor:
    has_own_clone = vars(Tensor)["clone"] is not getattr(type(self), "clone", None)
    if not (is_meta(self._array) and has_own_clone):
        return retyped(_copied_memory(self, memo), type(self))
    # What a class that wraps others has beside the memory that is not there, only `clone` knows.
    result = self.clone()
    if type(result) is not type(self):
        raise RuntimeError(
            "The default implementation of __deepcopy__() for wrapper subclasses only works for "
            "subclass types that implement clone() and for which cloning returns another instance "
            "of the same subclass. You should either properly implement clone() for your subclass "
            "or override __deepcopy__() if it is intended behavior for clone() to return an "
            "instance of a different type." + errors.at_user_line()
        )
    return result


def _copied_memory(self: Tensor, memo: dict[int, Any]) -> Tensor:
    """A tensor at the same place of a copy of the whole storage, which is copied only once."""
    array = self._array
    if is_meta(array):
        return wrap(meta_memory.like(array))
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
