"""Proxy: stands for a value while a program is traced, and records what is done with it."""

from __future__ import annotations

import dis
import operator
import sys
from collections.abc import Callable
from typing import Any

from clew import errors
from clew.backend import dtypes
from clew.backend.device import device
from clew.backend.layout import layout, memory_format
from clew.core import overrides
from clew.core.tensor import Tensor
from clew.fx.graph import Graph
from clew.fx.node import Node, map_aggregate

__all__ = [
    "Attribute",
    "GraphAppendingTracer",
    "ParameterProxy",
    "Proxy",
    "TraceError",
    "TracerBase",
]

# What an argument may be as it is.
_CONSTANTS = (
    str, int, float, bool, complex, type(None), type(...), range, bytes, dtypes.dtype, device,
    layout, memory_format, Tensor,
)  # fmt: skip


class TraceError(ValueError):
    """A program does what a trace cannot record."""


class TracerBase:
    """What makes nodes of calls: base of the tracers."""

    graph: Graph

    def create_node(
        self,
        kind: str,
        target: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Add a node to the graph; its arguments are those of a node."""
        return self.graph.create_node(kind, target, args, kwargs, name, type_expr)

    def proxy(self, node: Node) -> Proxy:
        """The proxy of a node's value."""
        return Proxy(node, self)

    def create_proxy(
        self,
        kind: str,
        target: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any = None,
        proxy_factory_fn: Callable[[Node], Proxy] | None = None,
    ) -> Any:
        """Add a node whose arguments may have proxies in them; returns the proxy of its value."""
        given, named = self.create_arg(args), self.create_arg(kwargs)
        if not isinstance(given, tuple) or not isinstance(named, dict):
            raise AssertionError("the arguments of a node are a tuple and a dict")
        node = self.create_node(kind, target, given, named, name, type_expr)
        return (proxy_factory_fn or self.proxy)(node)

    def create_arg(self, a: Any) -> Any:
        """A value as the argument of a node."""
        if isinstance(a, Proxy):
            return a.node
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple):
            parts = [self.create_arg(each) for each in a]
            return type(a)(*parts) if hasattr(a, "_fields") else type(a)(parts)
        if isinstance(a, list):
            return [self.create_arg(each) for each in a]
        if isinstance(a, dict):
            return {self._key(key): self.create_arg(value) for key, value in a.items()}
        if isinstance(a, slice):
            return slice(*[self.create_arg(part) for part in (a.start, a.stop, a.step)])
        if isinstance(a, (*_CONSTANTS, Node)) or callable(a):
            return a
        raise NotImplementedError(f"argument of type: {type(a)}" + errors.at_user_line())

    def _key(self, key: Any) -> Any:
        if isinstance(self.create_arg(key), Node):
            raise RuntimeError(
                "Keys for dictionaries used as an argument cannot contain a Node. Got key: "
                f"{key}" + errors.at_user_line()
            )
        return key

    def to_bool(self, obj: Proxy) -> bool:
        """The program asks whether a value is true: which way to go cannot be recorded."""
        raise TraceError(
            "symbolically traced variables cannot be used as inputs to control flow"
            + errors.at_user_line()
        )

    def iter(self, obj: Proxy) -> Any:
        """The program goes through a value: how often cannot be recorded."""
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a "
            "loop or as a *args or **kwargs function argument. See the torch.fx docs on "
            "pytorch.org for a more detailed explanation of what types of control flow can be "
            "traced, and check out the Proxy docstring for help troubleshooting Proxy iteration "
            "errors" + errors.at_user_line()
        )

    def keys(self, obj: Proxy) -> Any:
        """The program asks for the keys of a value, for `**value`."""
        return Attribute(obj, "keys")()


class GraphAppendingTracer(TracerBase):
    """Adds nodes to a graph: for proxies that are made of nodes by hand."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph


class Proxy:
    """Stands for the value of a node: operators, methods and functions make new nodes of it.

    Args:
        node: the node
        tracer: what makes nodes; None adds them to the node's graph

    Example:
        >>> graph = clew.fx.Graph()
        >>> x = clew.fx.Proxy(graph.placeholder("x"))
        >>> clew.relu(x + 1).node
        relu
    """

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node
        # Functions of tensors have to look at their arguments.
        overrides.switch_on()

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, k: str) -> Any:
        return Attribute(self, k)

    # Copies and pickles ask objects for methods of these names.
    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Any:
        frame = sys._getframe(1)
        for instruction in dis.get_instructions(frame.f_code):
            if instruction.offset == frame.f_lasti and instruction.opname == "UNPACK_SEQUENCE":
                # `a, b = value` says how many there are.
                return iter([self[place] for place in range(instruction.argval)])
        return self.tracer.iter(self)

    def __bool__(self) -> bool:
        return self.tracer.to_bool(self)

    def __len__(self) -> int:
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be "
            "recorded, please call torch.fx.wrap('len') at module scope" + errors.at_user_line()
        )

    def keys(self) -> Any:
        """The keys of a mapping."""
        return self.tracer.keys(self)

    def __getitem__(self, key: Any) -> Any:
        return self.tracer.create_proxy("call_function", operator.getitem, (self, key), {})

    __hash__ = object.__hash__

    @classmethod
    def __torch_function__(
        cls,
        orig_method: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        found: list[Proxy] = []
        map_aggregate((args, kwargs), lambda a: found.append(a) if isinstance(a, Proxy) else None)
        tracer = found[0].tracer
        own = overrides.SWITCHED.get(orig_method)
        if own is not None and own.name.startswith("torch.Tensor."):
            return tracer.create_proxy("call_method", orig_method.__name__, args, kwargs)
        return tracer.create_proxy("call_function", orig_method, args, kwargs)


class Attribute(Proxy):
    """An attribute of a value; a node of its own only if it is used, and not called."""

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root = root
        self.attr = attr
        self.tracer = root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]  # made when it is asked for
        """The node that reads the attribute."""
        if self._node is None:
            read = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {})
            self._node = read.node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """The proxy of a parameter, whose shape is known while tracing."""

    def __init__(self, tracer: TracerBase, node: Node, name: str, param: Tensor) -> None:
        super().__init__(node, tracer)
        self.param = param
        self.name = name

    def __repr__(self) -> str:
        return f"ParameterProxy({self.name})"

    @property
    def shape(self) -> Any:
        """The parameter's shape."""
        return self.param.shape

    def size(self) -> Any:
        """The parameter's shape."""
        return self.param.size()

    def dim(self) -> int:
        """The number of its dimensions."""
        return self.param.dim()

    @property
    def ndim(self) -> int:
        """The number of its dimensions."""
        return self.param.ndim

    def numel(self) -> int:
        """The number of its elements."""
        return self.param.numel()

    def nelement(self) -> int:
        """The number of its elements."""
        return self.param.nelement()


def _define_operators() -> None:
    names = (
        "eq ne lt gt le ge pos neg invert add sub mul floordiv truediv mod pow lshift rshift and_ "
        "or_ xor matmul abs"
    )
    reflected = "add sub mul floordiv truediv mod pow lshift rshift and_ or_ xor matmul"
    for name in names.split():
        function = getattr(operator, name)

        def method(self: Proxy, *args: Any, function: Any = function) -> Any:
            return self.tracer.create_proxy("call_function", function, (self, *args), {})

        setattr(Proxy, f"__{name.strip('_')}__", method)
    for name in reflected.split():
        function = getattr(operator, name)

        def reflected_method(self: Proxy, other: Any, function: Any = function) -> Any:
            return self.tracer.create_proxy("call_function", function, (other, self), {})

        setattr(Proxy, f"__r{name.strip('_')}__", reflected_method)


_define_operators()
