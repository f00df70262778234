"""GraphModule: a module whose forward is generated from a graph."""

from __future__ import annotations

import copy
import itertools
import linecache
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from clew import errors
from clew.core.tensor import Tensor
from clew.fx.codegen import PythonCode, PyTreeCodeGen, library_modules
from clew.fx.graph import Graph
from clew.nn.modules.module import Module
from clew.nn.parameter import Parameter
from clew.serialization import save

__all__ = ["GraphModule", "reduce_graph_module"]

_numbers = itertools.count()


# Where `meta` keeps attributes that copies have, too; public packages read it.
_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"


def forward_from_source(source: str, names: dict[str, Any]) -> Any:
    """The function that generated code defines; tracebacks find its lines."""
    filename = f"<eval_with_key>.{next(_numbers)}"
    made = dict(names)
    exec(compile(source, filename, "exec", dont_inherit=True), made)
    lines = source.splitlines(keepends=True)
    linecache.cache[filename] = (len(source), None, lines, filename)
    return made["forward"]


class GraphModule(Module):
    """A module that runs a graph, as generated Python.

    Args:
        root: the module whose parameters and submodules the graph names, or a dict of these
        graph: the graph
        class_name: what the new module's class is called

    Example:
        >>> traced = clew.fx.symbolic_trace(nn.Sequential(nn.ReLU()))
        >>> traced(clew.tensor([-1.0, 1.0]))
        tensor([0., 1.])
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        # Each has a class of its own, for its forward.
        for each in cls.__mro__:
            if "_is_generated" in vars(each):
                cls = each.__mro__[1]
                break
        return super().__new__(type("GraphModule", (cls,), {"_is_generated": True}))

    def __init__(
        self, root: Module | dict[str, Any], graph: Graph, class_name: str = "GraphModule"
    ) -> None:
        super().__init__()
        type(self).__name__ = class_name
        self._code = ""
        if isinstance(root, Module):
            self.training = root.training
            for node in graph.nodes:
                if node.op in ("get_attr", "call_module"):
                    _copy_attr(root, self, node.target)
        elif isinstance(root, dict):
            self._assign_all(root, graph)
        else:
            raise RuntimeError(
                f"Unsupported type {type(root)} passed for root!" + errors.at_user_line()
            )
        self.graph = graph
        self.meta: dict[str, Any] = {}

    def _assign_all(self, root: dict[str, Any], graph: Graph) -> None:
        wanted = []
        for node in graph.nodes:
            if node.op in ("get_attr", "call_module"):
                if node.target not in root:
                    raise RuntimeError(
                        f"Node {node} referenced target {node.target} but that target was not "
                        "provided in ``root``!" + errors.at_user_line()
                    )
                wanted.append(node.target)
        # Shorter names first, so that a module is there before what is in it.
        for target in sorted(wanted, key=lambda name: name.count(".")):
            _assign_attr(root[target], self, target)

    @property
    def graph(self) -> Graph:
        """The graph; assigning one generates the code anew."""
        return self._graph

    @graph.setter
    def graph(self, g: Graph) -> None:
        if not isinstance(g, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(g)}")
        self.__dict__["_graph"] = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The Python code that was generated from the graph."""
        return self._code

    def recompile(self) -> PythonCode:
        """Generate the code again, after the graph was changed."""
        made = self._graph.python_code("self")
        self._code = made.src
        self.__dict__["_globals"] = made.globals
        codegen = self._graph._codegen
        if isinstance(codegen, PyTreeCodeGen):
            _, self._in_spec, self._out_spec = codegen.pytree_info
        # Every GraphModule has a class of its own.
        type(self).forward = forward_from_source(made.src, made.globals)  # type: ignore[method-assign]
        return made

    def add_submodule(self, target: str, m: Module) -> bool:
        """Add a submodule, and empty modules around it where there are none.

        Args:
            target: its name, with dots
            m: the module
        """
        *path, last = target.split(".")
        owner: Any = self
        for name in path:
            inner = getattr(owner, name, None)
            if inner is None:
                inner = Module()
                setattr(owner, name, inner)
            if not isinstance(inner, Module):
                return False
            owner = inner
        owner.add_module(last, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Take a submodule out; False if there is none of this name.

        Args:
            target: its name, with dots
        """
        *path, last = target.split(".")
        owner: Any = self
        for name in path:
            owner = getattr(owner, name, None)
            if not isinstance(owner, Module):
                return False
        if not isinstance(getattr(owner, last, None), Module):
            return False
        delattr(owner, last)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Take all submodules out that the graph does not use."""
        used: set[str] = set()
        for node in self._graph.nodes:
            if node.op in ("call_module", "get_attr"):
                parts = node.target.split(".")
                used |= {".".join(parts[: place + 1]) for place in range(len(parts))}
                if node.op == "call_module":
                    inside = self.get_submodule(node.target).named_modules()
                    used |= {f"{node.target}.{name}" for name, _ in inside if name}
        for name in [name for name, _ in self.named_modules() if name and name not in used]:
            self.delete_submodule(name)

    def print_readable(self, print_output: bool = True, **options: Any) -> str:
        """The module as the source of a class.

        Args:
            print_output: whether to print it, too
            options: ignored: how PyTorch shows shapes and colours
        """
        head = f"class {type(self).__name__}(torch.nn.Module):\n"
        lines = self._code.strip("\n").rstrip().split("\n")
        if len(lines) > 2:
            lines.insert(1, "    # No stacktrace found for following nodes")
        text = head + "".join(f"    {line}\n" for line in lines)
        if print_output:
            print(text)
        return text

    def to_folder(self, folder: str | os.PathLike[str], module_name: str = "FxModule") -> None:
        """Write the module as a Python package: its code, and its parameters.

        Args:
            folder: where to
            module_name: what its class is called there
        """
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        save(self.state_dict(), place / "state_dict.pt")
        lines = [
            "from __future__ import annotations",
            "import torch",
            "from math import inf, nan",
            "from torch import device",
        ]
        lines += ["from torch.nn import *", "", f"class {module_name}(Module):"]
        lines += ["    def __init__(self):", "        super().__init__()"]
        for name, child in self.named_children():
            save(child, place / f"{name}.pt")
            file = f"r'{place / name}.pt'"
            lines.append(f"        self.{name} = torch.load({file}, weights_only=False)")
        for name, value in self._parameters.items():
            if value is not None:
                made = f"torch.nn.Parameter(torch.empty({list(value.shape)}, dtype={value.dtype}))"
                lines.append(f"        self.{name} = {made}")
        for name, buffer in self._buffers.items():
            if buffer is not None:
                made = f"torch.empty({list(buffer.shape)}, dtype={buffer.dtype})"
                lines.append(f"        self.register_buffer('{name}', {made})")
        lines.append(f"        self.load_state_dict(torch.load(r'{place}/state_dict.pt'))")
        code = "\n".join("    " + line for line in self._code.split("\n"))
        (place / "module.py").write_text("\n".join(lines) + code + "\n")
        (place / "__init__.py").write_text("from .module import *\n")

    # -- copies ----------------------------------------------------------------------------

    def _state(self) -> dict[str, Any]:
        left_out = ("_graph", "_globals")
        return {name: value for name, value in self.__dict__.items() if name not in left_out}

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        graph = copy.deepcopy(self._graph)
        copied = GraphModule(Module(), Graph(), type(self).__name__)
        memo[id(self)] = copied
        copied.__dict__.update(copy.deepcopy(self._state(), memo))
        _adopt_all(copied)
        copied.graph = graph
        return copied

    def __copy__(self) -> GraphModule:
        copied = GraphModule(self, self._graph, type(self).__name__)
        copied.meta = dict(self.meta)
        self._graph.owning_module = self
        return copied

    def __reduce__(self) -> Any:
        known = library_modules()
        names = {name: value for name, value in self._globals.items() if name not in known}
        return reduce_graph_module, (self._state(), type(self).__name__, self._code, names)

    def __str__(self) -> str:
        note = "# To see more debug info, please use `graph_module.print_readable()`"
        return "\n".join([super().__str__(), self._code, note])


def _adopt_all(module: Module) -> None:
    """Tell the modules of a copied state who their owner is."""
    for name, child in list(module.named_children()):
        module.add_module(name, child)


def _copy_attr(source: Any, target: Module, path: str) -> None:
    """Put an attribute of a module into another one, in modules of the same names."""
    *outer, last = path.split(".")
    for name in outer:
        source = getattr(source, name)
        inner = getattr(target, name, None)
        if inner is source:
            return  # a module that is there as a whole
        if inner is None:
            inner = Module()
            setattr(target, name, inner)
        target = inner
    value = getattr(source, last)
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        target.register_buffer(last, value)
    else:
        setattr(target, last, value)


def _assign_attr(value: Any, target: Module, path: str) -> None:
    *outer, last = path.split(".")
    for name in outer:
        inner = getattr(target, name, None)
        if inner is None:
            inner = Module()
            setattr(target, name, inner)
        target = inner
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        target.register_buffer(last, value)
    else:
        setattr(target, last, value)


class _CodeOnlyModule(Module):
    """The state of a module whose graph is traced from its code."""

    def __init__(self, state: dict[str, Any]) -> None:
        super().__init__()
        self.__dict__.update(state)
        _adopt_all(self)


# Traces a module whose submodules are all steps: the tracer makes GraphModules, so it comes after
# this module, and puts itself here.
trace_code: list[Callable[[Module], Graph]] = []


def reduce_graph_module(
    state: dict[str, Any], class_name: str, source: str, names: dict[str, Any]
) -> GraphModule:
    """A pickled GraphModule back: its graph is traced from its code."""
    root = _CodeOnlyModule(state)
    forward = forward_from_source(source, {**library_modules(), **names})
    root.__class__ = type(class_name, (_CodeOnlyModule,), {"forward": forward})
    loaded = GraphModule(root, trace_code[0](root), class_name)
    loaded.__dict__.update({k: v for k, v in state.items() if k in ("training", "meta")})
    return loaded
