"""`import torch` meaning clew, and the errors about names that clew does not have.

While the alias is installed, `sys.modules["torch"]` is clew itself and every `torch.x.y` is the
same module object as `clew.x.y`, however it is imported. PyTorch may be installed; it is not
touched.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

from clew.pytorch_names import home as home_in_pytorch

if TYPE_CHECKING:
    from importlib.abc import Loader
else:
    Loader = object  # importing it takes longer than the rest of this module

_OWN = __name__.partition(".")[0]
_THEIRS = "torch"
# The module of function transforms as it was called before it became `torch.func`.
_OLD_FUNC = "functorch"
# Packages that programs import beside torch and that clew does not stand in for.
_COMPANIONS = frozenset({"torchvision", "torchaudio", "torchtext", "torchdata", "torchmetrics"})
STAND_IN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "standin")


# -- names that do not exist -----------------------------------------------------------------------


class MissingName(AttributeError):
    """A module has no such name. What is nearest is found when the text is asked for.

    Programs ask `hasattr(torch, ...)`, where nobody reads it.
    """

    def __init__(self, module: ModuleType, missing: str) -> None:
        # The name without the object: from both, Python 3.13 makes a suggestion of its own.
        super().__init__(module, missing, name=missing)
        self._module, self._missing = module, missing

    def __str__(self) -> str:
        spec = self._module.__spec__
        name = public_name(self._module.__name__ if spec is None else spec.name)
        reason = " (clew does not have it)" if name.partition(".")[0] == _THEIRS else ""
        near = nearest(self._module, self._missing)
        hint = f"; nearest: {', '.join(near)}" if near else ""
        return f"module {name!r} has no attribute {self._missing!r}{reason}{hint}"

    def __reduce__(self) -> Any:
        return AttributeError, (str(self),)


# Tracebacks show the name of the class, and to programs this is an AttributeError as any other.
MissingName.__module__, MissingName.__qualname__ = "builtins", "AttributeError"
MissingName.__name__ = "AttributeError"


def public_name(module: str) -> str:
    """The name of one of clew's modules as the program says it."""
    return _THEIRS + module[len(_OWN) :] if is_installed() else module


def nearest(module: ModuleType, missing: str) -> list[str]:
    """The public names of a module that look most like a name it does not have."""
    # Imported when somebody reads the error.
    import difflib

    names = [name for name in dir(module) if not name.startswith("_")]
    same = [name for name in names if name.lower() == missing.lower()]
    return same or difflib.get_close_matches(missing, names, n=3, cutoff=0.7)


def missing_name(module: ModuleType, name: str) -> NoReturn:
    """Raise the error about a name that a module does not have."""
    if name.startswith("__"):
        # Asked for by Python itself, many times: the text is not for people.
        raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
    raise MissingName(module, name)


def explain_missing(package: str) -> None:
    """Let errors about names that a package or its loaded parts do not have say what is nearest.

    A module that has a `__getattr__` of its own keeps it.
    """
    for name, module in tuple(sys.modules.items()):
        if name == package or name.startswith(f"{package}."):
            module.__dict__.setdefault("__getattr__", functools.partial(missing_name, module))


# -- names that are imported when they are first asked for -----------------------------------------


def on_request(
    package: str, parts: Collection[str], names: Mapping[str, str] = MappingProxyType({})
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package that does not import all of its parts.

    `names` are those that a package has from a part, and the part of each.
    """
    module = sys.modules[package]

    def get(name: str) -> Any:
        if name in parts:
            part = importlib.import_module(f"{package}.{name}")
            explain_missing(part.__name__)
            return part
        if name in names:
            value = getattr(importlib.import_module(f"{package}.{names[name]}"), name)
            setattr(module, name, value)
            return value
        return missing_name(module, name)

    return get, lambda: sorted({*vars(module), *parts, *names})


# -- the alias -------------------------------------------------------------------------------------


class _SameModule(Loader):
    """Gives `import torch.x` the module that is loaded as `clew.x` already."""

    def __init__(self, module: ModuleType) -> None:
        self.module = module
        self.spec = module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self.module

    def exec_module(self, module: ModuleType) -> None:
        # The import system has put the alias's spec onto the module, which keeps its own.
        module.__spec__ = self.spec


class _NamingClasses(SourceFileLoader):
    """Loads one of clew's modules while it is PyTorch: its classes are called as PyTorch's are."""

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        _name_classes(module)


class _Alias:
    """Finds `torch.x.y` in clew. It comes first: clew's folder is where others would look."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        root, _, rest = fullname.partition(".")
        if root == _OWN:
            return _naming_classes(fullname, path, target)
        if root != _THEIRS:
            return None
        own = f"{_OWN}.{rest}" if rest else _OWN
        if importlib.util.find_spec(own) is None:
            _refuse_import(fullname, f"clew has no {fullname}")
            return None
        module = importlib.import_module(own)
        explain_missing(own)
        is_package = hasattr(module, "__path__")
        return ModuleSpec(fullname, _SameModule(module), is_package=is_package)


def _naming_classes(
    fullname: str, path: Sequence[str] | None, target: ModuleType | None
) -> ModuleSpec | None:
    """Where one of clew's modules is, with a loader that gives its classes PyTorch's names."""
    spec = PathFinder.find_spec(fullname, path, target)
    if spec is not None and type(spec.loader) is SourceFileLoader:
        spec.loader = _NamingClasses(spec.loader.name, spec.loader.path)
    return spec


class _Companions:
    """Comes last, and says of packages built on torch that they are not part of clew."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname in _COMPANIONS:
            reason = f"{fullname} is not installed, and clew stands in for torch, not for it"
            _refuse_import(fullname, reason)
        return None


def _refuse_import(fullname: str, reason: str) -> None:
    """Raise, if it is an import that asks: a mere question (`find_spec`) is answered by None."""
    if sys._getframe(3).f_code.co_name == "_find_and_load_unlocked":
        raise ModuleNotFoundError(f"No module named {fullname!r}: {reason}", name=fullname)


_first, _last = _Alias(), _Companions()
# The classes that have PyTorch's names while the alias is installed, with the names of the modules
# that they are in, and the modules that have been looked through.
_named: list[tuple[type, str, str]] = []
_looked_through: set[str] = set()


def is_own(module: str | None) -> bool:
    """Whether a class or function whose `__module__` this is belongs to clew."""
    root = (module or "").partition(".")[0]
    return root == _OWN or (root == _THEIRS and is_installed())


def own_name(module: str) -> str:
    """The name of one of clew's modules as clew says it."""
    root, dot, rest = module.partition(".")
    return f"{_OWN}{dot}{rest}" if root == _THEIRS and is_installed() else module


def _name_classes(module: ModuleType) -> None:
    """Give the classes of a loaded module the `__module__` that PyTorch's have.

    Programs ask whether a layer is one of PyTorch's by it, and pickles find a class by it.
    """
    spec = module.__spec__
    if spec is None or spec.name in _looked_through:
        return
    _looked_through.add(spec.name)
    for value in tuple(vars(module).values()):
        if isinstance(value, type) and value.__module__ == spec.name:
            home = home_in_pytorch(spec.name, value.__qualname__)
            if home is not None:
                _named.append((value, spec.name, home))
                _name_class(value, spec.name, home)


def _name_class(value: type, own: str, home: str) -> None:
    value.__module__ = home
    # Where `typing.get_type_hints` and `inspect` look for it.
    sys.modules.setdefault(_THEIRS + own[len(_OWN) :], sys.modules[own])


def is_installed() -> bool:
    """Whether `import torch` means clew now."""
    return _first in sys.meta_path


def install() -> None:
    """Make `import torch` mean clew in this process, and in those that `multiprocessing` starts."""
    if is_installed():
        return
    own = sys.modules[_OWN]
    _forget_torch()
    sys.modules[_THEIRS] = own
    sys.meta_path.insert(0, _first)
    sys.meta_path.append(_last)
    if STAND_IN not in sys.path:
        # Behind the program's own folder, as entries of PYTHONPATH are.
        sys.path.insert(1, STAND_IN)
    # Programs choose by the version what they may call: they are told whose API this is.
    own.__dict__["__version__"] = own.version.api
    # Programs compare the first part of a dotted name with the module's, and that of a class, by
    # which they tell the libraries apart.
    own.__dict__["__name__"] = _THEIRS
    for value, mine, theirs in _named:
        _name_class(value, mine, theirs)
    for name, module in tuple(sys.modules.items()):
        if name.startswith(f"{_OWN}."):
            _name_classes(module)


def uninstall() -> None:
    """Undo `install`; modules that imported clew as torch keep it."""
    if not is_installed():
        return
    _forget_torch()
    sys.meta_path.remove(_first)
    sys.meta_path.remove(_last)
    sys.path.remove(STAND_IN)
    own = sys.modules[_OWN]
    own.__dict__["__version__"] = own.version.clew
    own.__dict__["__name__"] = _OWN
    for value, mine, _ in _named:
        value.__module__ = mine


def _forget_torch() -> dict[str, ModuleType]:
    names = [name for name in sys.modules if name.partition(".")[0] in (_THEIRS, _OLD_FUNC)]
    return {name: sys.modules.pop(name) for name in names}


@contextlib.contextmanager
def as_torch() -> Iterator[ModuleType]:
    """`with clew.as_torch():` makes `import torch` mean clew inside the block.

    What is imported inside keeps clew afterwards. If PyTorch was loaded it is back after the block.
    The alias holds for all threads of the process.
    """
    if is_installed():
        yield sys.modules[_OWN]
        return
    before = _forget_torch()
    install()
    try:
        yield sys.modules[_OWN]
    finally:
        uninstall()
        sys.modules.update(before)
