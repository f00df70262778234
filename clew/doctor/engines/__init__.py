"""The engines that the doctor can watch: clew, and PyTorch."""

from __future__ import annotations

from importlib import import_module

from clew.doctor.facts.engine import Engine

# By name: the module, and the class in it. Only that of the engine that is asked for is loaded.
_ENGINES = {
    "clew": ("clew.doctor.engines.native", "NativeEngine"),
    "torch": ("clew.doctor.engines.pytorch.engine", "TorchEngine"),
}


def engine_named(name: str, every: int | None = None) -> Engine:
    """An engine for one session, which looks at all steps or at one of so many."""
    if name not in _ENGINES:
        raise ValueError(f"no such engine: {name!r}; there are {', '.join(map(repr, _ENGINES))}")
    module, kind = _ENGINES[name]
    made: Engine = getattr(import_module(module), kind)(every)
    return made
