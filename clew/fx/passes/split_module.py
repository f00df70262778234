"""Splitting: a traced module becomes one of several parts, each with a graph of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clew import errors
from clew.fx.graph import Graph
from clew.fx.graph_module import GraphModule
from clew.fx.node import Node, map_arg
from clew.fx.proxy import Proxy
from clew.nn.modules.module import Module

__all__ = ["split_module"]


class _Part:
    """One part: its nodes, what it takes and what others take of it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.nodes: list[Node] = []
        # Nodes of elsewhere, and nodes of here, in the order in which they are used.
        self.inputs: dict[Node, None] = {}
        self.outputs: dict[Node, None] = {}
        self.needs: dict[Any, None] = {}
        self.needed_by: dict[Any, None] = {}


def split_module(
    m: GraphModule,
    root_m: Module | None,
    split_callback: Callable[[Node], Any],
    qualname_map: dict[str, str] | None = None,
    keep_original_order: bool | None = False,
    keep_original_node_name: bool | None = False,
    keep_original_input_name: bool = True,
    *,
    partition_affix: str | None = None,
    tuple_return: bool = False,
) -> GraphModule:
    """A module that calls one submodule for each part of a traced module.

    Args:
        m: the traced module
        root_m: changes nothing: attributes are those of `m`
        split_callback: gives the part, a number or a name, that a node is in
        qualname_map: is filled with the names of submodules in `m`, by those in the new module
        keep_original_order: whether parts run in the order in which they begin, where they can
        keep_original_node_name: whether nodes are called in their part as in `m`
        keep_original_input_name: whether inputs of parts are called as the nodes that they are
        partition_affix: stands before the part's name in that of its submodule
        tuple_return: whether a part with one result returns a tuple, too

    Example:
        >>> from clew.fx.passes.split_module import split_module
        >>> traced = clew.fx.symbolic_trace(lambda x: (x + 1).relu())
        >>> split = split_module(traced, None, lambda node: 0 if node.name == "add" else 1)
        >>> print(split.code.strip())
        def forward(self, x):
            submod_0 = self.submod_0(x);  x = None
            submod_1 = self.submod_1(submod_0);  submod_0 = None
            return submod_1
    """
    affix = "" if partition_affix is None else f"{partition_affix}_"
    parts: dict[Any, _Part] = {}
    part_of: dict[Node, Any] = {}
    for node in m.graph.nodes:
        if node.op not in ("placeholder", "get_attr", "output"):
            key = part_of[node] = str(split_callback(node))
            parts.setdefault(key, _Part(f"submod_{affix}{key}")).nodes.append(node)
    _connect(m.graph, parts, part_of)

    base, env, attributes = Graph(), {}, {}
    for node in m.graph.nodes:
        if node.op in ("placeholder", "get_attr"):
            env[node] = base.node_copy(node)
            if node.op == "get_attr":
                attributes[node.target] = _attribute(m, node.target)
    names = {} if qualname_map is None else qualname_map
    for part in _ordered(parts, bool(keep_original_order)):
        own_names = bool(keep_original_node_name), keep_original_input_name
        attributes[part.name] = _module_of(m, part, names, own_names, tuple_return)
        result = base.call_module(part.name, tuple(env[node] for node in part.inputs))
        if len(part.outputs) == 1 and not tuple_return:
            env[next(iter(part.outputs))] = result
        else:
            for place, node in enumerate(part.outputs):
                env[node] = Proxy(result)[place].node
    output = m.graph.output_node()
    base.output(map_arg(output.args[0], lambda n: env[n])).meta = dict(output.meta)
    return GraphModule(attributes, base)


def _connect(graph: Graph, parts: dict[Any, _Part], part_of: dict[Node, Any]) -> None:
    """Find out what each part takes from others."""
    for node in graph.nodes:
        user = part_of.get(node)

        def use(used: Node, user: Any = user) -> Node:
            source = part_of.get(used)
            if source != user:
                if source is not None:
                    parts[source].outputs.setdefault(used)
                if user is not None:
                    parts[user].inputs.setdefault(used)
                if source is not None and user is not None:
                    parts[user].needs.setdefault(source)
                    parts[source].needed_by.setdefault(user)
            return used

        map_arg((node.args, node.kwargs), use)


def _ordered(parts: dict[Any, _Part], keep: bool) -> list[_Part]:
    """The parts, each after those that it needs; what became ready last comes first."""
    places = {key: place for place, key in enumerate(parts)}
    ready = [key for key, part in parts.items() if not part.needs]
    found = []
    while ready:
        key = ready.pop(ready.index(min(ready, key=places.__getitem__)) if keep else -1)
        found.append(parts[key])
        for user in parts[key].needed_by:
            del parts[user].needs[key]
            if not parts[user].needs:
                ready.append(user)
    if len(found) < len(parts):
        raise RuntimeError("cycle exists between partitions!" + errors.at_user_line())
    return found


def _module_of(
    m: GraphModule, part: _Part, names: dict[str, str], own_names: tuple[bool, bool], tuples: bool
) -> GraphModule:
    """The module of a part."""
    graph, env, modules = Graph(), {}, {}
    keep_nodes, keep_inputs = own_names
    for place, node in enumerate(part.inputs):
        name = node.name if keep_inputs else f"arg_{place}"
        env[node] = graph.placeholder(name, node.type)
        env[node].meta = dict(node.meta)
    for node in part.nodes:
        target = node.target
        if node.op == "call_module":
            target = node.target.replace(".", "_")
            modules[target] = _attribute(m, node.target)
            names[f"{part.name}.{target}"] = node.target
        args, kwargs = map_arg((node.args, dict(node.kwargs)), lambda n: env[n])
        own = node.name if keep_nodes else None
        env[node] = graph.create_node(node.op, target, args, kwargs, own, node.type)
        env[node].meta = dict(node.meta)
    results = tuple(env[node] for node in part.outputs)
    graph.output(results[0] if len(results) == 1 and not tuples else results)
    return GraphModule(modules, graph)


def _attribute(module: Any, path: str) -> Any:
    for name in path.split("."):
        module = getattr(module, name)
    return module
