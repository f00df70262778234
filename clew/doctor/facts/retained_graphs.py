"""Graphs that outlive their iteration, and who holds them."""

from __future__ import annotations

import ast
import gc
import sys
import weakref
from collections import deque
from types import FrameType, ModuleType
from typing import Any

from clew.doctor.facts.engine import Engine
from clew.doctor.facts.graphs import walk
from clew.doctor.facts.places import (
    Line,
    dotted,
    line_of,
    locals_of,
    loops_around,
    tree_of,
    user_frames,
)
from clew.doctor.facts.recorder import Recorder
from clew.observed import Node, Tensor

_SAMPLES = 3  # nodes that are followed in each iteration, beside outputs and losses
_OLD = 3  # iterations after which a graph should be gone
_SEARCHED = 4000  # nodes of a graph
_ENOUGH = 5  # old iterations with live graphs make a leak


class Leak:
    """Graphs that pile up: the statement that keeps them."""

    def __init__(self, line: Line | None, holder: str, how: str, alive: int) -> None:
        self.line = line
        self.holder = holder
        self.how = how
        self.alive = alive


class KeepWatch:
    """Follows a few nodes of every iteration, weakly."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.now: list[weakref.ref[Node]] = []
        self.left = _SAMPLES
        self.old: deque[tuple[int, list[weakref.ref[Node]]]] = deque(maxlen=60)
        self.iteration = 0
        self.next_look = 9
        self.leak: Leak | None = None

    def node_made(self, out: Tensor) -> None:
        if self.left:
            self.left -= 1
            if out._node is not None and not out._node.is_accumulator:
                self.now.append(weakref.ref(out._node))

    def output_made(self, result: Any) -> None:
        node = result._node if isinstance(result, Tensor) else None
        if node is not None and not node.is_accumulator and len(self.now) < 16:
            self.now.append(weakref.ref(node))

    def backward_ends(self, run: Any, begun: Any) -> None:
        if not run.accumulate:
            return
        for node in list(run.nodes)[:1]:
            if not node.is_accumulator and len(self.now) < 32:
                self.now.append(weakref.ref(node))
        if not self.recorder.optimizers:
            self.step_ends()

    def step_ends(self) -> None:
        self.iteration += 1
        self.old.append((self.iteration, self.now))
        self.now, self.left = [], _SAMPLES
        if self.iteration >= self.next_look and self.leak is None:
            self.next_look = self.iteration + max(4, self.iteration // 2)
            self.look()

    def alive(self) -> list[Node]:
        """Live nodes of old iterations, newest first, all made by the line that has the most."""
        found: dict[Any, list[Node]] = {}
        for iteration, references in reversed(self.old):
            if self.iteration - iteration < _OLD:
                continue
            nodes = [node for reference in references if (node := reference()) is not None]
            for place, node in {node._where: node for node in nodes}.items():
                found.setdefault(place, []).append(node)
        # Of several, the one that is nearest to the loss: from there it is not far to the holder.
        return max(found.values(), key=lambda nodes: (len(nodes), nodes[0]._seq), default=[])

    def look(self) -> None:
        """Are graphs of old iterations alive, and why?"""
        nodes = self.alive()
        if len(nodes) < _ENOUGH or len(nodes) * 6 < len(self.old):
            return
        frames = list(user_frames(2))
        spaces = [locals_of(frame) for frame in frames] + [frame.f_globals for frame in frames]
        files = [frame.f_code.co_filename for frame in frames]
        if not spaces:
            main = sys.modules.get("__main__")
            spaces, files = [vars(main)], [getattr(main, "__file__", "")]
        leak = find_holder(nodes, spaces, list(dict.fromkeys(files)), self.recorder.engine)
        del nodes, frames, spaces
        if leak is not None and not leak.holder:
            # Nobody is known to keep them: they may be garbage that was not collected yet.
            gc.collect()
            if len(self.alive()) < _ENOUGH:
                return
        self.leak = leak


def find_holder(
    nodes: list[Node], spaces: list[dict[str, Any]], files: list[str], engine: Engine
) -> Leak | None:
    """Who keeps nodes alive: a chain of sums, or a container or attribute with a name."""
    node, alive = nodes[0], len(nodes)
    ours = {id(frame) for frame in _all_frames()} | {id(nodes), *map(id, spaces)}
    current: Any = node
    last_op: Node | None = None
    seen: set[int] = set()
    for _ in range(40):
        seen.add(id(current))
        tensor, consumer = _holders(current, seen, ours)
        tensor = engine.output(current) if tensor is None else tensor
        if tensor is not None:
            name, container = _name_of_holder(tensor, spaces, ours)
            if name:
                line = storing_line(name, files)
                if line is None and last_op is not None:
                    line = line_of(last_op._where)
                if last_op is not None and not container:
                    line = line_of(last_op._where)
                return Leak(line, name, "container" if container else "sum", alive)
        if consumer is None:
            break
        last_op = consumer
        current = consumer
    return _any_holder(nodes, spaces, files, engine, ours) or (
        None if last_op is None else Leak(line_of(last_op._where), "", "sum", alive)
    )


def _any_holder(
    nodes: list[Node], spaces: list[dict[str, Any]], files: list[str], engine: Engine,
    ours: set[int],
) -> Leak | None:  # fmt: skip
    """A container with a name that holds a tensor in whose history the nodes are.

    A graph with the gradients of gradients has many ends: from a node it is far to the right one.
    """
    oldest = min(node._seq for node in nodes)
    wanted = set(map(id, nodes))
    for tensor in engine.tensors():
        made_by = tensor._node
        if made_by is None or made_by.is_accumulator or made_by._seq < oldest:
            continue
        if not any(id(node) in wanted for node in walk([made_by], _SEARCHED)):
            continue
        name, is_inside = _name_of_holder(engine.actual(tensor), spaces, ours)
        if name and is_inside:
            return Leak(storing_line(name, files), name, "container", len(nodes))
    return None


def storing_statement(tensor: Any) -> Line | None:
    """The statement that puts a tensor into a container with a name."""
    frames = list(user_frames(2))
    spaces = [locals_of(frame) for frame in frames] + [frame.f_globals for frame in frames[:1]]
    ours = {id(frame) for frame in _all_frames()} | set(map(id, spaces))
    for referrer in gc.get_referrers(tensor):
        if isinstance(referrer, list | deque | tuple | dict) and id(referrer) not in ours:
            name, _ = _name_of_holder(referrer, spaces, ours)
            line = storing_line(name, [f.f_code.co_filename for f in frames]) if name else None
            if line is not None:
                return line
    return None


def _all_frames() -> list[FrameType]:
    frames: list[FrameType] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        frames.append(frame)
        frame = frame.f_back
    return frames


def _holders(node: Any, seen: set[int], ours: set[int]) -> tuple[Any, Node | None]:
    """A tensor whose history begins at `node`, and a later node that has it as an input."""
    tensor = consumer = None
    for referrer in gc.get_referrers(node):
        if isinstance(referrer, Tensor) and referrer._node is node:
            tensor = referrer
        elif isinstance(referrer, tuple) and len(referrer) == 2 and referrer[0] is node:
            for edges in gc.get_referrers(referrer):
                if not isinstance(edges, tuple):
                    continue
                for holder in gc.get_referrers(edges):
                    if isinstance(holder, Node) and id(holder) not in seen:
                        consumer = holder
    return tensor, consumer


def _name_of_holder(tensor: Any, spaces: list[dict[str, Any]], ours: set[int]) -> tuple[str, bool]:
    """The user's name for what holds a tensor, and whether that is a container."""
    todo: list[tuple[Any, int]] = [(tensor, 0)]
    visited = {id(tensor)}
    while todo:
        held, depth = todo.pop(0)
        name = _name_in(held, spaces)
        if name:
            return name, depth > 0
        if depth > 3:
            continue
        for referrer in gc.get_referrers(held):
            if id(referrer) in visited or id(referrer) in ours or referrer is todo:
                continue
            visited.add(id(referrer))
            if isinstance(referrer, list | dict | tuple | deque | set) or (
                hasattr(referrer, "__dict__") and not isinstance(referrer, type | FrameType)
            ):
                todo.append((referrer, depth + 1))
    return "", False


def _name_in(value: Any, spaces: list[dict[str, Any]]) -> str:
    for names in spaces:
        for name, held in list(names.items()):
            if held is value and not name.startswith("__"):
                return name
            attributes = getattr(held, "__dict__", None)
            if isinstance(attributes, dict) and not isinstance(held, type | ModuleType):
                for attribute, inner in list(attributes.items()):
                    if inner is value:
                        return f"{name}.{attribute}"
    return ""


_STORING = frozenset({"append", "appendleft", "add", "extend", "insert", "push", "update"})


def storing_line(name: str, files: list[str]) -> Line | None:
    """The statement that stores into a name; one in a loop, if there are several."""
    short = name.split(".")[-1]
    found: list[Line] = []
    for file in files:
        tree = tree_of(file)
        if tree is None:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.expr | ast.stmt) and _stores(node, short):
                found.append(Line(file, node.lineno))
    in_loops = [line for line in found if loops_around(line)]
    chosen = in_loops or found
    return chosen[-1] if chosen else None


def _stores(node: ast.AST, name: str) -> bool:
    def is_name(target: ast.AST | None) -> bool:
        return target is not None and dotted(target).split(".")[-1] == name

    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in _STORING:
            holder: ast.AST = node.func.value
            while isinstance(holder, ast.Subscript | ast.Call):
                if isinstance(holder, ast.Call):
                    if not isinstance(holder.func, ast.Attribute):
                        return False
                    holder = holder.func.value
                else:
                    holder = holder.value
            return is_name(holder)
        return False
    if isinstance(node, ast.Assign):
        return any(isinstance(t, ast.Subscript) and is_name(t.value) for t in node.targets)
    if isinstance(node, ast.AugAssign):
        target = node.target
        return is_name(target) or (isinstance(target, ast.Subscript) and is_name(target.value))
    return False
