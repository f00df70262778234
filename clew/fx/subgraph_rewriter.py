"""Replacing parts of a graph: what looks like a pattern becomes something else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from clew import errors
from clew.fx._symbolic_trace import symbolic_trace
from clew.fx.graph import Graph
from clew.fx.graph_module import GraphModule
from clew.fx.node import Node

__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]


class Match(NamedTuple):
    """A part of a graph that looks like a pattern."""

    # The node that the pattern's last one stands for.
    anchor: Node
    # For each node of the pattern, the one that it stands for.
    nodes_map: dict[Node, Node]


class InternalMatch(NamedTuple):
    """The same as filters see it."""

    # The last node of the pattern.
    anchors: list[Node]
    nodes_map: dict[Node, Node]
    # What the inputs of the pattern stand for, and its result.
    placeholder_nodes: list[Node]
    returning_nodes: list[Node]


# Says whether a match is replaced, from it, the graph and the pattern's graph.
Filter = Callable[[InternalMatch, Graph, Graph], bool]
# Makes what a match is replaced by.
Replacement = Callable[[InternalMatch, Graph, Graph], Graph]


class ReplacedPatterns(NamedTuple):
    """A part of a graph that was replaced, with the nodes that are there now."""

    # The last node of the pattern.
    anchor: Node
    nodes_map: dict[Node, Node]
    replacements: list[Node]


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
    made = _replaced(gm, _graph_of(pattern), _graph_of(replacement), ())
    return [Match(each.nodes_map[each.anchor], each.nodes_map) for each in made]


def replace_pattern_with_filters(
    gm: GraphModule,
    pattern: Callable[..., Any] | Graph | GraphModule,
    replacement: Callable[..., Any] | Graph | GraphModule | None = None,
    match_filters: Sequence[Filter] | None = None,
    ignore_literals: bool = False,
    replacement_callback: Replacement | None = None,
) -> list[ReplacedPatterns]:
    """The same for parts that all filters agree to.

    Args:
        gm: the module, which is changed
        pattern: a function of the inputs of the part
        replacement: a function of the same inputs
        match_filters: each takes a match, the graph and the pattern's graph, and says yes or no
        ignore_literals: whether numbers in the pattern stand for any number
        replacement_callback: makes the replacement of a match, instead of `replacement`

    Example:
        >>> from clew.fx.subgraph_rewriter import replace_pattern_with_filters
        >>> traced = clew.fx.symbolic_trace(lambda x: (x + 1).relu() + (x + 2).relu())
        >>> def second(match, graph, pattern):
        ...     return match.returning_nodes[0].name == "relu_1"
        >>> found = replace_pattern_with_filters(
        ...     traced, lambda a: a.relu(), lambda a: a.abs(), [second]
        ... )
        >>> [node.name for node in traced.graph.nodes]
        ['x', 'add', 'relu', 'add_1', 'abs_1', 'add_2', 'output']
    """
    after = None if replacement is None else _graph_of(replacement)
    made = after if replacement_callback is None else replacement_callback
    if made is None:
        raise AssertionError(
            "Must provide either a replacement GraphModule or a replacement_callback"
            + errors.at_user_line()
        )
    return _replaced(gm, _graph_of(pattern), made, match_filters or (), ignore_literals)


def _replaced(
    gm: GraphModule,
    before: Graph,
    after: Graph | Replacement,
    filters: Sequence[Filter],
    any_literal: bool = False,
) -> list[ReplacedPatterns]:
    """Replace the parts that look like a pattern and pass the filters."""
    if isinstance(after, Graph):
        _check_inputs(before, after)
    found = []
    # A match may take its inputs from what another one becomes.
    became: dict[Node, Node] = {}
    for match in _find(gm.graph, before, any_literal):
        nodes, anchors = match.nodes_map, _results(before)
        inputs = [nodes[each] for each in _inputs(before) if each in nodes]
        seen = InternalMatch(anchors, nodes, inputs, [match.anchor])
        if all(accepts(seen, gm.graph, before) for accepts in filters):
            new = after if isinstance(after, Graph) else after(seen, gm.graph, before)
            _check_inputs(before, new)
            added = _replace(gm.graph, before, new, match, became)
            found.append(ReplacedPatterns(anchors[0], nodes, added))
    gm.recompile()
    return found


def _check_inputs(before: Graph, after: Graph) -> None:
    if len(_inputs(before)) != len(_inputs(after)):
        raise RuntimeError(
            "The placeholders of the pattern and of the replacement must be as many: "
            f"{len(_inputs(before))} and {len(_inputs(after))}" + errors.at_user_line()
        )


def _graph_of(program: Callable[..., Any] | Graph | GraphModule) -> Graph:
    if isinstance(program, Graph):
        return program
    return (program if isinstance(program, GraphModule) else symbolic_trace(program)).graph


def _inputs(graph: Graph) -> list[Node]:
    return graph.find_nodes(op="placeholder")


def _results(graph: Graph) -> list[Node]:
    return graph.output_node().all_input_nodes


def _find(graph: Graph, pattern: Graph, any_literal: bool) -> list[Match]:
    anchors = _results(pattern)
    found: list[Match] = []
    taken: set[Node] = set()
    if len(anchors) != 1:
        raise RuntimeError("a pattern has one result" + errors.at_user_line())
    for node in graph.nodes:
        nodes: dict[Node, Node] = {}
        if not _Fitting(nodes, anchors[0], any_literal).fits(anchors[0], node):
            continue
        inside = {nodes[each] for each in nodes if each.op not in ("placeholder", "get_attr")}
        if inside & taken:
            continue
        taken |= inside
        found.append(Match(node, nodes))
    return found


class _Fitting:
    """A pattern held against a part of a graph; `nodes` tells what each node stands for."""

    def __init__(self, nodes: dict[Node, Node], anchor: Node, any_literal: bool) -> None:
        self.nodes = nodes
        self.anchor = anchor
        self.any_literal = any_literal

    def fits(self, pattern: Node, node: Any) -> bool:
        """Whether a node, and what it uses, look like a node of the pattern."""
        if not isinstance(node, Node):
            return False
        if pattern in self.nodes:
            return self.nodes[pattern] is node
        if pattern.op == "placeholder":
            self.nodes[pattern] = node
            return True
        if pattern.op != node.op or pattern.target != node.target:
            return False
        # What is inside of the part must not be used outside of it.
        if pattern is not self.anchor and len(pattern.users) != len(node.users):
            return False
        self.nodes[pattern] = node
        return self._alike(pattern.args, node.args) and self._alike(
            dict(pattern.kwargs), dict(node.kwargs)
        )

    def _alike(self, a: Any, b: Any) -> bool:
        if isinstance(a, Node):
            return self.fits(a, b)
        if isinstance(a, (list, tuple)):
            return (
                isinstance(b, (list, tuple))
                and len(a) == len(b)
                and all(self._alike(x, y) for x, y in zip(a, b, strict=True))
            )
        if isinstance(a, dict):
            return (
                isinstance(b, dict)
                and a.keys() == b.keys()
                and all(self._alike(a[key], b[key]) for key in a)
            )
        if isinstance(a, slice):
            return isinstance(b, slice) and self._alike(
                (a.start, a.stop, a.step), (b.start, b.stop, b.step)
            )
        if self.any_literal and not isinstance(b, Node):
            return True
        return type(a) is type(b) and bool(a == b)


def _replace(
    graph: Graph, before: Graph, after: Graph, match: Match, became: dict[Node, Node]
) -> list[Node]:
    """Put the replacement of a match into the graph; its nodes."""
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
    return [values[node] for node in after.nodes if node.op not in ("placeholder", "output")]
