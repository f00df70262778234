"""Graph: the steps of a traced program, in the order in which they run."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from clew import errors
from clew.fx.codegen import CodeGen, PythonCode
from clew.fx.naming import Namespace, is_from_torch, qualified_name, snake_case
from clew.fx.node import Node, map_arg
from clew.ops.namespaces import OpOverload

if TYPE_CHECKING:
    from clew.fx.graph_module import GraphModule

__all__ = ["CodeGen", "Graph", "PythonCode"]

_EMPTY = object()


class _NodeList:
    """The nodes of a graph, first to last."""

    def __init__(self, graph: Graph, direction: str = "_next") -> None:
        self.graph = graph
        self.direction = direction

    def __len__(self) -> int:
        return self.graph._length

    def __iter__(self) -> Iterator[Node]:
        node = getattr(self.graph._root, self.direction)
        while node is not self.graph._root:
            # Where a node moves to meanwhile, the walk follows; erased ones are left out.
            if not node._erased:
                yield node
            node = getattr(node, self.direction)

    def __reversed__(self) -> _NodeList:
        return _NodeList(self.graph, "_prev" if self.direction == "_next" else "_next")


class _InsertPoint:
    """New nodes go to another place until the block ends, or from now on."""

    def __init__(self, graph: Graph, insert: Callable[[Node], None]) -> None:
        self.graph = graph
        self.before, graph._insert = graph._insert, insert

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: Any) -> None:
        self.graph._insert = self.before


class Graph:
    """The steps of a program, as a list of nodes.

    Args:
        owning_module: the module whose attributes the nodes name
        tracer_cls: the class of the tracer that made it
        tracer_extras: what that tracer needs to be made again

    Example:
        >>> graph = clew.fx.Graph()
        >>> x = graph.placeholder("x")
        >>> total = graph.call_function(clew.add, (x, 1))
        >>> out = graph.output(total)
        >>> print(graph)
        graph():
            %x : [num_users=1] = placeholder[target=x]
            %add : [num_users=1] = call_function[target=torch.add](args = (%x, 1), kwargs = {})
            return add
    """

    def __init__(
        self,
        owning_module: GraphModule | None = None,
        tracer_cls: type | None = None,
        tracer_extras: dict[str, Any] | None = None,
    ) -> None:
        self._root = Node(self, "", "root", "", (), {})
        self._insert: Callable[[Node], None] = self._root.prepend
        self._length = 0
        self._graph_namespace = Namespace()
        self._owning_module = owning_module
        self._owners = 0
        self._tracer_cls = tracer_cls
        self._tracer_extras = tracer_extras
        self._codegen = CodeGen()

    @property
    def owning_module(self) -> GraphModule | None:
        """The module that runs the graph, if exactly one does."""
        return self._owning_module

    @owning_module.setter
    def owning_module(self, module: GraphModule | None) -> None:
        self._owning_module = module

    @property
    def nodes(self) -> Any:
        """The nodes, in the order in which they run.

        Example:
            >>> traced = clew.fx.symbolic_trace(lambda x: x * 2)
            >>> list(traced.graph.nodes)
            [x, mul, output]
        """
        return _NodeList(self)

    def output_node(self) -> Node:
        """The node that says what is returned."""
        node = self._root.prev
        if node.op != "output":
            raise AssertionError("the graph has no output node" + errors.at_user_line())
        return node

    def find_nodes(self, *, op: str, target: Any = None, sort: bool = True) -> list[Node]:
        """The nodes of a kind.

        Args:
            op: the kind
            target: what is called; None is anything, but for functions it must be said
            sort: they are in the graph's order in any case
        """
        return [
            node
            for node in self.nodes
            if node.op == op and (target is None or node.target == target)
        ]

    # -- making nodes ----------------------------------------------------------------------

    def create_node(
        self,
        op: str,
        target: Any,
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Add a node at the insert point.

        Args:
            op: its kind
            target: what is called, or the name of an attribute, module or method
            args, kwargs: its arguments
            name: what to call its value; a number is added where that is taken
            type_expr: the type of its value
        """
        args, kwargs = args or (), kwargs or {}
        if not isinstance(args, tuple):
            raise AssertionError("args must be a tuple" + errors.at_user_line())
        if not isinstance(kwargs, dict):
            raise AssertionError("kwargs must be a dict" + errors.at_user_line())
        candidate = name if name is not None else self._target_to_str(target)
        unique = self._graph_namespace.create_name(candidate, None)
        node = Node(self, unique, op, target, args, kwargs, type_expr)
        self._graph_namespace._rename_object(node, unique)
        self._insert(node)
        self._length += 1
        return node

    def _target_to_str(self, target: Any) -> str:
        if isinstance(target, OpOverload):
            op = target.__name__.replace(".", "_")
        elif callable(target):
            op = target.__name__
            if is_from_torch(target):
                op = qualified_name(target).rpartition(".")[2]
        else:
            op = target
            if op.startswith("__") and op.endswith("__"):
                op = op[2:-2]
        return snake_case(op)

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = _EMPTY) -> Node:
        """Add an input.

        Args:
            name: its name, as a parameter of the generated function
            type_expr: its type
            default_value: its default, if it has one
        """
        args = () if default_value is _EMPTY else (default_value,)
        return self.create_node("placeholder", name, args=args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """Add the value of an attribute of the module.

        Args:
            qualified_name: its name, with dots
            type_expr: its type
        """
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(
        self, module_name: str, args: Any = None, kwargs: Any = None, type_expr: Any = None
    ) -> Node:
        """Add a call of a submodule.

        Args:
            module_name: its name, with dots
            args, kwargs: the arguments
            type_expr: the type of its result
        """
        if not isinstance(module_name, str):
            raise AssertionError(
                f"Expected target to be str, got {type(module_name)}" + errors.at_user_line()
            )
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(
        self, method_name: str, args: Any = None, kwargs: Any = None, type_expr: Any = None
    ) -> Node:
        """Add a call of a method of the first argument.

        Args:
            method_name: its name
            args, kwargs: the arguments, the object first
            type_expr: the type of its result
        """
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(
        self,
        the_function: Callable[..., Any],
        args: Any = None,
        kwargs: Any = None,
        type_expr: Any = None,
        name: str | None = None,
    ) -> Node:
        """Add a call of a function.

        Args:
            the_function: the function
            args, kwargs: the arguments
            type_expr: the type of its result
            name: what to call its result
        """
        return self.create_node("call_function", the_function, args, kwargs, name, type_expr)

    def output(self, result: Any, type_expr: Any = None) -> Node:
        """Add what the function returns.

        Args:
            result: a node, or nodes in lists, tuples and dicts
            type_expr: its type
        """
        return self.create_node("output", "output", args=(result,), type_expr=type_expr)

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Any] = lambda x: x) -> Node:
        """Add a copy of a node of another graph.

        Args:
            node: the node
            arg_transform: gives the node here for each node among its arguments
        """
        args = map_arg(node.args, arg_transform)
        kwargs = map_arg(node.kwargs, arg_transform)
        copied = self.create_node(node.op, node.target, args, dict(kwargs), node.name, node.type)
        copied.meta = dict(node.meta)
        return copied

    def graph_copy(
        self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False
    ) -> Any:
        """Add copies of all nodes of another graph; returns what it returns, as nodes here.

        Args:
            g: the other graph
            val_map: the node here for each of its nodes; those that are in it are not copied
            return_output_node: whether to return its output node, too
        """
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], lambda n: val_map[n])
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    def __deepcopy__(self, memo: dict[int, Any]) -> Graph:
        copied = Graph(tracer_cls=self._tracer_cls, tracer_extras=self._tracer_extras)
        copied._codegen = self._codegen
        result = copied.graph_copy(self, {}, return_output_node=True)
        if result is not None:
            value, old = result
            node = copied.create_node("output", "output", (value,), name=old.name)
            node.type, node.meta = old.type, dict(old.meta)
        memo[id(self)] = copied
        return copied

    # -- changing --------------------------------------------------------------------------

    def erase_node(self, to_erase: Node) -> None:
        """Take a node out that nothing uses.

        Args:
            to_erase: the node
        """
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in "
                f"the graph: {to_erase.users}!" + errors.at_user_line()
            )
        if to_erase.graph is not self:
            raise RuntimeError(
                f"Attempting to remove {to_erase} from wrong graph!" + errors.at_user_line()
            )
        if to_erase._erased:
            return
        to_erase._unlink()
        to_erase._erased = True
        self._length -= 1
        to_erase.args, to_erase.kwargs = (), {}

    def inserting_before(self, n: Node | None = None) -> _InsertPoint:
        """New nodes go before a node, until the `with` block ends.

        Args:
            n: the node; None is the beginning of the graph
        """
        if n is None:
            return self.inserting_after(self._root)
        return _InsertPoint(self, self._mine(n).prepend)

    def inserting_after(self, n: Node | None = None) -> _InsertPoint:
        """New nodes go after a node, until the `with` block ends.

        Args:
            n: the node; None is the end of the graph
        """
        if n is None:
            return self.inserting_before(self._root)
        return _InsertPoint(self, self._mine(n).append)

    def _mine(self, node: Node) -> Node:
        if node.graph is not self:
            raise AssertionError("Node to insert before is not in graph." + errors.at_user_line())
        return node

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Take out what has no effect; True if there was something.

        Args:
            is_impure_node: which nodes to keep; None asks the nodes
        """
        self.lint()
        keep = is_impure_node or Node.is_impure
        dead = 0
        for node in reversed(self.nodes):
            if not node.users and not keep(node):
                self.erase_node(node)
                dead += 1
        return dead > 0

    # -- looking ---------------------------------------------------------------------------

    def lint(self) -> None:
        """Raise if nodes use what comes later, share a name, or name what the module has not."""
        seen_names: set[str] = set()
        seen: set[Node] = set()
        for node in self.nodes:
            if node.graph is not self:
                raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
            for used in node.all_input_nodes:
                if used.graph is not self:
                    raise RuntimeError(
                        f"Argument '{used}' of Node '{node}' does not belong to this Graph, but "
                        "was used as an argument! If you are copying nodes from another graph, "
                        "make sure to use ``arg_transform`` on node_copy() to remap values\n"
                        f"{self}" + errors.at_user_line()
                    )
                if used not in seen:
                    raise RuntimeError(
                        f"Argument '{used}' of Node '{node}' was used before it has been defined! "
                        f"Please check that Nodes in the graph are topologically ordered\n{self}"
                        + errors.at_user_line()
                    )
            seen.add(node)
            if node.name in seen_names:
                raise RuntimeError(f"Node redefined name {node.name}!" + errors.at_user_line())
            seen_names.add(node.name)
            if self.owning_module is not None and node.op in ("get_attr", "call_module"):
                _lookup(self.owning_module, node)

    def print_tabular(self) -> None:
        """Print the nodes as a table.

        Example:
            >>> clew.fx.symbolic_trace(lambda x: x + 1).graph.print_tabular()
            opcode         name    target                   args    kwargs
            -------------  ------  -----------------------  ------  --------
            placeholder    x       x                        ()      {}
            call_function  add     <built-in function add>  (x, 1)  {}
            output         output  output                   (add,)  {}
        """
        rows: list[tuple[str, ...]] = [("opcode", "name", "target", "args", "kwargs")]
        rows += [
            (n.op, n.name, str(n.target), str(n.args), str(dict(n.kwargs))) for n in self.nodes
        ]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        widths = [max(width, len(name) + 2) for width, name in zip(widths, rows[0], strict=True)]
        rows.insert(1, tuple("-" * width for width in widths))
        for row in rows:
            cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
            print("  ".join(cells).rstrip())

    def __str__(self) -> str:
        lines = [f"    {node.format_node()}" for node in self.nodes]
        return "\n".join(["graph():", *lines])

    # -- code ------------------------------------------------------------------------------

    def set_codegen(self, codegen: CodeGen) -> None:
        """Generate code in another way."""
        self._codegen = codegen

    def process_inputs(self, *args: Any) -> Any:
        """The arguments as the generated function takes them."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Any:
        """The result as the caller gets it."""
        return self._codegen.process_outputs(out)

    def python_code(self, root_module: str, *, verbose: bool = False) -> PythonCode:
        """The Python function that the graph is, and the globals that it uses.

        Args:
            root_module: the name of the module in it, mostly `self`
            verbose: whether shapes and places of nodes are told in comments

        Example:
            >>> graph = clew.fx.symbolic_trace(lambda x: x + 1).graph
            >>> print(graph.python_code("self").src.strip())
            def forward(self, x):
                add = x + 1;  x = None
                return add
        """
        return self._codegen.generate(self.nodes, root_module, verbose=verbose)

    @contextlib.contextmanager
    def on_generate_code(self, make_transformer: Callable[[Any], Any]) -> Iterator[None]:
        """Change the lines of generated code inside of a block.

        Args:
            make_transformer: takes the function that was in effect, or None, and returns one
                from lines to lines
        """
        before = self._codegen.body_transformer
        self._codegen.body_transformer = make_transformer(before)
        try:
            yield
        finally:
            self._codegen.body_transformer = before


def _lookup(owner: Any, node: Node) -> None:
    """Raise if a module has not what a node names."""
    value, path = owner, node.target.split(".")
    for place, name in enumerate(path):
        if not hasattr(value, name):
            raise RuntimeError(
                f"Node {node} target {node.target} references nonexistent attribute {name} of "
                f"{'.'.join(path[:place])}" + errors.at_user_line()
            )
        value = getattr(value, name)
