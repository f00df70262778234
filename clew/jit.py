"""TorchScript's names. clew has no TorchScript: what would be compiled runs as the Python it is.

`script` and `trace` return what they are given, so programs compute the same; what needs a compiled
program itself (`save`, `load`, graphs) is refused with the reason.
"""

from __future__ import annotations

import contextlib
import typing
from collections.abc import Callable, Iterator
from typing import Any, Final, Generic, NoReturn, TypeVar

from clew import errors
from clew.nn.modules.module import Module

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

__all__ = [
    "Attribute", "Error", "Final", "Future", "ScriptFunction", "ScriptModule", "annotate", "export",
    "fork", "freeze", "ignore", "interface", "is_scripting", "is_tracing", "isinstance", "load",
    "optimize_for_inference", "optimized_execution", "save", "script", "script_if_tracing",
    "script_method", "set_fusion_strategy", "trace", "trace_module", "unused", "wait",
]  # fmt: skip


class Error(RuntimeError):
    """What TorchScript raises while it runs a program."""


class ScriptModule(Module):
    """A module as any other; `class Net(ScriptModule)` works as `class Net(nn.Module)` does."""


class ScriptFunction:
    """For annotations: `script` of a function returns the function."""


def script(
    obj: T, optimize: None = None, _frames_up: int = 0, _rcb: Any = None, example_inputs: Any = None
) -> T:
    """The function, class or module itself."""
    return obj


def trace(
    func: T,
    example_inputs: Any = None,
    optimize: Any = None,
    check_trace: bool = True,
    check_inputs: Any = None,
    check_tolerance: float = 1e-5,
    strict: bool = True,
    example_kwarg_inputs: Any = None,
) -> T:
    """The function or module itself; it is not called with the examples."""
    return func


def trace_module(mod: T, inputs: dict[str, Any], *args: Any, **kwargs: Any) -> T:
    """The module itself."""
    return mod


def script_method(fn: F) -> F:
    """The method itself."""
    return fn


def script_if_tracing(fn: F) -> F:
    """The function itself."""
    return fn


def export(fn: F) -> F:
    """The method itself."""
    return fn


def unused(fn: F) -> F:
    """The method itself."""
    return fn


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """The function itself, as a decorator with or without arguments."""
    return drop if callable(drop) else export


def interface(obj: T) -> T:
    """The class itself."""
    return obj


def freeze(mod: T, preserved_attrs: list[str] | None = None, optimize_numerics: bool = True) -> T:
    """The module itself."""
    return mod


def optimize_for_inference(mod: T, other_methods: list[str] | None = None) -> T:
    """The module itself."""
    return mod


def annotate(the_type: Any, the_value: T) -> T:
    """The value itself."""
    return the_value


class Attribute(typing.NamedTuple):
    """A value with the type that TorchScript would give it."""

    value: Any
    type: Any


def isinstance(obj: Any, target_type: Any) -> bool:
    """Whether a value has a type; of `List[int]` only the `list` is looked at."""
    kinds = target_type if type(target_type) in (tuple, list) else (target_type,)
    return any(_is(obj, typing.get_origin(kind) or kind) for kind in kinds)


def _is(obj: Any, kind: type) -> bool:
    return issubclass(type(obj), kind)


def is_scripting() -> bool:
    """Whether the code runs in TorchScript: no."""
    return False


def is_tracing() -> bool:
    """Whether the code is being traced: no."""
    return False


class Future(Generic[T]):
    """The result of `fork`, which is there already."""

    def __init__(self, result: T) -> None:
        self._result = result

    def wait(self) -> T:
        return self._result


def fork(func: Callable[..., T], *args: Any, **kwargs: Any) -> Future[T]:
    """Call the function, now; `wait` gives its result."""
    return Future(func(*args, **kwargs))


def wait(future: Future[T]) -> T:
    """The result of `fork`."""
    return future.wait()


@contextlib.contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """Accepted: there is nothing to optimize."""
    yield


def set_fusion_strategy(strategy: list[tuple[str, int]]) -> None:
    """Accepted: nothing is fused."""


def _refuse(what: str, instead: str) -> NoReturn:
    raise RuntimeError(
        f"torch.jit.{what}: clew has no TorchScript, so there is no compiled program to {what}. "
        + instead
        + errors.at_user_line()
    )


def save(m: Any, f: Any, _extra_files: Any = None) -> NoReturn:
    """Raises: there is no compiled program."""
    _refuse("save", "Save the state dict: torch.save(model.state_dict(), path).")


def load(
    f: Any, map_location: Any = None, _extra_files: Any = None, _restore_shapes: bool = False
) -> NoReturn:
    """Raises: a compiled program cannot be run."""
    _refuse("load", "Save model.state_dict() in PyTorch and load that with torch.load.")
