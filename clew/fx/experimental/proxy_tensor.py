"""`make_fx`: a function is run with tensors, and the operations that it is made of become a graph.

Where `symbolic_trace` runs a program with proxies and sees what it calls, this runs it with tensors
and sees operations, those of backward included.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable
from typing import Any

from clew import errors
from clew._subclasses.fake_tensor import FakeTensorMode
from clew.core.inplace import apply_inplace
from clew.core.interception import Interceptor, install, remove
from clew.core.op import Op
from clew.core.state import local
from clew.core.tensor import Tensor
from clew.export.forms import form_of_operation
from clew.fx.codegen import PyTreeCodeGen, PyTreeInfo
from clew.fx.graph import Graph
from clew.fx.graph_module import GraphModule
from clew.fx.naming import result_name
from clew.fx.node import Node
from clew.nn.modules.module import Module
from clew.nn.parameter import Parameter
from clew.ops.aten import packet
from clew.ops.clew import overload_of
from clew.utils._pytree import tree_flatten, tree_map

__all__ = ["get_proxy_mode", "make_fx"]


def get_proxy_mode() -> None:
    """The tracer that is at work, for those who replace its results: none can be."""
    return None


class _Operations(Interceptor):
    """Writes every operation of its thread into a graph."""

    captures = True

    def __init__(self) -> None:
        self.graph = Graph()
        self.root = Module()
        # For each array the node that has it as its value; tensors are kept, so that ids stay.
        self.nodes: dict[int, Node] = {}
        self.kept: list[Tensor] = []

    def enter(self, tensor: Tensor, node: Node) -> None:
        """Note which node a tensor is the value of."""
        self.kept.append(tensor)
        self.nodes[id(tensor._array)] = node
        node.meta["val"] = FakeTensorMode().from_tensor(tensor)

    def node_of(self, tensor: Tensor) -> Node:
        """The node of a tensor; what no operation made is an attribute of the module."""
        found = self.nodes.get(id(tensor._array))
        return self._constant(tensor) if found is None else found

    def _constant(self, tensor: Tensor) -> Node:
        kind = "param" if isinstance(tensor, Parameter) else "tensor"
        number = 0
        while hasattr(self.root, f"_{kind}_constant{number}"):
            number += 1
        name = f"_{kind}_constant{number}"
        node = self.graph.get_attr(name)
        if kind == "param":
            setattr(self.root, name, tensor)
        else:
            # A run must not keep what it writes to a tensor that the program makes anew.
            self.root.register_buffer(name, tensor.detach().clone())
            node = self.graph.call_function(
                packet("lift_fresh_copy").default, (node,), name="lift_fresh_copy"
            )
        self.enter(tensor, node)
        return node

    def described(self, values: Any) -> Any:
        """A structure with tensors as their nodes."""
        return tree_map(lambda leaf: self.node_of(leaf) if isinstance(leaf, Tensor) else leaf,
                        values)  # fmt: skip

    def __call__(
        self, op: Any, inputs: tuple[Any, ...], params: dict[str, Any], inplace: bool = False
    ) -> Any:
        if not isinstance(op, Op):
            return params["outputs"] if self.outer is None else self.outer(op, inputs, params)
        state = local.state
        state.intercept = self.outer
        try:
            form = None if inplace else form_of_operation(op.name, inputs, params)
            target, given, named = form or (overload_of(op, inplace), inputs, params)
            node = self.graph.call_function(
                target,
                self.described(tuple(given)),
                self.described(dict(named)),
                name=result_name(target),
            )
            result = apply_inplace(op, *inputs, **params) if inplace else op(*inputs, **params)
            self._results(node, result)
        finally:
            state.intercept = self
        return result

    def _results(self, node: Node, result: Any) -> None:
        if isinstance(result, Tensor):
            self.enter(result, node)
        elif isinstance(result, (tuple, list)):
            for place, part in enumerate(result):
                if isinstance(part, Tensor):
                    self.enter(part, self.graph.call_function(operator.getitem, (node, place)))

    def draw(self, shape: tuple[int, ...], make: Callable[[tuple[int, ...]], Any]) -> Any:
        raise RuntimeError(
            f"make_fx: numbers drawn by {make.__name__} would be the same in every run of the "
            "graph; draw them outside, and pass them in" + errors.at_user_line()
        )


def make_fx(
    f: Callable[..., Any],
    decomposition_table: Any = None,
    tracing_mode: str = "real",
    **options: Any,
) -> Callable[..., GraphModule]:
    """A function that runs `f` with its arguments and returns what it computed, as a module.

    Operations are called by PyTorch's internal names where their arguments are PyTorch's, and by
    clew's (`torch.ops.clew`) otherwise. What Python decides on the way is fixed, sizes included.

    Args:
        f: the function
        decomposition_table: nothing: operations are not replaced
        tracing_mode: "real" or "fake": the function runs with the tensors that it is given
        options: change nothing

    Example:
        >>> from clew.fx.experimental.proxy_tensor import make_fx
        >>> traced = make_fx(lambda x: x.t() @ x)(clew.ones(2, 3))
        >>> print(traced.code.strip())
        def forward(self, x_1):
            t = torch.ops.aten.t.default(x_1)
            mm = torch.ops.aten.mm.default(t, x_1);  t = x_1 = None
            return mm
    """
    if tracing_mode not in ("real", "fake"):
        raise NotImplementedError(
            f"make_fx: tracing_mode={tracing_mode!r}: the sizes of a graph are those of its "
            "example (torch.export.export has dynamic_shapes)" + errors.at_user_line()
        )
    if decomposition_table:
        raise NotImplementedError(
            "make_fx: operations are not replaced by a decomposition_table" + errors.at_user_line()
        )

    @functools.wraps(f)
    def traced(*args: Any) -> GraphModule:
        return _traced(f, args)

    return traced


def _traced(f: Callable[..., Any], args: tuple[Any, ...]) -> GraphModule:
    tracing = _Operations()
    graph, names = tracing.graph, _names_of(f, len(args))
    for name, arg in zip(names, args, strict=True):
        for number, leaf in enumerate(tree_flatten(arg)[0], 1):
            node = graph.placeholder(f"{name}_{number}")
            if isinstance(leaf, Tensor):
                tracing.enter(leaf, node)
    install(tracing)
    try:
        result = f(*args)
    finally:
        remove(tracing)
    in_spec = tree_flatten(args)[1]
    if all(child.is_leaf() for child in in_spec.children()):
        graph.output(tracing.described(result))
    else:
        flat, out_spec = tree_flatten(result)
        graph.output(tracing.described(flat))
        graph.set_codegen(PyTreeCodeGen(PyTreeInfo(names, in_spec, out_spec)))
    return GraphModule(tracing.root, graph, getattr(f, "__name__", type(f).__name__))


def _names_of(f: Callable[..., Any], count: int) -> list[str]:
    """What the arguments are called."""
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [each.name for each in parameters if each.kind in plain]
    if len(names) < count or len(names) < len(parameters):
        return [f"arg{number}" for number in range(count)]
    return names[:count]
