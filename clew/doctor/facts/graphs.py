"""Questions about the graph behind a tensor."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from clew.observed import Node

# Operations that only move values: what was true of their input is true of their result.
MOVES = frozenset(
    {
        "view", "reshape", "squeeze", "squeeze_dim", "squeeze_dims", "unsqueeze", "transpose",
        "permute", "t", "alias", "clone", "_to_copy", "slice", "select", "expand", "_unsafe_view",
        "copy", "diagonal", "split", "unbind", "cat", "stack", "flip", "roll", "index_select",
        "gather", "index",
    }
)  # fmt: skip
_LINEAR = MOVES | {
    "add", "sub", "rsub", "rsub.number", "add.scaled", "sub.scaled", "neg", "sum", "mean",
    "sum_dim", "mean_dim",
}  # fmt: skip
_LIMIT = 20000


def op_name(node: Node | None) -> str:
    """The operation of a node; for a custom function or a leaf, the node's own name."""
    if node is None:
        return ""
    return node.op.name if node._is_op else node._name()


def inputs_of(node: Node) -> list[Node]:
    return [edge[0] for edge in node._edges if edge is not None]


def walk(roots: list[Node], limit: int = _LIMIT) -> Iterator[Node]:
    """The nodes behind some roots, each once; huge graphs are cut off."""
    seen = set(map(id, roots))
    stack = list(roots)
    while stack and len(seen) < limit:
        node = stack.pop()
        yield node
        for edge in node._edges:
            if edge is not None and id(edge[0]) not in seen:
                seen.add(id(edge[0]))
                stack.append(edge[0])


def leaves_behind(node: Node) -> list[Node]:
    return [each for each in walk([node]) if each.is_accumulator]


def through_moves(node: Node | None) -> Node | None:
    """The node that computed the values which `node` hands on."""
    for _ in range(50):
        if node is None or op_name(node) not in MOVES:
            return node
        behind = inputs_of(node)
        if len(behind) != 1:
            return node
        node = behind[0]
    return node


def computed_by(node: Node | None) -> Node | None:
    """As `through_moves`; of values that were put together, what has computed all of the parts."""
    node = through_moves(node)
    if op_name(node) not in ("cat", "stack") or node is None:
        return node
    parts = [through_moves(each) for each in inputs_of(node)]
    return parts[0] if parts and len({op_name(each) for each in parts}) == 1 else node


def meet_weight(nodes: list[Node]) -> bool:
    """Whether one of them hands on a leaf with two or more dimensions: a layer's weight."""
    return any(
        (leaf := through_moves(each)) is not None and leaf.is_accumulator and len(leaf._shape) >= 2
        for each in nodes
    )


def number_saved(node: Node) -> float | None:
    """The number by which a node multiplied or divided; None when there is none."""
    saved = getattr(node, "saved", ())
    if type(saved) is not tuple:
        return None
    for value in saved:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
        if type(value) is tuple and len(value) == 4 and value[3] is None:
            array = value[0]
            if isinstance(array, np.ndarray) and array.size == 1 and array.dtype.kind == "f":
                return float(array.reshape(-1)[0])
    return None


def divided_by(root: Node, scale: float = 1.0) -> float:
    """The product of the numbers that a loss was multiplied by on its last steps.

    `scale` is a gradient scaler's factor, which is undone later.
    """
    factor = 1.0
    node: Node | None = root
    for _ in range(12):
        if node is None:
            break
        name = op_name(node)
        number = number_saved(node) if name in ("mul", "div") else None
        if name in MOVES or name in ("neg", "sum"):
            pass
        elif number is not None and number != 0 and math.isfinite(number):
            # One that the user applies is a power of two, and large.
            by_hand = number >= 256 and math.log2(number).is_integer()
            if name == "mul" and number != scale and not by_hand:
                factor *= abs(number)
            elif name == "div":
                factor /= abs(number)
        else:
            break
        behind = inputs_of(node)
        node = behind[0] if len(behind) == 1 else None
    return factor


def kept(node: Node, name: str) -> Any:
    """A parameter that a node kept for its formula, such as `dim`; None when it kept none."""
    params = getattr(node, "_kept", None)
    if params is not None:
        return params.get(name)
    plan = getattr(node, "plan", None)
    if plan is None or name not in plan.names:
        return None
    index = plan.names.index(name) - plan.saved_count
    values = getattr(node, "constants", ())
    return values[index] if 0 <= index < len(values) else None


def linear_part(roots: list[Node]) -> tuple[list[Node], set[int]]:
    """The summands of a loss, and (by identity) the linear operations that sum them up."""
    found: list[Node] = []
    passed: set[int] = set()
    todo, seen = list(roots), set(map(id, roots))
    while todo and len(found) < 64:
        node = todo.pop()
        behind = inputs_of(node)
        name = op_name(node)
        is_linear = name in _LINEAR or (name in ("mul", "div") and len(behind) == 1)
        if not is_linear or any(each.is_accumulator for each in behind):
            found.append(node)
            continue
        passed.add(id(node))
        for each in behind:
            if id(each) not in seen:
                seen.add(id(each))
                todo.append(each)
    return found, passed


def terms_of_loss(roots: list[Node]) -> list[Node]:
    """The summands of a loss, down to the first operation that is not linear."""
    return linear_part(roots)[0]


def weights_of(node: Node) -> list[Node]:
    """The matrices of parameters that a node multiplies with, or looks up."""
    return [
        leaf
        for each in inputs_of(node)
        if (leaf := through_moves(each)) is not None
        and leaf.is_accumulator
        and len(leaf._shape) >= 2
    ]


def is_layers_output(node: Node | None, shape: tuple[int, ...]) -> bool:
    """Whether values of a shape come from a layer with weights, element by element.

    A square matrix of such values has features for columns, not the other samples of the batch.
    """
    todo = [] if node is None else [node]
    for _ in range(16):
        if not todo:
            return False
        current = todo.pop(0)
        if weights_of(current):
            return tuple(current._shape) == tuple(shape)
        todo += [each for each in inputs_of(current) if tuple(each._shape) == tuple(shape)]
    return False


def ops_behind(node: Node | None, depth: int = 12) -> list[str]:
    """The names of the last operations behind a node, newest first."""
    if node is None:
        return []
    names: list[str] = []
    todo = [node]
    while todo and len(names) < depth:
        current = todo.pop(0)
        names.append(op_name(current))
        todo += [each for each in inputs_of(current) if not each.is_accumulator]
    return names
