"""PyTorch's names for the front of its compiler, which some programs set up before `compile`."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from clew.compiler import (
    allow_in_graph,
    assume_constant_result,
    disable,
    is_compiling,
    list_backends,
    reset,
)

__all__ = [
    "allow_in_graph", "assume_constant_result", "config", "disable", "graph_break", "is_compiling",
    "list_backends", "mark_dynamic", "mark_static", "optimize", "reset",
]  # fmt: skip

# What programs set here is kept, and nothing reads it.
config = SimpleNamespace(
    cache_size_limit=8, recompile_limit=8, suppress_errors=False, verbose=False
)


def optimize(*args: Any, **kwargs: Any) -> Any:
    """A decorator that returns the function itself."""
    return disable()


def graph_break(msg: str = "") -> None:
    """End a compiled graph: there is none."""


def mark_dynamic(t: Any, index: Any, **kwargs: Any) -> None:
    """Tell the compiler that a size will change."""


def mark_static(t: Any, index: Any = None) -> None:
    """Tell the compiler that a size will not change."""
