"""Parameters of functions: their names, and arguments checked against their annotations.

Annotations are read when something went wrong, or, for functions that are `typed`, when they meet
a combination of types for the first time.
"""

from __future__ import annotations

import functools
import inspect
import re
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from clew import errors
from clew.core.overrides import unseen

F = TypeVar("F", bound=Callable[..., Any])
Types = tuple[Any, ...]

# What PyTorch reads in Python, so that anything is true or false, or the name of no mode.
_UNCHECKED = {
    "antialias", "inplace", "mode", "padding_mode", "recompute_scale_factor", "reduce", "reduction",
    "return_indices", "size_average",
}  # fmt: skip
# Of these PyTorch has a form for each type of the argument, and says that none fits.
_OVERLOADED = {"hsplit", "vsplit", "dsplit"}
# Python's own words for a call without an argument that it needs.
_LACKING = re.compile(r"([\w.]+)\(\) missing (\d+) required positional arguments?: ('.*)")
# NumPy's names of arguments, which PyTorch takes as well.
NUMPY_NAMES = {
    "axis": "dim", "keepdims": "keepdim", "x": "input", "a": "input", "x1": "input", "x2": "other",
}  # fmt: skip
# NumPy's words for an array that no address space holds.
_TOO_LARGE = ("array is too big", "Maximum allowed dimension exceeded")
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def typed(function: F, first: int = 1) -> F:
    """The same function, which refuses arguments of types that its annotations exclude.

    `first` is the number of the first argument in messages: 0 for methods, where PyTorch does not
    count `self`. It costs a look into a set of combinations of types: it is for functions that do
    more than that.
    """
    known: set[Types] = set()

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        key = (*map(type, args), *kwargs, *map(type, kwargs.values()))
        if key not in known:
            if unseen(*args, *kwargs.values()):
                return checked(*args, **kwargs)
            check_arguments(function, args, kwargs, first)
            known.add(key)
        try:
            return function(*args, **kwargs) if kwargs else function(*args)
        except Exception as error:  # whatever it is, the call may explain it
            if unseen(*args, *kwargs.values()):
                return checked(*args, **kwargs)
            renamed = by_torch_names(function, kwargs)
            if renamed is not None:
                return function(*args, **renamed)
            explain(function, args, kwargs, error, first)
            raise

    return checked  # type: ignore[return-value]  # it takes what `function` takes


def explained(function: F) -> F:
    """The same function, which names an argument of a wrong type when that made it fail.

    It costs less than `typed`, and notices less: what nobody asks the type of goes through.
    """

    @functools.wraps(function)
    def explaining(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception as error:  # whatever it is, the call may explain it
            if unseen(*args, *kwargs.values()):
                return explaining(*args, **kwargs)
            renamed = by_torch_names(function, kwargs)
            if renamed is not None:
                return function(*args, **renamed)
            explain(function, args, kwargs, error)
            raise

    return explaining  # type: ignore[return-value]  # it takes what `function` takes


def by_torch_names(
    function: Callable[..., Any], kwargs: Mapping[str, Any]
) -> dict[str, Any] | None:
    """A failed call's keywords with PyTorch's names for NumPy's; None where that changes nothing.

    A call with a name that the function does not have fails before the function runs.
    """
    if not kwargs or NUMPY_NAMES.keys().isdisjoint(kwargs):
        return None
    known = expectations(function)[2]
    names = {
        each: NUMPY_NAMES[each] for each in kwargs if each in NUMPY_NAMES and each not in known
    }
    if not names or any(name not in known or name in kwargs for name in names.values()):
        return None
    return {names.get(each, each): value for each, value in kwargs.items()}


def explain(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    error: Exception,
    first: int = 1,
    name: str = "",
) -> None:
    """Something went wrong inside: if an argument's type was to blame, say that instead."""
    text, _, user_line = str(error).partition("\n")
    lacking = _LACKING.match(text) if isinstance(error, TypeError) else None
    if lacking is not None and lacking[1].rpartition(".")[2] == function.__name__:
        names = ", ".join(f'"{name}"' for name in re.findall(r"'(\w+)'", lacking[3]))
        raise TypeError(
            f"{function.__name__}() missing {lacking[2]} required positional arguments: {names}"
            + errors.at_user_line()
        ) from None
    if isinstance(error, ValueError) and text.startswith(_TOO_LARGE):
        raise errors.storage_overflow(_integers((*args, *kwargs.values()))) from None
    # clew's own words end with the user's line; what begins with the argument names no function.
    is_said = "()" in text or (user_line and not text.startswith("argument '"))
    if not (isinstance(error, TypeError) and is_said):
        check_arguments(function, args, kwargs, first, deep=True, called=name)


def _integers(values: Sequence[Any]) -> list[int]:
    """The sizes among the arguments of a function that makes a tensor."""
    found: list[int] = []
    for value in values:
        each = value if isinstance(value, (list, tuple)) else (value,)
        found += [n for n in each if isinstance(n, int)]
    return found


def check_arguments(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    first: int = 1,
    deep: bool = False,
    called: str = "",
) -> None:
    """Raise PyTorch's TypeError for an argument of a type that its annotation excludes.

    With `deep`, also for the elements of lists and tuples. `called` is what the function is called
    in the message, if not by its name.
    """
    positional, rest, expected = expectations(function)
    given: list[tuple[str, Any, int | None]] = [
        (name, value, position + first)
        for position, (name, value) in enumerate(zip(positional, args, strict=False))
    ]
    if rest:
        given += [
            (rest, value, position + first)
            for position, value in enumerate(args)
            if position >= len(positional)
        ]
    given += [(name, value, None) for name, value in kwargs.items() if name in expected]
    for name, value, position in given:
        options = expected[name]
        if not any(_fits(value, kind, deep) for kind in options):
            words, element = _words(options), _wrong_element(value, options)
            if function.__name__ in _OVERLOADED:
                given_args = (*args, *kwargs.values())
                raise errors.no_overload(
                    function.__name__, given_args, f"'{name}' to be int or {words}"
                ) from None
            raise errors.wrong_argument(
                called or function.__name__, name, position, words, value, element
            ) from None


@functools.cache
def expectations(function: Callable[..., Any]) -> tuple[list[str], str, dict[str, Types]]:
    """The names of positional parameters, that of the rest (`*tensors`), and all their types."""
    hints = typing.get_type_hints(function)
    positional, rest, expected = [], "", {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in _POSITIONAL:
            positional.append(name)
        if parameter.kind is parameter.VAR_POSITIONAL:
            rest = name
        expected[name] = _options(name, hints.get(name, Any))
    return positional, rest, expected


def _options(name: str, hint: Any) -> Types:
    union = typing.get_origin(hint) in (typing.Union, types.UnionType)
    options = typing.get_args(hint) if union else (hint,)
    return (Any,) if name in _UNCHECKED else options


def _is_list(kind: Any) -> bool:
    return typing.get_origin(kind) in (tuple, list, Sequence)


def is_real(value: Any) -> bool:
    """Whether PyTorch reads a float from it."""
    return _fits(value, float, deep=True)


def _fits(value: Any, kind: Any, deep: bool) -> bool:
    if kind is int:
        # What counts as an integer, NumPy's and tensors too; PyTorch takes no bool for one.
        is_integer = hasattr(type(value), "__index__") and not isinstance(value, bool)
        return is_integer and not (deep and (_is_no_number(value) or _has_fractions(value)))
    if kind is float:
        return hasattr(type(value), "__float__") and not (deep and _is_no_number(value))
    if kind is complex:
        return isinstance(value, complex) or _fits(value, float, deep)
    if _is_list(kind):
        element = typing.get_args(kind)[0]
        return isinstance(value, (tuple, list)) and not (
            deep and any(not _fits(each, element, deep) for each in value)
        )
    return kind is Any or not isinstance(kind, type) or isinstance(value, kind)


def _is_no_number(value: Any) -> bool:
    """Whether this is a tensor or an array that PyTorch does not read a number from."""
    return getattr(value, "requires_grad", False) or getattr(value, "ndim", 0) > 0


def _has_fractions(value: Any) -> bool:
    """Whether this is a tensor of another kind than integers."""
    return getattr(getattr(value, "dtype", None), "is_floating_point", False) is True


def _wrong_element(value: Any, options: Types) -> int:
    """The first element of a list that should not be there; -1 where the list itself is wrong."""
    for kind in options:
        if _is_list(kind) and isinstance(value, (tuple, list)):
            element = typing.get_args(kind)[0]
            wrong = (n for n, each in enumerate(value) if not _fits(each, element, True))
            return next(wrong, -1)
    return -1


def _words(options: Types) -> str:
    """What an argument must be, as PyTorch names it."""
    for kind in options:
        if _is_list(kind):
            return f"tuple of {typing.get_args(kind)[0].__name__}s"
    if complex in options:
        return "Number"
    return " or ".join(kind.__name__ for kind in options if kind is not types.NoneType)


def parameter_names(function: Callable[..., Any]) -> tuple[tuple[str, ...], tuple[str, ...], bool]:
    """Positional names, keyword-only names, and whether more positions may follow.

    For a plain function they are in its code object: hundreds of definitions are read at import,
    and `inspect` takes its time.
    """
    if type(function) is functools.partial:
        return _partial_parameter_names(function)
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    if type(function) is not types.FunctionType or function.__dict__:
        parameters = inspect.signature(function).parameters.values()
        return (
            tuple(p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD),
            tuple(p.name for p in parameters if p.kind is p.KEYWORD_ONLY),
            any(p.kind is p.VAR_POSITIONAL for p in parameters),
        )
    code = function.__code__
    names, count = code.co_varnames, code.co_argcount
    last = count + code.co_kwonlyargcount
    return names[:count], names[count:last], bool(code.co_flags & inspect.CO_VARARGS)


def _partial_parameter_names(function: functools.partial[Any]) -> Any:
    """The same for a partial: parameters from the first keyword on are keyword-only."""
    positional, keyword_only, is_open = parameter_names(function.func)
    positional = positional[len(function.args) :]
    for place, name in enumerate(positional):
        if name in function.keywords:
            return positional[:place], (*positional[place:], *keyword_only), is_open
    return positional, keyword_only, is_open
