"""How an operation gets its public names.

`@public()` puts a function into the `clew` namespace and onto Tensor as a method. What can be
derived is derived here, once: the in-place method `name_`, the `out=` argument of the function,
PyTorch's aliases.
"""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any, TypeVar

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core import overrides
from clew.core.arguments import by_torch_names, called, explain, explained, reread, typed
from clew.core.casting import without_autocast
from clew.core.inplace import become, note_write, refuse_complex, repeats_memory
from clew.core.result_layout import empty_as
from clew.core.state import local
from clew.core.tensor import Tensor, sync, tangents_of
from clew.source import user_stacklevel

# Everything that `clew/__init__.py` makes available as `clew.<name>`.
FUNCTIONS: dict[str, Any] = {}
overrides.overridable("torch", FUNCTIONS)

# What docstrings say of the argument that every function with a tensor as its result takes.
OUT = "out: the tensor to store the result in; None makes a new one"

F = TypeVar("F", bound=Callable[..., Any])


# What a function does with `out=` before it runs: refuse it, or complete the arguments by it. It
# may return other positional arguments.
Prepare = Callable[[tuple[Any, ...], dict[str, Any], Any], tuple[Any, ...] | None]

# Refuses an `out=` that does not fit a result: the result's number, the result, the tensor given.
Accept = Callable[[int, Tensor, Tensor], None]


def public(
    *,
    name: str | None = None,
    function: bool = True,
    method: bool = True,
    inplace: bool | Prepare = False,
    out: bool | Prepare = True,
    accept: Accept | None = None,
    differentiable: bool | None = True,
    checked: bool = False,
    warns: bool = True,
    aliases: tuple[str, ...] = (),
) -> Callable[[F], F]:
    """Export a function as `clew.<name>` and `Tensor.<name>`, and what follows from it.

    `out` may be a function that looks at `out=` first, `accept` one that looks at it once there is
    a result; `inplace` may be one that looks at the arguments first. `differentiable=False` lets
    inputs with history go with `out=`; None does too, but refuses an `out` that requires grad.
    `checked` holds arguments against annotations before the function runs. `warns` says so where
    `out` loses elements because it has another shape.
    """

    def export(implementation: F) -> F:
        own_name = name or implementation.__name__
        as_function = typed(implementation) if checked else implementation
        as_method = typed(implementation, first=0) if checked else implementation
        for each in (own_name, *aliases):
            if function:
                prepare = None if isinstance(out, bool) else out
                FUNCTIONS[each] = (
                    with_out(as_function, prepare, differentiable, accept, warns)
                    if out
                    else explained(as_function)
                )
            if method:
                setattr(Tensor, each, as_method)
            if inplace:
                check = None if isinstance(inplace, bool) else inplace
                setattr(Tensor, each + "_", inplace_method(as_method, each + "_", check))
        return as_function

    return export


def methods(**named: Any) -> None:
    """Attach methods to Tensor under the given names."""
    for name, implementation in named.items():
        if name.endswith("_") and not name.startswith("_") and not implementation.__doc__:
            implementation.__doc__ = inplace_doc(name)
        setattr(Tensor, name, implementation)


def inplace_doc(name: str) -> str:
    """The docstring of the method `x.name_()`."""
    return f"In-place version of `{name.removesuffix('_')}`."


def inplace_method(
    implementation: Callable[..., Any], name: str, check: Prepare | None = None
) -> Callable[..., Tensor]:
    """The method `x.name_(...)` of a function whose result replaces its first argument.

    `check` sees the arguments, and the tensor that will be written to, before the function runs.
    """
    if hasattr(implementation, "under_name"):
        implementation = implementation.under_name(name)

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        def compute(stand_in: Tensor) -> Any:
            if check is not None:
                check((self, *args), kwargs, self)
            return implementation(stand_in, *args, **kwargs)

        try:
            return become(self, compute, name, (*args, *kwargs.values()))
        except TypeError:
            if overrides.first_met(*args, *kwargs.values()):
                return method(self, *args, **kwargs)
            raise
        except RuntimeError as error:
            # Arguments of wrong types are said before that it is a leaf.
            explain(implementation, (self, *args), kwargs, error, 0, name)
            if isinstance(error, NotImplementedError):
                refuse_complex((self, *args))
            raise

    method.__name__ = method.__qualname__ = name
    method.__doc__ = inplace_doc(name)
    return method


def with_out(
    implementation: Callable[..., Any],
    prepare: Prepare | None = None,
    differentiable: bool | None = True,
    accept: Accept | None = None,
    warns: bool = True,
) -> Callable[..., Any]:
    """The same function with an `out=` argument."""
    positional = without_names(implementation)

    @functools.wraps(implementation)
    def function(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        if out is None:
            try:
                return implementation(*args, **kwargs) if kwargs else positional(*args)
            except Exception as error:  # whatever it is, the call may explain it
                if overrides.unseen(*args, *kwargs.values()):
                    return function(*args, **kwargs)
                again = reread(implementation, args, kwargs)
                if again is not None:
                    return implementation(*again[0], **again[1])
                explain(implementation, args, kwargs, error, name=called(function))
                if differentiable and isinstance(error, (RuntimeError, IndexError)):
                    refuse_lost_history((*args, *kwargs.values()))
                raise
        kwargs = by_torch_names(implementation, kwargs) or kwargs
        name = called(function)
        refuse_history(name, args, kwargs, out, differentiable)
        if prepare is not None:
            args = prepare(args, kwargs, out) or args
        result = without_autocast(implementation, *args, **kwargs)
        is_one = isinstance(out, Tensor)
        pairs = [(result, out)] if is_one else list(zip(result, out, strict=True))
        # All of them are looked at before the first is written to.
        for number, (each, target) in enumerate(pairs):
            if accept is not None:
                accept(number, each, target)
            _refuse_out(each, target, name)
        for each, target in pairs:
            _store(each, target, warns)
            if each.requires_grad:
                target.copy_(each)
        if is_one:
            return out
        return type(result)(*out) if hasattr(result, "_fields") else tuple(out)

    function.__doc__ = out_doc(implementation.__doc__)
    return function


def out_doc(doc: str | None) -> str | None:
    """A docstring with `out` as the last of its arguments, unless it names it itself."""
    start = doc.find("Args:\n") if doc else -1
    end = doc.find("\n\n", start) if doc else -1
    if not doc or start < 0 or end < 0 or " out: " in doc[start:end]:
        return doc
    indent = doc[doc.rfind("\n", 0, start) + 1 : start]
    return f"{doc[:end]}\n{indent}    {OUT}{doc[end:]}"


def without_names(implementation: Callable[..., Any]) -> Callable[..., Any]:
    """What a call without keywords may go to at once: below a wrapper that only reads names.

    Wrappers around such a wrapper inherit its attributes, but do more than it does.
    """
    positional = getattr(implementation, "positional", None)
    wrapped: Callable[..., Any] = getattr(implementation, "__wrapped__", implementation)
    return wrapped if wrapped is positional else implementation


def refuse_lost_history(given: tuple[Any, ...]) -> None:
    """Raise for a view whose history is lost: PyTorch says so before it looks at shapes."""
    if local.state.grad_enabled:
        for value in given:
            for each in value if isinstance(value, (list, tuple)) else (value,):
                if isinstance(each, Tensor):
                    sync(each)


def refuse_history(
    name: str, args: Any, kwargs: dict[str, Any], out: Any, differentiable: bool | None = True
) -> None:
    """Raise if anything that a function with `out=` is given requires grad.

    Of a function that is not differentiable (None), it is `out` that may not.
    """
    if not local.state.grad_enabled or differentiable is False:
        return
    if differentiable is None:
        name, args, kwargs = f"aten::{name}", (), {}
    given: list[Any] = [out]
    for value in (*args, *kwargs.values(), out):
        given.extend(value if isinstance(value, (list, tuple)) else [value])
    if any(isinstance(v, Tensor) and v.requires_grad for v in given):
        raise RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, "
            "but one of the arguments requires grad." + errors.at_user_line()
        )


def deliver(result: Tensor, out: Tensor, function: str, warns: bool = True) -> Tensor:
    """Store a result in the tensor that the caller gave a function as `out=`.

    `warns`: of an `out` whose elements are lost because it has another shape.
    """
    _refuse_out(result, out, function)
    _store(result, out, warns)
    return out


def _refuse_out(result: Tensor, out: Tensor, function: str) -> None:
    """Raise where a result cannot be stored in `out`."""
    for tensor in (result, out):
        if tensor._is_lifted:
            raise tensor.no_out_variant(function)
    if local.state.intercept is not None and (tangents_of(result) or tangents_of(out)):
        raise NotImplementedError(
            "Trying to use forward AD with a function that does not support it because it is an "
            "out= function" + errors.at_user_line()
        )
    if local.state.mutation_guard is not None:
        local.state.mutation_guard.before_write(out)
    if repeats_memory(out._array) and out._array.shape == result._array.shape:
        raise errors.overlapping_write()
    have, want = result.dtype, out.dtype
    if not dtypes.can_cast(have, want):
        raise errors.in_place_dtype(have.scalar_name, want.scalar_name)


def _store(result: Tensor, out: Tensor, warns: bool = True) -> None:
    if out._array.shape != result._array.shape:
        if warns and out._array.size:
            warnings.warn(
                f"An output with one or more elements was resized since it had shape "
                f"{errors.shape_list(out._array.shape)}, which does not match the required output "
                f"shape {errors.shape_list(result._array.shape)}. This behavior is deprecated, and "
                "in a future PyTorch release outputs will not be resized unless they have zero "
                "elements. You can explicitly reuse an out tensor t by resizing it, inplace, to "
                "zero elements with t.resize_(0).",
                stacklevel=user_stacklevel(),
            )
        # In the result's order, in the memory that `out` has: who else lies there sees it.
        made = empty_as(result._array, out._array.dtype)
        out._reshape_memory(made.shape, tuple(step // made.itemsize for step in made.strides))
    version = out._storage.version
    np.copyto(out._array, result._array, casting="unsafe")
    note_write(out, "out=")
    if local.state.intercept is not None:
        local.state.intercept.stored(out, result, version)


def under_own_names(namespace: Mapping[str, Any]) -> dict[str, Any]:
    """A namespace's functions by their public names, each of which is in its `__name__`.

    An alias becomes a function of its own, as PyTorch's are. Private names and operators stay.
    """
    renamed: dict[str, Any] = {}
    for name, value in namespace.items():
        if type(value) is not FunctionType or value.__name__ == name or name.startswith("_"):
            continue
        if namespace.get(value.__name__) is value or value in renamed.values():
            value = _copied(value)
        value.__name__ = name
        renamed[name] = value
    return renamed


def _copied(function: FunctionType) -> FunctionType:
    copied = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__,
        function.__closure__,
    )  # fmt: skip
    copied.__kwdefaults__ = function.__kwdefaults__
    functools.update_wrapper(copied, function)
    if not hasattr(function, "__wrapped__"):
        del copied.__wrapped__  # type: ignore[attr-defined]  # update_wrapper has set it
    return copied


def findable(namespace: dict[str, Any]) -> None:
    """Let pickles find functions in a public module, those that are in no other by their names."""
    for name, value in namespace.items():
        if name.startswith("_") or not isinstance(value, FunctionType):
            continue
        home = sys.modules.get(value.__module__)
        if home is None or vars(home).get(value.__qualname__) is not value:
            value.__module__, value.__qualname__ = namespace["__name__"], name
