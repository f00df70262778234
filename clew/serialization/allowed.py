"""Which names a file may use.

Three circles. Always: the names from which tensors, state dicts and plain containers are made. With
`weights_only=False`: also plain data of NumPy and the standard library, and objects of clew's own
classes, which are made empty and given their state, so that no code of the file's choosing runs.
Everywhere: what the user has named with `add_safe_globals`. All else is refused by name.
"""

from __future__ import annotations

import argparse
import collections
import datetime
import functools
import importlib
import pathlib
import pickle
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy._core import multiarray as _multiarray
from numpy._core.numeric import _frombuffer  # type: ignore[attr-defined]  # for pickle

from clew.backend import dtypes, layout
from clew.backend.device import device
from clew.core.tensor import Size, Tensor
from clew.interrupts import uninterrupted
from clew.nn import functional
from clew.nn.parameter import Parameter, UninitializedBuffer, UninitializedParameter
from clew.serialization import numpy_values, storages
from clew.serialization.unpickler import check_key, described

# -- functions that files call, each checking what it is given -------------------------------------


def _as_bytes(text: Any, encoding: Any = "utf-8") -> bytes:
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
    if not any(factory is each for each in (None, list, dict, set, int, float, str, bool)):
        raise TypeError(f"a defaultdict that calls {described(factory)} is not read from files")
    return collections.defaultdict(factory)


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
    if not any(function is each for each in _TENSOR_FUNCTIONS) or not isinstance(args, tuple):
        raise TypeError(f"{described(function)} does not make tensors")
    if not (isinstance(kind, type) and issubclass(kind, Tensor)):
        raise TypeError(f"{described(kind)} is not a class of tensors")
    return storages.with_state(storages.as_type(function(*args), kind), state)


def _refuse(what: str, *args: Any) -> Any:
    raise RuntimeError(
        f"the file holds {what}, which clew does not have. Convert it in PyTorch before saving."
    )


_TENSOR_FUNCTIONS = (
    storages.rebuild_tensor_v2, storages.rebuild_tensor_v3, storages.rebuild_tensor,
    storages.rebuild_parameter, storages.rebuild_parameter_with_state,
)  # fmt: skip

# -- the tables ----------------------------------------------------------------------------------

ALWAYS: dict[str, Any] = {
    "collections.OrderedDict": collections.OrderedDict,
    "collections.Counter": collections.Counter,
    "builtins.set": set,
    "builtins.bytes": bytes,
    "builtins.bytearray": bytearray,
    "builtins.complex": complex,
    "_codecs.encode": _as_bytes,
    "torch._utils._rebuild_tensor": storages.rebuild_tensor,
    "torch._utils._rebuild_tensor_v2": storages.rebuild_tensor_v2,
    "torch._utils._rebuild_tensor_v3": storages.rebuild_tensor_v3,
    "torch._utils._rebuild_parameter": storages.rebuild_parameter,
    "torch._utils._rebuild_parameter_with_state": storages.rebuild_parameter_with_state,
    "torch._tensor._rebuild_from_type_v2": rebuild_from_type_v2,
    "torch.serialization._get_layout": get_layout,
    "torch.Size": Size,
    "torch.device": device,
    "torch.Tensor": Tensor,
    "torch.nn.parameter.Parameter": Parameter,
    **{f"torch.{each.name}": each for each in dtypes.ALL_DTYPES},
    **{each.name: each for each in (*storages.OF_DTYPE.values(), storages.UNTYPED)},
}
# How files name classes of clew and storages: the same table, read backwards.
NAMES: dict[int, str] = {
    id(value): name for name, value in ALWAYS.items() if name.startswith("torch.")
}
ALWAYS["torch.UntypedStorage"] = storages.UNTYPED

_MISSING: dict[str, str] = {
    "torch._utils._rebuild_qtensor": "a quantized tensor",
    "torch._utils._rebuild_sparse_tensor": "a sparse tensor",
    "torch._utils._rebuild_sparse_csr_tensor": "a sparse tensor",
    "torch._utils._rebuild_nested_tensor": "a nested tensor",
    "torch._utils._rebuild_meta_tensor_no_storage": "a tensor on the meta device, without values",
    "torch._utils._rebuild_device_tensor_from_numpy": "a tensor of an accelerator's backend",
    "torch._utils._rebuild_wrapper_subclass": "a tensor that wraps others",
}

_LAZY = (UninitializedParameter, UninitializedBuffer)
DATA: dict[str, Any] = {
    **{f"torch.nn.parameter.{kind.__name__}": kind for kind in _LAZY},
    "collections.defaultdict": collections.defaultdict,
    "collections.deque": collections.deque,
    **{f"builtins.{kind.__name__}": kind for kind in (
        frozenset, slice, range, list, dict, tuple, int, float, str, bool,
    )},
    "numpy.dtype": np.dtype,
    "numpy.ndarray": np.ndarray,
    "numpy._core.multiarray.scalar": _multiarray.scalar,
    "numpy._core.multiarray._reconstruct": _multiarray._reconstruct,
    "numpy._core.numeric._frombuffer": _frombuffer,
    "argparse.Namespace": argparse.Namespace,
    "types.SimpleNamespace": types.SimpleNamespace,
    **{f"pathlib.{kind.__name__}": kind for kind in (
        pathlib.PosixPath, pathlib.WindowsPath, pathlib.PurePosixPath, pathlib.PureWindowsPath,
    )},
    **{f"datetime.{kind.__name__}": kind for kind in (
        datetime.datetime, datetime.date, datetime.time, datetime.timedelta, datetime.timezone,
    )},
}  # fmt: skip

# What runs when a file calls a name; by object, because users may have named the same object.
_CALLED: dict[Any, Callable[..., Any]] = {
    **{function: function for function in (
        *_TENSOR_FUNCTIONS, rebuild_from_type_v2, get_layout, _as_bytes, complex,
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
    **{kind: kind for name, kind in DATA.items() if name.startswith(("pathlib.", "datetime."))},
}  # fmt: skip
# By identity: hashing or comparing what a file calls could take forever.
_CALLS = {id(value): function for value, function in _CALLED.items()}

# Modules whose names are refused even when a user has named them.
_BLOCKED = frozenset({"sys", "os", "posix", "nt", "subprocess", "shutil"})
_OWN_PACKAGES = ("torch.nn.", "torch.optim.", "torch.utils.data.", "torch.distributions.")

# Where clew has several modules for one of PyTorch's.
_ELSEWHERE = {
    "torch.nn.modules.attention": "torch.nn.modules.activation",
    "torch.nn.modules.loss_margin": "torch.nn.modules.loss",
    "torch.nn.modules.parameter_container": "torch.nn.modules.container",
    "torch.nn.modules.rnn_cells": "torch.nn.modules.rnn",
}
_WHOLE_MODULES = ("torch.optim.lr_scheduler", "torch.distributions.transforms")

# -- what users add --------------------------------------------------------------------------------

_safe: list[Any] = []


def add_safe_globals(safe_globals: list[Callable[..., Any] | tuple[Any, str]]) -> None:
    """Let files use these classes and functions; a pair gives the name that files use for it."""
    for each in safe_globals:
        if not any(each is known for known in _safe):
            _safe.append(each)


def get_safe_globals() -> list[Any]:
    """What users have added."""
    return list(_safe)


def clear_safe_globals() -> None:
    """Forget what users have added."""
    _safe.clear()


class safe_globals:
    """Let files use these classes and functions inside a `with` block."""

    def __init__(self, safe_globals: list[Any]) -> None:
        self.safe_globals = safe_globals

    def __enter__(self) -> None:
        self._before = list(_safe)
        try:
            add_safe_globals(self.safe_globals)
        except BaseException:
            _safe[:] = self._before
            raise

    @uninterrupted
    def __exit__(self, *exc: object) -> None:
        _safe[:] = self._before


def _added() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for entry in _safe:
        if isinstance(entry, tuple):
            found[canonical(*entry[1].rpartition(".")[::2])] = entry[0]
        else:
            found[canonical(entry.__module__, entry.__qualname__)] = entry
    return found


# -- finding ---------------------------------------------------------------------------------------


def _module_in_pytorch(module: str) -> str:
    for whole in _WHOLE_MODULES:
        if module.startswith(whole + "."):
            return whole
    return _ELSEWHERE.get(module, module)


def canonical(module: str, name: str) -> str:
    """One spelling for names that have had several."""
    if module == "__builtin__":
        module, name = "builtins", {"xrange": "range"}.get(name, name)
    elif module.split(".")[0] == "clew":
        module = _module_in_pytorch("torch" + module.removeprefix("clew"))
    elif module.startswith("numpy.core"):
        module = "numpy._core" + module.removeprefix("numpy.core")
    elif module.startswith("pathlib."):
        module = "pathlib"
    return f"{module}.{name}" if module else name


def find(module: str, name: str, weights_only: bool) -> Any:
    """The object that a file may mean by a name; raises KeyError for all others."""
    full = canonical(module, name)
    if full.split(".")[0] in _BLOCKED:
        raise KeyError(full)
    if full in _MISSING:
        return functools.partial(_refuse, _MISSING[full])
    if full in ALWAYS:
        return ALWAYS[full]
    added = _added()
    if full in added:
        return added[full]
    if weights_only:
        raise KeyError(full)
    if full in DATA:
        return DATA[full]
    return _own(full)


def _own(full: str) -> Any:
    """A class of the library, or a function that a module keeps as its activation."""
    if full.startswith(("torch.nn.functional.", "torch._C._nn.")):
        value = functional.__dict__.get(full.rpartition(".")[2])
        if isinstance(value, types.FunctionType):
            return value
    if full.startswith(_OWN_PACKAGES):
        module, _, name = full.rpartition(".")
        own_module = "clew" + module.removeprefix("torch")
        # One of the packages above: they may not have been needed yet.
        package = next(each for each in _OWN_PACKAGES if full.startswith(each))
        importlib.import_module("clew" + package.removeprefix("torch").rstrip("."))
        value = getattr(sys.modules.get(own_module), name, None)
        if _is_own_class(value):
            return value
    raise KeyError(full)


def _is_own_class(value: Any) -> bool:
    return (
        isinstance(value, type)
        and canonical(value.__module__, "").startswith(_OWN_PACKAGES)
        and not issubclass(value, Tensor)
        and not hasattr(value, "__del__")
    )


def is_blocked(module: str) -> bool:
    return module.split(".")[0] in _BLOCKED


# -- what is done with the objects -----------------------------------------------------------------


def _is_added(value: Any) -> bool:
    return any(value is (each[0] if isinstance(each, tuple) else each) for each in _safe)


def call(function: Any, args: tuple[Any, ...]) -> Any:
    """What a file gets when it calls something."""
    if isinstance(function, functools.partial) and function.func is _refuse:
        return function(*args)
    known = _CALLS.get(id(function))
    if known is not None:
        return known(*args)
    if _is_added(function):
        return function(*args)
    raise pickle.UnpicklingError(
        f"Trying to call reduce for unrecognized function: {described(function)}"
    )


def make(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A new object without its state, of a class that may be made so."""
    if _is_added(cls) and isinstance(cls, type):
        return cls.__new__(cls, *args, **kwargs)
    if cls is collections.OrderedDict and not args:
        return collections.OrderedDict()
    if cls is argparse.Namespace or _is_own_class(cls):
        return cls.__new__(cls)
    raise pickle.UnpicklingError(
        f"Trying to create new object for unrecognized class {described(cls)}"
    )


def give_state(instance: Any, state: Any) -> None:
    """Fill an object that was made before; classes and functions themselves are never changed."""
    kind = type(instance)
    if kind is np.ndarray:
        numpy_values.set_array_state(instance, state)
    elif isinstance(instance, np.dtype):
        numpy_values.set_dtype_state(instance, state)
    elif isinstance(instance, Tensor) and not _is_added(kind):
        storages.with_state(instance, state)
    elif kind in (argparse.Namespace, types.SimpleNamespace, collections.OrderedDict):
        _set_attributes(instance, state)
    elif _is_added(kind) or _is_own_class(kind):
        if hasattr(kind, "__setstate__"):
            instance.__setstate__(state)
        else:
            _set_attributes(instance, state)
    else:
        raise pickle.UnpicklingError(
            f"Can only build Tensor, Parameter, OrderedDict or types allowlisted via "
            f"`add_safe_globals`, but got {kind.__name__}"
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
