"""Tensors whose gradients a program wants: by what it writes, and by what its frames hold."""

from __future__ import annotations

import ast
import difflib
from types import FrameType
from typing import TYPE_CHECKING, Any

from clew.doctor.facts.engine import Engine
from clew.doctor.facts.places import Line, assigned_at, line_of, tree_of
from clew.doctor.facts.records import ParamFacts
from clew.observed import Tensor

if TYPE_CHECKING:
    from clew.doctor.observe.session import Session

_MISSPELLED = frozenset(
    {"require_grad", "requires_grads", "required_grad", "requiers_grad", "requires_gradient",
     "require_grads", "requiresgrad", "requires_Grad", "need_grad", "needs_grad", "trainable"}
)  # fmt: skip


def misspelling(frames: list[tuple[FrameType, Line]], engine: Engine) -> Line | None:
    """An assignment to an attribute that looks like `requires_grad` and is not."""
    for file in dict.fromkeys(frame.f_code.co_filename for frame, _ in frames):
        found = misspelled_in(file)
        if found is not None:
            return found
    for frame, _ in frames:
        tree = tree_of(frame.f_code.co_filename)
        for node in ast.walk(tree) if tree is not None else ():
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.ctx, ast.Store)
                and node.attr == "requires_grad"
                and isinstance(evaluate(node.value, frame, engine), engine.Module)
            ):
                # A module has no such flag: the assignment makes a new attribute.
                return Line(frame.f_code.co_filename, node.lineno)
    return None


def misspelled_in(file: str) -> Line | None:
    tree = tree_of(file)
    if tree is None:
        return None
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.ctx, ast.Store)
            and node.attr in _MISSPELLED
        ):
            return Line(file, node.lineno)
    return None


def misnamed_in(file: str, names: set[str], frozen: set[str]) -> tuple[str, Line] | None:
    """A part of a name by which code unfreezes parameters, close to that of a frozen one."""
    tree = tree_of(file)
    parts = {part for name in frozen for part in name.split(".")}
    for node in ast.walk(tree) if tree is not None else ():
        if not isinstance(node, ast.If) or not any(_unfreezes(each) for each in node.body):
            continue
        for each in ast.walk(node.test):
            if not isinstance(each, ast.Constant) or not isinstance(each.value, str):
                continue
            matches = any(each.value in name for name in names)
            if not matches and difflib.get_close_matches(each.value.strip("."), parts, 1, 0.75):
                return each.value, Line(file, each.lineno)
    return None


def _unfreezes(statement: ast.stmt) -> bool:
    """`p.requires_grad = True`, or `p.requires_grad_(True)`."""
    if isinstance(statement, ast.Assign):
        target, value = statement.targets[0], statement.value
        is_flag = isinstance(target, ast.Attribute) and target.attr == "requires_grad"
        return is_flag and isinstance(value, ast.Constant) and value.value is True
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return False
    given = [each.value for each in call.args if isinstance(each, ast.Constant)]
    return call.func.attr == "requires_grad_" and given in ([], [True])


def evaluate(node: ast.AST, frame: FrameType, engine: Engine) -> Any:
    """The value of a name or of an attribute of one, in a frame; nothing is called.

    Of a tensor, what the doctor sees of it.
    """
    held = _value(node, frame)
    tensor = engine.tensor(held)
    return held if tensor is None else tensor


def _value(node: ast.AST, frame: FrameType) -> Any:
    if isinstance(node, ast.Name):
        return frame.f_locals.get(node.id, frame.f_globals.get(node.id))
    if isinstance(node, ast.Attribute):
        held = _value(node.value, frame)
        if held is None:
            return None
        if node.attr == "data":
            return getattr(held, "data", None)
        registered = getattr(held, "__dict__", {})
        kinds = ("_parameters", "_buffers", "_modules")
        for names in (registered, *(registered.get(kind, {}) for kind in kinds)):
            if isinstance(names, dict) and node.attr in names:
                return names[node.attr]
    return None


def wanted_tensors(
    session: Session, frames: list[tuple[FrameType, Line]]
) -> list[tuple[str, Line | None]]:
    """Tensors whose gradient the program uses, or which it optimizes, and that have none."""
    recorder = session.recorder
    found: dict[str, Line | None] = {}
    for known in plain_in_optimizer(session):
        at = line_of(known.born) or known.made_at
        for frame, _ in frames:
            for name, held in list(frame.f_locals.items()):
                tensor = known.ref()
                if tensor is not None and held is session.engine.actual(tensor):
                    at = at or assigned_at(name, frame.f_code.co_filename, code=frame.f_code)
        found[known.shown] = at
    for frame, _ in frames:
        tree = tree_of(frame.f_code.co_filename)
        if tree is None:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr == "grad":
                tensor = evaluate(node.value, frame, session.engine)
                if isinstance(tensor, Tensor) and not tensor._requires_grad:
                    name = ast.unparse(node.value)
                    born = recorder.born_at(tensor)
                    found.setdefault(name, born or assigned_at(name, frame.f_code.co_filename))
    if not found:
        for frame, _ in frames:
            for name, value in list(frame.f_locals.items()):
                held = session.engine.tensor(value)
                if held is not None and not held._requires_grad and held._node is None:
                    born = recorder.born_at(held)
                    if born is not None and _is_updated(name, frame.f_code.co_filename):
                        found.setdefault(name, born)
    return list(found.items())


def plain_in_optimizer(session: Session) -> list[ParamFacts]:
    """Tensors that an optimizer holds, that are no parameters, and that record nothing."""
    return [
        known
        for known in session.recorder.params.values()
        if known.optimizers
        and not known.is_parameter
        and (tensor := known.ref()) is not None
        and not tensor._requires_grad
    ]


def optimizes_nothing(session: Session) -> bool:
    """Whether the youngest optimizer holds plain tensors only, none of which records anything."""
    recorder = session.recorder
    newest = max(recorder.optimizers.values(), key=lambda o: o.number, default=None)
    plain = {known.number for known in plain_in_optimizer(session)}
    return newest is not None and bool(newest.params) and set(newest.params) <= plain


def _is_updated(name: str, file: str) -> bool:
    tree = tree_of(file)
    return tree is not None and any(
        isinstance(node, ast.AugAssign)
        and isinstance(node.target, ast.Name)
        and node.target.id == name
        for node in ast.walk(tree)
    )
