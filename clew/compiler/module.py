"""What is compiled: a function, or the call of a module in place."""

from __future__ import annotations

from typing import Any

from clew.nn.modules.module import Module


class Compiled:
    """What is compiled: `function` as it was given."""

    function: Any


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
