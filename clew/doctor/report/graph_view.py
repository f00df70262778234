"""The computation graph behind a tensor, to look at: as a text tree, as SVG, as HTML.

A view is plain data (names, shapes, lines, bytes), so it keeps nothing alive and can be made in the
middle of a run. No part of it is recursive: a graph may be as deep as it likes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from clew.doctor.facts.places import Line, line_of
from clew.doctor.report import graph_drawing
from clew.observed import Node, elements

_MOST_NODES = 20000


@dataclass
class GraphNode:
    """One step of a graph, or a leaf."""

    number: int
    op: str
    shape: tuple[int, ...]
    dtype: str
    module: str
    line: Line | None
    saved: int  # bytes that only this node keeps for backward
    inputs: list[int] = field(default_factory=list)
    leaf: str = ""  # the name of a parameter, or "leaf"
    grad_norm: float | None = None
    lost: list[str] = field(default_factory=list)  # inputs that were cut off, and by what
    seq: int = -1  # its place in the order in which the graph was built

    @property
    def label(self) -> str:
        return self.leaf or self.op

    @property
    def facts(self) -> str:
        """Everything but the name, in one line."""
        parts = [f"{list(self.shape)} {self.dtype}"]
        if self.module:
            parts.append(self.module)
        if self.line is not None:
            parts.append(str(self.line))
        if self.saved:
            parts.append(f"saves {size_text(self.saved)}")
        if self.grad_norm is not None:
            parts.append(f"|grad| {self.grad_norm:.3g}")
        parts += [f"✂ {each}" for each in self.lost]
        return "  ".join(parts)


@dataclass
class GraphView:
    """A graph as data; `print` it, or let a notebook show it."""

    nodes: list[GraphNode]
    roots: list[int]
    cut_off: bool = False  # there were more nodes than are shown

    def __str__(self) -> str:
        return "\n".join(tree_lines(self))

    __repr__ = __str__

    @property
    def saved(self) -> int:
        return sum(node.saved for node in self.nodes)

    def svg(self, *, by_module: bool | None = None) -> str:
        """A drawing; large graphs are drawn by module unless `by_module` says otherwise."""
        return graph_drawing.svg(self, by_module)

    def html(self) -> str:
        """A page of its own: the drawing, and all nodes grouped by module."""
        return graph_drawing.page(self)

    def _repr_html_(self) -> str:
        return graph_drawing.fragment(self)

    def save(self, path: str | Path) -> None:
        """Write SVG, HTML or text, by the ending of the name."""
        path = Path(path)
        makers = {".svg": self.svg, ".html": self.html}
        text = makers.get(path.suffix, self.__str__)() + "\n"
        path.write_text(text, encoding="utf-8", errors="backslashreplace")


def snapshot(
    roots: Sequence[Node], names: dict[int, str], reasons: dict[int, list[str]] | None = None
) -> GraphView:
    """The nodes behind some roots, as data."""
    numbers: dict[Node, int] = {}
    order: list[Node] = []
    stack = list(dict.fromkeys(roots))
    while stack and len(order) < _MOST_NODES:
        node = stack.pop()
        if node in numbers:
            continue
        numbers[node] = len(order)
        order.append(node)
        stack.extend(
            edge[0] for edge in reversed(node._edges) if edge is not None and edge[0] not in numbers
        )
    owned: set[int] = set()
    nodes = [_as_data(node, numbers, names, owned) for node in order]
    for node in order:
        if reasons:
            nodes[numbers[node]].lost = reasons.get(node._seq, [])
    return GraphView(nodes, [numbers[root] for root in roots if root in numbers], bool(stack))


def _as_data(
    node: Node, numbers: dict[Node, int], names: dict[int, str], owned: set[int]
) -> GraphNode:
    leaf, norm = "", None
    if node.is_accumulator:
        tensor = node._variable()
        leaf = names.get(id(tensor), "leaf") if tensor is not None else "leaf"
        if tensor is not None and tensor._grad is not None:
            norm = float(np.linalg.norm(elements(tensor._grad).reshape(-1)))
    name = node.op.name if node._is_op else node._name().rpartition("::")[2]
    return GraphNode(
        number=numbers[node],
        op=name,
        shape=tuple(node._shape),
        dtype=str(node._dtype),
        module=node.module_path or "",
        line=line_of(node._where),
        saved=saved_bytes(node, owned),
        inputs=[numbers[e[0]] for e in node._edges if e is not None and e[0] in numbers],
        leaf=leaf,
        grad_norm=norm,
        seq=node._seq,
    )


def saved_bytes(node: Node, owned: set[int]) -> int:
    """What a node keeps of memory that is not a leaf's and not counted yet."""
    saved = getattr(node, "saved", ())
    if type(saved) is not tuple:
        return 0
    total = 0
    for value in saved:
        if type(value) is not tuple or not isinstance(value[0], np.ndarray):
            continue
        array, edge = value[0], value[3]
        is_leaf = edge is not None and isinstance(edge[0], Node) and edge[0].is_accumulator
        if not is_leaf and id(array) not in owned:
            owned.add(id(array))
            total += array.nbytes
    return total


def size_text(count: int) -> str:
    """`1.5 MB`."""
    if count < 1000:
        return f"{count} B"
    power = min(int(math.log(count, 1000)), 4)
    return f"{count / 1000**power:.1f} {('kB', 'MB', 'GB', 'TB')[power - 1]}"


def tree_lines(view: GraphView) -> list[str]:
    """The graph as a tree: what is used twice is shown once and referred to afterwards."""
    lines: list[str] = []
    shown: set[int] = set()
    depths = depths_of(view)
    todo: list[tuple[int, str, str]] = [(root, "", "") for root in reversed(view.roots)]
    while todo:
        number, here, below = todo.pop()
        node = view.nodes[number]
        if number in shown:
            lines.append(f"{here}{node.label} ↑ #{number}")
            continue
        shown.add(number)
        lines.append(f"{here}#{number} {node.label}  {node.facts}")
        # Short branches are indented, and the longest path goes on straight below them: graphs
        # are long chains with short branches.
        ordered = sorted(node.inputs, key=lambda n: depths[n])
        todo += [(each, below, below) for each in ordered[-1:]]
        todo += [(each, f"{below}├ ", f"{below}│ ") for each in reversed(ordered[:-1])]
    if view.cut_off:
        lines.append(f"… only the first {len(view.nodes)} nodes are shown")
    held = size_text(view.saved)
    lines.append(f"{len(view.nodes)} nodes, {held} saved for backward")
    return lines


def depths_of(view: GraphView) -> list[int]:
    """The length of the longest path from each node to a leaf, without recursion."""
    depths = [-1] * len(view.nodes)
    for start in view.roots:
        todo = [start]
        while todo:
            number = todo[-1]
            waiting = [each for each in view.nodes[number].inputs if depths[each] < 0]
            if waiting and depths[number] < 0:
                todo += waiting
                continue
            todo.pop()
            inputs = view.nodes[number].inputs
            depths[number] = 1 + max((depths[each] for each in inputs), default=-1)
    return depths
