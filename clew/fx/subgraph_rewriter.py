"""Replacing parts of a graph: what looks like a pattern becomes something else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from clew import errors
from clew.fx._symbolic_trace import symbolic_trace
from clew.fx.graph import Graph
from clew.fx.graph_module import GraphModule
from clew.fx.node import Node

__all__ = ["Match", "replace_pattern"]


class Match(NamedTuple):
    """A part of a graph that looks like a pattern."""

    # The node that the pattern's last one stands for.
    anchor: Node
    # For each node of the pattern, the one that it stands for.
    nodes_map: dict[Node, Node]


def replace_pattern(
    gm: GraphModule,
    pattern: Callable[..., Any] | GraphModule,
    replacement: Callable[..., Any] | GraphModule,
) -> list[Match]:
    """Replace every part of a module's graph that looks like a pattern.

    Parts that share a step are not both replaced.

    Args:
        gm: the module, which is changed
        pattern: a function of the inputs of the part
        replacement: a function of the same inputs

    Example:
        >>> traced = clew.fx.symbolic_trace(lambda x: (x + x).relu())
        >>> found = clew.fx.replace_pattern(traced, lambda a: a + a, lambda a: a * 2)
        >>> print(traced.code.strip())
        def forward(self, x):
            mul = x * 2;  x = None
            relu = mul.relu();  mul = None
            return relu
    """
    before, after = _graph_of(pattern), _graph_of(replacement)
    if len(_inputs(before)) != len(_inputs(after)):
        raise RuntimeError(
            "The placeholders of the pattern and of the replacement must be as many: "
            f"{len(_inputs(before))} and {len(_inputs(after))}" + errors.at_user_line()
        )
    found = _find(gm.graph, before)
    # A match may take its inputs from what another one becomes.
    became: dict[Node, Node] = {}
    for match in found:
        _replace(gm.graph, before, after, match, became)
    gm.recompile()
    return found


def _graph_of(program: Callable[..., Any] | GraphModule) -> Graph:
    return (program if isinstance(program, GraphModule) else symbolic_trace(program)).graph


def _inputs(graph: Graph) -> list[Node]:
    return graph.find_nodes(op="placeholder")


def _results(graph: Graph) -> list[Node]:
    return graph.output_node().all_input_nodes


def _find(graph: Graph, pattern: Graph) -> list[Match]:
    anchors = _results(pattern)
    found: list[Match] = []
    taken: set[Node] = set()
    if len(anchors) != 1:
        raise RuntimeError("a pattern has one result" + errors.at_user_line())
    for node in graph.nodes:
        nodes: dict[Node, Node] = {}
        if not _fits(anchors[0], node, nodes, anchors[0]):
            continue
        inside = {nodes[each] for each in nodes if each.op not in ("placeholder", "get_attr")}
        if inside & taken:
            continue
        taken |= inside
        found.append(Match(node, nodes))
    return found


def _fits(pattern: Node, node: Any, nodes: dict[Node, Node], anchor: Node) -> bool:
    """Whether a node, and what it uses, look like a node of the pattern."""
    if not isinstance(node, Node):
        return False
    if pattern in nodes:
        return nodes[pattern] is node
    if pattern.op == "placeholder":
        nodes[pattern] = node
        return True
    if pattern.op != node.op or pattern.target != node.target:
        return False
    # What is inside of the part must not be used outside of it.
    if pattern is not anchor and len(pattern.users) != len(node.users):
        return False
    nodes[pattern] = node
    return _alike(pattern.args, node.args, nodes, anchor) and _alike(
        dict(pattern.kwargs), dict(node.kwargs), nodes, anchor
    )


def _alike(a: Any, b: Any, nodes: dict[Node, Node], anchor: Node) -> bool:
    if isinstance(a, Node):
        return _fits(a, b, nodes, anchor)
    if isinstance(a, (list, tuple)):
        return (
            isinstance(b, (list, tuple))
            and len(a) == len(b)
            and all(_alike(x, y, nodes, anchor) for x, y in zip(a, b, strict=True))
        )
    if isinstance(a, dict):
        return (
            isinstance(b, dict)
            and a.keys() == b.keys()
            and all(_alike(a[key], b[key], nodes, anchor) for key in a)
        )
    if isinstance(a, slice):
        return isinstance(b, slice) and _alike(
            (a.start, a.stop, a.step), (b.start, b.stop, b.step), nodes, anchor
        )
    return type(a) is type(b) and bool(a == b)


def _replace(
    graph: Graph, before: Graph, after: Graph, match: Match, became: dict[Node, Node]
) -> None:
    values: dict[Node, Node] = {}
    for old, new in zip(_inputs(before), _inputs(after), strict=True):
        if old in match.nodes_map:
            node = match.nodes_map[old]
            values[new] = became.get(node, node)
    users = set(match.anchor.users)
    first = next((node for node in graph.nodes if node in users), match.anchor)
    with graph.inserting_before(first):
        result = graph.graph_copy(after, values)
    if not isinstance(result, Node):
        raise RuntimeError("a replacement has one result" + errors.at_user_line())
    match.anchor.replace_all_uses_with(result)
    became[match.anchor] = result
    inside = [match.nodes_map[each] for each in before.nodes if each in match.nodes_map]
    outside = {match.nodes_map[each] for each in _inputs(before) if each in match.nodes_map}
    for node in reversed(inside):
        if node not in outside and not node._erased and not node.users:
            graph.erase_node(node)
