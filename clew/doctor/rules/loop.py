"""The order of the training loop: zero_grad, backward, clipping, step."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from clew.doctor.facts.places import Line, line_of
from clew.doctor.facts.records import OptimizerFacts, ParamFacts
from clew.doctor.report.findings import Finding
from clew.doctor.rules.base import Rule, listed, most, names_of

if TYPE_CHECKING:
    from clew.doctor.observe.session import Session


class MissingZeroGrad(Rule):
    id = "missing-zero-grad"

    def look(self, session: Session) -> list[Finding]:
        recorder = session.recorder
        stale = [
            known
            for known in recorder.params.values()
            if known.stale_steps >= 2 and known.stale_steps >= 0.3 * known.steps
        ]
        manual = [
            known
            for known in recorder.params.values()
            if known.manual >= 2
            and (not recorder.steps or known.stale_reads >= 2)
            and not known.optimizers
            and known.stale_updates >= max(2, 0.3 * known.manual)
        ]
        findings = []
        if stale:
            findings.append(self._by_optimizer(session, stale))
        if manual:
            findings.append(self._by_hand(manual))
        return findings

    def _by_optimizer(self, session: Session, stale: list[ParamFacts]) -> Finding:
        optimizers = session.recorder.optimizers.values()
        numbers = {known.number for known in stale}
        owners = [o for o in optimizers if numbers & set(o.params) and o.steps]
        backward = most(sum((known.stale_at for known in stale), start=Counter()))
        line, role = backward, ""
        wrong = _wrong_zero_grad(session, numbers)
        if wrong is not None:
            line, role = wrong, "clears other gradients"
        share = max(known.stale_steps / max(known.steps, 1) for known in stale)
        step = most(owners[0].step_at) if owners else None
        text = (
            f"{len(stale)} gradient(s) ({listed(stale)}) still hold the gradient of earlier steps"
        )
        if role:
            text += f"; the zero_grad() at {line} clears others"
        return self.finding(
            f"{text} when backward adds to them: {share:.0%} of the steps used a stale sum",
            line,
            fix="call optimizer.zero_grad() once per step, before backward(), on the optimizer "
            "that steps",
            why="every step moves along the sum of all gradients so far, as if the momentum were 1",
            related=[(backward, "adds to the stale gradient"), (step, "uses the sum")],
            parameters=names_of(stale),
            evidence={"stale_steps": max(k.stale_steps for k in stale), "share": round(share, 3)},
            confidence=0.97,
        )

    def _by_hand(self, stale: list[ParamFacts]) -> Finding:
        line = most(sum((known.stale_at for known in stale), start=Counter()))
        update = line_of(stale[0].manual_at)
        return self.finding(
            f"{listed(stale)}: the gradient is never cleared between updates by hand",
            line,
            fix="set w.grad = None (or call w.grad.zero_()) after each update",
            why="backward adds to .grad; without clearing, each update uses the sum of all so far",
            related=[(update, "updates with the sum")],
            parameters=names_of(stale),
            evidence={"updates": max(k.manual for k in stale)},
            confidence=0.95,
        )


def _wrong_zero_grad(session: Session, stale: set[int]) -> Line | None:
    """A zero_grad that runs as often as the steps, but clears none of the stale gradients."""
    for optimizer in session.recorder.optimizers.values():
        if optimizer.zero_at and not stale & set(optimizer.params):
            called = sum(optimizer.zero_at.values())
            owners = [o for o in session.recorder.optimizers.values() if stale & set(o.params)]
            steps = max((o.steps for o in owners), default=0)
            own = any(o.zero_at for o in owners)
            doubled = [line for line, n in optimizer.zero_at.items() if n >= 0.5 * steps]
            expected = len([x for x in optimizer.step_at if x is not None])
            if steps and called >= 0.5 * steps and not own and doubled:
                # Called twice per iteration: the second call stands where the other's should.
                if len(doubled) > max(1, expected):
                    return _nearest(doubled, owners)
                if not optimizer.steps:
                    return doubled[0]
    return None


def _nearest(lines: list[Line | None], owners: list[OptimizerFacts]) -> Line | None:
    """The line closest before the step of the optimizer that was forgotten."""
    step = most(owners[0].step_at) if owners else None
    known = [line for line in lines if line is not None]
    if step is None or not known:
        return known[0] if known else None
    before = [line for line in known if line.file == step.file and line.line <= step.line]
    return max(before, key=lambda line: line.line) if before else known[0]


class ZeroGradBeforeStep(Rule):
    id = "zero-grad-before-step"

    def look(self, session: Session) -> list[Finding]:
        findings = []
        for optimizer in session.recorder.optimizers.values():
            if optimizer.first_was_early or optimizer.cleared_steps < 2:
                continue
            if optimizer.cleared_steps < 0.7 * optimizer.steps:
                continue
            line = session.recorder.clearing_line(most(optimizer.cleared_by) or ())
            findings.append(
                self.finding(
                    f"the gradients of {optimizer.kind} are cleared between backward() and step(): "
                    f"{optimizer.cleared_steps} of {optimizer.steps} steps changed nothing",
                    line,
                    fix="call zero_grad() before backward(), or after step()",
                    why="step() skips parameters without a gradient",
                    related=[
                        (most(optimizer.step_at), "the step that finds no gradient"),
                        (most(optimizer.backward_at), "the backward whose gradients are lost"),
                    ],
                    evidence={"empty": optimizer.cleared_steps, "steps": optimizer.steps},
                    confidence=0.97,
                )
            )
        return findings or self._by_hand(session) or self._wasted(session)

    def _by_hand(self, session: Session) -> list[Finding]:
        """Parameters that the program updates itself, with gradients that it has cleared."""
        empty = [k for k in session.recorder.params.values() if sum(k.empty_updates.values()) >= 3]
        empty = [k for k in empty if sum(k.empty_updates.values()) >= 0.7 * (k.reached - 1)]
        if not empty:
            return []
        times = sum(empty[0].empty_updates.values())
        return [
            self.finding(
                f"the gradient of {listed(empty)} is cleared between backward() and the update: "
                f"{times} updates changed nothing",
                most(empty[0].empty_updates),
                refinement="by-hand",
                fix="clear the gradient after the update",
                why="the update subtracts zeros",
                related=[(line_of(empty[0].manual_at), "the update")],
                parameters=names_of(empty),
                evidence={"empty": times, "backwards": empty[0].reached},
                confidence=0.93,
            )
        ]

    def _wasted(self, session: Session) -> list[Finding]:
        """One of several backward passes, whose gradients no step ever sees."""
        steps = {o.number: o.steps for o in session.recorder.optimizers.values()}
        return [
            self.finding(
                f"the gradients of the backward() at {line_of(site.place)} are all cleared before "
                f"any step uses them, {site.wasted} times",
                session.recorder.clearing_line(most(site.wasted_by) or ()),
                fix="clear gradients once per step, or call step() before clearing them",
                why="that loss has no effect",
                related=[(line_of(site.place), "the backward whose gradients are lost")],
                evidence={"wasted": site.wasted, "backwards": site.count},
                confidence=0.85,
            )
            for site in session.recorder.sites.values()
            if site.wasted >= 3
            and site.wasted >= 0.8 * (site.count - 1)
            and all(steps.get(number, 0) >= 3 for number in site.wasted_of)
        ]


class StepBeforeBackward(Rule):
    id = "step-before-backward"

    def look(self, session: Session) -> list[Finding]:
        findings = []
        for optimizer in session.recorder.optimizers.values():
            if optimizer.uses_closure or optimizer.steps < 2:
                continue
            never = optimizer.first_was_early and optimizer.cleared_steps >= 0.7 * (
                optimizer.steps - 1
            )
            late = (
                optimizer.early_backwards >= 2
                and optimizer.early_backwards >= 0.7 * optimizer.backwards
            )
            if not (never and optimizer.backwards >= 2) and not late:
                continue
            line = most(optimizer.step_at)
            what = "it finds no gradient" if never else "it uses the last iteration's gradient"
            findings.append(
                self.finding(
                    f"step() of {optimizer.kind} runs before the backward() of its own iteration: "
                    f"{what}",
                    line,
                    fix="call step() after backward()",
                    why="the graph was built with other weights than backward() finds",
                    related=[(most(optimizer.backward_at), "the backward that comes too late")],
                    evidence={"backwards_too_late": optimizer.early_backwards},
                    confidence=0.95,
                )
            )
        return findings


class MissingStep(Rule):
    id = "missing-step"

    def look(self, session: Session) -> list[Finding]:
        recorder = session.recorder
        findings = []
        for optimizer in recorder.optimizers.values():
            if optimizer.attempts or session.exit.status == "exception":
                continue
            params = [recorder.params[n] for n in optimizer.params]
            reached = [known for known in params if known.reached >= 3]
            stepped_by_others = any(known.steps > 0 for known in reached)
            if not reached or any(known.manual > 1 for known in reached) or stepped_by_others:
                continue
            if optimizer.backwards < 3 or optimizer.steps:
                continue
            line = line_of(optimizer.born) or most(optimizer.backward_at)
            findings.append(
                self.finding(
                    f"{optimizer.kind} never steps: backward() filled the gradients of its "
                    f"{len(reached)} parameter(s) {optimizer.backwards} times for nothing",
                    line,
                    fix="call optimizer.step() after backward() (with its parentheses; with a "
                    "GradScaler, scaler.step(optimizer))",
                    why="without step() no parameter changes",
                    related=[(most(optimizer.backward_at), "computes gradients nobody uses")],
                    parameters=names_of(reached),
                    evidence={"backwards": optimizer.backwards, "steps": optimizer.steps},
                    confidence=0.93,
                )
            )
        return findings


class AccumulationNotAveraged(Rule):
    id = "accumulation-not-averaged"
    severity = "warning"

    def look(self, session: Session) -> list[Finding]:
        findings = []
        for optimizer in session.recorder.optimizers.values():
            if optimizer.uses_closure or not optimizer.undivided:
                continue
            times, count = optimizer.undivided.most_common(1)[0]
            total = sum(optimizer.summed.values())
            if count < 2 or count < 0.6 * total:
                continue
            line = most(optimizer.summed_at)
            findings.append(
                self.finding(
                    f"each step sums the gradients of {times} backward passes, and the loss is not "
                    f"divided by {times}",
                    line,
                    fix=f"write (loss / {times}).backward()",
                    why=f"the effective learning rate is {times} times the one that was set",
                    related=[(most(optimizer.step_at), "uses the sum")],
                    evidence={"micro_batches": times, "steps": count},
                    confidence=0.8,
                )
            )
        return findings


class OptimizerRemade(Rule):
    """An optimizer that remembers something is made anew for each step."""

    id = "optimizer-remade"
    severity = "warning"

    def look(self, session: Session) -> list[Finding]:
        params = session.recorder.params
        made: Counter[tuple[Line, frozenset[int]]] = Counter()
        for optimizer in session.recorder.optimizers.values():
            line = line_of(optimizer.born)
            once = optimizer.steps == 1 and optimizer.keeps_state and not optimizer.uses_closure
            # (Weights that are loaded again begin a training of their own.)
            if once and line is not None and not any(params[n].loaded for n in optimizer.params):
                made[line, frozenset(optimizer.params)] += 1
        return [
            self.finding(
                f"{count} optimizers are made here for the same {len(numbers)} parameter(s), and "
                "each makes one step",
                line,
                fix="make the optimizer once, before the loop",
                why="its momentum and moments begin at zero in every step",
                parameters=names_of([params[n] for n in sorted(numbers)]),
                evidence={"optimizers": count},
                confidence=0.92,
            )
            for (line, numbers), count in made.items()
            if count >= 5
        ]


class ClipMisplaced(Rule):
    id = "clip-misplaced"

    def look(self, session: Session) -> list[Finding]:
        findings = []
        for facts in session.schedules.clips.values():
            problems = {
                "after step(): the update has already been made": facts.after_step,
                "before backward(): there is no gradient yet": facts.without_gradient,
                "before scaler.unscale_(optimizer): the gradients are still multiplied by the "
                "scale": facts.still_scaled,
            }
            text, count = max(problems.items(), key=lambda item: item[1])
            if count < 2 or count < 0.6 * facts.count:
                continue
            findings.append(
                self.finding(
                    f"gradients are clipped {text}",
                    facts.line,
                    fix="clip between backward() and step(); with a GradScaler, after "
                    "scaler.unscale_(optimizer)",
                    why="the limit does not hold for the gradients that are used",
                    evidence={"calls": facts.count, "misplaced": count},
                    confidence=0.96,
                )
            )
        return findings


RULES: tuple[Rule, ...] = (
    MissingZeroGrad(), ZeroGradBeforeStep(), StepBeforeBackward(), MissingStep(),
    AccumulationNotAveraged(), OptimizerRemade(), ClipMisplaced(),
)  # fmt: skip
