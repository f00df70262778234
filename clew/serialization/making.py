"""What a file gets when it calls a name, makes an object, or gives one a state.

Each function checks what it is given: nothing that a file says is believed.
"""

from __future__ import annotations

import argparse
import collections
import datetime
import enum
import functools
import pathlib
import pickle
import types
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy._core import multiarray as _multiarray
from numpy._core.numeric import _frombuffer  # type: ignore[attr-defined]  # for pickle

from clew.amp import grad_scaler
from clew.backend import layout
from clew.backend.device import device
from clew.core.tensor import Size, Tensor
from clew.nn.parameter import UninitializedBuffer, UninitializedParameter
from clew.ops.create.random import Generator
from clew.serialization import numpy_values, storages
from clew.serialization.added import METHOD, is_added
from clew.serialization.names import is_own_class, is_program_class
from clew.serialization.unpickler import check_key, described

# -- functions that files call, each checking what it is given -------------------------------------


def as_bytes(text: Any, encoding: Any = "utf-8") -> bytes:
    if not isinstance(text, str) or encoding != "latin1":
        raise TypeError("bytes are written as text in latin1")
    return text.encode("latin1")


def _no_bytes() -> bytes:
    return b""


def _as_bytearray(*args: Any) -> bytearray:
    if args and not isinstance(args[0], bytes | bytearray):
        raise TypeError(f"a bytearray is made from bytes, not from {type(args[0]).__name__}")
    return bytearray(*args[:1])


def _from_items(make: Callable[[Any], Any], items: Any = ()) -> Any:
    if not isinstance(items, list | tuple | dict):
        raise TypeError(f"a container is made from a list, not from {type(items).__name__}")
    for item in items:
        # A list is the key and the value of one entry.
        check_key(tuple(item) if isinstance(item, list) else item)
    return make(items)


def _default_dict(factory: Any = None) -> Any:
    if not any(factory is each for each in _FACTORIES):
        raise TypeError(f"a defaultdict that calls {described(factory)} is not read from files")
    return collections.defaultdict(factory)


# What a defaultdict may call: these take nothing and do nothing but make a value.
_FACTORIES = (
    None, list, dict, set, int, float, str, bool, grad_scaler._refresh_per_optimizer_state,
)  # fmt: skip


def _deque(items: Any = (), maxlen: Any = None) -> Any:
    if not isinstance(items, list | tuple):
        raise TypeError(f"a deque is made from a list, not from {type(items).__name__}")
    return collections.deque(items, maxlen)


def _range(*bounds: int) -> range:
    return range(*bounds)


def _slice(*bounds: Any) -> slice:
    if not all(bound is None or type(bound) is int for bound in bounds):
        raise TypeError("a slice goes from number to number")
    return slice(*bounds)


def _device(kind: Any, index: Any = None) -> device:
    if not isinstance(kind, str) or not (index is None or type(index) is int):
        raise TypeError("a device has a name and a number")
    return device(kind, index)


def _size(sizes: Any = ()) -> Size:
    return Size(storages._lengths(sizes, "size"))


def _without_shape(kind: type[Tensor], requires_grad: Any) -> Any:
    return kind(bool(requires_grad))  # type: ignore[call-arg]  # of lazy parameters and buffers


def get_layout(name: Any) -> layout.layout:
    """The layout that a file names, e.g. 'torch.strided'."""
    found = isinstance(name, str) and getattr(layout, name.removeprefix("torch."), None)
    if not isinstance(found, layout.layout):
        raise ValueError(f"unknown layout {described(name)}")
    return found


def rebuild_from_type_v2(function: Any, kind: Any, args: Any, state: Any) -> Tensor:
    """A tensor of a subclass, or one with attributes."""
    if function is storages.rebuild_njt and kind is storages.NestedTensorInFiles:
        return storages.rebuild_njt(*args)
    if not any(function is each for each in TENSOR_FUNCTIONS) or not isinstance(args, tuple):
        raise TypeError(f"{described(function)} does not make tensors")
    if not (isinstance(kind, type) and issubclass(kind, Tensor)):
        raise TypeError(f"{described(kind)} is not a class of tensors")
    return storages.with_state(storages.as_type(function(*args), kind), state)


class DimRange:
    """What PyTorch's compiler has noted of a nested tensor's parts: read, and forgotten."""

    __slots__ = ()


def _generator(place: Any = "cpu") -> Generator:
    return Generator(place if isinstance(place, str | device) else "cpu")


def _named_tuple(kind: Any, items: tuple[Any, ...]) -> Any:
    """One of the tuples with names that functions return, from as many tensors as it has names."""
    if len(items) != len(kind._fields) or not all(
        item is None or isinstance(item, Tensor) for item in items
    ):
        raise ValueError(f"{kind.__name__} is made from {len(kind._fields)} tensors")
    return tuple.__new__(kind, items)


def refuse(what: str, *args: Any) -> Any:
    raise RuntimeError(
        f"the file holds {what}, which clew does not have. Convert it in PyTorch before saving."
    )


TENSOR_FUNCTIONS = (
    storages.rebuild_tensor_v2, storages.rebuild_tensor_v3, storages.rebuild_tensor,
    storages.rebuild_meta_tensor,
    storages.rebuild_parameter, storages.rebuild_parameter_with_state,
)  # fmt: skip

_LAZY = (UninitializedParameter, UninitializedBuffer)
_STANDARD = (
    pathlib.PosixPath, pathlib.WindowsPath, pathlib.PurePosixPath, pathlib.PureWindowsPath,
    datetime.datetime, datetime.date, datetime.time, datetime.timedelta, datetime.timezone,
)  # fmt: skip
# What runs when a file calls a name; by object, because users may have named the same object.
_CALLED: dict[Any, Callable[..., Any]] = {
    **{function: function for function in (
        *TENSOR_FUNCTIONS, rebuild_from_type_v2, get_layout, as_bytes, complex,
        storages.rebuild_sparse_tensor, storages.rebuild_nested_tensor,
    )},
    collections.OrderedDict: functools.partial(_from_items, collections.OrderedDict),
    collections.Counter: functools.partial(_from_items, collections.Counter),
    set: functools.partial(_from_items, set),
    frozenset: functools.partial(_from_items, frozenset),
    bytes: _no_bytes,
    bytearray: _as_bytearray,
    Size: _size,
    device: _device,
    collections.defaultdict: _default_dict,
    collections.deque: _deque,
    slice: _slice,
    range: _range,
    np.dtype: numpy_values.make_dtype,
    _multiarray.scalar: numpy_values.make_scalar,
    _multiarray._reconstruct: numpy_values.make_array,
    _frombuffer: numpy_values.array_from_buffer,
    types.SimpleNamespace: lambda: types.SimpleNamespace(),
    **{kind: functools.partial(_without_shape, kind) for kind in _LAZY},
    Generator: _generator,
    **{kind: kind for kind in _STANDARD},
}  # fmt: skip
# By identity: hashing or comparing what a file calls could take forever.
_CALLS = {id(value): function for value, function in _CALLED.items()}


# -- what is done with the objects -----------------------------------------------------------------


def call(function: Any, args: tuple[Any, ...]) -> Any:
    """What a file gets when it calls something."""
    if isinstance(function, functools.partial) and function.func is refuse:
        return function(*args)
    known = _CALLS.get(id(function))
    if known is not None:
        return known(*args)
    if is_added(function):
        return function(*args)
    if _is_named_tuple(function) and len(args) == 2 and type(args[0]) is tuple:
        # PyTorch's way for what functions return; the second argument is for names it hides.
        return _named_tuple(function, args[0])
    if is_own_class(function) and issubclass(function, enum.Enum) and len(args) == 1:
        return function(args[0])
    what = described(function)
    if isinstance(function, METHOD) and isinstance(function.__self__, type):
        what = f"{function.__name__} which belongs to {function.__self__}"
    raise pickle.UnpicklingError(f"Trying to call reduce for unrecognized function {what}")


def _is_named_tuple(value: Any) -> bool:
    return is_own_class(value) and issubclass(value, tuple) and hasattr(value, "_fields")


def make(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A new object without its state, of a class that may be made so."""
    if is_added(cls) and isinstance(cls, type):
        return cls.__new__(cls, *args, **kwargs)
    if cls is DimRange:
        return DimRange()
    if cls is collections.OrderedDict and not args:
        return collections.OrderedDict()
    if _is_named_tuple(cls):
        return _named_tuple(cls, args)
    if cls is argparse.Namespace or is_own_class(cls) or is_program_class(cls):
        return cls.__new__(cls)
    raise pickle.UnpicklingError(
        f"Trying to create new object for unrecognized class {described(cls)}"
    )


def give_state(instance: Any, state: Any) -> None:
    """Fill an object that was made before; classes and functions themselves are never changed."""
    kind = type(instance)
    if kind is DimRange:
        return
    if kind is np.ndarray:
        numpy_values.set_array_state(instance, state)
    elif isinstance(instance, np.dtype):
        numpy_values.set_dtype_state(instance, state)
    elif isinstance(instance, Tensor) and not is_added(kind):
        storages.with_state(instance, state)
    elif kind is Generator:
        instance.__setstate__(state)
    elif kind in (argparse.Namespace, types.SimpleNamespace, collections.OrderedDict):
        _set_attributes(instance, state)
    elif is_added(kind) or is_own_class(kind) or is_program_class(kind):
        if hasattr(kind, "__setstate__"):
            instance.__setstate__(state)
        else:
            _set_attributes(instance, state)
    else:
        require_added(kind)


def require_added(kind: type) -> None:
    """Raise unless the user has named a class as one whose objects may be given a state."""
    if not is_added(kind):
        raise pickle.UnpicklingError(
            f"Can only build Tensor, Parameter, OrderedDict or types allowlisted via "
            f"`add_safe_globals`, but got {kind}"
        )


def _set_attributes(instance: Any, state: Any) -> None:
    attributes, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    if attributes:
        instance.__dict__.update(attributes)
    for name, value in (slots or {}).items():
        if name not in _slots_of(type(instance)):
            raise ValueError(f"{type(instance).__name__} has no slot {name!r}")
        setattr(instance, name, value)


def _slots_of(kind: type) -> set[str]:
    """The names that a class itself declares: a state must not reach `__class__` and the like."""
    declared: set[str] = set()
    for base in kind.__mro__:
        slots = base.__dict__.get("__slots__", ())
        declared.update([slots] if isinstance(slots, str) else slots)
    return declared - {"__dict__", "__weakref__"}
