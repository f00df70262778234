"""TorchScript's names. clew has no TorchScript: what would be compiled runs as the Python it is.

`script` and `trace` return what they are given, so programs compute the same; what needs a compiled
program itself (`save`, `load`, graphs) is refused with the reason.
"""

from __future__ import annotations

import contextlib
import typing
from collections.abc import Callable, Iterator
from typing import Any, Final, NoReturn, TypeVar

from clew import errors
from clew.futures import Future
from clew.nn.modules.module import Module

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

__all__ = [
    "Attribute", "CompilationUnit", "Error", "Final", "Future", "RecursiveScriptModule",
    "ScriptFunction", "ScriptModule", "ScriptWarning", "TopLevelTracedModule", "TracerWarning",
    "annotate", "export",
    "fork", "freeze", "ignore", "interface", "is_scripting", "is_tracing", "isinstance", "load",
    "optimize_for_inference", "optimized_execution", "save", "script", "script_if_tracing",
    "script_method", "set_fusion_strategy", "trace", "trace_module", "unused", "wait",
]  # fmt: skip


class Error(RuntimeError):
    """What TorchScript raises while it runs a program: for `except`.

    Example:
        >>> issubclass(clew.jit.Error, Exception)
        True
    """


class TracerWarning(Warning):
    """What PyTorch's tracer warns of: for `warnings.filterwarnings`."""

    @staticmethod
    def ignore_lib_warnings() -> None:
        """Accepted: nothing is traced, and nothing warns."""


class ScriptWarning(Warning):
    """What PyTorch's compiler of scripts warns of: for `warnings.filterwarnings`."""


class ScriptModule(Module):
    """A module as any other; `class Net(ScriptModule)` works as `class Net(nn.Module)` does.

    Example:
        >>> isinstance(clew.jit.ScriptModule(), nn.Module)
        True
    """


class RecursiveScriptModule(ScriptModule):
    """What PyTorch's `script` returns for a module: for `isinstance`; clew's is the module."""


class TopLevelTracedModule(ScriptModule):
    """What PyTorch's `trace` returns for a module: for `isinstance`; clew's is the module."""


class CompilationUnit:
    """Raises: source code of TorchScript is not compiled."""

    def __init__(self, lang: str | None = None, _frames_up: int = 0) -> None:
        _refuse("CompilationUnit", "Define the function in Python.")


class ScriptFunction:
    """For annotations: `script` of a function returns the function.

    Example:
        >>> def run(function: clew.jit.ScriptFunction) -> None:
        ...     function()
    """


def script(
    obj: T, optimize: None = None, _frames_up: int = 0, _rcb: Any = None, example_inputs: Any = None
) -> T:
    """The function, class or module itself: there is no TorchScript.

    Args:
        obj: what would be compiled
        optimize: deprecated and ignored
        example_inputs: accepted

    Example:
        >>> @clew.jit.script
        ... def double(x):
        ...     return 2 * x
        >>> double(clew.ones(2))
        tensor([2., 2.])
    """
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
    """The function or module itself; it is not called with the examples.

    Args:
        func: what would be traced
        example_inputs, example_kwarg_inputs: accepted
        optimize, check_trace, check_inputs, check_tolerance, strict: accepted

    Example:
        >>> double = clew.jit.trace(lambda x: 2 * x, clew.ones(2))
        >>> double(clew.ones(3))
        tensor([2., 2., 2.])
    """
    return func


def trace_module(mod: T, inputs: dict[str, Any], *args: Any, **kwargs: Any) -> T:
    """The module itself.

    Args:
        mod: the module
        inputs: accepted

    Example:
        >>> model = nn.Identity()
        >>> clew.jit.trace_module(model, {"forward": clew.ones(1)}) is model
        True
    """
    return mod


def script_method(fn: F) -> F:
    """The method itself."""
    return fn


def script_if_tracing(fn: F) -> F:
    """The function itself.

    Args:
        fn: the function

    Example:
        >>> @clew.jit.script_if_tracing
        ... def double(x):
        ...     return 2 * x
        >>> double(clew.ones(2))
        tensor([2., 2.])
    """
    return fn


_script_if_tracing = script_if_tracing


def _overload(func: F) -> F:
    """The function itself: it declares one of its types, and the last definition counts."""
    return func


_overload_method = _overload


def export(fn: F) -> F:
    """The method itself.

    Args:
        fn: the method

    Example:
        >>> @clew.jit.export
        ... def double(x):
        ...     return 2 * x
        >>> double(clew.ones(2))
        tensor([2., 2.])
    """
    return fn


def unused(fn: F) -> F:
    """The method itself.

    Args:
        fn: the method

    Example:
        >>> @clew.jit.unused
        ... def double(x):
        ...     return 2 * x
        >>> double(clew.ones(2))
        tensor([2., 2.])
    """
    return fn


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """The function itself, as a decorator with or without arguments.

    Args:
        drop: the function, or accepted

    Example:
        >>> @clew.jit.ignore(drop=True)
        ... def double(x):
        ...     return 2 * x
        >>> double(clew.ones(2))
        tensor([2., 2.])
    """
    return drop if callable(drop) else export


def interface(obj: T) -> T:
    """The class itself.

    Args:
        obj: the class

    Example:
        >>> @clew.jit.interface
        ... class Shape:
        ...     def area(self) -> float: ...
        >>> Shape.__name__
        'Shape'
    """
    return obj


def freeze(mod: T, preserved_attrs: list[str] | None = None, optimize_numerics: bool = True) -> T:
    """The module itself.

    Args:
        mod: the module
        preserved_attrs, optimize_numerics: accepted

    Example:
        >>> model = nn.Identity().eval()
        >>> clew.jit.freeze(model) is model
        True
    """
    return mod


def optimize_for_inference(mod: T, other_methods: list[str] | None = None) -> T:
    """The module itself.

    Args:
        mod: the module
        other_methods: accepted

    Example:
        >>> model = nn.Identity().eval()
        >>> clew.jit.optimize_for_inference(model) is model
        True
    """
    return mod


def annotate(the_type: Any, the_value: T) -> T:
    """The value itself.

    Args:
        the_type: the type that TorchScript would give it
        the_value: the value

    Example:
        >>> clew.jit.annotate(list[int], [1, 2])
        [1, 2]
    """
    return the_value


class Attribute(typing.NamedTuple):
    """A value with the type that TorchScript would give it.

    Args:
        value: the value
        type: its type

    Example:
        >>> clew.jit.Attribute(2.0, float).value
        2.0
    """

    value: Any
    type: Any


def isinstance(obj: Any, target_type: Any) -> bool:
    """Whether a value has a type; of `List[int]` only the `list` is looked at.

    Args:
        obj: the value
        target_type: a type, or several

    Example:
        >>> clew.jit.isinstance([1, 2], list[int]), clew.jit.isinstance(1, (float, str))
        (True, False)
    """
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


def fork(func: Callable[..., T], *args: Any, **kwargs: Any) -> Future[T]:
    """Call the function, now; `wait` gives its result.

    Args:
        func: the function
        args, kwargs: its arguments

    Example:
        >>> future = clew.jit.fork(clew.add, clew.ones(2), 1)
        >>> clew.jit.wait(future)
        tensor([2., 2.])
    """
    future: Future[T] = Future()
    future.set_result(func(*args, **kwargs))
    return future


def wait(future: Future[T]) -> T:
    """The result of `fork`.

    Args:
        future: what `fork` returned

    Example:
        >>> clew.jit.wait(clew.jit.fork(clew.neg, clew.ones(2)))
        tensor([-1., -1.])
    """
    return future.wait()


@contextlib.contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """Accepted: there is nothing to optimize."""
    yield


def set_fusion_strategy(strategy: list[tuple[str, int]]) -> None:
    """Accepted: nothing is fused.

    Args:
        strategy: pairs of a kind and a depth

    Example:
        >>> clew.jit.set_fusion_strategy([("STATIC", 2)])
    """


def _refuse(what: str, instead: str) -> NoReturn:
    raise RuntimeError(
        f"torch.jit.{what}: clew has no TorchScript, so there is no compiled program to {what}. "
        + instead
        + errors.at_user_line()
    )


def save(m: Any, f: Any, _extra_files: Any = None) -> NoReturn:
    """Raises: there is no compiled program. Save the state dict with `clew.save`.

    Args:
        m: a compiled module
        f: a path or a file

    Example:
        >>> clew.jit.save(nn.Identity(), "model.pt")
        Traceback (most recent call last):
        ...
        RuntimeError: torch.jit.save: clew has no TorchScript...
    """
    _refuse("save", "Save the state dict: torch.save(model.state_dict(), path).")


def load(
    f: Any, map_location: Any = None, _extra_files: Any = None, _restore_shapes: bool = False
) -> NoReturn:
    """Raises: a compiled program cannot be run. Load a state dict with `clew.load`.

    Args:
        f: a path or a file
        map_location: where its tensors would go

    Example:
        >>> clew.jit.load("model.pt")
        Traceback (most recent call last):
        ...
        RuntimeError: torch.jit.load: clew has no TorchScript...
    """
    _refuse("load", "Save model.state_dict() in PyTorch and load that with torch.load.")


def _get_trace_graph(*args: Any, **kwargs: Any) -> NoReturn:
    """Raises: programs are not traced to TorchScript's graphs."""
    raise NotImplementedError(
        "torch.jit._get_trace_graph: clew has no TorchScript graphs; torch.fx.symbolic_trace gives "
        "a graph of a module" + errors.at_user_line()
    )
