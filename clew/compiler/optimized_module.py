"""What `compile` makes of functions and modules."""

from __future__ import annotations

from typing import Any

from clew.compiler.api import CompiledFunction
from clew.compiler.module import ModuleCall
from clew.nn.modules.module import Module


class OptimizedModule(Module):
    """What `compile` returns for a module; the module itself is `_orig_mod`.

    Attributes are those of the module. `compiled` is the compiled call, with `explain()`.
    """

    _orig_mod: Module

    def __init__(self, module: Module, compiled: Any) -> None:
        super().__init__()
        self._orig_mod = module
        object.__setattr__(self, "compiled", compiled)
        self.training = module.training

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.compiled(*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The compiled forward."""
        return self.compiled(*args, **kwargs)

    def explain(self, detail: str = "graph", *, assembly: bool = False) -> str:
        """What was compiled, why, and what runs eagerly; `detail` as for functions."""
        text: str = self.compiled.explain(detail, assembly=assembly)
        return text

    def __getattr__(self, name: str) -> Any:
        modules = self.__dict__.get("_modules", {})
        if name == "_orig_mod":
            return modules["_orig_mod"]
        return getattr(modules["_orig_mod"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("_orig_mod", "training") or "_modules" not in self.__dict__:
            super().__setattr__(name, value)
        elif "_orig_mod" in self.__dict__["_modules"]:
            setattr(self._orig_mod, name, value)
        else:
            super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._orig_mod, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._orig_mod)})

    def __len__(self) -> int:
        return len(self._orig_mod)

    def __getitem__(self, index: Any) -> Any:
        return self._orig_mod[index]  # type: ignore[index]  # only for modules with items

    def __reduce__(self) -> Any:
        given = self.compiled
        options = given.memory, given.dynamic, given.background
        return compiled, (self._orig_mod, given.fullgraph, None, False, *options)


def compiled(
    target: Any,
    fullgraph: bool,
    limit: int | None,
    check: bool,
    memory: int | None = None,
    dynamic: bool | None = None,
    background: bool = False,
) -> Any:
    """A function or module, compiled."""
    if isinstance(target, OptimizedModule | CompiledFunction):
        return target
    made = CompiledFunction(target, fullgraph, limit, check, memory, dynamic, background)
    return OptimizedModule(target, made) if isinstance(target, Module) else made


def compile_in_place(module: Module, call: Any) -> None:
    """Let calls of a module be compiled from now on; `call` is `compile` of its `ModuleCall`."""
    module.__dict__["_compiled_call_impl"] = None if isinstance(call, ModuleCall) else call
