"""Schemas of operations: `scale(Tensor x, float k, *, int? n=None) -> Tensor`, read and inferred.

Arguments of a call are bound by the schema and checked against its types, with PyTorch's errors.
"""

from __future__ import annotations

import ast
import collections.abc
import functools
import inspect
import operator
import re
import types
import typing
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from clew import errors
from clew.backend.device import device
from clew.backend.dtypes import ALL_DTYPES, dtype
from clew.core.tensor import Tensor

_HEAD = re.compile(r"\s*(?:(\w+)::)?(\w+)?(?:\.(\w+))?\s*\(", re.ASCII)
_TYPE = re.compile(r"\s*([\w.]+)(\((\w+)(!)?[^)]*\))?((?:\[\d*\]|\?)*)", re.ASCII)
# Types for which a tensor of one element is given as its number.
_NUMBERS = frozenset({"float", "int", "SymInt", "Scalar"})
# What a value of a type may be.
_PYTHON: dict[str, tuple[type, ...]] = {
    "Tensor": (Tensor,),
    "int": (int,),
    "SymInt": (int,),
    "float": (int, float),
    "bool": (bool,),
    "str": (str,),
    "Scalar": (int, float, bool, complex),
    "ScalarType": (dtype, int),
    "Device": (device, str),
    "complex": (int, float, complex),
}


@dataclass
class Argument:
    """One argument, or one result, of an operation."""

    name: str
    type: str
    default_value: Any = None
    has_default: bool = False
    kwarg_only: bool = False
    is_write: bool = False
    alias_set: str | None = None

    def has_default_value(self) -> bool:
        """Whether a call may leave it out."""
        return self.has_default

    @property
    def alias_info(self) -> Argument | None:
        """What is known about memory that it shares; its `is_write` says whether it is written."""
        return self if self.alias_set is not None else None

    def __str__(self) -> str:
        mark = f"({self.alias_set}{'!' if self.is_write else ''})" if self.alias_set else ""
        base = re.split(r"[\[?]", self.type)[0]
        suffix = self.type[len(base) :]
        text = f"{base}{mark}{suffix}" + (f" {self.name}" if self.name else "")
        return text + (f"={_default_text(self.default_value)}" if self.has_default else "")


def _default_text(value: Any) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, float):
        return str(value).removesuffix("0") if value.is_integer() else str(value)
    if isinstance(value, dtype):
        return str(_scalar_types().index(value))
    if isinstance(value, device):
        return f'"{value}"'
    return str(value)


def _scalar_types() -> list[Any]:
    """Data types in the order of PyTorch's numbers for them."""
    order = [
        "uint8",
        "int8",
        "int16",
        "int32",
        "int64",
        "float16",
        "float32",
        "float64",
        "complex32",
        "complex64",
        "complex128",
        "bool",
        "qint8",
        "quint8",
        "qint32",
        "bfloat16",
    ]
    by_name = {each.name: each for each in ALL_DTYPES}
    return [by_name.get(name) for name in order]


@dataclass
class FunctionSchema:
    """The name, the arguments and the results of an operation."""

    name: str
    overload_name: str
    arguments: list[Argument]
    returns: list[Argument]
    text: str = field(default="", compare=False)

    @property
    def is_mutable(self) -> bool:
        """Whether an argument is written to."""
        return any(each.is_write for each in self.arguments)

    def __str__(self) -> str:
        parts: list[str] = []
        star = False
        for each in self.arguments:
            if each.kwarg_only and not star:
                parts.append("*")
                star = True
            parts.append(str(each))
        results = ", ".join(map(str, self.returns))
        if len(self.returns) != 1 or self.returns[0].name:
            results = f"({results})"
        overload = f".{self.overload_name}" if self.overload_name else ""
        return f"{self.name}{overload}({', '.join(parts)}) -> {results}"

    def accepts(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether a call has these arguments."""
        try:
            self.bind(args, kwargs)
        except RuntimeError:
            return False
        return True

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], Any]:
        """The values of all arguments: by position, and those that are keyword-only."""
        positional = [each for each in self.arguments if not each.kwarg_only]
        if len(args) > len(positional):
            raise RuntimeError(
                f"{self.name}() expected at most {len(positional)} argument(s) but received "
                f"{len(args)} argument(s). Declaration: {self}" + errors.at_user_line()
            )
        unknown = set(kwargs) - {each.name for each in self.arguments}
        if unknown:
            raise RuntimeError(
                f"Unknown keyword argument '{sorted(unknown)[0]}' for operator '{self.name}'. "
                f"Schema: {self}" + errors.at_user_line()
            )
        values: list[Any] = []
        named: dict[str, Any] = {}
        for place, each in enumerate(self.arguments):
            if not each.kwarg_only and place < len(args):
                value = args[place]
            elif each.name in kwargs:
                value = kwargs[each.name]
            elif each.has_default:
                value = each.default_value
            else:
                raise RuntimeError(
                    f"{self.name}() is missing value for argument '{each.name}'. "
                    f"Declaration: {self}" + errors.at_user_line()
                )
            self._check(place, each, value)
            if isinstance(value, Tensor) and each.type.rstrip("?") in _NUMBERS:
                value = value.item()
            if each.kwarg_only:
                named[each.name] = value
            else:
                values.append(value)
        return values, named

    def _check(self, place: int, argument: Argument, value: Any) -> None:
        if not has_type(value, argument.type):
            kind = argument.type.replace("SymInt", "int")
            raise RuntimeError(
                f"{self.name}() Expected a value of type '{_long_type(kind)}' for argument "
                f"'{argument.name}' but instead found type '{type(value).__name__}'.\n"
                f"Position: {place}\nValue: {value!r}\nDeclaration: {self}" + errors.at_user_line()
            )


def _long_type(kind: str) -> str:
    """A type in the words of an error: `List[int]`."""
    if kind.endswith("?"):
        return f"Optional[{_long_type(kind[:-1])}]"
    if kind.endswith("]"):
        return f"List[{_long_type(kind[: kind.rindex('[')])}]"
    return kind


def has_type(value: Any, kind: str) -> bool:
    """Whether a value may be given for an argument of a type."""
    if kind.endswith("?"):
        return value is None or has_type(value, kind[:-1])
    if kind.endswith("]"):
        element = kind[: kind.rindex("[")]
        if isinstance(value, (list, tuple)):
            return all([has_type(each, element) for each in value])
        # A single number stands for a list of a given length.
        return kind[-2] != "[" and element != "Tensor" and has_type(value, element)
    wanted = _PYTHON.get(kind)
    if wanted is None:
        return True
    if isinstance(value, Tensor) and value.numel() == 1 and kind in _NUMBERS:
        return True
    return isinstance(value, wanted) and not (isinstance(value, bool) and kind == "str")


# -- reading ---------------------------------------------------------------------------------------


def parse(text: str) -> FunctionSchema:
    """A schema from its text, with or without a name."""
    head = _HEAD.match(text)
    arrow = text.rfind("->")
    if head is None or arrow < 0:
        raise RuntimeError(
            f"expected a schema such as 'name(Tensor x, int k=1) -> Tensor', but got {text!r}"
            + errors.at_user_line()
        )
    library, name, overload = head.groups()
    close = text.rindex(")", 0, arrow)
    arguments: list[Argument] = []
    keyword_only = False
    for part in _split(text[head.end() : close]):
        if part == "*":
            keyword_only = True
        else:
            arguments.append(_argument(part, keyword_only))
    results = text[arrow + 2 :].strip()
    if results.startswith("("):
        results = results[1 : results.rindex(")")]
    qualified = f"{library}::{name}" if library else name or ""
    returns = [_argument(part, False) for part in _split(results)]
    return FunctionSchema(qualified, overload or "", arguments, returns, text)


def _split(text: str) -> Iterable[str]:
    """The parts between commas that are not inside brackets or quotes."""
    depth, quote, start = 0, "", 0
    for place, each in enumerate(text):
        if quote:
            quote = "" if each == quote else quote
        elif each in "\"'":
            quote = each
        elif each in "([":
            depth += 1
        elif each in ")]":
            depth -= 1
        elif each == "," and not depth:
            yield text[start:place].strip()
            start = place + 1
    if text[start:].strip():
        yield text[start:].strip()


def _argument(text: str, keyword_only: bool) -> Argument:
    declaration, equals, default = text.partition("=")
    found = _TYPE.match(declaration)
    if found is None:
        raise RuntimeError(f"{text!r} is not an argument of a schema" + errors.at_user_line())
    kind, _, alias, write, suffix = found.groups()
    name = declaration[found.end() :].strip()
    return Argument(
        name,
        kind + suffix,
        _default(default.strip()) if equals else None,
        bool(equals),
        keyword_only,
        bool(write),
        alias,
    )


def _default(text: str) -> Any:
    words = {"None": None, "True": True, "False": False, "true": True, "false": False}
    if text in words:
        return words[text]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        # A word, such as `long` or `Mean`, that PyTorch reads as a number of its own.
        return text


# -- from annotations ------------------------------------------------------------------------------

_NAMES: dict[Any, str] = {
    Tensor: "Tensor",
    int: "SymInt",
    float: "float",
    bool: "bool",
    str: "str",
    dtype: "ScalarType",
    device: "Device",
    int | float | bool: "Scalar",
    int | float | complex | bool: "Scalar",
}


def infer_schema(
    prototype_function: Callable[..., Any],
    /,
    *,
    mutates_args: Any,
    op_name: str | None = None,
) -> str:
    """The schema of a function, from the annotations of its arguments and its result.

    Args:
        prototype_function: the function
        mutates_args: the names of the arguments that it writes to, or "unknown"
        op_name: the name to begin the schema with

    Example:
        >>> def scale(x: clew.Tensor, k: float = 2.0) -> clew.Tensor:
        ...     return x * k
        >>> clew.library.infer_schema(scale, mutates_args=())
        '(Tensor x, float k=2.) -> Tensor'
    """
    signature = inspect.signature(prototype_function)
    hints = typing.get_type_hints(prototype_function)
    unknown = mutates_args == "unknown"
    arguments: list[Argument] = []
    for place, each in enumerate(signature.parameters.values()):
        if each.kind not in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY):
            raise ValueError(
                "infer_schema(func): We do not support positional-only args, varargs, or varkwargs."
                + errors.at_user_line()
            )
        if each.name not in hints:
            raise ValueError(
                f"infer_schema(func): Parameter {each.name} must have a type annotation. Got func "
                f"with signature {signature})" + errors.at_user_line()
            )
        kind = _kind_of(hints[each.name], each.name, signature)
        writes = kind.startswith("Tensor") if unknown else each.name in mutates_args
        arguments.append(
            Argument(
                each.name,
                kind,
                None if each.default is each.empty else each.default,
                each.default is not each.empty,
                each.kind is each.KEYWORD_ONLY,
                writes,
                f"a{place}" if writes else None,
            )
        )
    if not unknown:
        for name in mutates_args:
            if name not in signature.parameters:
                raise ValueError(
                    f"infer_schema(func): {name!r} in mutates_args were not found in the custom "
                    f"op's signature. names that were found: {list(signature.parameters)}"
                    + errors.at_user_line()
                )
    if signature.return_annotation is inspect.Signature.empty:
        raise ValueError(
            f"infer_schema(func): No return type annotation was provided. Got func with signature "
            f"{signature}" + errors.at_user_line()
        )
    schema = FunctionSchema(op_name or "", "", arguments, _returns(hints["return"], signature))
    return str(schema)


def _kind_of(hint: Any, name: str, signature: inspect.Signature) -> str:
    """The name that schemas have for a type."""
    if hint in _NAMES:
        return _NAMES[hint]
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        others = [each for each in inner if each is not type(None)]
        if len(others) < len(inner):
            rest = others[0] if len(others) == 1 else functools.reduce(operator.or_, others)
            return _kind_of(rest, name, signature) + "?"
        if set(others) <= {int, float, bool, complex}:
            return "Scalar"
    if origin in (list, collections.abc.Sequence) and len(inner) == 1:
        return _kind_of(inner[0], name, signature) + "[]"
    if origin is tuple and inner:
        kinds = {each for each in inner if each is not Ellipsis}
        if len(kinds) == 1:
            return f"{_kind_of(kinds.pop(), name, signature)}[]"
    raise ValueError(
        f"infer_schema(func): Parameter {name} has unsupported type {hint}. The valid types are: "
        f"{list(map(str, _NAMES))}, lists and optionals of them. Got func with signature "
        f"{signature})" + errors.at_user_line()
    )


def _returns(hint: Any, signature: inspect.Signature) -> list[Argument]:
    if hint is None or hint is type(None):
        return []
    kinds = typing.get_args(hint) if typing.get_origin(hint) is tuple else (hint,)
    return [Argument("", _kind_of(each, "return", signature)) for each in kinds]
