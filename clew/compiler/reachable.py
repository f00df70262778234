"""Everything that a function can reach, each with a guard of its kind.

What has no state that Python can see (files, locks, streams of random numbers) gets no guard here:
`watch.py` notices when the call uses it.
"""

from __future__ import annotations

import abc
import array
import collections
import functools
import gc
import importlib.util
import inspect
import itertools
import operator
import sys
import threading
import types
import weakref
from collections.abc import Iterable, Iterator
from typing import Any, Generic

import numpy as np

from clew.amp.grad_scaler import GradScaler
from clew.compiler.code_names import LOOKING_AT_ALL, Executed, codes_of, may_look, names_of
from clew.compiler.guards import MISSING, SCALARS, Attributes, Guards
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
    "_parameters", "_buffers", "_modules", "_compiled_call_impl",
    "_non_persistent_buffers_set",
})  # fmt: skip
_UNSEEN_OF_OPTIMIZERS = frozenset({"_opt_called", "_plan", "_scheduled", "_stepping"})
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
# Names by which only the options of optimizers are read.
OPTION_NAMES = frozenset({"param_groups"})
# Iterators that only pass on what others give.
_PASSING_ON = (
    enumerate, filter, map, reversed, zip, itertools.chain, itertools.islice, itertools.starmap,
    itertools.takewhile, itertools.zip_longest,
)  # fmt: skip


# Why a capture ends at a sparse tensor.
WITHOUT_STRIDES = "a tensor whose layout is not strided"


class TooMuch(Exception):
    """More state can be reached than can be guarded."""


def is_without_strides(tensor: Tensor) -> bool:
    """Whether a tensor, or its gradient, is sparse."""
    return tensor._is_unstrided or (tensor._grad is not None and tensor._grad._is_unstrided)


def require_strides(tensors: Iterable[Tensor]) -> None:
    """Refuse a call that meets sparse tensors before it begins."""
    if any(map(is_without_strides, tensors)):
        raise TooMuch(f"{WITHOUT_STRIDES} is there before the call")


class Reached(Guards):
    """What a function can reach: tensors, and guards for everything else.

    Of a call that has run, `executed` says which code that was: what only other code looks at, a
    list of results that another method fills, say, may change.
    """

    def __init__(self, executed: Executed | None = None) -> None:
        super().__init__()
        self.executed = executed
        # The names of attributes that it reads; None: any.
        self.read = None if executed is None else executed.names()
        # The code that may run: of all functions found, and what is defined inside of them.
        self.codes: dict[int, types.CodeType] = {}
        self.seen: dict[Any, Any] = {}
        # The frames of generators that were there before the call.
        self.generators: list[types.FrameType | None] = []
        # Whether code may look at a number in a way that the number does not notice.
        self.may_look = False
        # Whether there is a function that runs in some calls and is remembered in others.
        self.has_caches = False
        # Whether there is something that looks at attributes by names that no code says.
        self.looks_at_all = False
        self._optimizers: list[tuple[Any, str]] = []
        self._options_read = False
        # The names under which optimizers were read.
        self.names_asked: list[frozenset[str]] = []
        self._bytes = 0
        # Modules of the user's, and the names of attributes that code may read: by their names in
        # the code, and by strings that it may give to `getattr`.
        self._python_modules: dict[str, types.ModuleType] = {}
        self._attribute_names: dict[str, None] = {}
        self._attribute_texts: dict[str, None] = {}

    def walk(self, root: Any, name: str) -> None:
        """Everything that can be reached from an object."""
        self._walk([(root, name)], name)

    def read_optimizers(self, names: Iterable[str]) -> None:
        """Guard also what optimizers and schedulers keep, because code that runs may read it:
        under these names."""
        self.names_asked.append(frozenset(names))
        if not OPTION_NAMES.issuperset(names):
            while self._optimizers:
                each, path = self._optimizers.pop()
                self._walk(list(self._attributes(each, path)), path)
        elif not self._options_read:
            self._options_read = True
            for each, path in self._optimizers:
                if isinstance(each, Optimizer):
                    self._walk(list(self._options(each, f"{path}.param_groups")), path)

    def _options(self, optimizer: Optimizer, path: str) -> Iterator[tuple[Any, str]]:
        """The options of an optimizer's groups, whichever objects these are."""
        for option in self.probe(functools.partial(_options_of, optimizer), path):
            yield option, path

    def _walk(self, stack: list[tuple[Any, str]], name: str) -> None:
        self._words = None
        while stack:
            while stack:
                value, path = stack.pop()
                if isinstance(value, SCALARS) or id(value) in self.seen:
                    continue
                self.seen[id(value)] = value
                if len(self.seen) > MOST_ENTRIES:
                    raise TooMuch(f"more than {MOST_ENTRIES} objects can be reached from {name}")
                stack.extend(self._inside(value, path))
            # What of the modules is used is known when all code is.
            for module in self._python_modules.values():
                stack += self._names_in(module)

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
        own, names = module.__dict__, self._names_read(type(module), (Module,))
        for registry in _REGISTRIES:
            self.registry(own[registry], path)
            for key, each in own[registry].items():
                yield each, f"{path}.{key}"
        seen = Attributes(own, _UNSEEN, names)
        self.counted(seen, path)
        for key in seen:
            each = own[key]
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
        self.groups(optimizer, f"{path}.param_groups")
        for group in optimizer.param_groups:
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
        # Its step runs in every replay, but it is the user's code that it calls.
        for name, each in vars(scheduler).items():
            if callable(each) or (isinstance(each, list) and any(map(_has_code, each))):
                yield each, f"{path}.{name}"

    def _scaler(self, scaler: GradScaler, path: str) -> Iterator[tuple[Any, str]]:
        for each in vars(scaler).values():
            if isinstance(each, Tensor):
                yield each, path

    # -- functions ---------------------------------------------------------------------------------

    def _function(self, function: types.FunctionType, path: str) -> Iterator[tuple[Any, str]]:
        if is_known(function.__module__):
            return
        code = function.__code__
        if function.__dict__:
            self.whole_dict(function.__dict__, path)
            for key, value in function.__dict__.items():
                yield value, f"{path}.{key}"
        if self.executed is not None and id(code) not in self.executed.codes:
            return
        self.codes.update(codes_of(code))
        self.attribute(function, "__code__", path)
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            if _contents(cell) is MISSING:
                self.probe(functools.partial(_contents, cell), name)
            else:
                yield self.attribute(cell, "cell_contents", name), name
        for each in ("__defaults__", "__kwdefaults__"):
            yield self.attribute(function, each, path), f"a default of {path}"
        names = names_of(code)
        self._attribute_names.update(dict.fromkeys(names.attributes))
        self._attribute_texts.update(dict.fromkeys(names.texts))
        self.may_look |= may_look(code)
        for name in names.own:
            value = self.name(function.__globals__, name)
            self.may_look |= _is_of_numpy(value)
            if value is not MISSING:
                yield value, name
        for level, name in names.imported:
            if level:
                package = function.__globals__.get("__package__")
                name = importlib.util.resolve_name("." * level + name, package)
            module = self.name(sys.modules, name)
            self.may_look |= _is_of_numpy(module)
            if module is not MISSING:
                yield module, name

    def _python_module(self, module: types.ModuleType, path: str) -> Iterator[tuple[Any, str]]:
        if not is_known(module.__name__):
            self._python_modules[module.__name__] = module
        return iter(())

    def _names_in(self, module: types.ModuleType) -> Iterator[tuple[Any, str]]:
        """What the names of a module of the user's stand for, of those that the code may use."""
        space, prefix = vars(module), f"{module.__name__}."
        names = [name for name in self._attribute_names if name in space]
        for name in (*names, *self._attribute_texts):
            value = self.name(space, name, prefix)
            if (
                value is not MISSING
                and not isinstance(value, SCALARS)
                and id(value) not in self.seen
            ):
                yield value, f"{prefix}{name}"

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
        self.may_look |= _is_of_numpy(value)
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

    def _cached_function(self, value: Any, path: str) -> Iterator[tuple[Any, str]]:
        self.has_caches |= not is_known(value.__module__)
        return self._attributes(value, path)

    def _getter(self, value: Any, path: str) -> Iterator[tuple[Any, str]]:
        is_function = isinstance(value, types.BuiltinFunctionType)
        self.looks_at_all |= not is_function or value.__name__ in LOOKING_AT_ALL
        return iter(())

    def _attributes(self, value: Any, path: str) -> Iterator[tuple[Any, str]]:
        """What an object has in its dict and slots, and its class."""
        kind = type(value)
        own = getattr(value, "__dict__", None)
        if isinstance(own, dict):
            unseen = _UNSEEN_OF_OPTIMIZERS if isinstance(value, Optimizer) else frozenset()
            seen = Attributes(own, unseen, self._names_read(kind, ()))
            self.whole_dict(seen, path)
            for key in seen:
                yield own[key], f"{path}.{key}"
        for base in kind.__mro__:
            if not is_known(base.__module__):
                for name, each in vars(base).items():
                    if isinstance(each, types.MemberDescriptorType):
                        ask = functools.partial(_slot, each, value)
                        yield self.probe(ask, f"{path}.{name}"), f"{path}.{name}"
        yield from self._class(kind, path)

    def _names_read(self, kind: type, known: tuple[type, ...]) -> frozenset[str] | None:
        """The names under which the call looks at objects of a class; None where others do, too.

        Others are classes that are not the user's, but for some that are known.
        """
        kinds = {object, Generic, abc.ABC, *known}
        if all(base in kinds or not is_known(base.__module__) for base in kind.__mro__):
            return self.read
        return None

    def _class(self, kind: type, path: str) -> Iterator[tuple[Any, str]]:
        """The methods and attributes of a class of the user's."""
        for base in (*kind.__mro__, *inspect.getmro(type(kind))):
            if is_known(base.__module__) or ("class", id(base)) in self.seen:
                continue
            self.seen[("class", id(base))] = base
            found = vars(base)
            names = self._names_read(kind, (Module,))
            self.whole_dict(found, base.__name__)
            for name, each in found.items():
                if name in ("__dict__", "__weakref__", "__doc__", "_abc_impl"):
                    continue
                if names is not None and name not in names and not name.startswith("__"):
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
    (types.ModuleType, Reached._python_module),
    (functools._lru_cache_wrapper, Reached._cached_function),
    (operator.attrgetter | operator.methodcaller | types.BuiltinFunctionType, Reached._getter),
    (Generator | np.generic, lambda *_: iter(())),
)  # fmt: skip


def _options_of(optimizer: Optimizer) -> tuple[Any, ...]:
    return tuple(
        each
        for group in optimizer.param_groups
        for name in sorted(group)
        for each in (name, None if name == "params" else group[name])
    )


def _has_code(value: Any) -> bool:
    return callable(value) or isinstance(value, LRScheduler)


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


def _is_of_numpy(value: Any) -> bool:
    """Whether something is NumPy's: its operators take numbers without asking them."""
    if isinstance(value, types.ModuleType):
        return value.__name__.partition(".")[0] == "numpy"
    return isinstance(value, np.ndarray | np.generic | np.ufunc)
