"""Modes, schedules, data and copies."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from clew.doctor.facts.losses import LossSite
from clew.doctor.facts.places import Line, enclosing_functions, line_of
from clew.doctor.facts.schedulers import SchedulerFacts
from clew.doctor.report.findings import Finding
from clew.doctor.rules.base import Rule, most

if TYPE_CHECKING:
    from clew.doctor.observe.session import Session

_EVALUATES = re.compile(r"eval|valid|test|accuracy|predict|score|metric", re.IGNORECASE)


_STATISTICS = frozenset({"mean", "std", "var"})
_SEVERAL = 3  # batches that must differ: the same rows every time are a graph, or a set


class TrainEvalMode(Rule):
    id = "train-eval-mode"

    def look(self, session: Session) -> list[Finding]:
        findings = []
        for model in session.modes.models.values():
            if model.eval_steps < 2 or not model.ever_eval:
                continue
            if not (model.train_steps or model.evaluated):
                continue
            line = model.eval_set_at or most(model.eval_step_lines)
            findings.append(
                self.finding(
                    f"{model.kind} trains in eval mode ({', '.join(model.layers)} are off) for "
                    f"{model.eval_steps} steps, after eval() at {model.eval_set_at}",
                    line,
                    fix="call model.train() before the next training batch",
                    why="dropout does nothing and batch normalisation uses old statistics",
                    related=[(most(model.eval_step_lines), "trains here in eval mode")],
                    evidence={"eval_steps": model.eval_steps, "train_steps": model.train_steps},
                    confidence=0.92,
                )
            )
        for line, count in session.modes.dropout_in_eval.items():
            findings.append(
                self.finding(
                    "dropout is active while the model is in evaluation mode",
                    line,
                    fix="F.dropout(x, p, training=self.training), or nn.Dropout",
                    why="F.dropout does not know the mode of the module: its default is training",
                    evidence={"times": count},
                    confidence=0.85,
                )
            )
        for site in session.modes.sites.values():
            named = site.line is not None and _is_evaluation(site.line)
            if site.deliberate or not (site.metrics or named):
                continue
            model_facts = session.modes.models.get(site.key)
            if model_facts is not None and not model_facts.train_steps:
                module = model_facts.ref()
                params = [] if module is None else list(module.parameters())
                known = [k for p in params if (k := session.recorder.find(p)) is not None]
                if not any(k.loaded for k in known):
                    continue
            findings.append(
                self.finding(
                    f"the model is evaluated in training mode: {', '.join(site.layers)} are active",
                    site.line,
                    fix="call model.eval() before evaluating and model.train() afterwards",
                    why="dropout makes the figure random; batch normalisation uses, and changes, "
                    "its statistics with the test data",
                    evidence={"times": site.count},
                    confidence=0.85,
                )
            )
        return findings


def _is_evaluation(line: Line) -> bool:
    """Whether the names around a line say that something is evaluated there."""
    around = enclosing_functions(line)
    return bool(around and _EVALUATES.search(around[-1])) or bool(_EVALUATES.search(line.text))


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
        active = [o for o in optimizers.values() if o.steps >= 10]
        others = any(s.steps for s in session.schedules.schedulers.values())
        if not facts.steps and active and not others and session.exit.status != "exception":
            return f"{facts.kind} is made and never stepped: the rate stays", line_of(facts.born)
        if optimizer is None or facts.steps < 2:
            return "", None
        if facts.idle >= 2 or (not optimizer.steps and any(o.steps for o in optimizers.values())):
            return (
                f"{facts.kind} belongs to an optimizer that does not step (any more): the one in "
                "use keeps its rate",
                line_of(facts.born) or at,
            )
        per_batch = facts.steps >= 0.9 * optimizer.steps and optimizer.steps >= 8
        first, rates = optimizer.first_rate, optimizer.rates.values
        if per_batch and facts.kind == "CosineAnnealingLR":
            period = facts.settings.get("T_max", 0)
            if period and facts.steps > 1.5 * period:
                return (
                    f"CosineAnnealingLR(T_max={period:.0f}) is stepped {facts.steps} times, once "
                    "per batch: the rate goes up and down again",
                    at,
                )
        length = facts.settings.get("step_size") or facts.settings.get("T_max")
        epochs = facts.epochs
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
        if facts.kind == "OneCycleLR":
            total = facts.settings.get("total_steps", 0)
            if total and optimizer.steps >= 2 * facts.steps and facts.steps < 0.5 * total:
                return (
                    f"OneCycleLR(total_steps={total:.0f}) is stepped only {facts.steps} times for "
                    f"{optimizer.steps} steps of the optimizer",
                    at,
                )
        return "", None


class DataLeak(Rule):
    id = "data-leak"

    def look(self, session: Session) -> list[Finding]:
        findings: list[Finding] = []
        data = session.data
        for key, held in data.held_out.items():
            trained = data.trained.get(key[0], set())
            if len(held) < 4 or len(trained) < 4:
                continue
            common = len(data.common.get(key, ()))
            share = common / len(held)
            if common < 4 or not 0.08 <= share <= 0.98 or data.serves_training(key):
                continue
            if data.is_drawn(key):
                continue
            line = data.held_names.get(key) or most(data.held_at.get(key, Counter()))
            if any(found.line == line for found in findings):
                continue
            findings.append(
                self.finding(
                    f"{common} of the {len(held)} rows that the model is evaluated on were also "
                    "trained on",
                    line,
                    fix="split first, then shuffle, oversample or augment the training part only",
                    why="the figure measures memory, not generalisation",
                    evidence={"common": common, "held_out": len(held), "trained": len(trained)},
                    confidence=0.85,
                )
            )
        return findings


class AliasedBuffer(Rule):
    id = "aliased-buffer"

    def look(self, session: Session) -> list[Finding]:
        copies = session.copies
        findings = []
        for line, count in copies.useless_loads.items():
            findings.append(
                self.finding(
                    "what is kept here shares its memory with the model: it has followed every "
                    "step since it was taken",
                    line,
                    fix="copy.deepcopy(model.state_dict()), or clone() every tensor",
                    why="state_dict() and detach() give views of the live parameters",
                    related=[(copies.useless_load_at.get(line), "loaded here")],
                    evidence={"loads": count},
                    confidence=0.93,
                )
            )
        for line, (name, other) in copies.same_object.items():
            if line not in copies.useless_loads:
                findings.append(
                    self.finding(
                        f"{name} is no copy: it has the parameters of {other}, and moves with it",
                        line,
                        fix="copy.deepcopy(model)",
                        why="assignment gives an object a second name",
                        confidence=0.85,
                    )
                )
        for line, (name, other) in copies.shared_data.items():
            findings.append(
                self.finding(
                    f"{name} and {other} share one memory from here on: they are equal for ever",
                    line,
                    fix="a.data.copy_(b.data), or clone()",
                    confidence=0.9,
                )
            )
        for line, count in copies.stacks.items():
            stored = copies.stack_of.get(line) or line
            findings.append(
                self.finding(
                    "the entries that are put together here share one memory: all of them show the "
                    "last value",
                    stored,
                    fix="store a copy: x.clone(), array.copy()",
                    related=[(line, "read here")],
                    evidence={"times": count},
                    confidence=0.85,
                )
            )
        return findings


class BatchMixing(Rule):
    id = "batch-mixing"

    def look(self, session: Session) -> list[Finding]:
        findings = [
            self._over_batch(site)
            for site in session.losses.sites.values()
            if site.kind == "over-batch" and site.used and self._is_batch(session, site)
        ]
        rows = set(session.losses.rows)
        for module, facts in session.modes.sequences.items():
            length, batch_size = facts.shape[:2]
            if length in rows and batch_size not in rows and batch_size > 1 and facts.count >= 2:
                findings.append(
                    self.finding(
                        f"{module} takes (time, batch, features), and gets {list(facts.shape)}: "
                        f"it runs over the {length} samples as if they were time steps",
                        line_of(facts.born) or facts.line,
                        fix="batch_first=True",
                        related=[(facts.line, "called here")],
                        evidence={"shape": list(facts.shape), "targets": length},
                        confidence=0.85,
                    )
                )
        for line, swap in session.data.swaps.items():
            findings.append(
                self.finding(
                    f"a view of {list(swap.before)} as {list(swap.after)} does not exchange the "
                    "dimensions: it mixes samples",
                    line,
                    fix="transpose(0, 1) or permute",
                    why="view and reshape keep the order of the elements in memory",
                    evidence={"times": swap.count},
                    confidence=0.85,
                )
            )
        return findings

    def _is_batch(self, session: Session, site: LossSite) -> bool:
        """Whether the axis that an operation runs over holds the samples of a batch."""
        shapes = site.facts["shapes"]
        rows = {shape[0] for shape in shapes}
        square = any(len(s) >= 2 and s[0] == s[1] for s in shapes)
        if square and not site.facts.get("features"):
            return False  # between all pairs of rows: an affinity
        if not (rows & session.data.batches or len(rows) > 1):
            return False
        targets = session.losses.rows
        # The axis is the batch if the loss has as many targets, or a multiple of them.
        if targets and not any(n % r == 0 for n in targets for r in rows if n >= r):
            return False
        if site.facts.get("whole"):
            return True
        if site.text in _STATISTICS and session.modes.fresh_inputs < _SEVERAL:
            return False
        # Of more dimensions, the first is the batch if only it has as many entries as targets.
        first = all(s[0] in targets and s[1] not in targets for s in shapes if len(s) > 2)
        return first or not site.text.endswith("softmax")

    def _over_batch(self, site: LossSite) -> Finding:
        text = f"{site.text} runs over the batch axis"
        if site.facts.get("whole"):
            text = f"{site.text} of the whole batch normalises every sample"
        return self.finding(
            f"{text}: each sample's output depends on the others in its batch",
            site.line,
            fix=f"{site.text}(dim=-1), or the axis that is meant",
            evidence={"shapes": [list(s) for s in site.facts["shapes"]]},
            confidence=0.88,
        )


RULES: tuple[Rule, ...] = (
    TrainEvalMode(), SchedulerMisuse(), DataLeak(), AliasedBuffer(), BatchMixing(),
)  # fmt: skip
