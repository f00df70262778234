"""How an operation gets its public names.

`@public()` puts a function into the `clew` namespace and onto Tensor as a method. What can be
derived is derived here, once: the in-place method `name_`, the `out=` argument of the function,
PyTorch's aliases.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.casting import without_autocast
from clew.core.inplace import become, bump_version, repeats_memory
from clew.core.state import local
from clew.core.tensor import Tensor

# Everything that `clew/__init__.py` makes available as `clew.<name>`.
FUNCTIONS: dict[str, Any] = {}

F = TypeVar("F", bound=Callable[..., Any])


def public(
    *,
    name: str | None = None,
    function: bool = True,
    method: bool = True,
    inplace: bool = False,
    out: bool = True,
    aliases: tuple[str, ...] = (),
) -> Callable[[F], F]:
    """Export a function as `clew.<name>` and `Tensor.<name>`, and what follows from it."""

    def export(implementation: F) -> F:
        own_name = name or implementation.__name__
        for each in (own_name, *aliases):
            if function:
                FUNCTIONS[each] = with_out(implementation) if out else without_out(implementation)
            if method:
                setattr(Tensor, each, implementation)
            if inplace:
                setattr(Tensor, each + "_", inplace_method(implementation, each + "_"))
        return implementation

    return export


def methods(**named: Any) -> None:
    """Attach methods to Tensor under the given names."""
    for name, implementation in named.items():
        setattr(Tensor, name, implementation)


def inplace_method(implementation: Callable[..., Any], name: str) -> Callable[..., Tensor]:
    """The method `x.name_(...)` of a function whose result replaces its first argument."""

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return become(self, lambda stand_in: implementation(stand_in, *args, **kwargs), name)

    method.__name__ = method.__qualname__ = name
    return method


def with_out(implementation: Callable[..., Any]) -> Callable[..., Any]:
    """The same function with an `out=` argument."""
    positional = without_names(implementation)

    @functools.wraps(implementation)
    def function(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        if out is None:
            try:
                return implementation(*args, **kwargs) if kwargs else positional(*args)
            except AttributeError as error:
                refuse_non_tensor(implementation, args, error)
                raise
        refuse_history(args, kwargs, out)
        result = without_autocast(implementation, *args, **kwargs)
        if isinstance(out, Tensor):
            return deliver(result, out)
        for each, target in zip(result, out, strict=True):
            deliver(each, target)
        return type(result)(*out) if hasattr(result, "_fields") else tuple(out)

    return function


def without_out(implementation: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, which names an argument that should have been a tensor."""

    @functools.wraps(implementation)
    def function(*args: Any, **kwargs: Any) -> Any:
        try:
            return implementation(*args, **kwargs)
        except AttributeError as error:
            refuse_non_tensor(implementation, args, error)
            raise

    return function


def without_names(implementation: Callable[..., Any]) -> Callable[..., Any]:
    """What a call without keywords may go to at once: below a wrapper that only reads names.

    Wrappers around such a wrapper inherit its attributes, but do more than it does.
    """
    positional = getattr(implementation, "positional", None)
    wrapped: Callable[..., Any] = getattr(implementation, "__wrapped__", implementation)
    return wrapped if wrapped is positional else implementation


def refuse_non_tensor(
    implementation: Callable[..., Any], args: tuple[Any, ...], error: AttributeError
) -> None:
    """Something else was used as if it were a tensor: if it was given, say so as PyTorch does."""
    if error.name is None or not hasattr(Tensor, error.name):
        return
    for position, value in enumerate(args):
        if value is error.obj and not isinstance(value, Tensor):
            names = list(inspect.signature(implementation).parameters)
            name = names[min(position, len(names) - 1)]
            raise errors.wrong_argument(
                implementation.__name__, name, position + 1, "Tensor", value
            ) from None


def refuse_history(args: Any, kwargs: dict[str, Any], out: Any) -> None:
    if not local.state.grad_enabled:
        return
    given: list[Any] = [out]
    for value in (*args, *kwargs.values(), out):
        given.extend(value if isinstance(value, (list, tuple)) else [value])
    if any(isinstance(v, Tensor) and v.requires_grad for v in given):
        raise RuntimeError(
            "functions with out=... arguments don't support automatic differentiation, but one of "
            "the arguments requires grad." + errors.at_user_line()
        )


def deliver(result: Tensor, out: Tensor) -> Tensor:
    """Store a result in the tensor that the caller gave as `out=`."""
    have, want = result.dtype, out.dtype
    if not dtypes.can_cast(have, want):
        raise errors.in_place_dtype(have.scalar_name, want.scalar_name)
    if repeats_memory(out._array):
        raise errors.overlapping_write()
    if out._array.shape != result._array.shape:
        if out._array.size:
            warnings.warn(
                f"An output with one or more elements was resized since it had shape "
                f"{errors.shape_list(out._array.shape)}, which does not match the required output "
                f"shape {errors.shape_list(result._array.shape)}.",
                stacklevel=4,
            )
        out._array = np.empty(result._array.shape, out._array.dtype)
    np.copyto(out._array, result._array, casting="unsafe")
    bump_version(out, "out=")
    return out
