"""Parameters of functions: their names, and arguments checked against their annotations.

Annotations are read when something went wrong, or, for functions that are `typed`, when they meet
a combination of types for the first time.
"""

from __future__ import annotations

import functools
import inspect
import operator
import re
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from clew import errors
from clew.backend import dtypes
from clew.core.overrides import unseen
from clew.overloads import is_ambiguous, no_form

F = TypeVar("F", bound=Callable[..., Any])
Types = tuple[Any, ...]

# What PyTorch reads in Python, so that anything is true or false, or the name of no mode.
_UNCHECKED = {
    "antialias", "inplace", "mode", "padding_mode", "recompute_scale_factor", "reduce", "reduction",
    "return_indices", "size_average",
}  # fmt: skip
# Python's own words for a call with arguments that a function does not have, or without some.
_NO_CALL = re.compile(r"([\w.<>]+)\(\) ((missing|takes|got an unexpected|got multiple) .*)")
_LACKING = re.compile(r"missing (\d+) required positional arguments?: ('.*)")
_TOO_MANY = re.compile(r"takes (?:from (\d+) to )?(\d+) positional arguments? but (\d+) ")
# What is said of a tensor that is no integer, by the tensor and not by who asked for one.
_NO_INDEX = "only integer tensors of a single element can be converted to an index"
# Modules whose functions have longer names in messages.
_PREFIXES = {"clew.linalg": "linalg_", "clew.fft": "fft_", "clew.special": "special_"}
# Other names of arguments: NumPy's, which PyTorch takes as well, and those that PyTorch has for
# what its documentation, and so the functions here, call otherwise.
_OTHER_NAMES = {
    "axis": ("dim",), "keepdims": ("keepdim",), "x": ("input",), "a": ("input",),
    "x1": ("input",), "x2": ("other",),
    "input": ("A", "B", "b", "L"), "other": ("B",), "b": ("B",), "input2": ("L",),
    "indices": ("indices_or_sections",), "sections": ("indices_or_sections",),
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
            try:
                check_arguments(function, args, kwargs, first)
            except TypeError as error:
                explain(function, args, kwargs, error, first, called(checked))
                raise
            known.add(key)
        try:
            return function(*args, **kwargs) if kwargs else function(*args)
        except Exception as error:  # whatever it is, the call may explain it
            if unseen(*args, *kwargs.values()):
                return checked(*args, **kwargs)
            again = reread(function, args, kwargs)
            if again is not None:
                return function(*again[0], **again[1])
            explain(function, args, kwargs, error, first, called(checked))
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
            again = reread(function, args, kwargs)
            if again is not None:
                return function(*again[0], **again[1])
            explain(function, args, kwargs, error, name=called(explaining))
            raise

    return explaining  # type: ignore[return-value]  # it takes what `function` takes


def reread(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[Sequence[Any], dict[str, Any]] | None:
    """The arguments of a failed call as PyTorch reads them; None where that changes nothing.

    It reads numbers from tensors without dimensions, and knows other names of arguments. A call
    with a name or a number that the function does not know fails before anything is computed.
    """
    renamed = by_torch_names(function, kwargs)
    named = dict(kwargs) if renamed is None else renamed
    if not any(map(is_wrapped_number, (*args, *named.values()))):
        return None if renamed is None else (args, named)
    positional, _, expected = expectations(function)
    read = [_number(each, expected.get(own, ())) for each, own in zip(args, positional)]
    read += args[len(read) :]
    for own, value in named.items():
        named[own] = _number(value, expected.get(own, ()))
    values = (*read, *named.values())
    if renamed is None and all(map(operator.is_, values, (*args, *kwargs.values()))):
        return None
    return read, named


def is_wrapped_number(value: Any) -> bool:
    """Whether it is a tensor, or one of NumPy's values, that PyTorch reads a number from."""
    return getattr(value, "ndim", None) == 0 and not getattr(value, "requires_grad", False)


def _number(value: Any, options: Types) -> Any:
    """A number for a tensor, or one of NumPy's, where a function wants a number and no tensor."""
    if not is_wrapped_number(value) or any(_takes_as_it_is(value, kind) for kind in options):
        return value
    if float in options or complex in options:
        return value.item()
    return value.item() if int in options and not _has_fractions(value) else value


def _takes_as_it_is(value: Any, kind: Any) -> bool:
    return kind is Any or (isinstance(kind, type) and isinstance(value, kind))


def by_torch_names(
    function: Callable[..., Any], kwargs: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Keywords by the names that the function has; None where nothing changes."""
    if not kwargs or _OTHER_NAMES.keys().isdisjoint(kwargs):
        return None
    known = expectations(function)[2]
    names = {
        each: next((own for own in _OTHER_NAMES[each] if own in known), "")
        for each in kwargs
        if each in _OTHER_NAMES and each not in known
    }
    if not names or any(not own or own in kwargs for own in names.values()):
        return None
    return {names.get(each, each): value for each, value in kwargs.items()}


def called(function: Callable[..., Any]) -> str:
    """What messages call a public function."""
    name = function.__qualname__
    name = function.__name__ if "<locals>" in name else name.rpartition(".")[2]
    return _PREFIXES.get(function.__module__, "") + name


def explain(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    error: Exception,
    first: int = 1,
    name: str = "",
) -> None:
    """Something went wrong inside: if an argument's type was to blame, say that instead.

    `name` is what the function is called in messages, if not by its own name.
    """
    name = name or function.__name__
    problem = _problem(function, args, kwargs, error, first, name)
    if problem is None:
        return
    count = len(args) + len(kwargs) - (1 - first)
    if isinstance(problem, TypeError) and is_ambiguous(name, count, first == 1):
        text = str(problem)
        if "() received an invalid combination" not in text.partition("\n")[0]:
            raise no_form(name, args[1 - first :], kwargs, text) from None
    if problem is not error:
        raise problem from None


def _problem(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    error: Exception,
    first: int,
    name: str,
) -> Exception | None:
    """What is wrong with the arguments of a call that failed; None if they are not to blame."""
    text, _, user_line = str(error).partition("\n")
    if isinstance(error, ValueError) and text.startswith(_TOO_LARGE):
        return errors.storage_overflow(_integers((*args, *kwargs.values())))
    said = _NO_CALL.match(text) if isinstance(error, TypeError) else None
    own = (function.__name__, inspect.unwrap(function).__qualname__.rpartition(".")[2])
    try:
        if said is not None and said[1].rpartition(".")[2] in own:
            return _no_call(function, args, kwargs, said, first, name)
        # clew's own words end with the user's line; what begins with the argument names no
        # function.
        is_said = "()" in text or (user_line and not text.startswith(("argument '", _NO_INDEX)))
        if isinstance(error, TypeError) and is_said:
            own_name = f"{function.__name__}()"
            if name == function.__name__ or not text.startswith(own_name):
                return error
            return TypeError(f"{name}()" + str(error).removeprefix(own_name))
        check_arguments(function, args, kwargs, first, deep=True, called=name)
    except (TypeError, ValueError) as found:
        return found
    return None


def _no_call(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    said: re.Match[str],
    first: int,
    name: str,
) -> TypeError:
    """A call that Python refused, as PyTorch says it.

    PyTorch counts arguments first, then looks at those that it knows, and last for names that it
    does not know.
    """
    words, lacking, many = said[2], _LACKING.match(said[2]), _TOO_MANY.match(said[2])
    if lacking is not None:
        words = _missing(re.findall(r"'(\w+)'", lacking[2]))
    elif many is not None:
        least, most, given = (int(n or 0) - (1 - first) for n in many.groups())
        range_ = f"from {least} to {most}" if many[1] else str(most)
        words = (
            f"takes {range_} positional argument{'s' * (range_ != '1')} but {given} "
            f"{'was' if given == 1 else 'were'} given"
        )
    else:
        required = parameter_names(function)[0][len(args) :]
        defaults = {
            each.name
            for each in inspect.signature(function).parameters.values()
            if each.default is not each.empty
        }
        absent = [each for each in required if each not in kwargs and each not in defaults]
        if absent:
            words = _missing(absent)
        else:
            check_arguments(function, args, kwargs, first, deep=True, called=name)
    return TypeError(f"{name}() {words}" + errors.at_user_line())


def _missing(names: Sequence[str]) -> str:
    listed = ", ".join(f'"{name}"' for name in names)
    return f"missing {len(names)} required positional arguments: {listed}"


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
        if deep and int in options and _is_beyond_int64(value):
            raise ValueError("Overflow when unpacking long long" + errors.at_user_line())
        if not any(_fits(value, kind, deep) for kind in options):
            words, element = _words(options), _wrong_element(value, options)
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
    if kind is dtypes.dtype and isinstance(value, type):
        return value in dtypes.PYTHON_TYPES
    return kind is Any or not isinstance(kind, type) or isinstance(value, kind)


def _is_beyond_int64(value: Any) -> bool:
    return type(value) is int and not -(2**63) <= value < 2**63


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
    names = [kind.__name__ for kind in options if kind is not types.NoneType]
    return " or ".join("torch.dtype" if name == "dtype" else name for name in names)


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
