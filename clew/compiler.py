"""`compile` and its companions. There is no compiler here: programs run as they are written.

The result of a compiled function is that of the function, so everything is accepted and returned
unchanged; only the speed that a compiler would bring is missing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

__all__ = [
    "allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable",
    "is_compiling", "is_dynamo_compiling", "is_exporting", "list_backends", "reset", "set_stance",
    "substitute_in_graph",
]  # fmt: skip


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
) -> Any:
    """The function or module itself; without one, a decorator that returns what it is given.

    There is no compiler: programs run as they are written, and all options are accepted.

    Args:
        model: the function or module
        fullgraph, dynamic, backend, mode, options, name, disable: for a compiler; `mode` and
            `options` exclude each other
        recompile_limit, isolate_recompiles, shapes_spec: likewise

    Example:
        >>> @clew.compile
        ... def double(x):
        ...     return 2 * x
        >>> double(clew.ones(2))
        tensor([2., 2.])
    """
    if mode is not None and options is not None:
        raise RuntimeError(
            "Either mode or options can be specified, but both can't be specified at the same time."
        )
    if model is None:
        return _unchanged
    return _unchanged(model)


def _unchanged(model: Any) -> Any:
    if not callable(model):
        raise AssertionError(f"A callable function is expected, but {type(model)} is provided.")
    return model


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """The function itself: it is never compiled."""
    return _unchanged if fn is None else fn


def allow_in_graph(fn: Any) -> Any:
    """The function itself."""
    return fn


def assume_constant_result(fn: Any) -> Any:
    """The function itself."""
    return fn


def substitute_in_graph(original_fn: Any, **kwargs: Any) -> Callable[[Any], Any]:
    """A decorator that returns the function itself."""
    return _unchanged


def reset() -> None:
    """Forget what was compiled: nothing was."""


def cudagraph_mark_step_begin() -> None:
    """Mark a step for CUDA graphs, of which there are none."""


def list_backends(exclude_tags: Any = ()) -> list[str]:
    """The names of compilers: none."""
    return []


def is_compiling() -> bool:
    """Whether the code runs under a compiler: no."""
    return False


def is_dynamo_compiling() -> bool:
    """Whether the code runs under a compiler: no."""
    return False


def is_exporting() -> bool:
    """Whether the code is being exported: no."""
    return False


def set_stance(
    stance: str = "default", *, skip_guard_eval_unsafe: bool = False, force_backend: Any = None
) -> contextlib.AbstractContextManager[None]:
    """Say how to compile, for good or for a `with` block: nothing is compiled."""
    return _nothing()


@contextlib.contextmanager
def _nothing() -> Iterator[None]:
    yield


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
