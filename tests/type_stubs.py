"""The types of what is attached at run time: methods of `Tensor`, functions of operations.

`python -m tests.type_stubs` writes `clew/core/tensor_methods.pyi`, `clew/core/functions.pyi` and
`clew/nn/functional.pyi` from the signatures of the running library, so that editors complete
`clew.relu`, `x.sum` and `F.gelu`.
"""

from __future__ import annotations

import ast
import builtins
import collections.abc
import inspect
import sys
import types
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import clew
from clew.core import tensor as tensor_module
from clew.core.public import FUNCTIONS
from clew.core.tensor import Tensor

CORE = Path(clew.__file__).parent / "core"
METHODS_FILE, FUNCTIONS_FILE = CORE / "tensor_methods.pyi", CORE / "functions.pyi"
FUNCTIONAL_FILE = CORE.parent / "nn" / "functional.pyi"


class Types:
    """Types as text, and the imports that the text needs."""

    def __init__(self) -> None:
        self.imports: set[str] = set()

    def text(self, kind: Any) -> str:
        """A type as an annotation; `Any` where it cannot be written."""
        if kind is None or kind is type(None):
            return "None"
        if kind is ...:
            return "..."
        origin, arguments = typing.get_origin(kind), typing.get_args(kind)
        if origin in (typing.Union, types.UnionType):
            return " | ".join(dict.fromkeys(self.text(each) for each in arguments))
        if origin is typing.Literal:
            self.imports.add("from typing import Literal as _Literal")
            return f"_Literal[{', '.join(map(repr, arguments))}]"
        if origin is collections.abc.Callable:
            self.imports.add("from collections.abc import Callable as _Callable")
            parameters = "..." if arguments[0] is ... else self._list(arguments[0])
            return f"_Callable[{parameters}, {self.text(arguments[1])}]"
        if origin is not None and isinstance(origin, type):
            return f"{self._name(origin)}[{', '.join(self.text(each) for each in arguments)}]"
        if isinstance(kind, type):
            return self._name(kind)
        return "_Any"

    def _list(self, kinds: Any) -> str:
        return f"[{', '.join(self.text(each) for each in kinds)}]"

    def _name(self, kind: type) -> str:
        name = kind.__name__
        if kind.__module__ == "builtins":
            # Functions of the same names stand beside these types.
            self.imports.add("import builtins as _builtins")
            return f"_builtins.{name}"
        if "." in kind.__qualname__ or getattr(builtins, name, None) is not None:
            return "_Any"
        module = kind.__module__
        if name == "Generator":
            # Generators of the library need not be the public class.
            self.imports.add("from clew.backend.mt19937 import Generator as _Stream")
            self.imports.add(f"from {module} import Generator as _Generator")
            return "_Generator | _Stream"
        if kind is not Any:
            self.imports.add(f"from {module} import {name} as _{name}")
        return f"_{name}"


def hints_of(function: Any) -> dict[str, Any]:
    """The annotations of a function, evaluated; none where a name is for type checkers only."""
    try:
        return typing.get_type_hints(inspect.unwrap(function))
    except (NameError, TypeError):
        return {}


def default_text(value: Any) -> str:
    """A default, where it is short enough to be of use."""
    plain = value is None or isinstance(value, (bool, int, str))
    short = isinstance(value, float) and value == value and abs(value) != float("inf")
    return repr(value) if plain or short else "..."


def signature_text(
    name: str, function: Any, kinds: Types, *, method: bool, extra: str = ""
) -> str | None:
    """`name(self, dim: int = 0) -> Tensor`; None of what has no signature."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return None
    hints = hints_of(function)
    parts: list[str] = []
    star = False
    parameters = list(signature.parameters.values())
    for place, each in enumerate(parameters):
        if method and place == 0:
            parts.append("self")
            continue
        if each.name == "old" and each.kind is each.VAR_POSITIONAL:
            # The older form of a call, which is deprecated.
            continue
        if each.kind is each.VAR_POSITIONAL:
            star = True
        elif each.kind is each.KEYWORD_ONLY and not star:
            parts.append("*")
            star = True
        mark = {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}.get(each.kind, "")
        kind = kinds.text(hints.get(each.name, Any))
        # Tests pass numbers and arrays where a float or a tensor is annotated.
        default = "" if each.default is each.empty else f" = {default_text(each.default)}"
        parts.append(f"{mark}{each.name}: {kind}{default}")
    if extra and not any(p.kind is p.VAR_KEYWORD for p in parameters):
        parts += [] if star else ["*"]
        parts.append(extra)
    # As in PyTorch's own stubs, numbers of tensors are not said to be complex.
    result = kinds.text(hints.get("return", Any)).replace(" | _builtins.complex", "")
    if result.startswith("_Tensor | _"):
        # Which of both it is depends on the arguments.
        result = "_Any"
    if name in ELEMENTWISE:
        result = "_Tensor"
    return f"{name}({', '.join(parts)}) -> {result}"


def first_line(function: Any) -> str:
    """The first sentence of a docstring."""
    line = (inspect.getdoc(function) or "").partition("\n")[0].replace("\\", "\\\\")
    return line.replace('"""', "'''").rstrip()


def entry(name: str, text: str, doc: str, indent: str) -> list[str]:
    """A definition of a stub."""
    body = f'"""{doc}"""' if doc and not doc.endswith('"') else "..."
    mark = "  # type: ignore[override]" if name in ("__eq__", "__ne__") else ""
    return [f"{indent}def {text}:{mark}", f"{indent}    {body}"]


def is_alternative(function: Any) -> bool:
    """Whether a function says of its arguments only that there are some."""
    try:
        kinds = [each.kind for each in inspect.signature(function).parameters.values()]
    except (TypeError, ValueError):
        return True
    return inspect.Parameter.VAR_POSITIONAL in kinds and inspect.Parameter.VAR_KEYWORD in kinds


def methods_text() -> str:
    """The stub of what is attached to `Tensor`."""
    kinds = Types()
    lines: list[str] = []
    own = own_names()
    for name in sorted(vars(Tensor)):
        value = vars(Tensor)[name]
        if name in own or (name.startswith("_") and not name.startswith("__")):
            continue
        if name.startswith("__") and name not in OPERATORS:
            continue
        if isinstance(value, property):
            hint = hints_of(value.fget).get("return", Any)
            lines += ["    @property"]
            lines += entry(name, f"{name}(self) -> {kinds.text(hint)}", first_line(value), "    ")
            if value.fset is not None:
                lines += [f"    @{name}.setter", f"    def {name}(self, value: _Any) -> None: ..."]
            continue
        function = value
        if name.endswith("_") and not name.startswith("__") and is_alternative(value):
            function = getattr(Tensor, name[:-1], value)
        if isinstance(value, (staticmethod, classmethod)) or not callable(value):
            continue
        text = signature_text(name, function, kinds, method=True)
        if text is not None:
            lines += entry(name, text, first_line(value), "    ")
    doc = "What `clew.ops` attaches to `Tensor`: written by `python -m tests.type_stubs`."
    return stub(doc, kinds, ["class TensorMethods:", *lines])


def own_names() -> set[str]:
    """What the class itself says, for type checkers too."""
    source = inspect.getsource(tensor_module.Tensor)
    body = source[: source.index("    if TYPE_CHECKING:")]
    rest = source[source.index("    def __hash__") :]
    return {
        line.strip().removeprefix("def ").partition("(")[0]
        for part in (body, rest)
        for line in part.splitlines()
        if line.startswith("    def ")
    } | set(typing.cast(Any, Tensor).__annotations__)


# Operators whose results are tensors, whatever they say.
ELEMENTWISE = frozenset((
    "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__add__", "__radd__",
    "__sub__", "__rsub__", "__mul__", "__rmul__", "__truediv__", "__rtruediv__", "__floordiv__",
    "__mod__", "__pow__", "__rpow__", "__matmul__", "__neg__", "__abs__", "__invert__",
    "__and__", "__or__", "__xor__", "__getitem__",
))  # fmt: skip

OPERATORS = frozenset((
    "__add__", "__radd__", "__iadd__", "__sub__", "__rsub__", "__isub__", "__mul__", "__rmul__",
    "__imul__", "__truediv__", "__rtruediv__", "__itruediv__", "__floordiv__", "__rfloordiv__",
    "__mod__", "__rmod__", "__pow__", "__rpow__", "__matmul__", "__rmatmul__", "__neg__",
    "__pos__", "__abs__", "__invert__", "__and__", "__rand__", "__or__", "__ror__", "__xor__",
    "__rxor__", "__lshift__", "__rshift__", "__lt__", "__le__", "__gt__", "__ge__", "__eq__",
    "__ne__", "__getitem__", "__setitem__", "__iter__", "__len__", "__bool__", "__int__",
    "__float__", "__index__", "__complex__", "__contains__", "__array__",
))  # fmt: skip


def functions_text() -> str:
    """The stub of what the tables make `clew.<name>`: functions of operations, and dtypes."""
    names: dict[str, Callable[..., Any]] = dict(FUNCTIONS)
    names |= {n: getattr(Tensor, n) for n in clew._IN_PLACE}
    kinds = Types()
    lines: list[str] = []
    for name, value in sorted(vars(clew).items()):
        if isinstance(value, clew.dtype) and not name.startswith("_") and name not in names:
            lines.append(f"{name}: {kinds.text(clew.dtype)}")
    lines += functions(names, kinds)
    doc = "What `clew.<name>` is: written by `python -m tests.type_stubs`."
    return stub(doc, kinds, lines)


def functional_text() -> str:
    """The stub of `clew.nn.functional`."""
    kinds = Types()
    names, lines = {}, []
    for name, value in vars(clew.nn.functional).items():
        if isinstance(value, types.FunctionType) and not name.startswith("_"):
            names[name] = value
        elif isinstance(value, type):
            kinds.imports.add(f"from {value.__module__} import {value.__name__} as {name}")
    lines = functions(names, kinds)
    kinds.imports.add("from clew.nn import grad as grad")
    doc = "`torch.nn.functional`'s names: written by `python -m tests.type_stubs`."
    return stub(doc, kinds, lines)


def stub(doc: str, kinds: Types, lines: list[str]) -> str:
    """A stub file."""
    head = [f'"""{doc}"""', "", "from typing import Any as _Any", *sorted(kinds.imports), ""]
    return "\n".join([*head, *lines, ""])


def functions(names: dict[str, Callable[..., Any]], kinds: Types) -> list[str]:
    """The definitions of functions."""
    lines: list[str] = []
    for name in sorted(names):
        function = names[name]
        described: Any = function
        if name.endswith("_") and is_alternative(function):
            described = getattr(Tensor, name[:-1], function)
        code = getattr(inspect.unwrap(function, stop=_takes_out), "__code__", None)
        takes_out = code is not None and _takes_out(inspect.unwrap(function, stop=_takes_out))
        known = "out" in inspect.signature(described).parameters
        extra = "out: _Any = None" if takes_out and not known else ""
        text = signature_text(name, described, kinds, method=False, extra=extra)
        if text is not None:
            lines += entry(name, text, first_line(function), "")
    return lines


def _takes_out(function: Any) -> bool:
    code = getattr(function, "__code__", None)
    count = code.co_argcount + code.co_kwonlyargcount if code is not None else 0
    return code is not None and "out" in code.co_varnames[:count]


def written() -> dict[Path, str]:
    """Both files, and what is in them."""
    return {
        METHODS_FILE: methods_text(),
        FUNCTIONS_FILE: functions_text(),
        FUNCTIONAL_FILE: functional_text(),
    }


def missing() -> set[str]:
    """Public names that the stubs do not have."""
    functions = ast.parse(FUNCTIONS_FILE.read_text()).body
    known = {each.name for each in functions if isinstance(each, ast.FunctionDef)}
    classes = ast.parse(METHODS_FILE.read_text()).body
    (methods,) = [each for each in classes if isinstance(each, ast.ClassDef)]
    names = {each.name for each in methods.body if isinstance(each, ast.FunctionDef)}
    public = {name for name in vars(Tensor) if not name.startswith("_")}
    bound = (staticmethod, classmethod, types.MemberDescriptorType)
    others = {name for name in public if isinstance(vars(Tensor)[name], bound)}
    return (FUNCTIONS.keys() - known) | (public - names - own_names() - others)


if __name__ == "__main__":
    if "--check" in sys.argv:
        stale = [path.name for path, text in written().items() if path.read_text() != text]
        sys.exit(f"not current: {stale}, missing: {missing()}" if stale or missing() else 0)
    for path, text in written().items():
        path.write_text(text)
