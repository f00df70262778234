"""Which names a file may use.

Three circles. Always: the names from which tensors, state dicts and plain containers are made. With
`weights_only=False`: also plain data of NumPy and the standard library, and objects of clew's own
classes and of those that the program has loaded, which are made empty and given their state, so
that no code of the file's choosing runs.
Everywhere: what the user has named with `add_safe_globals`. All else is refused by name.
"""

from __future__ import annotations

import argparse
import collections
import datetime
import functools
import pathlib
import types
from typing import Any

import numpy as np
from numpy._core import multiarray as _multiarray
from numpy._core.numeric import _frombuffer  # type: ignore[attr-defined]  # for pickle

from clew.backend import dtypes, layout
from clew.backend.device import device
from clew.core.tensor import Size, Tensor
from clew.nn.parameter import Parameter, UninitializedBuffer, UninitializedParameter
from clew.ops.create.random import Generator
from clew.serialization import making, names, storages
from clew.serialization.added import get_safe_globals
from clew.serialization.names import canonical

# -- the tables ----------------------------------------------------------------------------------

ALWAYS: dict[str, Any] = {
    "collections.OrderedDict": collections.OrderedDict,
    "collections.Counter": collections.Counter,
    "builtins.set": set,
    "builtins.bytes": bytes,
    "builtins.bytearray": bytearray,
    "builtins.complex": complex,
    "_codecs.encode": making.as_bytes,
    "torch._utils._rebuild_tensor": storages.rebuild_tensor,
    "torch._utils._rebuild_tensor_v2": storages.rebuild_tensor_v2,
    "torch._utils._rebuild_tensor_v3": storages.rebuild_tensor_v3,
    "torch._utils._rebuild_meta_tensor_no_storage": storages.rebuild_meta_tensor,
    "torch._utils._rebuild_parameter": storages.rebuild_parameter,
    "torch._utils._rebuild_parameter_with_state": storages.rebuild_parameter_with_state,
    "torch._utils._rebuild_sparse_tensor": storages.rebuild_sparse_tensor,
    "torch._utils._rebuild_nested_tensor": storages.rebuild_nested_tensor,
    "torch.nested._internal.nested_tensor._rebuild_njt": storages.rebuild_njt,
    "torch.nested._internal.nested_tensor.NestedTensor": storages.NestedTensorInFiles,
    "torch._dynamo.decorators._DimRange": making.DimRange,
    "torch._tensor._rebuild_from_type_v2": making.rebuild_from_type_v2,
    "torch.serialization._get_layout": making.get_layout,
    "torch.Size": Size,
    "torch.device": device,
    "torch.Tensor": Tensor,
    "torch.nn.parameter.Parameter": Parameter,
    **{
        f"torch.{each.name}": each
        for each in (*dtypes.ALL_DTYPES, dtypes.complex32, *dtypes.FLOAT8)
    },
    **{each.name: each for each in (*storages.OF_DTYPE.values(), storages.UNTYPED)},
}
_MISSING: dict[str, str] = {
    "torch._utils._rebuild_qtensor": "a quantized tensor",
    "torch._utils._rebuild_device_tensor_from_numpy": "a tensor of an accelerator's backend",
    "torch._utils._rebuild_wrapper_subclass": "a tensor that wraps others",
}

_LAZY = (UninitializedParameter, UninitializedBuffer)
DATA: dict[str, Any] = {
    **{f"torch.nn.parameter.{kind.__name__}": kind for kind in _LAZY},
    "torch._C.Generator": Generator,
    **{f"torch.{each.name}": each for each in layout.MEMORY_FORMATS},
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

# How files name what is in these tables: the same, read backwards.
NAMES: dict[int, str] = {
    id(value): name for name, value in (ALWAYS | DATA).items() if name.startswith("torch.")
}
ALWAYS["torch.UntypedStorage"] = storages.UNTYPED
DATA["torch.Generator"] = Generator

# Modules whose names are refused even when a user has named them.
_BLOCKED = frozenset({"sys", "os", "posix", "nt", "subprocess", "shutil"})


def _added() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for entry in get_safe_globals():
        if isinstance(entry, tuple):
            found[canonical(*entry[1].rpartition(".")[::2])] = entry[0]
        else:
            # A method of a class that is written in C has no module.
            found[canonical(entry.__module__ or "", entry.__qualname__)] = entry
    return found


def find(module: str, name: str, weights_only: bool) -> Any:
    """The object that a file may mean by a name; raises KeyError for all others."""
    full = canonical(module, name)
    if full.split(".")[0] in _BLOCKED:
        raise KeyError(full)
    if full in _MISSING:
        return functools.partial(making.refuse, _MISSING[full])
    if full in ALWAYS:
        return ALWAYS[full]
    added = _added()
    if full in added:
        return added[full]
    if weights_only:
        raise KeyError(full)
    if full in DATA:
        return DATA[full]
    own = names.find_own(full)
    if own is None:
        own = names.find_loaded(module, name)
    if own is None:
        raise KeyError(full)
    return own


def is_blocked(module: str) -> bool:
    return module.split(".")[0] in _BLOCKED


def is_allowed(module: str, name: str, weights_only: bool = True) -> bool:
    """Whether a file may use a name."""
    try:
        find(module, name, weights_only)
    except KeyError:
        return False
    return True
