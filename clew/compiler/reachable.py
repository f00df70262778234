"""Everything that a function can reach, each with a guard of its kind.

What has no state that Python can see (files, locks, streams of random numbers) gets no guard here:
`watch.py` notices when the call uses it.
"""

from __future__ import annotations

import array
import collections
import dis
import functools
import gc
import importlib.util
import inspect
import itertools
import sys
import threading
import types
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np

from clew.amp.grad_scaler import GradScaler
from clew.compiler.guards import MISSING, SCALARS, Guards
from clew.compiler.module import Compiled, ModuleCall
from clew.core.tensor import Tensor
from clew.nn.modules import hooks as module_hooks
from clew.nn.modules.module import Module
from clew.ops.create.random import Generator
from clew.optim.lr_scheduler.base import LRScheduler
from clew.optim.optimizer import Optimizer

# More than this is not worth looking through before each call.
MOST_ENTRIES = 20000
MOST_BYTES = 1 << 20
# Bookkeeping of the library, which changes without meaning anything.
_UNSEEN = frozenset({
    "_owner", "_path", "_parameters", "_buffers", "_modules", "_compiled_call_impl",
    "_non_persistent_buffers_set",
})  # fmt: skip
_REGISTRIES = ("_parameters", "_buffers", "_modules")
_GLOBAL_HOOKS = [
    value
    for name, value in vars(module_hooks).items()
    if name.startswith("_global") and isinstance(value, dict)
]
_OWN_PACKAGES = ("clew", "numpy", "builtins", "torch")
# Classes of the standard library that keep what the user puts there.
_HOLDERS = frozenset({
    "argparse", "collections", "configparser", "contextlib", "dataclasses", "enum", "functools",
    "pathlib", "string", "types",
})  # fmt: skip
# Code with one of these names may read what optimizers and schedulers keep and change.
OPTIMIZER_NAMES = frozenset({
    "param_groups", "defaults", "state", "state_dict", "get_last_lr", "get_lr", "last_epoch",
    "base_lrs", "_last_lr", "_step_count",
})  # fmt: skip
# Iterators that only pass on what others give.
_PASSING_ON = (
    enumerate, filter, map, reversed, zip, itertools.chain, itertools.islice, itertools.starmap,
    itertools.takewhile, itertools.zip_longest,
)  # fmt: skip


class TooMuch(Exception):
    """More state can be reached than can be guarded."""


class Reached(Guards):
    """What a function can reach: tensors, and guards for everything else."""

    def __init__(self) -> None:
        super().__init__()
        # The code that may run: of all functions found, and what is defined inside of them.
        self.codes: set[int] = set()
        self.seen: dict[Any, Any] = {}
        # The frames of generators that were there before the call.
        self.generators: list[types.FrameType | None] = []
        self._optimizers: list[tuple[Any, str]] = []
        self._bytes = 0

    def walk(self, root: Any, name: str) -> None:
        """Everything that can be reached from an object."""
        self._walk([(root, name)], name)

    def read_optimizers(self) -> None:
        """Guard also what optimizers and schedulers keep, because code that runs may read it."""
        while self._optimizers:
            each, path = self._optimizers.pop()
            self._walk(list(self._attributes(each, path)), path)

    def _walk(self, stack: list[tuple[Any, str]], name: str) -> None:
        while stack:
            value, path = stack.pop()
            if isinstance(value, SCALARS) or id(value) in self.seen:
                continue
            self.seen[id(value)] = value
            if len(self.seen) > MOST_ENTRIES:
                raise TooMuch(f"more than {MOST_ENTRIES} objects can be reached from {name}")
            stack.extend(self._inside(value, path))

    def _inside(self, value: Any, path: str) -> Iterator[tuple[Any, str]]:
        if isinstance(value, Tensor):
            self.tensors[id(value)] = value
            return iter(())
        for kind, look in _KINDS:
            if isinstance(value, kind):
                found: Iterator[tuple[Any, str]] = look(self, value, path)
                return found
        return self._object(value, path)

    # -- the library's objects ---------------------------------------------------------------------

    def _module(self, module: Module, path: str) -> Iterator[tuple[Any, str]]:
        if not self._registries:
            for hooks in _GLOBAL_HOOKS:
                self.counted(hooks, "the hooks of all modules")
        own = module.__dict__
        for registry in _REGISTRIES:
            self.registry(own[registry], path)
            for key, each in own[registry].items():
                yield each, f"{path}.{key}"
        self.counted(_Attributes(own), path)
        for key, each in own.items():
            if key in _UNSEEN:
                continue
            if "_hooks" in key or key.startswith("_backward"):
                if each is not None:
                    self.counted(each, f"{path}.{key}")
                    for hook in each.values():
                        yield hook, f"{path}.{key}"
            else:
                yield each, f"{path}.{key}"
        yield from self._class(type(module), path)

    def _optimizer(self, optimizer: Optimizer, path: str) -> Iterator[tuple[Any, str]]:
        self._optimizers.append((optimizer, path))
        self.attribute(optimizer, "param_groups", f"{path}.param_groups")
        self.items(optimizer.param_groups, f"{path}.param_groups")
        for group in optimizer.param_groups:
            self.items(group["params"], f"{path}.param_groups")
            for parameter in group["params"]:
                yield parameter, f"{path}.param_groups"
        for state in optimizer.state.values():
            if isinstance(state, dict):
                for each in state.values():
                    if isinstance(each, Tensor):
                        yield each, f"{path}.state"
        yield from self._class(type(optimizer), path)

    def _scheduler(self, scheduler: LRScheduler, path: str) -> Iterator[tuple[Any, str]]:
        self._optimizers.append((scheduler, path))
        yield scheduler.optimizer, f"{path}.optimizer"

    def _scaler(self, scaler: GradScaler, path: str) -> Iterator[tuple[Any, str]]:
        for each in vars(scaler).values():
            if isinstance(each, Tensor):
                yield each, path

    # -- functions ---------------------------------------------------------------------------------

    def _function(self, function: types.FunctionType, path: str) -> Iterator[tuple[Any, str]]:
        if is_known(function.__module__):
            return
        code = function.__code__
        self.codes.update(_codes_of(code))
        self.attribute(function, "__code__", path)
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            if _contents(cell) is MISSING:
                self.probe(functools.partial(_contents, cell), name)
            else:
                yield self.attribute(cell, "cell_contents", name), name
        for each in ("__defaults__", "__kwdefaults__"):
            yield self.attribute(function, each, path), f"a default of {path}"
        if function.__dict__:
            self.whole_dict(function.__dict__, path)
            for key, value in function.__dict__.items():
                yield value, f"{path}.{key}"
        names, imported = _names_of(code)
        for name in names:
            value = self.name(function.__globals__, name)
            if isinstance(value, types.ModuleType):
                yield from self._python_module(value, names)
            elif value is not MISSING:
                yield value, name
        for level, name in imported:
            if level:
                package = function.__globals__.get("__package__")
                name = importlib.util.resolve_name("." * level + name, package)
            module = self.name(sys.modules, name)
            if isinstance(module, types.ModuleType):
                yield from self._python_module(module, names)

    def _python_module(self, module: Any, names: tuple[str, ...]) -> Iterator[tuple[Any, str]]:
        """The names of a module of the user's that the code may use."""
        if is_known(module.__name__):
            return
        for name in names:
            value = self.name(vars(module), name, f"{module.__name__}.")
            if isinstance(value, types.ModuleType):
                if value is not module and (id(value), names) not in self.seen:
                    self.seen[(id(value), names)] = value
                    yield from self._python_module(value, names)
            elif value is not MISSING:
                yield value, f"{module.__name__}.{name}"

    # -- containers and objects --------------------------------------------------------------------

    def _dict(self, value: Any, path: str) -> Iterator[tuple[Any, str]]:
        self.whole_dict(value, path)
        for key, each in value.items():
            yield key, path
            yield each, f"{path}[{key!r}]"
        yield from self._attributes(value, path)

    def _list(self, value: Any, path: str) -> Iterator[tuple[Any, str]]:
        self.items(value, path)
        for i, each in enumerate(value):
            yield each, f"{path}[{i}]"
        yield from self._attributes(value, path)

    def _tuple(self, value: tuple[Any, ...], path: str) -> Iterator[tuple[Any, str]]:
        for i, each in enumerate(value):
            yield each, f"{path}[{i}]"
        yield from self._attributes(value, path)

    def _set(self, value: Any, path: str) -> Iterator[tuple[Any, str]]:
        self.probe(lambda: frozenset(value), path)
        for each in value:
            yield each, path
        yield from self._attributes(value, path)

    def _bytes_of(self, value: Any, path: str) -> Iterator[tuple[Any, str]]:
        size = value.nbytes if isinstance(value, np.ndarray) else len(value)
        self._bytes += size
        if self._bytes > MOST_BYTES or getattr(value, "dtype", None) == np.dtype(object):
            raise TooMuch(f"{path} is too large to be compared before each call")
        self.probe(lambda: bytes(value) if isinstance(value, bytearray) else value.tobytes(), path)
        if isinstance(value, np.ndarray):
            self.probe(lambda: (value.shape, value.strides, str(value.dtype)), path)
        yield from self._attributes(value, path)

    def _iterator(self, value: Any, path: str) -> Iterator[tuple[Any, str]]:
        if hasattr(value, "__length_hint__"):
            self.position(value.__length_hint__, path)
        elif isinstance(value, itertools.count | itertools.repeat):
            self.position(lambda: repr(value), path)
        elif not isinstance(value, _PASSING_ON):
            raise TooMuch(f"nobody can see how far the iterator {path} is")
        for each in gc.get_referents(value):
            yield each, path

    def _generator(self, value: Any, path: str) -> Iterator[tuple[Any, str]]:
        self.generators.append(value.gi_frame)
        return iter(())

    def _weak(self, value: weakref.ref[Any], path: str) -> Iterator[tuple[Any, str]]:
        # A guard would keep alive what it refers to.
        if value() is not None:
            raise TooMuch(f"{path} is a weak reference")
        return iter(())

    def _stream(self, value: Any, path: str) -> Iterator[tuple[Any, str]]:
        generator = getattr(value, "bit_generator", value)
        if isinstance(value, np.random.RandomState):
            self.position(lambda: repr(value.get_state()), path)
        else:
            self.position(lambda: repr(generator.state), path)
        return iter(())

    def _object(self, value: Any, path: str) -> Iterator[tuple[Any, str]]:
        kind = type(value)
        if hasattr(kind, "__next__") and not hasattr(value, "__dict__"):
            yield from self._iterator(value, path)
            return
        if is_standard(kind.__module__) and kind.__module__.partition(".")[0] not in _HOLDERS:
            return
        yield from self._attributes(value, path)

    def _attributes(self, value: Any, path: str) -> Iterator[tuple[Any, str]]:
        """What an object has in its dict and slots, and its class."""
        kind = type(value)
        own = getattr(value, "__dict__", None)
        if isinstance(own, dict):
            self.whole_dict(own, path)
            for key, each in own.items():
                yield each, f"{path}.{key}"
        for base in kind.__mro__:
            if not is_known(base.__module__):
                for name, each in vars(base).items():
                    if isinstance(each, types.MemberDescriptorType):
                        ask = functools.partial(_slot, each, value)
                        yield self.probe(ask, f"{path}.{name}"), f"{path}.{name}"
        yield from self._class(kind, path)

    def _class(self, kind: type, path: str) -> Iterator[tuple[Any, str]]:
        """The methods and attributes of a class of the user's."""
        for base in (*kind.__mro__, *inspect.getmro(type(kind))):
            if is_known(base.__module__) or ("class", id(base)) in self.seen:
                continue
            self.seen[("class", id(base))] = base
            found = vars(base)
            self.whole_dict(found, base.__name__)
            for name, each in found.items():
                if name in ("__dict__", "__weakref__", "__doc__", "_abc_impl"):
                    continue
                path = f"{base.__name__}.{name}"
                for part in ("__func__", "__wrapped__", "fget", "fset", "fdel", "func"):
                    inner = getattr(each, part, None)
                    if inner is not None and not isinstance(each, types.FunctionType):
                        yield inner, path
                if not isinstance(each, types.MemberDescriptorType | types.GetSetDescriptorType):
                    yield each, path


# What an object of a kind leads to, by the first kind that fits.
_KINDS: tuple[tuple[Any, Any], ...] = (
    (Module, Reached._module),
    (Optimizer, Reached._optimizer),
    (GradScaler, Reached._scaler),
    (LRScheduler, Reached._scheduler),
    (types.FunctionType, Reached._function),
    (ModuleCall, lambda self, value, path: iter([(value.module, path)])),
    (Compiled, lambda self, value, path: iter([(value.function, path)])),
    (types.MethodType, lambda self, value, path: iter(
        [(value.__self__, path), (value.__func__, path)]
    )),
    (functools.partial, lambda self, value, path: iter(
        [(value.func, path), (value.args, path), (value.keywords, path)]
    )),
    (dict | types.MappingProxyType, Reached._dict),
    (list | collections.deque, Reached._list),
    (tuple, Reached._tuple),
    (set | frozenset, Reached._set),
    (bytearray | array.array | np.ndarray, Reached._bytes_of),
    (weakref.ref, Reached._weak),
    (threading.local, Reached._attributes),
    (np.random.Generator | np.random.BitGenerator | np.random.RandomState, Reached._stream),
    (type, Reached._class),
    (types.GeneratorType, Reached._generator),
    (types.ModuleType | Generator | np.generic, lambda *_: iter(())),
)  # fmt: skip


class _Attributes(dict[str, Any]):
    """The attributes of a module that mean something, as they are at every look."""

    def __init__(self, own: dict[str, Any]) -> None:
        self._own = own

    def __iter__(self) -> Any:
        return (key for key in self._own if key not in _UNSEEN)

    def __len__(self) -> int:
        return sum(key not in _UNSEEN for key in self._own)

    def values(self) -> Any:
        return [self._own[key] for key in self]

    def get(self, key: str, default: Any = None) -> Any:
        return self._own.get(key, default)


def _contents(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING


def _slot(descriptor: Any, value: Any) -> Any:
    try:
        return descriptor.__get__(value)
    except AttributeError:
        return None


def is_standard(module: str | None) -> bool:
    """Whether a module is of Python's standard library."""
    return module is not None and module.partition(".")[0] in sys.stdlib_module_names


def is_own(module: str | None) -> bool:
    """Whether code is the library's (its programs are users like any other), or NumPy's."""
    if module is None or module.startswith(("clew.bench", "clew.gallery")):
        return False
    return module.partition(".")[0] in _OWN_PACKAGES


def is_known(module: str | None) -> bool:
    """Whether nothing in a module is the user's."""
    return is_own(module) or is_standard(module)


@functools.cache
def _codes_of(code: types.CodeType) -> frozenset[int]:
    inner = [_codes_of(each) for each in code.co_consts if isinstance(each, types.CodeType)]
    return frozenset({id(code)}).union(*inner)


@functools.cache
def _names_of(code: types.CodeType) -> tuple[tuple[str, ...], tuple[tuple[int, str], ...]]:
    """All names that a function's code may look up, and the modules that it imports."""
    names = dict.fromkeys(code.co_names)
    imported: dict[tuple[int, str], None] = {}
    constants: list[Any] = []
    for each in dis.get_instructions(code):
        if each.opname == "LOAD_CONST":
            constants.append(each.argval)
        elif each.opname == "IMPORT_NAME":
            imported[(constants[-2], each.argval)] = None
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            inner, inner_imported = _names_of(constant)
            names.update(dict.fromkeys(inner))
            imported.update(dict.fromkeys(inner_imported))
    return tuple(names), tuple(imported)
