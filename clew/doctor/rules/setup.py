"""Modes, schedules, data and copies."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from clew.doctor.facts.losses import LossSite
from clew.doctor.facts.places import Line, enclosing_functions, line_of
from clew.doctor.facts.train_eval import EvalSite, ModeFacts
from clew.doctor.report.findings import Finding
from clew.doctor.rules.base import Rule, known_of, most, was_moved

if TYPE_CHECKING:
    from clew.doctor.facts.engine import Engine
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
            if not (
                model.train_steps
                or model.evaluated
                or _is_left_in_eval(model)
                or _never_measured(model, session.engine)
            ):
                continue
            line = most(model.eval_under) or most(model.eval_step_lines)
            findings.append(
                self.finding(
                    f"{model.kind} trains in eval mode ({', '.join(model.layers)} are off) for "
                    f"{model.eval_steps} steps, after eval() at {line}",
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
            if site.deliberate or not (site.metrics or named or self._is_finished(session, site)):
                continue
            model_facts = session.modes.models.get(site.key)
            if model_facts is not None and not model_facts.train_steps:
                module = model_facts.ref()
                params = [] if module is None else list(module.parameters())
                known = known_of(session, params)
                if not any(k.loaded or was_moved(k) for k in known):
                    continue
            if model_facts is not None and _is_generator(model_facts, site):
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

    def _is_finished(self, session: Session, site: EvalSite) -> bool:
        """Whether the model was trained before and never again, and others learn from it now."""
        model = session.modes.models.get(site.key)
        module = None if model is None else model.ref()
        if site.idle < 3 or module is None:
            return False
        known = known_of(session, module.parameters())
        return all(
            optimizer.last_count <= site.idle_since
            for optimizer in session.recorder.optimizers.values()
            if any(optimizer.number in k.optimizers for k in known)
        )


def _is_generator(model: ModeFacts, site: EvalSite) -> bool:
    """Whether a site draws samples from a model that learns by the judgement of another one.

    Batch normalisation makes them as it does in training; no data take part. The judge learns by
    an optimizer of its own: parts of one model share theirs.
    """
    only_norms = all("Norm" in name for name in site.layers)
    return model.is_judged and only_norms and site.drawn >= site.count


def _is_left_in_eval(model: ModeFacts) -> bool:
    """Whether a function that does not train calls eval() again and again, and nobody train()."""
    if model.eval_calls < 3 or model.train_set_when >= 0 or model.eval_set_at is None:
        return False
    trains = most(model.eval_step_lines)
    return trains is not None and (
        enclosing_functions(model.eval_set_at) != enclosing_functions(trains)
    )


def _never_measured(model: ModeFacts, engine: Engine) -> bool:
    """Whether batch normalisation is frozen with the statistics that a new layer begins with."""
    for reference in model.sensitive:
        layer = reference()
        if layer is None or layer.training or not isinstance(layer, engine.BatchNorm):
            continue
        mean, var = engine.tensor(layer.running_mean), engine.tensor(layer.running_var)
        return bool(
            mean is not None and var is not None
            and not mean._array.any() and (var._array == 1).all()
        )  # fmt: skip
    return False


def _is_evaluation(line: Line) -> bool:
    """Whether the names around a line say that something is evaluated there."""
    around = enclosing_functions(line)
    return bool(around and _EVALUATES.search(around[-1])) or bool(_EVALUATES.search(line.text))


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
            if data.is_drawn(key) or key in data.wholes or key[0] in data.partly_known:
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
        for line, count in copies.memories.found.items():
            findings.append(
                self.finding(
                    "the entries that are stored here are one array, which has changed since: all "
                    "of them show the last value",
                    line,
                    fix="store array.copy()",
                    why="NumPy's arrays are kept by reference, and are written to in place",
                    evidence={"looks": count},
                    confidence=0.88,
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
        findings += [
            self._misaligned(site)
            for site in session.losses.sites.values()
            if site.kind == "misaligned" and site.used >= 2
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
        if "groups" in site.facts or "sum_of_exp" in site.facts:
            return True
        shapes = site.facts["shapes"]
        traced = site.facts.get("traced")
        if traced is not None and any(len(s) > 2 for s in shapes):
            targets = session.losses.rows
            others = {n for s in shapes for n in s} - {traced}
            if targets:
                return traced in targets and not others & set(targets)
            return traced in session.losses.mixing.row_outputs
        rows = {shape[0] for shape in shapes}
        square = any(len(s) >= 2 and s[0] == s[1] for s in shapes)
        if square and not site.facts.get("features"):
            return False  # between all pairs of rows: an affinity
        batches = session.data.batches
        # Tokens of several samples, one below the other, are normalised together.
        folded = site.text == "softmax" and all(
            len(s) == 2 and any(b > 1 and s[0] > b and s[0] % b == 0 for b in batches)
            for s in shapes
        )
        if not (rows & batches or len(rows) > 1 or folded):
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
        # A table of all pairs of positions is normalised along one of those.
        pairs = all(
            len(s) > 2 and s[-1] == s[-2] != s[0] and s[0] in session.data.batches for s in shapes
        )
        return first or pairs or not site.text.endswith("softmax")

    def _misaligned(self, site: LossSite) -> Finding:
        scores, targets = site.facts["shapes"]
        return self.finding(
            f"scores of shape {scores} and targets of shape {targets} are made flat: row by row, "
            "they belong to different samples",
            site.line,
            refinement="misaligned",
            fix="bring both into the same order before flattening: scores.transpose(0, 1)",
            why="each score is compared with the target of another sample",
            evidence={"times": site.used},
            confidence=0.93,
        )

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
    TrainEvalMode(), DataLeak(), AliasedBuffer(), BatchMixing(),
)  # fmt: skip
