"""Node: one step of a traced program."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from clew import errors
from clew.fx.immutable_collections import immutable_dict, immutable_list
from clew.fx.naming import qualified_name, type_repr

if TYPE_CHECKING:
    from clew.fx.graph import Graph

__all__ = ["Argument", "Node", "Target", "has_side_effect", "map_aggregate", "map_arg"]

# For annotations: what an argument of a node may be, and what a node may call.
Argument = Any
Target = Callable[..., Any] | str

_legal_ops = {
    "placeholder", "get_attr", "call_function", "call_module", "call_method", "output", "root",
}  # fmt: skip

# Functions that are kept although nobody uses their result.
_side_effectful_functions: set[Callable[..., Any]] = set()


def has_side_effect(fn: Any) -> Any:
    """Mark a function whose calls stay in a graph although nothing uses their result.

    Args:
        fn: the function, which is returned

    Example:
        >>> clew.fx.has_side_effect(print) is print
        True
    """
    _side_effectful_functions.add(fn)
    return fn


def map_aggregate(a: Any, fn: Callable[[Any], Any]) -> Any:
    """The same nesting of tuples, lists, dicts and slices, with a function applied to the rest.

    Args:
        a: any value
        fn: what is applied to everything that is none of these

    Example:
        >>> clew.fx.node.map_aggregate((1, [2, {"a": 3}]), lambda n: n * 10)
        (10, [20, {'a': 30}])
    """
    if isinstance(a, tuple):
        parts = [map_aggregate(each, fn) for each in a]
        return type(a)(*parts) if hasattr(a, "_fields") else tuple(parts)
    if isinstance(a, list):
        return immutable_list([map_aggregate(each, fn) for each in a])
    if isinstance(a, dict):
        return immutable_dict((key, map_aggregate(value, fn)) for key, value in a.items())
    if isinstance(a, slice):
        return slice(*[map_aggregate(part, fn) for part in (a.start, a.stop, a.step)])
    return fn(a)


def map_arg(a: Any, fn: Callable[[Node], Any]) -> Any:
    """The same value, with a function applied to the nodes in it.

    Args:
        a: a node's argument
        fn: what is applied to every node

    Example:
        >>> graph = clew.fx.Graph()
        >>> x = graph.placeholder("x")
        >>> clew.fx.map_arg([x, 1], lambda node: node.op)
        ['placeholder', 1]
    """
    return map_aggregate(a, lambda each: fn(each) if isinstance(each, Node) else each)


class Node:
    """One step of a graph: its kind (`op`), what is called (`target`), and its arguments.

    Args:
        graph: the graph it belongs to
        name: the name of its value
        op: `placeholder`, `get_attr`, `call_function`, `call_module`, `call_method` or `output`
        target: what is called, or the name of the attribute, module or method
        args, kwargs: the arguments; nodes in them are the values of these
        return_type: the type of its value, for the generated code

    Example:
        >>> traced = clew.fx.symbolic_trace(lambda x: x + 1)
        >>> [(node.name, node.op) for node in traced.graph.nodes]
        [('x', 'placeholder'), ('add', 'call_function'), ('output', 'output')]
    """

    def __init__(
        self,
        graph: Graph,
        name: str,
        op: str,
        target: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        return_type: Any = None,
    ) -> None:
        if op not in _legal_ops:
            raise AssertionError(f"op '{op}' is not in _legal_ops" + errors.at_user_line())
        if op == "call_function" and not callable(target):
            raise ValueError(
                f"Node [graph = {graph}, name = '{name}'] target {target} has type "
                f"{types_name(target)} but a Callable is expected" + errors.at_user_line()
            )
        if op != "call_function" and not isinstance(target, str):
            raise ValueError(
                f"Node [graph = {graph}, name = '{name}'] target {target} has type "
                f"{types_name(target)} but a str is expected" + errors.at_user_line()
            )
        self.graph = graph
        self.name = name
        self.op = op
        self.target = target
        self.type = return_type
        self.meta: dict[str, Any] = {}
        # Those that use its value, in the order in which they came.
        self.users: dict[Node, None] = {}
        self._input_nodes: dict[Node, None] = {}
        self._prev = self._next = self
        self._erased = False
        self._args: tuple[Any, ...] = ()
        self._kwargs: dict[str, Any] = {}
        self._set(args, kwargs)

    # -- place -----------------------------------------------------------------------------

    @property
    def next(self) -> Node:
        """The node after this one."""
        return self._next

    @property
    def prev(self) -> Node:
        """The node before this one."""
        return self._prev

    def prepend(self, x: Node) -> None:
        """Move a node of the same graph to the place before this one."""
        if self.graph is not x.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if x is self:
            return
        x._unlink()
        before = self._prev
        before._next, x._prev = x, before
        x._next, self._prev = self, x

    def append(self, x: Node) -> None:
        """Move a node of the same graph to the place after this one."""
        self._next.prepend(x)

    def _unlink(self) -> None:
        before, after = self._prev, self._next
        before._next, after._prev = after, before

    # -- arguments -------------------------------------------------------------------------

    @property
    def args(self) -> tuple[Any, ...]:
        """The positional arguments; assign a new tuple to change them."""
        return self._args

    @args.setter
    def args(self, value: tuple[Any, ...]) -> None:
        self._set(value, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Any]:
        """The keyword arguments; assign a new dict to change them."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, value: dict[str, Any]) -> None:
        self._set(self._args, value)

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes among the arguments, each once."""
        return list(self._input_nodes)

    def _set(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        for node in self._input_nodes:
            node.users.pop(self, None)
        self._input_nodes = {}

        def note(node: Node) -> Node:
            self._input_nodes[node] = None
            node.users[self] = None
            return node

        self._args = map_arg(tuple(args), note)
        self._kwargs = map_arg(dict(kwargs), note)

    def update_arg(self, idx: int, arg: Any) -> None:
        """Replace a positional argument."""
        args = list(self._args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Any) -> None:
        """Put an argument before a positional one."""
        if not 0 <= idx <= len(self._args):
            raise AssertionError("insert_args index must be between 0 and len(self.args)")
        self.args = (*self._args[:idx], arg, *self._args[idx:])

    def update_kwarg(self, key: str, arg: Any) -> None:
        """Replace or add a keyword argument."""
        self.kwargs = {**self._kwargs, key: arg}

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Use another node's value wherever an argument is a certain node."""

        def swap(node: Node) -> Node:
            return new_input if node is old_input else node

        self._set(map_arg(self._args, swap), map_arg(self._kwargs, swap))

    def replace_all_uses_with(
        self,
        replace_with: Node,
        delete_user_cb: Callable[[Node], bool] | None = None,
        *,
        propagate_meta: bool = False,
    ) -> list[Node]:
        """Let all users use another node's value; returns the users.

        Args:
            replace_with: the other node
            delete_user_cb: which users to change; None is all
            propagate_meta: whether the other node gets this one's `meta`
        """
        if propagate_meta:
            replace_with.meta.update(self.meta)
        changed = []
        for user in list(self.users):
            if delete_user_cb is None or delete_user_cb(user):
                changed.append(user)
                user.replace_input_with(self, replace_with)
        return changed

    # -- what it is ------------------------------------------------------------------------

    @property
    def stack_trace(self) -> str | None:
        """Where the step was traced, if that was recorded."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    def is_impure(self, impure_random: bool = True) -> bool:
        """Whether it must stay in the graph although nothing uses its value."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            name = getattr(self.target, "__name__", "")
            is_random = impure_random and name in _RANDOM
            return is_random or self.target in _side_effectful_functions or name == "_assert"
        if self.op == "call_module":
            owner = self.graph.owning_module
            module = None if owner is None else owner.get_submodule(self.target)
            return getattr(module, "_is_impure", False)
        return False

    def _rename(self, candidate: str) -> None:
        if candidate != self.name:
            self.name = self.graph._graph_namespace.create_name(candidate, None)
            self.graph._graph_namespace._rename_object(self, self.name)

    def __repr__(self) -> str:
        return self.name

    def _pretty_print_target(self, target: Any) -> str:
        return qualified_name(target).replace("_operator.", "operator.", 1)

    def format_node(
        self,
        placeholder_names: list[str] | None = None,
        maybe_return_typename: list[str] | None = None,
        *,
        include_tensor_metadata: bool = False,
    ) -> str | None:
        """The node in one line, as `str(graph)` shows it."""
        kind = f"{type_repr(self.type)} " if self.type else ""
        users = f"%{self.name} : {kind}[num_users={len(self.users)}] = {self.op}"
        if self.op == "placeholder":
            if placeholder_names is not None:
                placeholder_names.append(f"{self.target}{kind}")
                return None
            default = f"(default={self.args[0]})" if self.args else ""
            return f"{users}[target={self.target}]{default}"
        if self.op == "get_attr":
            return f"{users}[target={self.target}]"
        if self.op == "output":
            if self.type and maybe_return_typename:
                maybe_return_typename[0] = f" -> {type_repr(self.type)}"
            return f"return {self.args[0]}"
        target = (
            self.target if isinstance(self.target, str) else self._pretty_print_target(self.target)
        )
        return (
            f"{users}[target={target}](args = {format_arg(self.args)}, "
            f"kwargs = {format_arg(self.kwargs)})"
        )


_RANDOM = {
    "rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like", "normal",
    "bernoulli", "poisson", "multinomial",
}  # fmt: skip


def types_name(value: Any) -> str:
    """The full name of a value's class."""
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def format_arg(arg: Any) -> str:
    """An argument as `str(graph)` shows it."""
    if isinstance(arg, list):
        return f"[{', '.join(format_arg(each) for each in arg)}]"
    if isinstance(arg, tuple):
        inside = ", ".join(format_arg(each) for each in arg)
        return f"({inside}{',' if len(arg) == 1 else ''})"
    if isinstance(arg, dict):
        return "{" + ", ".join(f"{key}: {format_arg(value)}" for key, value in arg.items()) + "}"
    return f"%{arg.name}" if isinstance(arg, Node) else str(arg)
