"""Guards: what Python state a captured function depends on, and whether it is still the same.

A function reads its closure, the globals that it names, and everything that hangs on those:
modules, lists, dicts, objects of the user's classes. Before a call is captured, all of it is
walked. Tensors found there are the graph's state; numbers, strings and the identity of objects
become guards. After the call it is walked once more: what the call has changed cannot be repeated
without running Python, so the capture is refused with the name of what changed.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from clew.amp.grad_scaler import GradScaler
from clew.compiler.module import ModuleCall
from clew.core import module_changes
from clew.core.tensor import Tensor
from clew.nn.modules.module import Module
from clew.ops.create.random import Generator
from clew.optim.lr_scheduler.base import LRScheduler
from clew.optim.optimizer import Optimizer

_SCALARS = (bool, int, float, complex, str, bytes, type(None))
_MISSING = object()
# More than this is not worth looking through before each call.
MOST_ENTRIES = 20000
# Bookkeeping of the library, which changes without meaning anything.
_UNSEEN = frozenset({
    "_owner", "_path", "_parameters", "_buffers", "_modules", "_compiled_call_impl",
})  # fmt: skip
_OWN_PACKAGES = ("clew", "numpy", "builtins", "torch")


class TooMuch(Exception):
    """More state can be reached than can be guarded."""


class Reached:
    """What a function can reach: tensors, and numbers with where they are."""

    def __init__(self) -> None:
        self.tensors: dict[int, Tensor] = {}
        # (dict, key, value, name): globals, attributes, items.
        self.in_dicts: list[tuple[dict[Any, Any], Any, Any, str]] = []
        # The same inside of modules, whose changes are counted.
        self.in_modules: list[tuple[dict[Any, Any], Any, Any, str]] = []
        self.in_lists: list[tuple[list[Any], tuple[Any, ...], str]] = []
        self.in_cells: list[tuple[Any, Any, str]] = []
        self.lengths: list[tuple[Any, int, str]] = []
        # The hooks of modules, which are counted as changes of theirs.
        self.hooks: list[tuple[Any, tuple[Any, ...], str]] = []
        self.changes = module_changes.count()
        self._seen: dict[int, Any] = {}
        self._count = 0

    # -- walking ---------------------------------------------------------------------------------

    def walk(self, root: Any, name: str) -> None:
        """Everything that can be reached from an object."""
        stack = [(root, name)]
        while stack:
            value, path = stack.pop()
            if isinstance(value, _SCALARS) or id(value) in self._seen:
                continue
            self._seen[id(value)] = value
            self._count += 1
            if self._count > MOST_ENTRIES:
                raise TooMuch(f"more than {MOST_ENTRIES} objects can be reached from {name}")
            stack.extend(self._inside(value, path))

    def _inside(self, value: Any, path: str) -> Iterator[tuple[Any, str]]:
        if isinstance(value, Tensor):
            self.tensors[id(value)] = value
            return iter(())
        if isinstance(value, Module):
            return self._module(value, path)
        if isinstance(value, Optimizer):
            return self._optimizer(value, path)
        if isinstance(value, GradScaler):
            return iter([(each, path) for each in vars(value).values() if isinstance(each, Tensor)])
        if isinstance(value, LRScheduler):
            return iter([(value.optimizer, f"{path}.optimizer")])
        if isinstance(value, types.FunctionType):
            return self._function(value, path)
        if isinstance(value, ModuleCall):
            return iter([(value.module, path)])
        if isinstance(value, types.MethodType):
            return iter([(value.__self__, path), (value.__func__, path)])
        if isinstance(value, functools.partial):
            return iter([(value.func, path), (value.args, path), (value.keywords, path)])
        if isinstance(value, dict):
            return self._dict(value, path)
        if isinstance(value, list):
            self.in_lists.append((value, tuple(value), path))
            return iter([(each, f"{path}[{i}]") for i, each in enumerate(value)])
        if isinstance(value, tuple):
            return iter([(each, f"{path}[{i}]") for i, each in enumerate(value)])
        if isinstance(value, set | frozenset):
            self.lengths.append((value, len(value), path))
            return iter(())
        return self._object(value, path)

    def _module(self, module: Module, path: str) -> Iterator[tuple[Any, str]]:
        own = module.__dict__
        for registry in ("_parameters", "_buffers", "_modules"):
            for key, each in own[registry].items():
                self.in_modules.append((own[registry], key, each, f"{path}.{key}"))
                yield each, f"{path}.{key}"
        for key, each in own.items():
            if key in _UNSEEN:
                continue
            self.in_modules.append((own, key, each, f"{path}.{key}"))
            if key.endswith("_hooks") or key.startswith("_backward"):
                if each is not None:
                    self.hooks.append((each, tuple(each), f"{path}.{key}"))
            else:
                yield each, f"{path}.{key}"
        yield from self._class(type(module), path)

    def _optimizer(self, optimizer: Optimizer, path: str) -> Iterator[tuple[Any, str]]:
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                yield parameter, f"{path}.param_groups"
        for state in optimizer.state.values():
            if isinstance(state, dict):
                for each in state.values():
                    if isinstance(each, Tensor):
                        yield each, f"{path}.state"

    def _function(self, function: types.FunctionType, path: str) -> Iterator[tuple[Any, str]]:
        if _is_own(function.__module__):
            return
        code = function.__code__
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            try:
                value = cell.cell_contents
            except ValueError:
                continue
            self.in_cells.append((cell, value, name))
            yield value, name
        names = list(_names_of(code))
        found = function.__globals__
        for name in names:
            if name in found:
                value = found[name]
                self.in_dicts.append((found, name, value, name))
                if isinstance(value, types.ModuleType):
                    yield from self._python_module(value, names)
                else:
                    yield value, name
        for value in (function.__defaults__ or ()) + tuple(
            (function.__kwdefaults__ or {}).values()
        ):
            yield value, f"a default of {path}"

    def _python_module(self, module: Any, names: list[str]) -> Iterator[tuple[Any, str]]:
        """The names of a module of the user's that the code may use."""
        if _is_own(module.__name__) or not getattr(module, "__file__", None):
            return
        if "site-packages" in module.__file__ or "/lib/python" in module.__file__:
            return
        found = vars(module)
        for name in names:
            if name in found:
                self.in_dicts.append((found, name, found[name], f"{module.__name__}.{name}"))
                yield found[name], f"{module.__name__}.{name}"

    def _dict(self, value: dict[Any, Any], path: str) -> Iterator[tuple[Any, str]]:
        self.lengths.append((value, len(value), path))
        for key, each in value.items():
            self.in_dicts.append((value, key, each, f"{path}[{key!r}]"))
            yield each, f"{path}[{key!r}]"

    def _object(self, value: Any, path: str) -> Iterator[tuple[Any, str]]:
        kind = type(value)
        if isinstance(value, type | types.ModuleType | np.ndarray | Generator):
            return
        own = getattr(value, "__dict__", None)
        if isinstance(own, dict):
            self.lengths.append((own, len(own), path))
            for key, each in own.items():
                self.in_dicts.append((own, key, each, f"{path}.{key}"))
                yield each, f"{path}.{key}"
        yield from self._class(kind, path)

    def _class(self, kind: type, path: str) -> Iterator[tuple[Any, str]]:
        """The methods of a class of the user's."""
        for base in kind.__mro__:
            if not _is_own(base.__module__):
                for name, each in vars(base).items():
                    plain = getattr(each, "__func__", None) or getattr(each, "fget", None) or each
                    if isinstance(plain, types.FunctionType):
                        yield plain, f"{base.__name__}.{name}"
                    elif isinstance(each, _SCALARS) and not name.startswith("__"):
                        # Classes have no dict of their own to look into later.
                        self.in_cells.append((_ClassAttribute(base, name), each, name))

    # -- comparing -------------------------------------------------------------------------------

    def changed(self) -> str | None:
        """What is not as it was, or None."""
        for cell, value, name in self.in_cells:
            if not _same(cell.cell_contents, value):
                return name
        for found, key, value, name in self.in_dicts:
            now = found.get(key, _MISSING)
            if now is not value and not _same(now, value):
                return name
        for items, values, name in self.in_lists:
            if len(items) != len(values) or not all(map(_same, items, values)):
                return name
        for container, length, name in self.lengths:
            if len(container) != length:
                return name
        count = module_changes.count()
        if count != self.changes:
            for found, key, value, name in self.in_modules:
                now = found.get(key, _MISSING)
                if now is not value and not _same(now, value):
                    return name
            for hooks, ids, name in self.hooks:
                if tuple(hooks) != ids:
                    return name
            self.changes = count
        return None


class _ClassAttribute:
    """An attribute of a class, in the form of a cell."""

    __slots__ = ("kind", "name")

    def __init__(self, kind: type, name: str) -> None:
        self.kind, self.name = kind, name

    @property
    def cell_contents(self) -> Any:
        return self.kind.__dict__.get(self.name, _MISSING)


def _same(now: Any, then: Any) -> bool:
    if now is then:
        return True
    if type(now) is not type(then):
        return False
    if isinstance(now, tuple):
        return len(now) == len(then) and all(map(_same, now, then))
    return isinstance(now, _SCALARS) and bool(now == then)


def _is_own(module: str | None) -> bool:
    """Whether code is the library's (its programs are users like any other), or NumPy's."""
    if module is None or module.startswith(("clew.bench", "clew.gallery")):
        return False
    return module.partition(".")[0] in _OWN_PACKAGES


@functools.cache
def _names_of(code: types.CodeType) -> tuple[str, ...]:
    """All names that a function's code, and the code inside of it, may look up."""
    names = dict.fromkeys(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names.update(dict.fromkeys(_names_of(constant)))
    return tuple(names)
