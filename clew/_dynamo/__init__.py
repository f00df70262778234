"""PyTorch's names for the front of its compiler, which some programs set up before `compile`."""

from __future__ import annotations

from typing import Any

from clew._dynamo import config, exc, utils
from clew._dynamo.eval_frame import OptimizedModule
from clew.compiler import (
    allow_in_graph,
    assume_constant_result,
    compile,
    disable,
    is_compiling,
    list_backends,
    reset,
    substitute_in_graph,
)

__all__ = [
    "OptimizedModule", "allow_in_graph", "assume_constant_result", "config", "disable",
    "disallow_in_graph", "exc", "explain", "forbid_in_graph", "graph_break", "is_compiling",
    "is_dynamo_supported", "list_backends", "mark_dynamic", "mark_static", "mark_static_address",
    "mark_unbacked", "maybe_mark_dynamic", "optimize", "optimize_assert", "register_backend",
    "reset", "run", "substitute_in_graph", "utils",
]  # fmt: skip


def is_dynamo_supported() -> bool:
    """Whether programs can be compiled."""
    return True


def optimize(backend: Any = "inductor", *, nopython: bool = False, **kwargs: Any) -> Any:
    """A decorator that compiles a function: PyTorch's older name of `compile`."""
    return compile(backend=backend, fullgraph=nopython)


optimize_assert = optimize


def run(fn: Any = None) -> Any:
    """The function itself."""
    return fn


def disallow_in_graph(fn: Any) -> Any:
    """The function itself."""
    return fn


forbid_in_graph = disallow_in_graph


def register_backend(compiler_fn: Any = None, name: str | None = None, tags: Any = ()) -> Any:
    """The function itself: no backend is ever called."""
    return (lambda function: function) if compiler_fn is None else compiler_fn


def explain(f: Any, *extra_args: Any, **extra_kwargs: Any) -> Any:
    """Raises: there are no graphs to explain."""
    raise NotImplementedError("torch._dynamo.explain: clew.compile(f).explain() tells what it does")


def graph_break(msg: str = "") -> None:
    """End a compiled graph: there is none."""


def mark_dynamic(t: Any, index: Any, **kwargs: Any) -> None:
    """Tell the compiler that a size will change."""


maybe_mark_dynamic = mark_unbacked = mark_dynamic


def mark_static(t: Any, index: Any = None) -> None:
    """Tell the compiler that a size will not change."""


def mark_static_address(t: Any, guard: bool = True) -> None:
    """Tell the compiler that a tensor stays where it is."""
