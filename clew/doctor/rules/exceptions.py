"""The diagnosis of an exception: which class of mistake it is, and the line of the cause."""

from __future__ import annotations

import ast
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any

from clew.doctor.facts.places import (
    Line,
    _is_users,
    assigned_at,
    dotted,
    line_of,
    statement_at,
)
from clew.doctor.report.findings import Finding
from clew.doctor.rules.base import Rule, frozen_at
from clew.doctor.rules.wanted import (
    evaluate,
    misspelling,
    optimizes_nothing,
    plain_in_optimizer,
    wanted_tensors,
)
from clew.observed import Tensor
from clew.source import INTERNAL_PACKAGES

if TYPE_CHECKING:
    from clew.core.no_history import NoHistory
    from clew.doctor.observe.session import Session


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


def _given_at(name: str, frames: list[tuple[FrameType, Line]]) -> Line | None:
    """The line that assigns to a name; of an argument, in the function that gives it."""
    held = frames[0][0].f_locals.get(name)
    for frame, line in frames:
        names = [key for key, value in frame.f_locals.items() if value is held]
        for each in [name] if held is None else names:
            code = frame.f_code
            found = assigned_at(each, line.file, line.line + 1, code)
            if found is not None:
                return found
        if held is None or not set(names) & set(frame.f_code.co_varnames):
            break
    return None


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
        if isinstance(error, session.engine.CheckpointError):
            fix = "make the block do the same when it runs again: no counters, modes or branches"
            text = "a checkpointed block did something else when it ran again for backward"
            return [self._named("checkpoint-mismatch", text, line, fix=fix)]
        if "grad can be implicitly created only for scalar" in text:
            return self.not_scalar(line)
        if "does not require grad and does not have a grad_fn" in text:
            return self.no_history(session, frames)
        if "appears to not have been used in the graph" in text:
            return self.not_used(session, frames)
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
        if "to satisfy the constraint" in text:
            return self.not_a_parameter(session)
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

    def not_a_parameter(self, session: Session) -> list[Finding]:
        """A distribution refuses numbers that an operation of this iteration has made infinite."""
        made = session.numbers.candidates[-1:]
        if not made or made[0].step != session.recorder.steps:
            return []
        origin = made[0]
        text = f"{origin.op} makes the first {origin.kind}, which a distribution does not take"
        fix = "bound it: clamp the logarithm of a scale, or use softplus"
        return [self._named("nan-origin", text, origin.line, fix=fix, confidence=0.9)]

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
        at = session.recorder.clearing_line(cleared[0].cleared_by)
        fix = "clear them after the step, or before backward()"
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
        if optimizes_nothing(session):
            return [self.never_asked(session, frames)]
        sites = session.recorder.sites.values()
        if reason is not None and reason.kind == "gradient" and (
            any(line_of(site.place) == line for site in sites)
        ):  # fmt: skip
            return [
                self._never("parameters that were updated", line_of(reason.where) or line, line)
            ]
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
                tensor = (
                    evaluate(ast.parse(name, mode="eval").body, frame, session.engine)
                    if name
                    else None
                )
                if isinstance(tensor, Tensor) and not tensor._requires_grad:
                    at = session.recorder.born_at(tensor) or _given_at(name, frames)
                    return [self._never(name, at or line, line)]
        return [self._never("an input of grad()", line, line)]

    def not_used(self, session: Session, frames: list[tuple[FrameType, Line]]) -> list[Finding]:
        """`autograd.grad` of what lost its history, and was told to record one from there on."""
        lost = [
            reason
            for held, reason in session.recorder.overridden.values()
            if held() is not None and reason is not None and reason.kind in ("gradient", "detach")
        ]
        return [self.cut(lost[-1], frames[0][1])] if lost and frames else []

    def _never(self, name: str, at: Line | None, line: Line | None) -> Finding:
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
            "gradient": f"it was computed from a gradient, by {reason.op}",
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
        optimized = [k for k in session.recorder.params.values() if k.optimizers]
        lines = [at for k in optimized if (at := frozen_at(k)) is not None]
        at = misspelling(frames, session.engine) or next(iter(lines), line_of(reason.where))
        return self._named(
            "missing-requires-grad",
            f"everything that the loss was computed from is frozen, by {reason.op} at {at}",
            at,
            fix="call .requires_grad_(True) on what is to be trained before the forward",
            related=[(line, "backward is called here"), (at, "frozen here")],
            confidence=0.95,
        )

    def never_asked(self, session: Session, frames: list[tuple[FrameType, Line]]) -> Finding:
        line = frames[0][1] if frames else None
        spelled = misspelling(frames, session.engine)
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
        earlier = [
            at
            for node in ast.walk(statement)
            if isinstance(node, ast.Name) and frame.f_locals.get(node.id, 0) is None
            and (at := assigned_at(node.id, line.file, line.line)) is not None
        ]  # fmt: skip
        places = [statement, *(found for at in earlier if (found := statement_at(at)) is not None)]
        for node in (each for place in places for each in ast.walk(place)):
            if not isinstance(node, ast.Attribute) or node.attr != "grad":
                continue
            tensor = evaluate(node.value, frame, session.engine)
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
            at = misspelling(frames, session.engine) or recorder.born_at(tensor) or assigned
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
                    f".grad is None: {node._name()} made this tensor at {line_of(node._where)}, and"
                    " backward fills the .grad of leaves only",
                    line_of(node._where) or line,
                    fix="update in place under torch.no_grad(): w -= lr * w.grad",
                    related=[(line, "its gradient is used here")],
                    confidence=0.9,
                )
            ]
        return []


RULES: tuple[Rule, ...] = (FromException(),)
