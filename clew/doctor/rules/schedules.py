"""Schedules of the learning rate: what they do to it, against what they are made for."""

from __future__ import annotations

import re
import statistics
from typing import TYPE_CHECKING

from clew.doctor.facts.places import Line, line_of
from clew.doctor.facts.records import OptimizerFacts
from clew.doctor.facts.schedulers import SchedulerFacts
from clew.doctor.report.findings import Finding
from clew.doctor.rules.base import Rule, most

if TYPE_CHECKING:
    from clew.doctor.observe.session import Session

_LENGTHS = ("step_size", "T_max", "milestones")
# Names of figures that are better the larger they are.
_LARGER_IS_BETTER = re.compile(
    r"acc|f1|auc|iou|dice|score|reward|return|precision|recall|bleu|r2|top1|hits", re.IGNORECASE
)


class SchedulerMisuse(Rule):
    id = "scheduler-misuse"

    def look(self, session: Session) -> list[Finding]:
        findings = []
        for facts in session.schedules.schedulers.values():
            text, line = self.problem(session, facts)
            if text:
                findings.append(
                    self.finding(
                        text,
                        line,
                        fix="call scheduler.step() once per epoch, after optimizer.step(), on a "
                        "scheduler of the optimizer that is in use; or give the schedule its "
                        "length in batches",
                        why="the learning rate is not what the schedule was meant to be",
                        related=[(line_of(facts.born), "the scheduler's construction")],
                        evidence={"steps": facts.steps, **facts.settings},
                        confidence=0.88,
                    )
                )
        return findings

    def problem(self, session: Session, facts: SchedulerFacts) -> tuple[str, Line | None]:
        optimizers = {o.number: o for o in session.recorder.optimizers.values()}
        optimizer = optimizers.get(facts.optimizer) if facts.optimizer is not None else None
        at = most(facts.step_at)
        active = [o for o in optimizers.values() if o.taken >= 10]
        others = any(s.steps for s in session.schedules.schedulers.values())
        if not facts.steps and active and not others and session.exit.status != "exception":
            return f"{facts.kind} is made and never stepped: the rate stays", line_of(facts.born)
        if optimizer is None or facts.steps < 2:
            return "", None
        if facts.idle >= 2 or (not optimizer.taken and any(o.taken for o in optimizers.values())):
            return (
                f"{facts.kind} belongs to an optimizer that does not step (any more): the one in "
                "use keeps its rate",
                at if optimizer.taken else line_of(facts.born) or at,
            )
        text = _wrong_mode(facts, at) or _absolute(facts, optimizer)
        if text:
            return text, line_of(facts.born) or at
        per_batch = facts.steps >= 0.9 * optimizer.taken and optimizer.taken >= 8
        first, rates = optimizer.first_rate, optimizer.rates.values
        if per_batch and facts.kind == "CosineAnnealingLR":
            period = facts.settings.get("T_max", 0)
            if period and facts.steps > 1.5 * period:
                return (
                    f"CosineAnnealingLR(T_max={period:.0f}) is stepped {facts.steps} times, once "
                    "per batch: the rate goes up and down again",
                    at,
                )
        length = next((v for k in _LENGTHS if (v := facts.settings.get(k))), None)
        epochs = facts.epochs or session.repeats.most_passes
        if per_batch and length and epochs and length <= epochs and facts.steps >= 2 * epochs:
            return (
                f"{facts.kind} counts {length:.0f} steps of {epochs} epochs, and is stepped "
                f"{facts.steps} times, once per batch",
                at,
            )
        decays = ("StepLR", "ExponentialLR", "MultiStepLR", "LambdaLR", "MultiplicativeLR")
        if per_batch and facts.kind in decays and first and rates:
            early = rates[len(rates) // 2]
            steep = facts.kind == "ExponentialLR" and facts.settings.get("gamma", 1.0) <= 0.95
            if early < 2e-3 * first or (steep and rates[-1] < 1e-3 * first):
                return (
                    f"{facts.kind} is stepped once per batch: the rate falls from {first:.1e} to "
                    f"{early:.1e} halfway through the run, and to {rates[-1]:.1e}",
                    at,
                )
        if first and len(rates) >= 8 and statistics.median(rates[len(rates) // 2 :]) < 1e-5 * first:
            return (
                f"{facts.kind} drives the rate from {first:.1e} to {rates[-1]:.1e} before the run "
                "is half over: nothing moves any more",
                line_of(facts.born) or at,
            )
        if facts.kind == "OneCycleLR":
            total = facts.settings.get("total_steps", 0)
            if total and optimizer.taken >= 2 * facts.steps and facts.steps < 0.5 * total:
                return (
                    f"OneCycleLR(total_steps={total:.0f}) is stepped only {facts.steps} times for "
                    f"{optimizer.taken} steps of the optimizer",
                    at,
                )
        return "", None


def _wrong_mode(facts: SchedulerFacts, at: Line | None) -> str:
    """A scheduler that waits for a figure to grow which is to fall, or the other way round."""
    figures = [figure for figure, _ in facts.figures]
    losses = [loss for _, loss in facts.figures]
    if facts.mode not in ("min", "max") or len(figures) < 4:
        return ""
    third = max(1, len(figures) // 3)
    early, late = statistics.median(figures[:third]), statistics.median(figures[-third:])
    alike = _correlation(figures, losses)
    if facts.mode == "max" and alike > 0.7 and late < early and losses[-1] < losses[0]:
        return (
            "ReduceLROnPlateau(mode='max') is given a loss: it falls, which counts as no "
            "improvement, and the rate is reduced although training goes well"
        )
    named = at is not None and bool(_LARGER_IS_BETTER.search(at.text))
    if facts.mode == "min" and named and late > early and all(v >= 0 for v in figures):
        return (
            "ReduceLROnPlateau(mode='min') is given a figure that is better the larger it is: the "
            "rate is reduced although training goes well"
        )
    return ""


def _correlation(one: list[float], two: list[float]) -> float:
    try:
        return statistics.correlation(one, two)
    except statistics.StatisticsError:
        return 0.0  # one of them does not change


def _absolute(facts: SchedulerFacts, optimizer: OptimizerFacts) -> str:
    """A function that gives rates, where a factor of the optimizer's rate is wanted."""
    first, rates = optimizer.first_rate, optimizer.rates.values
    if facts.kind != "LambdaLR" or not first or first > 0.5 or len(rates) < 5:
        return ""
    highest = max(rates)
    is_square = 0.5 <= highest / first**2 <= 1.01
    starts_low = rates[0] <= 0.05 * first and highest <= 1.001 * rates[0]
    if not (is_square or starts_low):
        return ""
    return (
        f"LambdaLR multiplies the rate {first:.1e} by at most {highest / first:.1e}: the function "
        "must give a factor, and it seems to give a rate"
    )


RULES: tuple[Rule, ...] = (SchedulerMisuse(),)
