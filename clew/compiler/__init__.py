"""`compile`: a function or module is captured when it runs, and replayed as a native program.

PyTorch's names for its compiler are here as well. What a program asks of a compiler that works in
another way (backends, stances) is accepted, and says what it means here.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from clew.compiler import api, optimized_module
from clew.compiler.module import ModuleCall
from clew.core.interception import is_capturing
from clew.memory import parsed_size
from clew.nn.modules.module import Module

__all__ = [
    "allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable",
    "is_compiling", "is_dynamo_compiling", "is_exporting", "list_backends", "reset", "set_stance",
    "substitute_in_graph",
]  # fmt: skip

# Backends under which PyTorch runs the captured graph as it is.
_EAGER_BACKENDS = ("eager", "eager_noexcept", "aot_eager", "aot_eager_decomp_partition")


def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] | None = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
    shapes_spec: Any = None,
    check: bool = False,
    memory: int | float | str | None = None,
    background: bool = False,
) -> Any:
    """A function or module that is captured by its first call and replayed by later ones.

    A whole train step (forward, backward, optimizer) may be one function. A call that does not
    match what was captured (other shapes, another value of a number that was read) is captured
    anew; what cannot be captured runs as it is written, and `explain()` of the result says why.

    Args:
        model: the function or module; without one, a decorator is returned
        fullgraph: raise where a call cannot be captured whole; so does `mode="strict"`
        dynamic: False counts a trace of every shape; else those that differ in shapes alone are one
            of the traces that a function may have. A new shape is captured, which takes as long as
            an eager call and some milliseconds; kernels are for all shapes.
        backend: "eager" runs the function as it is, and so does a function; all other names mean
            clew's compiler
        mode: "strict", or one of PyTorch's names, which make no difference
        options: accepted as in PyTorch, which excludes `mode` beside it
        name: accepted
        disable: return the function itself
        recompile_limit: the number of traces from which on other calls run eagerly
        isolate_recompiles: accepted
        shapes_spec: accepted
        check: run the function eagerly beside its first replays, and raise where they differ
        memory: the memory that a replay may use, in bytes or as text ("300 MiB", "2 GB"):
            parameters, state of optimizers and arguments included. Values that do not fit are
            computed again. The function must be a whole step, with its backward.
        background: compile in another thread; until that is done, calls run eagerly. `wait()` of
            the result waits for it.

    Example:
        >>> @clew.compile
        ... def double(x):
        ...     return 2 * x
        >>> double(clew.ones(2)), double(clew.ones(2))
        (tensor([2., 2.]), tensor([2., 2.]))
    """
    if mode is not None and options is not None:
        raise RuntimeError(
            "Either mode or options can be specified, but both can't be specified at the same time."
        )

    budget = None if memory is None else parsed_size(memory)

    def compiled(target: Any) -> Any:
        if not callable(target):
            raise AssertionError(
                f"A callable function is expected, but {type(target)} is provided."
            )
        if disable or backend in _EAGER_BACKENDS or (backend is not None and callable(backend)):
            return target
        return optimized_module.compiled(
            target,
            fullgraph or mode == "strict",
            recompile_limit,
            check,
            budget,
            dynamic,
            background,
        )

    return compiled if model is None else compiled(model)


def compile_module(module: Module, *args: Any, **kwargs: Any) -> None:
    """Compile calls of a module in place: what `module.compile()` does."""
    optimized_module.compile_in_place(module, compile(ModuleCall(module), *args, **kwargs))


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """The function as it is: a call that reaches it is not captured."""

    def mark(function: Any) -> Any:
        inner = getattr(function, "__wrapped__", function)
        if not callable(function):
            raise AssertionError(
                f"A callable function is expected, but {type(function)} is provided."
            )
        return api.not_captured(inner if _is_compiled(function) else function, reason)

    return mark if fn is None else mark(fn)


def _is_compiled(function: Any) -> bool:
    return hasattr(function, "explain") and hasattr(function, "__wrapped__")


def allow_in_graph(fn: Any) -> Any:
    """The function itself: everything is captured by its operations."""
    return fn


def assume_constant_result(fn: Any) -> Any:
    """The function itself."""
    return fn


def substitute_in_graph(original_fn: Any, **kwargs: Any) -> Callable[[Any], Any]:
    """A decorator that returns the function itself."""
    return lambda function: function


def reset() -> None:
    """Forget everything that was captured."""
    api.reset_all()


def cudagraph_mark_step_begin() -> None:
    """Mark a step for CUDA graphs, of which there are none."""


def list_backends(exclude_tags: Any = ()) -> list[str]:
    """The names of compilers: PyTorch's default one stands for clew's."""
    return ["inductor"]


def is_compiling() -> bool:
    """Whether the call that runs is being captured."""
    return is_capturing()


def is_dynamo_compiling() -> bool:
    """Whether the call that runs is being captured."""
    return is_compiling()


def is_exporting() -> bool:
    """Whether the code is being exported: no."""
    return False


def set_stance(
    stance: str = "default", *, skip_guard_eval_unsafe: bool = False, force_backend: Any = None
) -> contextlib.AbstractContextManager[None]:
    """Say how to compile, for good or for a `with` block: "force_eager" runs functions as they are.

    "fail_on_recompile" raises where a call would be captured once more; "eager_on_recompile" runs
    it eagerly.
    """
    return api.Stance(stance)


def _assert(condition: Any, message: str) -> None:
    """Python's `assert` as a function, which PyTorch's tracers can follow.

    Args:
        condition: what must be true
        message: the text of the AssertionError otherwise

    Example:
        >>> clew._assert(clew.tensor(True), "never said")
    """
    if not condition:
        raise AssertionError(message)
