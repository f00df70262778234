"""Interpreter runs a graph node by node; Transformer makes a new graph on the way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from clew import errors
from clew.fx._symbolic_trace import Tracer
from clew.fx.graph import Graph
from clew.fx.graph_module import GraphModule
from clew.fx.node import Node, map_aggregate, map_arg
from clew.fx.proxy import Proxy
from clew.nn.modules.module import Module

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Runs a graph node by node; methods for the kinds of nodes may be overridden.

    Args:
        module: the module whose graph is run
        garbage_collect_values: whether values are dropped after their last use
        graph: another graph than the module's

    Example:
        >>> class Log(clew.fx.Interpreter):
        ...     def run_node(self, n):
        ...         print(n.name)
        ...         return super().run_node(n)
        >>> Log(clew.fx.symbolic_trace(lambda x: x + 1)).run(clew.ones(1))
        x
        add
        output
        tensor([2.])
    """

    def __init__(
        self, module: Module, garbage_collect_values: bool = True, graph: Graph | None = None
    ) -> None:
        self.module = module
        self.submodules = dict(module.named_modules())
        self.graph: Any = module.graph if graph is None else graph
        self.env: dict[Node, Any] = {}
        self.name = "Interpreter"
        self.garbage_collect_values = garbage_collect_values
        self.extra_traceback = True
        self.args_iter: Iterator[Any] = iter(())
        self.user_to_last_uses: dict[Node, list[Node]] = {}
        if garbage_collect_values:
            seen: set[Node] = set()
            for node in reversed(self.graph.nodes):
                for used in node.all_input_nodes:
                    if used not in seen:
                        seen.add(used)
                        self.user_to_last_uses.setdefault(node, []).append(used)

    def run(
        self,
        *args: Any,
        initial_env: dict[Node, Any] | None = None,
        enable_io_processing: bool = True,
    ) -> Any:
        """Run the graph.

        Args:
            args: its arguments
            initial_env: values of nodes that are not to be run
            enable_io_processing: whether the graph's code generator sees arguments and result
        """
        self.env = {} if initial_env is None else dict(initial_env)
        if enable_io_processing:
            args = self.graph.process_inputs(*args)
        self.args_iter = iter(args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            try:
                self.env[node] = self.run_node(node)
            except Exception as error:
                error.add_note(f"While executing {node.format_node()}")
                raise
            for dead in self.user_to_last_uses.get(node, ()):
                self.env.pop(dead, None)
            if node.op == "output":
                value = self.env[node]
                return self.graph.process_outputs(value) if enable_io_processing else value
        return None

    def boxed_run(self, args_list: list[Any]) -> Any:
        """Run the graph with arguments from a list, which is emptied."""
        args = tuple(args_list)
        args_list.clear()
        return self.run(*args)

    def run_node(self, n: Node) -> Any:
        """Run one node.

        Args:
            n: the node
        """
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        return getattr(self, n.op)(n.target, args, kwargs)

    def placeholder(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The value of an input.

        Args:
            target: its name
            args: its default, if it has one
            kwargs: nothing
        """
        if target.startswith("*"):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration:
            if args:
                return args[0]
        raise RuntimeError(
            f"Expected positional argument for parameter {target}, but one was not passed in!"
            + errors.at_user_line()
        )

    def get_attr(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The value of an attribute of the module.

        Args:
            target: its name
            args, kwargs: nothing
        """
        return self.fetch_attr(target)

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of a function.

        Args:
            target: the function
            args, kwargs: its arguments
        """
        return target(*args, **kwargs)

    def call_method(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of a method of the first argument.

        Args:
            target: its name
            args, kwargs: its arguments
        """
        return getattr(args[0], target)(*args[1:], **kwargs)

    def call_module(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of a submodule.

        Args:
            target: its name
            args, kwargs: its arguments
        """
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the graph returns.

        Args:
            target: `output`
            args: the value
            kwargs: nothing
        """
        return args[0]

    def fetch_attr(self, target: str) -> Any:
        """An attribute of the module.

        Args:
            target: its name, with dots
        """
        value: Any = self.module
        path = target.split(".")
        for place, name in enumerate(path):
            if not hasattr(value, name):
                raise RuntimeError(
                    "Node referenced nonexistent target "
                    f"{'.'.join(path[: place + 1])}" + errors.at_user_line()
                )
            value = getattr(value, name)
        return value

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[Any, Any]:
        """The arguments of a node, as values.

        Args:
            n: the node
        """
        args = self.map_nodes_to_values(n.args, n)
        return args, dict(self.map_nodes_to_values(n.kwargs, n))

    def map_nodes_to_values(self, args: Any, n: Node) -> Any:
        """An argument with the values of the nodes in it.

        Args:
            args: the argument
            n: the node whose it is
        """

        def load(node: Node) -> Any:
            if node not in self.env:
                raise RuntimeError(
                    f"Node {n} referenced nonexistent value {node}! Run Graph.lint() to diagnose "
                    "such issues" + errors.at_user_line()
                )
            return self.env[node]

        return _unfrozen(map_arg(args, load))


def _unfrozen(value: Any) -> Any:
    """Ordinary lists and dicts, as the program had them."""
    if isinstance(value, list):
        return [_unfrozen(each) for each in value]
    if isinstance(value, dict):
        return {key: _unfrozen(each) for key, each in value.items()}
    if type(value) is tuple:
        return tuple(_unfrozen(each) for each in value)
    return value


class _TransformerTracer(Tracer):
    """Records into a new graph; modules are not looked into."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph = graph

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        return True


class Transformer(Interpreter):
    """Makes a new module of a traced one: methods for the kinds of nodes say what becomes of each.

    Args:
        module: the traced module

    Example:
        >>> class Sub(clew.fx.Transformer):
        ...     def call_function(self, target, args, kwargs):
        ...         target = clew.sub if target is clew.add else target
        ...         return super().call_function(target, args, kwargs)
        >>> traced = clew.fx.symbolic_trace(lambda x: clew.add(x, 1))
        >>> Sub(traced).transform()(clew.ones(1))
        tensor([0.])
    """

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self.new_graph = Graph()
        self.new_graph.set_codegen(module.graph._codegen)
        self.tracer = _TransformerTracer(self.new_graph)
        self.tracer.root = module

    def placeholder(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The new graph's input.

        Args:
            target: its name
            args: its default, if it has one
            kwargs: nothing
        """
        default = {"default_value": args[0]} if args else {}
        return Proxy(self.new_graph.placeholder(target, **default), self.tracer)

    def get_attr(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The new graph's read of an attribute.

        Args:
            target: its name
            args, kwargs: nothing
        """
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The new graph's call of a submodule.

        Args:
            target: its name
            args, kwargs: its arguments
        """
        submodule = self.fetch_attr(target)
        return self.tracer.call_module(submodule, submodule.forward, args, kwargs)

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The new graph's call of a function.

        Args:
            target: the function
            args, kwargs: its arguments
        """
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def transform(self) -> GraphModule:
        """The new module."""
        result = super().run(enable_io_processing=False)
        if result is not None:

            def strip(value: Any) -> Any:
                return value.node if isinstance(value, Proxy) else value

            old = self.module.graph.output_node()
            node = self.new_graph.output(map_aggregate(result, strip))
            node.meta, node.type = dict(old.meta), old.type
        return GraphModule(self.module, self.new_graph)
