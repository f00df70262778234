"""A module that was compiled: it stands for the module, whose forward is captured and replayed."""

from __future__ import annotations

from typing import Any

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

    def explain(self) -> str:
        """What was compiled, why, and what runs eagerly."""
        text: str = self.compiled.explain()
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
        return len(self._orig_mod)  # type: ignore[arg-type]  # only for modules that have a length

    def __getitem__(self, index: Any) -> Any:
        return self._orig_mod[index]  # type: ignore[index]  # only for modules with items

    def __reduce__(self) -> Any:
        return _made_again, (self._orig_mod, self.compiled.fullgraph)


class ModuleCall:
    """The call of a module that is compiled in place: the call as if it were not."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.__name__ = type(module).__name__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        own = self.module.__dict__
        compiled = own.pop("_compiled_call_impl", None)
        try:
            return self.module(*args, **kwargs)
        finally:
            if compiled is not None:
                own["_compiled_call_impl"] = compiled


def compile_in_place(module: Module, *args: Any, **kwargs: Any) -> None:
    """Let calls of a module be compiled from now on."""
    from clew.compiler import compile

    call = compile(ModuleCall(module), *args, **kwargs)
    module.__dict__["_compiled_call_impl"] = None if isinstance(call, ModuleCall) else call


def _made_again(module: Module, fullgraph: bool) -> Any:
    from clew.compiler.api import compiled

    return compiled(module, fullgraph, None, False)
