"""What clew's own classes and functions are called in files: by PyTorch's names.

Finding one imports the module that has it: which parts of clew a program has used before makes no
difference to what its files mean.
"""

from __future__ import annotations

import importlib
import os
import sys
import types
from typing import Any

from clew import aliasing, pytorch_names
from clew.core.tensor import Tensor
from clew.nn import functional

_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# Objects of the classes in these may be in files.
_OWN_PACKAGES = (
    "torch.nn.", "torch.optim.", "torch.utils.data.", "torch.utils.hooks.", "torch.distributions.",
    "torch.amp.", "torch.cuda.amp.", "torch.cpu.amp.", "torch.return_types.",
    "torch.distributed.checkpoint.metadata.",
    "torch.distributed.checkpoint.filesystem._StorageInfo",
)  # fmt: skip

# The same, from PyTorch's names to those of clew's modules.
_FOUND_IN: dict[str, list[str]] = {}
for _own, _theirs in pytorch_names.ELSEWHERE.items():
    _FOUND_IN.setdefault(_theirs, []).append(_own)

# Functions that objects keep; files only refer to them and cannot call them.
_KEPT = frozenset({
    "torch.utils.data._utils.collate.default_collate",
    "torch.utils.data._utils.collate.default_convert",
    "torch.amp.grad_scaler._refresh_per_optimizer_state",
    "torch.nn.modules.lazy._infer_parameters",
    "torch.nn.modules.lazy._take_shapes",
})  # fmt: skip


def canonical(module: str, name: str) -> str:
    """One spelling for names that have had several."""
    if module == "__builtin__":
        module, name = "builtins", {"xrange": "range"}.get(name, name)
    elif module.split(".")[0] == "clew":
        return pytorch_names.full_name(module, name)
    elif module.startswith("numpy.core"):
        module = "numpy._core" + module.removeprefix("numpy.core")
    elif module.startswith("pathlib."):
        module = "pathlib"
    return f"{module}.{name}" if module else name


def find_own(full: str) -> Any:
    """The class or function of clew that a file may mean by PyTorch's name; None if there is none.

    Functions: those of `nn.functional` and of the ops, which modules keep as activations, and a few
    more by name.
    """
    module, _, name = full.rpartition(".")
    if module in ("torch.nn.functional", "torch._C._nn"):
        value = functional.__dict__.get(name)
        return value if isinstance(value, types.FunctionType) else None
    if module == "torch":
        value = vars(importlib.import_module("clew")).get(name)
        return value if is_op(value) else None
    if not full.startswith(_OWN_PACKAGES):
        return None
    elsewhere = [f"{place}.{name}" for place in _FOUND_IN.get(module, ())]
    for place in (full, *_FOUND_IN.get(full, ()), *elsewhere):
        module, _, name = place.rpartition(".")
        value = getattr(_own_module(module), name, None)
        if is_own_class(value) or (full in _KEPT and isinstance(value, types.FunctionType)):
            return value
    return None


def _own_module(name: str) -> types.ModuleType | None:
    """One of clew's modules by PyTorch's name, imported if it was not; None if there is none."""
    own = "clew" + name.removeprefix("torch")
    if own not in sys.modules:
        parts = own.split(".")[1:]
        place = os.path.join(_FOLDER, *parts)
        is_module = os.path.isfile(f"{place}.py") or os.path.isfile(f"{place}/__init__.py")
        # What is not a name could lead out of the folder.
        if not all(part.isidentifier() for part in parts) or not is_module:
            return None
    return importlib.import_module(own)


def is_own_class(value: Any) -> bool:
    """Whether files may have objects of a class because it is one of the library's."""
    return (
        isinstance(value, type)
        and aliasing.is_own(value.__module__)
        and canonical(value.__module__, value.__qualname__).startswith(_OWN_PACKAGES)
        and not issubclass(value, Tensor)
        and not hasattr(value, "__del__")
    )


def find_loaded(module: str, name: str) -> type | None:
    """The class of the program that a file means, if the program has loaded it already.

    Nothing is imported, and no attribute is looked up in a way that could run code.
    """
    value: Any = sys.modules.get(module)
    for part in name.split("."):
        value = getattr(value, "__dict__", {}).get(part)
    return value if is_program_class(value) else None


def is_program_class(value: Any) -> bool:
    """Whether files may have objects of a class because making one runs nothing of the file's.

    It derives from one of the library's, or its objects are made by `object` and nothing but
    attributes.
    """
    if not isinstance(value, type) or value.__module__.split(".")[0] in _NOT_OF_PROGRAMS:
        return False
    if issubclass(value, Tensor) or hasattr(value, "__del__"):
        return False
    if any(is_own_class(base) for base in value.__mro__):
        return True
    return (
        type(value) is type
        and value.__new__ is object.__new__
        and not hasattr(value, "__setstate__")
        and not issubclass(value, BaseException)
    )


# Their classes are in the tables by name, or they are not for files.
_NOT_OF_PROGRAMS = frozenset({"clew", "clew_doctor", "torch", *sys.stdlib_module_names})


def name_of(function: types.FunctionType) -> str | None:
    """The name by which files refer to one of clew's functions; None if they cannot."""
    if functional.__dict__.get(function.__name__) is function:
        return f"torch.nn.functional.{function.__name__}"
    if is_op(function):
        return f"torch.{function.__name__}"
    full = canonical(function.__module__ or "", function.__qualname__)
    return full if full in _KEPT else None


def is_op(value: Any) -> bool:
    """Whether something is one of the functions of the ops, under its public name."""
    return (
        isinstance(value, types.FunctionType)
        and value.__module__ == "clew"
        and vars(importlib.import_module("clew")).get(value.__name__) is value
    )
