"""Names: of functions and types in generated code, and of values, each only once."""

from __future__ import annotations

import builtins
import keyword
import re
import types
from typing import Any

from clew.aliasing import is_own
from clew.core.override_tables import COMPILED_NN, TOP_LEVEL_NN
from clew.core.tensor import Tensor
from clew.ops.namespaces import OpOverload, OpOverloadPacket
from clew.overrides import resolve_name

_OWN = __name__.partition(".")[0]
ILLEGAL = re.compile("[^0-9a-zA-Z_]+")
_SUFFIX = re.compile(r"(.*)_(\d+)$")
# What code can say without an import: no value is named so.
_TAKEN = {
    "inf": float("inf"), "nan": float("nan"), "NoneType": type(None), "torch": None,
    "device": None, "fx_pytree": None, "pytree": None,
}  # fmt: skip


def torch_module_name(module: str) -> str:
    """The name of one of clew's modules as a program says it."""
    return "torch" + module[len(_OWN) :] if module.partition(".")[0] == _OWN else module


def is_from_torch(value: Any) -> bool:
    """Whether a function or class is one of clew's."""
    if isinstance(value, (OpOverload, OpOverloadPacket)):
        return True
    module = getattr(value, "__module__", None) or ""
    return is_own(module)


def result_name(target: Any) -> str | None:
    """What a trace of operations calls a result: after the operation, without its overload."""
    return target._opname if isinstance(target, OpOverload) else None


def qualified_name(func: Any) -> str:
    """The name by which generated code finds a function or class."""
    if isinstance(func, (OpOverload, OpOverloadPacket)):
        return f"torch.ops.{func}"
    own_name: str = getattr(func, "__name__", "")
    if getattr(builtins, own_name, _TAKEN) is func:
        return f"builtins.{own_name}"
    if isinstance(func, types.FunctionType) and is_from_torch(func):
        name = resolve_name(func)
        if name is not None:
            return _where_pytorch_has(name)
    if func is Tensor:
        return "torch.Tensor"
    if isinstance(func, (types.MethodDescriptorType, types.WrapperDescriptorType)):
        return f"{func.__objclass__.__module__}.{func.__objclass__.__name__}.{func.__name__}"
    name = getattr(func, "__qualname__", None) or type(func).__qualname__
    module = torch_module_name(getattr(func, "__module__", None) or "builtins")
    return f"{module}.{name.replace('<locals>.', '').replace('<lambda>', '_lambda')}"


def _where_pytorch_has(name: str) -> str:
    """The name of a function in PyTorch's compiled part, if it is there."""
    prefix, _, last = name.rpartition(".")
    part = prefix.removeprefix("torch.")
    if part in ("linalg", "fft", "special"):
        return f"torch._C._{part}.{part}_{last}"
    if prefix == "torch.nn.functional" and last in COMPILED_NN:
        return f"torch._C._nn.{last}"
    return f"torch.{last}" if part == "nn.functional" and last in TOP_LEVEL_NN else name


def type_repr(kind: Any) -> str:
    """A type as annotations write it."""
    if type(kind) is not types.GenericAlias and isinstance(kind, type):
        if kind.__module__ == "builtins":
            return kind.__qualname__
        if kind is Tensor:
            return "torch.Tensor"
        return f"{torch_module_name(kind.__module__)}.{kind.__qualname__}"
    if kind is ...:
        return "..."
    if isinstance(kind, types.FunctionType):
        return kind.__name__
    return repr(kind).replace("clew.core.tensor.Tensor", "torch.Tensor")


def snake_case(name: str) -> str:
    """`MaxPool2d` -> `max_pool2d`; names in lower case stay as they are."""
    if name.islower():
        return name
    return re.sub(r"(?<=[a-z0-9])([A-Z])|(?<=[A-Z])([A-Z](?=[a-z]))", r"_\1\2", name).lower()


class Namespace:
    """The names in use, so that a new value gets one of its own."""

    def __init__(self) -> None:
        self._of_object: dict[Any, str] = {}
        self._used: set[str] = set()
        self._last: dict[str, int] = {}

    def create_name(self, candidate: str, value: Any) -> str:
        """A name that nothing else has; `value` is remembered as having it."""
        if value is not None and value in self._of_object:
            return self._of_object[value]
        candidate = ILLEGAL.sub("_", candidate) or "_unnamed"
        if candidate[0].isdigit():
            candidate = f"_{candidate}"
        while candidate in self._used or is_illegal(candidate, value):
            match = _SUFFIX.match(candidate)
            stem, number = (match[1], int(match[2])) if match else (candidate, 0)
            number = max(self._last.get(stem, 0), number) + 1
            self._last[stem] = number
            candidate = f"{stem}_{number}"
        self._used.add(candidate)
        if value is not None:
            self._of_object[value] = candidate
        return candidate

    def _rename_object(self, value: Any, name: str) -> None:
        self._of_object[value] = name
        self._used.add(name)


def is_illegal(name: str, value: Any) -> bool:
    """Whether a name means something else to generated code."""
    if name in keyword.kwlist or (name in vars(builtins) and vars(builtins)[name] is not value):
        return True
    return name in _TAKEN and _TAKEN[name] is not value
