"""From a graph to Python: the source of a function, and the globals that it uses."""

from __future__ import annotations

import json
import keyword
import math
import operator
import sys
import types
import typing
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from clew.backend import dtypes
from clew.backend.device import device
from clew.core.tensor import Size
from clew.fx.naming import ILLEGAL, Namespace, is_from_torch, qualified_name, type_repr
from clew.fx.node import Node, map_arg
from clew.utils._pytree import TreeSpec, tree_flatten, tree_unflatten

# How calls of functions of `operator` are written.
MAGIC = {
    "eq": "{} == {}", "ne": "{} != {}", "lt": "{} < {}", "gt": "{} > {}", "le": "{} <= {}",
    "ge": "{} >= {}", "pos": "+{}", "neg": "-{}", "invert": "~{}", "add": "{} + {}",
    "sub": "{} - {}", "mul": "{} * {}", "floordiv": "{} // {}", "truediv": "{} / {}",
    "mod": "{} % {}", "pow": "{} ** {}", "lshift": "{} << {}", "rshift": "{} >> {}",
    "and_": "{} & {}", "or_": "{} | {}", "xor": "{} ^ {}", "getitem": "{}[{}]",
    "matmul": "{} @ {}",
}  # fmt: skip
IN_PLACE = {
    "iadd": "{} += {}", "iand": "{} &= {}", "ifloordiv": "{} //= {}", "ilshift": "{} <<= {}",
    "imod": "{} %= {}", "imul": "{} *= {}", "imatmul": "{} @= {}", "ior": "{} |= {}",
    "ipow": "{} **= {}", "irshift": "{} >>= {}", "isub": "{} -= {}", "itruediv": "{} /= {}",
    "ixor": "{} ^= {}", "setitem": "{}[{}] = {}",
}  # fmt: skip


class PythonCode(NamedTuple):
    """The source of a function, and the values that it names."""

    src: str
    globals: dict[str, Any]


class CodeGen:
    """Writes the function of a graph; `body_transformer` may change its lines."""

    def __init__(self) -> None:
        self.body_transformer: Callable[[list[str]], list[str]] | None = None
        self.func_name = "forward"

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        """The line that begins the function."""
        if not free_vars or free_vars[0] != "self":
            free_vars.insert(0, "self")
        return f"def {self.func_name}({', '.join(free_vars)}){maybe_return_annotation}:"

    def generate_output(self, output_args: Any) -> str:
        """The line that ends it."""
        return f"return {output_args!r}"

    def process_inputs(self, *args: Any) -> Any:
        """The arguments as the function takes them."""
        return args

    def process_outputs(self, outputs: Any) -> Any:
        """The result as the caller gets it."""
        return outputs

    def generate(self, nodes: Iterable[Node], root: str, verbose: bool = False) -> PythonCode:
        """The code of the nodes; `root` is the name of the module in it."""
        return _Writer(self, list(nodes), root, verbose).written()


class PyTreeInfo(NamedTuple):
    """How the arguments of a traced program, and its result, are nested."""

    orig_args: list[str]
    in_spec: TreeSpec
    out_spec: TreeSpec | None


class PyTreeCodeGen(CodeGen):
    """Writes a function that takes and returns nested structures, whose leaves are the graph's.

    Args:
        pytree_info: how they are nested
    """

    def __init__(self, pytree_info: PyTreeInfo) -> None:
        super().__init__()
        self.pytree_info = pytree_info

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        """The line that begins the function, and the one that flattens its arguments."""
        info = self.pytree_info
        head = super().gen_fn_def(list(info.orig_args), maybe_return_annotation)
        names = [each.partition(":")[0].partition(" ")[0] for each in free_vars if each != "self"]
        if not names:
            return head
        leaves = ", ".join(names)
        flatten = f"fx_pytree.tree_flatten_spec({self.structure()}, self._in_spec)"
        return f"{head}\n    {leaves}, = {flatten}"

    def structure(self) -> str:
        """The arguments as one structure, as code."""
        names = [each for each in self.pytree_info.orig_args if each != "self"]
        spec = self.pytree_info.in_spec
        children = spec.children()
        both = len(children) == 2 and children[0].type is tuple and children[1].type is dict
        if spec.type is not tuple or not both:
            return f"[{', '.join(names)}]"
        count = children[0].num_children
        given, keys = names[:count], list(children[1].context)
        named = ", ".join(f"{key!r}:{name}" for key, name in zip(keys, names[count:], strict=True))
        return f"([{', '.join(given)}], {{{named}}})"

    def generate_output(self, output_args: Any) -> str:
        """The line that ends it, with its result nested."""
        if self.pytree_info.out_spec is None:
            return super().generate_output(output_args)
        return f"return pytree.tree_unflatten({output_args!r}, self._out_spec)"

    def process_inputs(self, *args: Any) -> Any:
        """The arguments, flat."""
        return tree_flatten(args)[0]

    def process_outputs(self, outputs: Any) -> Any:
        """The result, nested again."""
        spec = self.pytree_info.out_spec
        return outputs if spec is None else tree_unflatten(outputs, spec)

    def generate(self, nodes: Iterable[Node], root: str, verbose: bool = False) -> PythonCode:
        """The code of the nodes; it uses two modules more."""
        made = super().generate(nodes, root, verbose)
        return PythonCode(made.src, {**made.globals, **library_modules()})


class Quoted(str):
    """An annotation that says what is known of a value, in quotes."""

    __slots__ = ()


class _Text(str):
    """Text that stands in for a value: its repr is itself."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class _Writer:
    """The code of one graph, while it is being written."""

    def __init__(self, codegen: CodeGen, nodes: list[Node], root: str, verbose: bool) -> None:
        self.codegen = codegen
        self.nodes = nodes
        self.root = root
        self.verbose = verbose
        self.globals: dict[str, Any] = {}
        self.names = Namespace()
        self.free_vars: list[str] = []
        self.body: list[str] = []
        self.wrapped: dict[str, None] = {}
        self.return_annotation = ""
        self.last_uses = _last_uses(nodes)

    def written(self) -> PythonCode:
        for node in self.nodes:
            if self.verbose and node.op not in ("placeholder", "output"):
                self._comment(node)
            self._emit(node)
            self._forget(node)
        if not self.body:
            self.body.append("pass\n")
        body = self.body
        if self.codegen.body_transformer is not None:
            body = self.codegen.body_transformer(body)
        head = self.codegen.gen_fn_def(self.free_vars, self.return_annotation)
        if self.wrapped:
            self.globals.setdefault("torch", torch_module())
        wraps = "\n".join(f'torch.fx._symbolic_trace.wrap("{name}")' for name in self.wrapped)
        code = "".join(body).lstrip("\n")
        code = "\n".join("    " + line for line in code.split("\n"))
        return PythonCode(f"\n{wraps}\n\n{head}\n{code}", self.globals)

    def _comment(self, node: Node) -> None:
        meta = node.meta.get("tensor_meta")
        if meta is not None and hasattr(meta, "shape"):
            self.body.append(f"# {node.name}: {meta.dtype}{list(meta.shape)}\n")

    # -- statements ------------------------------------------------------------------------

    def _emit(self, node: Node) -> None:
        colon = ": " if isinstance(node.type, Quoted) else " : "
        kind = "" if node.type is None else f"{colon}{self._type(node.type)}"
        left = f"{node!r}{kind} = "
        if node.op == "placeholder":
            self._placeholder(node, kind)
        elif node.op == "call_method":
            call = f"{attribute(self._arg(node.args[0]), node.target)}"
            self.body.append(f"{left}{call}({self._args(node.args[1:], node.kwargs)})")
        elif node.op == "call_function":
            self._call_function(node, left)
        elif node.op == "call_module":
            target = attribute(self.root, node.target)
            self.body.append(f"{left}{target}({self._args(node.args, node.kwargs)})")
        elif node.op == "get_attr":
            self.body.append(f"{left}{attribute(self.root, node.target)}")
        elif node.op == "output":
            if node.type is not None:
                self.return_annotation = f" -> {self._type(node.type)}"
            self.body.append(self.codegen.generate_output(_Text(self._arg(node.args[0]))))

    def _placeholder(self, node: Node, kind: str) -> None:
        default = "" if not node.args else f" = {self._arg(node.args[0])}"
        self.free_vars.append(f"{node.target}{kind}{default}")
        raw = node.target.replace("*", "")
        if raw != repr(node):
            self.body.append(f"{node!r} = {raw}\n")

    def _call_function(self, node: Node, left: str) -> None:
        target, args = node.target, [self._arg(each) for each in node.args]
        name = getattr(target, "__name__", "")
        if getattr(operator, name, None) is target:
            if name in MAGIC and not node.kwargs:
                self.body.append(f"{left}{MAGIC[name].format(*args)}")
                return
            if name in IN_PLACE:
                # What it changes has its new value under its own name, too.
                change = IN_PLACE[name].format(*args)
                self.body.append(f"{change};  {left}{args[0]}")
                return
        if target is getattr and len(node.args) == 2 and str(node.args[1]).isidentifier():
            self.body.append(f"{left}{attribute(args[0], node.args[1])}")
            return
        name = self._global(qualified_name(target), target)
        if node.meta.get("is_wrapped", False):
            self.wrapped.setdefault(name)
        self.body.append(f"{left}{name}({self._args(node.args, node.kwargs)})")

    def _forget(self, node: Node) -> None:
        """End a line, and drop the values that nobody uses after it."""
        if node.op == "placeholder":
            return
        if node.op == "output":
            self.body.append("\n")
            return
        dead = list(self.last_uses.get(node, ()))
        if not node.users:
            dead.append(node)
        names = " = ".join([*map(repr, dead), "None"])
        self.body.append(f";  {names}\n" if dead else "\n")

    # -- expressions -----------------------------------------------------------------------

    def _args(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        given = [self._arg(each) for each in args]
        return ", ".join(given + [f"{key} = {self._arg(value)}" for key, value in kwargs.items()])

    def _arg(self, value: Any) -> str:
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            name = self._global(qualified_name(type(value)), type(value))
            return f"{name}({', '.join(self._arg(each) for each in value)})"
        if isinstance(value, Size):
            return f"{self._global('torch.Size', Size)}([{', '.join(map(self._arg, value))}])"
        if isinstance(value, (list, tuple)):
            inside = ", ".join(self._arg(each) for each in value)
            if isinstance(value, list):
                return f"[{inside}]"
            return f"({inside},)" if len(value) == 1 else f"({inside})"
        if isinstance(value, dict):
            pairs = [f"{key!r}: {self._arg(each)}" for key, each in value.items()]
            return "{" + ", ".join(pairs) + "}"
        if isinstance(value, slice):
            parts = (value.start, value.stop, value.step)
            return f"slice({', '.join(self._arg(part) for part in parts)})"
        if isinstance(value, float) and not math.isfinite(value):
            return self._number(value)
        if isinstance(value, dtypes.dtype):
            self.globals.setdefault("torch", torch_module())
            return repr(value)
        if isinstance(value, np.dtype):
            self.globals.setdefault("dtype", np.dtype)
            return f"dtype({value.name!r})"
        if isinstance(value, device):
            self.globals.setdefault("device", device)
            return repr(value)
        if isinstance(value, (types.FunctionType, types.BuiltinFunctionType, type)):
            return self._global(qualified_name(value), value)
        return repr(value)

    def _number(self, value: float) -> str:
        name = "nan" if math.isnan(value) else "inf"
        self.globals.setdefault(name, abs(value))
        return f"-{name}" if value == -math.inf else name

    def _global(self, hint: str, value: Any) -> str:
        """The name of a value in the code."""
        if is_from_torch(value) and hint.startswith("torch."):
            self.globals.setdefault("torch", torch_module())
            return hint
        hint = hint.removeprefix("builtins.")
        name = hint.replace(".", "_")
        if name in self.globals:
            if self.globals[name] is value:
                return name
            name = self.names.create_name(name, None)
            while name in self.globals:
                name = self.names.create_name(name, None)
        self.globals[name] = value
        return name

    def _type(self, kind: Any) -> str:
        if isinstance(kind, Quoted):
            return f'"{kind}"'
        if isinstance(kind, str):
            return self._global(ILLEGAL.sub("_", repr(kind)), kind)
        arguments = typing.get_args(kind)
        if not arguments:
            text = type_repr(kind)
            return self._global(text, kind) if isinstance(kind, type) else text
        origin = typing.get_origin(kind)
        if isinstance(kind, types.GenericAlias):
            base = self._global(type_repr(origin), origin)
        elif origin is typing.Union:
            base = self._global("typing.Union", typing.Union)
        else:
            named = getattr(typing, getattr(kind, "_name", None) or "", origin)
            base = self._global(f"typing.{getattr(kind, '_name', None)}", named)
        return f"{base}[{','.join(self._type(each) for each in arguments)}]"


def torch_module() -> Any:
    """What generated code calls torch."""
    return sys.modules[__name__.partition(".")[0]]


def library_modules() -> dict[str, Any]:
    """The modules that generated code may name."""
    torch = torch_module()
    return {"torch": torch, "pytree": torch.utils._pytree, "fx_pytree": torch.fx._pytree}


def attribute(base: str, target: str) -> str:
    """An attribute of an attribute ... of something, as code; some names are no identifiers."""
    for name in target.split("."):
        legal = name.isidentifier() and not keyword.iskeyword(name)
        base = f"{base}.{name}" if legal else f"getattr({base}, {quoted(name)})"
    return base


def quoted(text: str) -> str:
    """A string in double quotes, as code."""
    return json.dumps(text)


def _last_uses(nodes: list[Node]) -> dict[Node, list[Node]]:
    """For each node, the values that it is the last to use."""
    last: dict[Node, Node] = {}
    found: dict[Node, list[Node]] = {}

    def note(user: Node) -> Callable[[Node], Node]:
        def see(used: Node) -> Node:
            if used not in last:
                last[used] = user
                found.setdefault(user, []).append(used)
            return used

        return see

    for node in reversed(nodes):
        map_arg(node.args, note(node))
        map_arg(node.kwargs, note(node))
    return found
