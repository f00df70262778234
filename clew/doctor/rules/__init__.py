"""The rules: each looks at what was recorded and says what is wrong, with evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.doctor.facts.course import prepare
from clew.doctor.report.findings import Finding, ordered
from clew.doctor.rules import (
    exceptions,
    graph,
    initial,
    loop,
    loss,
    numeric,
    repeats,
    schedules,
    setup,
)
from clew.doctor.rules.base import Rule

if TYPE_CHECKING:
    from clew.doctor.observe.session import Session

# Causes come before what they explain: a rule may mark parameters as explained.
RULES: tuple[Rule, ...] = (
    *exceptions.RULES, *loop.RULES, *loss.RULES, *graph.RULES, *initial.RULES, *numeric.RULES,
    *setup.RULES, *schedules.RULES, *repeats.RULES,
)  # fmt: skip


def judge(session: Session) -> list[Finding]:
    """All findings, the most probable cause first; what a cause explains becomes a remark."""
    prepare(session)
    findings: list[Finding] = []
    for rule in RULES:
        try:
            findings += rule.look(session)
        except Exception as error:  # the other rules still look; the report says it
            session.failed(error)
    for text in session.failures:
        findings.append(Finding("doctor-failed", "info", f"a check failed: {text}", None))
    return ordered(demoted(said_once(findings)))


def said_once(findings: list[Finding]) -> list[Finding]:
    """One line may do the same to several tensors: that is one mistake."""
    found = {(f.rule, f.line, f.message): f for f in reversed(findings)}
    return list(found.values())[::-1]


# A finding of the first kind explains findings of the others; earlier rows are asked first.
EXPLAINS: dict[str, frozenset[str]] = {
    "missing-zero-grad": frozenset({"bad-learning-rate", "exploding-gradient", "dead-relu"}),
    "zero-grad-before-step": frozenset({"bad-learning-rate", "missing-step"}),
    "step-before-backward": frozenset({"zero-grad-before-step", "bad-learning-rate"}),
    "retain-graph-misuse": frozenset(
        {"graph-leak", "step-before-backward", "inplace-saved-tensor"}
    ),
    "inplace-saved-tensor": frozenset({"step-before-backward"}),
    "exploding-gradient": frozenset(
        {"bad-learning-rate", "nan-origin", "dead-relu", "wrong-reduction"}
    ),
    "nan-origin": frozenset({"bad-learning-rate", "dead-relu", "vanishing-gradient"}),
    "bad-learning-rate": frozenset({"dead-relu", "nan-origin"}),
    "wrong-reduction": frozenset({"bad-learning-rate", "bad-init", "dead-relu", "nan-origin"}),
    "bad-init": frozenset({"dead-relu", "vanishing-gradient", "detached-graph"}),
    "target-not-detached": frozenset(
        {"param-not-in-optimizer", "collapsed-representation", "dead-relu", "train-eval-mode"}
    ),
    "detached-graph": frozenset(
        {"param-unused", "vanishing-gradient", "bad-learning-rate", "clip-misplaced"}
    ),
    "missing-requires-grad": frozenset({"detached-graph", "param-unused", "clip-misplaced"}),
    "aliased-buffer": frozenset({"target-not-detached"}),
    "dead-relu": frozenset({"vanishing-gradient"}),
    "loss-broadcast": frozenset({"bad-learning-rate"}),
}


# What is said beside its neighbour, because both name the same mistake.
BOTH = frozenset({"step-before-backward.early"})
# What may itself be a neighbour's effect: it explains nothing.
UNSURE = frozenset({"bad-learning-rate.overshoots"})


def demoted(findings: list[Finding]) -> list[Finding]:
    """Consequences of another finding become remarks."""
    for cause, effects in EXPLAINS.items():
        causes = [f for f in findings if f.family == cause and f.severity != "info"]
        if not any(f.rule not in UNSURE for f in causes):
            continue
        for finding in findings:
            is_effect = finding.family in effects and finding.rule not in BOTH
            if is_effect and finding.severity != "info":
                finding.severity = "info"
                finding.message += f" (explained by {cause})"
    return findings
