"""clew's doctor for programs that train with PyTorch, without clew's engine.

`import clew` loads an engine: tensors, operations, kernels. The doctor needs none of it to watch
PyTorch. So here the package `clew` is made without being run, and its doctor is imported from it.
Should the program ask for something of clew's own after all, clew is loaded then, as always.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clew.doctor import Watch

# The parts of clew that the doctor is made of, or that know nothing of an engine.
_LIGHT = (
    "clew.aliasing", "clew.backend.dtypes", "clew.cli", "clew.core.no_history", "clew.doctor",
    "clew.errors", "clew.forking", "clew.observed", "clew.observer", "clew.pytorch_names",
    "clew.source", "clew.torch_version", "clew.version",
)  # fmt: skip


class _EngineLast:
    """Loads clew as a whole before any part of its engine is imported."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        is_light = name in ("clew", "clew.backend", "clew.core") or any(
            name == each or name.startswith(f"{each}.") for each in _LIGHT
        )
        if name.startswith("clew.") and (not is_light or _is_native(name)):
            _load()
            if name in sys.modules:
                # Whoever asked for it gets this one: a second one would have state of its own.
                return _Loaded(sys.modules[name]).found(name)
        return None


class _Loaded(Loader):
    """Finds a module that is there already."""

    def __init__(self, module: ModuleType) -> None:
        self.module = module
        self.spec = module.__spec__

    def found(self, name: str) -> ModuleSpec:
        """How to find it: Python goes by what the module says, until it has been found."""
        spec = self.module.__spec__ = ModuleSpec(name, self)
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self.module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.spec


def _is_native(name: str) -> bool:
    return name.startswith("clew.doctor.engines.native")


_finder = _EngineLast()


def _without_engine() -> None:
    """Make the package `clew`, not yet run, unless the program has imported it."""
    if "clew" in sys.modules:
        return
    spec = importlib.util.find_spec("clew")
    if spec is None:
        raise ImportError("the package clew is not installed")
    package = importlib.util.module_from_spec(spec)

    def find(name: str) -> Any:
        if f"clew.{name}" in _LIGHT:
            return importlib.import_module(f"clew.{name}")
        if not name.startswith("__"):
            _load()
            return getattr(package, name)
        raise AttributeError(f"module 'clew' has no attribute {name!r}")

    package.__getattr__ = find  # type: ignore[method-assign]  # until it is run
    sys.modules["clew"] = package
    sys.meta_path.insert(0, _finder)


def _load() -> None:
    """Run the package `clew`, as `import clew` does."""
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
        package = sys.modules["clew"]
        vars(package).pop("__getattr__", None)
        assert package.__spec__ is not None and package.__spec__.loader is not None
        package.__spec__.loader.exec_module(package)


_without_engine()


def watch(*objects: Any, engine: str = "torch", every: int | None = None) -> Watch:
    """Watch what a program does with models and optimizers, until the block ends.

    Args:
        objects: models, optimizers and tensors that exist already
        engine: the library that they are of, "torch" or "clew"
        every: look at one of so many steps, after the first ones; all, if it is not given

    Example:
        >>> from clew_doctor import watch
        >>> with watch() as doctor:
        ...     pass
        >>> doctor.report().problems
        []
    """
    made: Watch = importlib.import_module("clew.doctor").watch(*objects, engine=engine, every=every)
    return made
