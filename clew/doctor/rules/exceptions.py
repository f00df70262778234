"""The diagnosis of an exception: which class of mistake it is, and the line of the cause."""

from __future__ import annotations

import ast
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any

from clew.core.no_history import NoHistory
from clew.core.tensor import Tensor
from clew.doctor.facts.places import (
    Line,
    _is_users,
    assigned_at,
    dotted,
    line_of,
    statement_at,
    tree_of,
)
from clew.doctor.facts.records import ParamFacts
from clew.doctor.report.findings import Finding
from clew.doctor.rules.base import Rule
from clew.nn.modules.module import Module
from clew.source import INTERNAL_PACKAGES
from clew.utils.checkpoint import CheckpointError

if TYPE_CHECKING:
    from clew.doctor.observe.session import Session

_MISSPELLED = frozenset(
    {"require_grad", "requires_grads", "required_grad", "requiers_grad", "requires_gradient",
     "require_grads", "requiresgrad", "requires_Grad", "need_grad", "needs_grad", "trainable"}
)  # fmt: skip


def user_trace(error: BaseException) -> list[tuple[FrameType, Line]]:
    """The user's frames of an exception with their lines, innermost first."""
    found: list[tuple[FrameType, Line]] = []
    trace: TracebackType | None = error.__traceback__
    while trace is not None:
        frame = trace.tb_frame
        if frame.f_globals.get("__package__") not in INTERNAL_PACKAGES and _is_users(frame.f_code):
            found.append((frame, Line(frame.f_code.co_filename, trace.tb_lineno)))
        trace = trace.tb_next
    return found[::-1]


class FromException(Rule):
    """Turns the exception that ended the script into a finding."""

    id = "exception"
    gives = ("backward-twice", "non-scalar-backward")

    def look(self, session: Session) -> list[Finding]:
        error = session.error
        if error is None:
            return []
        text = str(error)
        frames = user_trace(error)
        line = frames[0][1] if frames else None
        if "modified by an inplace operation" in text:
            return self.modified(session, line)
        if "backward through the graph a second time" in text:
            return self.twice(session, line)
        if isinstance(error, CheckpointError):
            fix = "make the block do the same when it runs again: no counters, modes or branches"
            text = "a checkpointed block did something else when it ran again for backward"
            return [self._named("checkpoint-mismatch", text, line, fix=fix)]
        if "grad can be implicitly created only for scalar" in text:
            return self.not_scalar(line)
        if "does not require grad and does not have a grad_fn" in text:
            return self.no_history(session, frames)
        if "differentiated Tensors does not require grad" in text:
            return self.asked_in_vain(session, frames)
        if "does not require grad" in text:
            return self.no_history(session, frames)
        if "leaf Variable that requires grad" in text:
            fix = "update parameters in place under torch.no_grad()"
            return [self._named("inplace-saved-tensor.leaf", text.split("\n")[0], line, fix=fix)]
        if "all elements of input should be between 0 and 1" in text:
            fix = "binary_cross_entropy_with_logits takes raw scores"
            return [self._named("loss-activation-mismatch", text.split("\n")[0], line, fix=fix)]
        if "NoneType" in text and frames:
            return self.gradient_is_none(session, frames, text)
        if "Using a target size" in text or "target size" in text.lower():
            fix = "make the shapes equal: target.unsqueeze(-1), or prediction.squeeze(-1)"
            return [self._named("loss-broadcast.refused", text.split("\n")[0], line, fix=fix)]
        if "empty parameter list" in text:
            fix = "keep layers in nn.ModuleList or nn.ModuleDict, not in a list or a dict"
            return [self._named("param-not-in-optimizer", text.split("\n")[0], line, fix=fix)]
        if "No inf checks were recorded" in text:
            return self.cleared_early(session) or self.never_stepped(session)
        if "Attempted step but _scale is None" in text and not session.recorder.backwards:
            text, fix = "scaler.step() runs before backward()", "call it after backward()"
            return [self._named("step-before-backward", text, line, fix=fix)]
        return []

    def _named(self, rule: str, message: str, line: Line | None, **more: Any) -> Finding:
        related = [(place, role) for place, role in more.pop("related", []) if place is not None]
        return Finding(rule, "error", message, line, related=related, **more)

    # -- in place, twice, not a scalar -------------------------------------------------------------

    def modified(self, session: Session, line: Line | None) -> list[Finding]:
        facts = session.error_facts
        if facts.get("kind") != "modified":
            fix = "write a new tensor instead, or clone() before the write"
            text = "a saved tensor was modified"
            return [self._named("inplace-saved-tensor", text, line, fix=fix)]
        written, saved = line_of(facts["written_at"]), line_of(facts["saved_at"])
        writer = facts["writer"]
        by_optimizer = "optimizer" in writer
        finding = self._named(
            "inplace-saved-tensor",
            f"a tensor that {facts['saved_by']} saved at {saved} is overwritten by {writer} at "
            f"{written}, and backward needs it",
            written,
            fix="call backward() before the optimizer's step()"
            if by_optimizer
            else "write a new tensor instead (x = x + y for x += y), or clone() before the write",
            why="the gradient would be computed from the wrong values",
            related=[(saved, f"saved by {facts['saved_by']}"), (line, "needed by backward")],
            confidence=0.99,
        )
        findings = [finding]
        if by_optimizer:
            findings += self._carried_over(session, facts, line, finding)
            findings += self._stepped_early(session, written, finding)
        return findings

    def _stepped_early(
        self, session: Session, written: Line | None, finding: Finding
    ) -> list[Finding]:
        """The step stands before backward in each iteration: the very first one had no gradient."""
        optimizers = session.recorder.optimizers.values()
        if not any(o.first_was_early and written in o.step_at for o in optimizers):
            return []
        finding.confidence = 0.9
        text = "step() runs between the forward pass and the backward() of its own iteration"
        fix = "call step() after backward()"
        return [self._named("step-before-backward.early", text, written, fix=fix, confidence=0.95)]

    def cleared_early(self, session: Session) -> list[Finding]:
        """`scaler.step()` finds no gradient, because it was cleared after backward."""
        cleared = [
            known
            for known in session.recorder.params.values()
            if known.optimizers and known.reached and known.cleared_when > known.last_reached
        ]
        if not cleared:
            return []
        text = "the gradients are cleared between backward() and scaler.step()"
        at, fix = line_of(cleared[0].cleared_at), "clear them after the step, or before backward()"
        return [self._named("zero-grad-before-step", text, at, fix=fix, confidence=0.95)]

    def never_stepped(self, session: Session) -> list[Finding]:
        """`scaler.update()` where there was no `scaler.step(optimizer)` for the gradients."""
        recorder = session.recorder
        return [
            self._named(
                "missing-step",
                f"scaler.update() is called, but {optimizer.kind} never steps: its gradients are "
                "wasted",
                line_of(optimizer.born),
                fix="call scaler.step(optimizer) before scaler.update()",
                confidence=0.9,
            )
            for optimizer in recorder.optimizers.values()
            if optimizer.backwards and not optimizer.steps and not optimizer.attempts
        ]

    def _carried_over(
        self, session: Session, facts: Any, line: Line | None, finding: Finding
    ) -> list[Finding]:
        """A graph of an earlier iteration that `retain_graph=True` kept alive."""
        sites = [s for s in session.recorder.sites.values() if s.kept and line_of(s.place) == line]
        if not sites:
            return []
        finding.confidence = 0.6
        return [
            Finding(
                "retain-graph-misuse", "warning",
                "retain_graph=True keeps the graph of the last iteration, and backward goes "
                "through it again although the weights have changed since",
                line,
                fix="detach the state that is carried from one iteration to the next",
                related=[(place, "state built") for place in [line_of(facts["saved_at"])] if place],
                confidence=0.9,
            )
        ]  # fmt: skip

    def twice(self, session: Session, line: Line | None) -> list[Finding]:
        facts = session.error_facts
        built = line_of(facts.get("built_at"))
        freed = line_of(facts.get("freed_at"))
        return [
            self._named(
                "backward-twice",
                f"backward() goes through a graph that an earlier backward() has used: "
                f"{facts.get('op', 'a node')}, built at {built}, freed at {freed}",
                line,
                fix="if that line runs once, move it into the loop; if it carries state, detach "
                "it; for two losses, add them and call backward() once",
                why="what backward needs was dropped after the first time",
                related=[(built, "built here"), (freed, "freed here")],
                confidence=0.98,
            )
        ]

    def not_scalar(self, line: Line | None) -> list[Finding]:
        return [
            self._named(
                "non-scalar-backward",
                "backward() on a tensor with more than one element",
                line,
                fix="reduce the loss: loss.mean().backward()",
                why="the gradient of several numbers needs weights for them",
                confidence=0.99,
            )
        ]

    # -- no history --------------------------------------------------------------------------------

    def no_history(self, session: Session, frames: list[tuple[FrameType, Line]]) -> list[Finding]:
        line = frames[0][1] if frames else None
        reason = session.root_reason
        if reason is not None and reason.kind != "frozen":
            return [self.cut(reason, line)]
        if reason is not None and not plain_in_optimizer(session):
            return [self.frozen(session, reason, line, frames)]
        return [self.never_asked(session, frames)]

    def asked_in_vain(
        self, session: Session, frames: list[tuple[FrameType, Line]]
    ) -> list[Finding]:
        """`autograd.grad` for a tensor that records nothing."""
        if not frames:
            return []
        frame, line = frames[0]
        statement = statement_at(line)
        for call in ast.walk(statement) if statement is not None else ():
            if not isinstance(call, ast.Call) or not dotted(call.func).endswith("grad"):
                continue
            wanted = call.args[1:2] or [k.value for k in call.keywords if k.arg == "inputs"]
            for name in (dotted(part) for each in wanted for part in ast.walk(each)):
                tensor = _evaluate(ast.parse(name, mode="eval").body, frame) if name else None
                if isinstance(tensor, Tensor) and not tensor._requires_grad:
                    at = session.recorder.born_at(tensor) or assigned_at(name, line.file, line.line)
                    return [self._never(name, at or line, line)]
        return [self._never("an input of grad()", line, line)]

    def _never(self, name: str, at: Line, line: Line) -> Finding:
        return self._named(
            "missing-requires-grad",
            f"the gradient for {name} is asked for, but it does not record any",
            at,
            fix=f"call {name}.requires_grad_() before it is used",
            related=[(line, "the gradient is asked for here")],
            confidence=0.95,
        )

    def cut(self, reason: NoHistory, line: Line | None) -> Finding:
        at = line_of(reason.where)
        if reason.kind == "numpy":
            at = line_of(getattr(reason, "left_at", None)) or at
        how = {
            "no_grad": f"it was computed under {reason.op}",
            "detach": f"{reason.op} cut its history",
            "not differentiable": f"{reason.op} has no derivative",
            "numpy": f"it was rebuilt by {reason.op} from values that had left the graph",
        }.get(reason.kind, reason.kind)
        return self._named(
            "detached-graph",
            f"the loss has no history: {how}, at {at}",
            at or line,
            fix="compute the loss from tensors alone, with grad mode on; keep detach(), item(), "
            "numpy() for logging",
            why="no gradient can pass; setting requires_grad on the loss trains nothing",
            related=[(line, "backward is called here")],
            confidence=0.97,
        )

    def frozen(
        self, session: Session, reason: NoHistory, line: Line | None,
        frames: list[tuple[FrameType, Line]],
    ) -> Finding:  # fmt: skip
        at = misspelling(frames) or line_of(reason.where)
        return self._named(
            "missing-requires-grad",
            f"everything that the loss was computed from is frozen, by {reason.op} at "
            f"{line_of(reason.where)}",
            at,
            fix="call .requires_grad_(True) on what is to be trained before the forward",
            related=[(line, "backward is called here"), (line_of(reason.where), "frozen here")],
            confidence=0.95,
        )

    def never_asked(self, session: Session, frames: list[tuple[FrameType, Line]]) -> Finding:
        line = frames[0][1] if frames else None
        spelled = misspelling(frames)
        tensors = wanted_tensors(session, frames)
        at = spelled or next((at for _, at in tensors if at is not None), None) or line
        names = ", ".join(name for name, _ in tensors) or "what the loss was computed from"
        return self._named(
            "missing-requires-grad",
            f"{names} was never asked to record a gradient (requires_grad is False)",
            at,
            fix="make it with requires_grad=True, or call .requires_grad_() before it is used",
            why="backward has nothing to start from",
            related=[(line, "the gradient is wanted here")],
            confidence=0.9,
        )

    def gradient_is_none(
        self, session: Session, frames: list[tuple[FrameType, Line]], text: str
    ) -> list[Finding]:
        """`w.grad` is None on the failing line: why?"""
        frame, line = frames[0]
        statement = statement_at(line)
        if statement is None:
            return []
        for node in ast.walk(statement):
            if not isinstance(node, ast.Attribute) or node.attr != "grad":
                continue
            tensor = _evaluate(node.value, frame)
            if not isinstance(tensor, Tensor) or tensor._grad is not None:
                continue
            assigned = assigned_at(ast.unparse(node.value), line.file, line.line)
            return self._why_none(session, tensor, frames, line, assigned)
        return []

    def _why_none(
        self, session: Session, tensor: Tensor, frames: list[tuple[FrameType, Line]], line: Line,
        assigned: Line | None,
    ) -> list[Finding]:  # fmt: skip
        recorder = session.recorder
        if not tensor._requires_grad:
            reason = tensor._reason
            at = misspelling(frames) or recorder.born_at(tensor) or assigned
            if reason is not None and at is None:
                at = line_of(reason.where)
            return [
                self._named(
                    "missing-requires-grad",
                    "its .grad is None: the tensor was never asked to record a gradient",
                    at or line,
                    fix="make it with requires_grad=True",
                    related=[(line, "its gradient is used here")],
                    confidence=0.93,
                )
            ]
        node = tensor._node
        if node is not None and not node.is_accumulator:
            return [
                self._named(
                    "missing-requires-grad.non-leaf",
                    f".grad is None: {node.name()} made this tensor at {line_of(node._where)}, and "
                    "backward fills the .grad of leaves only",
                    line_of(node._where) or line,
                    fix="update in place under torch.no_grad(): w -= lr * w.grad",
                    related=[(line, "its gradient is used here")],
                    confidence=0.9,
                )
            ]
        return []


def misspelling(frames: list[tuple[FrameType, Line]]) -> Line | None:
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
                and isinstance(_evaluate(node.value, frame), Module)
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


def _evaluate(node: ast.AST, frame: FrameType) -> Any:
    """The value of a name or of an attribute of one, in a frame; nothing is called."""
    if isinstance(node, ast.Name):
        return frame.f_locals.get(node.id, frame.f_globals.get(node.id))
    if isinstance(node, ast.Attribute):
        held = _evaluate(node.value, frame)
        if held is None:
            return None
        if isinstance(held, Tensor):
            return held.detach() if node.attr == "data" else None
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
                if held is known.ref():
                    at = at or assigned_at(name, frame.f_code.co_filename, code=frame.f_code)
        found[known.shown] = at
    for frame, _ in frames:
        tree = tree_of(frame.f_code.co_filename)
        if tree is None:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr == "grad":
                tensor = _evaluate(node.value, frame)
                if isinstance(tensor, Tensor) and not tensor._requires_grad:
                    name = ast.unparse(node.value)
                    born = recorder.born_at(tensor)
                    found.setdefault(name, born or assigned_at(name, frame.f_code.co_filename))
    if not found:
        for frame, _ in frames:
            for name, held in list(frame.f_locals.items()):
                if isinstance(held, Tensor) and not held._requires_grad and held._node is None:
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


def _is_updated(name: str, file: str) -> bool:
    tree = tree_of(file)
    return tree is not None and any(
        isinstance(node, ast.AugAssign)
        and isinstance(node.target, ast.Name)
        and node.target.id == name
        for node in ast.walk(tree)
    )


RULES: tuple[Rule, ...] = (FromException(),)
