"""Places in the user's program: file, line, text; and what its source says there.

A place is what `clew.source` keeps (a code object and an instruction offset). Findings speak of
lines, so places are turned into `Line`s, once for each place.
"""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
import os
import re
import sys
import sysconfig
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any, NamedTuple

from clew.source import INTERNAL_PACKAGES, Place, Where

# Frames of installed libraries are not the user's, whatever calls what.
_LIBRARIES = tuple(
    os.path.join(os.path.realpath(path), "")
    for key in ("stdlib", "platstdlib", "purelib", "platlib")
    if (path := sysconfig.get_paths().get(key))
)
_OWN = os.path.join(os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..")), "")
# The programs of the gallery are users, like any others; what they share is not.
_GALLERY = os.path.join(_OWN, "gallery", "")


class Line(NamedTuple):
    """A line of the user's program."""

    file: str
    line: int

    @property
    def text(self) -> str:
        return linecache.getline(self.file, self.line).strip()

    def __str__(self) -> str:
        return f"{os.path.basename(self.file)}:{self.line}"


@functools.lru_cache(maxsize=4096)
def _is_users(code: CodeType) -> bool:
    name = code.co_filename
    if name.startswith("<"):
        return name.startswith("<ipython") or name in ("<stdin>", "<string>")
    path = os.path.realpath(name)
    if path.startswith(_GALLERY):
        return os.path.join(os.path.dirname(path), "") != _GALLERY
    if f"{os.sep}site-packages{os.sep}" in path or f"{os.sep}dist-packages{os.sep}" in path:
        return False
    return not path.startswith(_LIBRARIES) and not path.startswith(_OWN)


# Whether a code object is the user's, by its identity: frames are looked at at every event, and
# the hash of a code object is made anew each time.
_KNOWN: dict[int, tuple[CodeType, bool]] = {}


def _runs_users_code(frame: FrameType) -> bool:
    code = frame.f_code
    known = _KNOWN.get(id(code))
    if known is None:
        package = frame.f_globals.get("__package__")
        known = code, package not in INTERNAL_PACKAGES and _is_users(code)
        if len(_KNOWN) > 50_000:
            _KNOWN.clear()
        _KNOWN[id(code)] = known
    return known[1]


def user_frames(depth: int = 1) -> Iterator[FrameType]:
    """The frames of the user's program, innermost first."""
    frame: FrameType | None = sys._getframe(depth)
    while frame is not None:
        if _runs_users_code(frame):
            yield frame
        frame = frame.f_back


def locals_of(frame: FrameType) -> dict[str, Any]:
    """The local variables of a frame of the program's, of which nothing is kept alive.

    Before Python 3.13 a frame keeps what `f_locals` shows until it ends. That is undone, unless the
    program holds the same dictionary (`locals()`).
    """
    shown = frame.f_locals
    if not frame.f_code.co_flags & inspect.CO_OPTIMIZED:
        return shown  # the names of a module are what they are
    names = dict(shown)
    if type(shown) is dict and sys.getrefcount(shown) <= _OURS:
        shown.clear()
    return names


def _references_of_locals() -> int:
    """How often a frame's local variables are referred to if nobody but `locals_of` holds them."""
    shown = sys._getframe().f_locals
    return sys.getrefcount(shown)


_OURS = _references_of_locals()


def here() -> Place | None:
    """The user's line that is running now."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        known = _KNOWN.get(id(frame.f_code))
        if known[1] if known is not None else _runs_users_code(frame):
            return frame.f_code, frame.f_lasti
        frame = frame.f_back
    return None


def constructed_at(made: Any) -> Place | None:
    """The user's line that makes an object: the first one outside of the object's own methods."""
    for frame in user_frames(2):
        code = frame.f_code
        if code.co_argcount and locals_of(frame).get(code.co_varnames[0]) is made:
            continue
        return frame.f_code, frame.f_lasti
    return None


def stack_here(limit: int = 6) -> tuple[Place, ...]:
    """The user's lines that are running now, innermost first."""
    places: list[Place] = []
    for frame in user_frames(2):
        places.append((frame.f_code, frame.f_lasti))
        if len(places) == limit:
            break
    return tuple(places)


@functools.lru_cache(maxsize=16384)
def line_of(place: Place | None) -> Line | None:
    """The line of a place; None where the place is unknown."""
    if place is None or place[0] is None:
        return None
    return Line(place[0].co_filename, Where(*place).lineno)


def function_place(function: Any) -> Place | None:
    """Where a function is defined: with decorators, the line of the first of them."""
    code = getattr(function, "__code__", None)
    return None if code is None else (code, -1)


@functools.lru_cache(maxsize=64)
def tree_of(file: str) -> ast.Module | None:
    """The syntax tree of a file of the user's; None when there is no source to read."""
    source = "".join(linecache.getlines(file))
    if not source:
        return None
    try:
        # The parser would warn of `"\\d"`, and the program would hear it: no text is needed here.
        return ast.parse(_ESCAPE.sub(_without_backslash, source))
    except SyntaxError:
        return None


_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


def _without_backslash(found: re.Match[str]) -> str:
    """An escape of the same length that means nothing; what ends a string or a line stays."""
    after = found[1]
    return found[0] if after in "'\"\n\rN" else "__" if after == "\\" else f"_{after}"


@functools.lru_cache(maxsize=64)
def _statements(file: str) -> tuple[ast.stmt, ...]:
    tree = tree_of(file)
    return () if tree is None else tuple(n for n in ast.walk(tree) if isinstance(n, ast.stmt))


def statement_at(line: Line | None) -> ast.stmt | None:
    """The smallest statement that a line belongs to."""
    if line is None:
        return None
    best: ast.stmt | None = None
    for node in _statements(line.file):
        if node.lineno <= line.line <= (node.end_lineno or node.lineno) and (
            best is None or node.lineno >= best.lineno
        ):
            best = node
    return best


def enclosing_functions(line: Line) -> list[str]:
    """The names of the functions and classes around a line, outermost first."""
    return [
        node.name
        for node in sorted(_statements(line.file), key=lambda n: n.lineno)
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef)
        and node.lineno <= line.line <= (node.end_lineno or node.lineno)
    ]


def loops_around(line: Line) -> list[int]:
    """The first lines of the loops around a line, outermost first."""
    return [
        node.lineno
        for node in sorted(_statements(line.file), key=lambda n: n.lineno)
        if isinstance(node, ast.For | ast.While)
        and node.lineno < line.line <= (node.end_lineno or node.lineno)
    ]


def epoch_loop(line: Line) -> int | None:
    """The length of a loop `for epoch in range(n)` around a line, where n is a number."""
    for node in _statements(line.file):
        if (
            isinstance(node, ast.For)
            and isinstance(node.target, ast.Name)
            and "epoch" in node.target.id.lower()
            and node.lineno <= line.line <= (node.end_lineno or node.lineno)
            and isinstance(node.iter, ast.Call)
            and dotted(node.iter.func) == "range"
            and len(node.iter.args) == 1
            and isinstance(node.iter.args[0], ast.Constant)
        ):
            value = node.iter.args[0].value
            return value if isinstance(value, int) else None
    return None


def assigned_at(
    name: str, file: str, before: int | None = None, code: CodeType | None = None
) -> Line | None:
    """The last statement that assigns to a name (`x` or `self.x`).

    Before a line, if one is given; inside a function, if its code is given.
    """
    tree: ast.AST | None = tree_of(file)
    if code is not None and code.co_name != "<module>":
        tree = function_tree(code)
    if tree is None:
        return None
    lines = [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign | ast.AnnAssign)
        and any(
            dotted(part) == name
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            for part in ast.walk(target)
        )
        and (before is None or node.lineno < before)
    ]
    return Line(file, max(lines)) if lines else None


def function_tree(code: CodeType) -> ast.AST | None:
    """The definition of a function, by its code."""
    for node in _statements(code.co_filename):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == code.co_name:
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            if first == code.co_firstlineno:
                return node
    return None


def dotted(node: ast.AST | None) -> str:
    """`self.model.fc` from its syntax; an empty string for anything else."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([node.id, *reversed(names)])
