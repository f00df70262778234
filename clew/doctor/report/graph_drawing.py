"""Drawing a graph view: layers from the loss down to the leaves, grouped by module when large."""

from __future__ import annotations

import html
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from clew.doctor.report.graph_view import GraphNode, GraphView

_LARGE = 150
_WIDTH, _HEIGHT, _GAP_X, _GAP_Y = 150, 30, 16, 26
_COLOURS = ("#dbeafe", "#dcfce7", "#fef9c3", "#fce7f3", "#ede9fe", "#ffedd5", "#cffafe", "#e2e8f0")
STYLE = """
.clew-graph { font: 13px/1.4 system-ui, sans-serif; }
.clew-graph svg { max-width: 100%; height: auto; }
.clew-graph details { margin: 2px 0 2px 14px; }
.clew-graph summary { cursor: pointer; }
.clew-graph table { border-collapse: collapse; margin: 2px 0 6px 14px; font-size: 12px; }
.clew-graph td { padding: 1px 8px; border-bottom: 1px solid #8883; vertical-align: top; }
.clew-graph .lost { color: #b91c1c; }
"""


# Control characters may be part of a name, but of no page and no drawing: their pictures stand in.
# So may halves of characters, as in the name of a file that is no UTF-8.
_CONTROLS = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n\r"}
_CONTROLS |= dict.fromkeys((0x7F, 0xFFFE, 0xFFFF, *range(0xD800, 0xE000)), 0xFFFD)


def escaped(text: str) -> str:
    """Text as part of a page or of a drawing."""
    return html.escape(text.translate(_CONTROLS))


class Box(NamedTuple):
    """What is drawn as one rectangle: a node, or all nodes of a module."""

    label: str
    title: str
    module: str
    lost: bool


def svg(view: GraphView, by_module: bool | None = None) -> str:
    if by_module is None:
        by_module = len(view.nodes) > _LARGE
    boxes, edges = _modules(view) if by_module else _nodes(view)
    return _draw(boxes, edges)


def _nodes(view: GraphView) -> tuple[list[Box], set[tuple[int, int]]]:
    boxes = [
        Box(f"{n.label} {list(n.shape)}", f"{n.label}  {n.facts}", n.module, bool(n.lost))
        for n in view.nodes
    ]
    return boxes, {(n.number, each) for n in view.nodes for each in n.inputs}


def _modules(view: GraphView) -> tuple[list[Box], set[tuple[int, int]]]:
    """One box for each module, and one for each leaf outside of modules."""
    owners = _owners(view)
    keys = {key: index for index, key in enumerate(dict.fromkeys(owners))}
    members: dict[str, list[GraphNode]] = defaultdict(list)
    for node, key in zip(view.nodes, owners):
        members[key].append(node)
    boxes = []
    for key in keys:
        inside = members[key]
        leaves = [n.leaf for n in inside if n.leaf]
        title = f"{key}: {len(inside)} nodes\n" + "\n".join(leaves)
        boxes.append(Box(key, title, key, any(n.lost for n in inside)))
    edges = set()
    for node, key in zip(view.nodes, owners):
        for each in node.inputs:
            if owners[each] != key:
                edges.add((keys[key], keys[owners[each]]))
    return boxes, _without_cycles(edges, len(boxes))


def _owners(view: GraphView) -> list[str]:
    """The module of each node; a leaf belongs to the first module that uses it."""
    users: dict[int, str] = {}
    for node in view.nodes:
        for each in node.inputs:
            users.setdefault(each, node.module)
    return [node.module or users.get(node.number, "") or "(outside)" for node in view.nodes]


def _without_cycles(edges: set[tuple[int, int]], count: int) -> set[tuple[int, int]]:
    """A module that is entered twice may use its own result: such edges are not ranked."""
    return {(a, b) for a, b in edges if a < b} if count else set()


def _ranks(count: int, edges: set[tuple[int, int]]) -> list[int]:
    """The longest distance from a root, without recursion."""
    after: dict[int, list[int]] = defaultdict(list)
    waiting = [0] * count
    for a, b in edges:
        after[a].append(b)
        waiting[b] += 1
    ranks = [0] * count
    ready = [n for n in range(count) if not waiting[n]]
    while ready:
        node = ready.pop()
        for each in after[node]:
            ranks[each] = max(ranks[each], ranks[node] + 1)
            waiting[each] -= 1
            if not waiting[each]:
                ready.append(each)
    return ranks


def _draw(boxes: list[Box], edges: set[tuple[int, int]]) -> str:
    ranks = _ranks(len(boxes), edges)
    rows: dict[int, list[int]] = defaultdict(list)
    for number, rank in enumerate(ranks):
        rows[rank].append(number)
    columns = _columns(rows, edges)
    place = {
        number: (column * (_WIDTH + _GAP_X) + 8, ranks[number] * (_HEIGHT + _GAP_Y) + 8)
        for number, column in columns.items()
    }
    width = max((x for x, _ in place.values()), default=0) + _WIDTH + 8
    height = max((y for _, y in place.values()), default=0) + _HEIGHT + 8
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" font-family="system-ui, sans-serif" font-size="11">'
    ]
    for a, b in sorted(edges):
        (xa, ya), (xb, yb) = place[a], place[b]
        x1, y1, x2, y2 = xa + _WIDTH / 2, ya + _HEIGHT, xb + _WIDTH / 2, yb
        middle = (y1 + y2) / 2
        parts.append(
            f'<path d="M{x1} {y1}C{x1} {middle} {x2} {middle} {x2} {y2}" fill="none" '
            'stroke="#94a3b8"/>'
        )
    for number, box in enumerate(boxes):
        parts.append(_box(box, *place[number]))
    return "\n".join([*parts, "</svg>"])


def _columns(rows: dict[int, list[int]], edges: set[tuple[int, int]]) -> dict[int, int]:
    """Each row in the order of the mean column of what uses it."""
    users: dict[int, list[int]] = defaultdict(list)
    for a, b in edges:
        users[b].append(a)
    columns: dict[int, int] = {}
    for rank in sorted(rows):

        def wanted(number: int) -> float:
            above = [columns[u] for u in users[number] if u in columns]
            return sum(above) / len(above) if above else 0.0

        for column, number in enumerate(sorted(rows[rank], key=wanted)):
            columns[number] = column
    return columns


def _box(box: Box, x: float, y: float) -> str:
    root = box.module.split(".")[0]
    colour = "#fecaca" if box.lost else _COLOURS[sum(map(ord, root)) % len(_COLOURS)]
    label = box.label if len(box.label) <= 24 else box.label[:23] + "…"
    return (
        f'<g><title>{escaped(box.title)}</title><rect x="{x}" y="{y}" width="{_WIDTH}" '
        f'height="{_HEIGHT}" rx="5" fill="{colour}" stroke="#64748b"/>'
        f'<text x="{x + _WIDTH / 2}" y="{y + 19}" text-anchor="middle" fill="#0f172a">'
        f"{escaped(label)}</text></g>"
    )


def listing(view: GraphView) -> str:
    """All nodes, folded by module: inner modules inside their outer ones."""
    groups: dict[str, list[GraphNode]] = defaultdict(list)
    for node, owner in zip(view.nodes, _owners(view)):
        groups[owner].append(node)
    paths = sorted(groups, key=lambda path: [(p.isdigit(), p.zfill(6)) for p in path.split(".")])
    parts: list[str] = []
    opened: list[str] = []
    for path in paths:
        while opened and not path.startswith(opened[-1] + "."):
            parts.append("</details>")
            opened.pop()
        inside = [n for key, nodes in groups.items() for n in nodes
                  if key == path or key.startswith(path + ".")]  # fmt: skip
        lost = ' class="lost"' if any(n.lost for n in inside) else ""
        parts.append(
            f"<details><summary{lost}>{escaped(path)} — {len(inside)} nodes</summary>"
            + _table(groups[path])
        )
        opened.append(path)
    return "\n".join(parts + ["</details>"] * len(opened))


def _table(nodes: list[GraphNode]) -> str:
    rows = "".join(
        f"<tr{' class=lost' if n.lost else ''}><td>#{n.number}</td>"
        f"<td><b>{escaped(n.label)}</b></td>"
        f"<td>{escaped(n.facts)}</td><td>{' '.join(f'#{i}' for i in n.inputs)}</td></tr>"
        for n in nodes
    )
    return f"<table>{rows}</table>"


def fragment(view: GraphView) -> str:
    return f'<style>{STYLE}</style><div class="clew-graph">{svg(view)}{listing(view)}</div>'


def page(view: GraphView) -> str:
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>graph</title></head>'
        f"<body>{fragment(view)}</body></html>"
    )
