"""PyTorch's private functions that make scripts of modules: clew leaves modules as they are."""

from __future__ import annotations

from typing import Any

from clew.jit import script

__all__ = ["create_script_module", "wrap_cpp_module"]


def wrap_cpp_module(cpp_module: Any) -> Any:
    """The module itself."""
    return cpp_module


def create_script_module(nn_module: Any, stubs_fn: Any = None, **kwargs: Any) -> Any:
    """The module itself, as `script` returns it."""
    return script(nn_module)
