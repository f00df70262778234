"""Data and blocks that should repeat, or should not; outputs that have become all the same."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from clew.doctor.facts.places import line_of
from clew.doctor.report.findings import Finding
from clew.doctor.rules.base import Rule, most

if TYPE_CHECKING:
    from clew.doctor.observe.session import Session


class ShuffledLabels(Rule):
    id = "shuffled-labels"

    def look(self, session: Session) -> list[Finding]:
        repeats = session.repeats
        pairs = repeats.parted_datasets or repeats.parted
        if not pairs:
            return []
        (line, other), count = pairs.most_common(1)[0]
        if pairs is repeats.parted and (count < 3 or count < 0.5 * repeats.paired):
            return []
        return [
            self.finding(
                "inputs and targets are picked by different indices: a row meets the label of "
                "another row",
                line,
                fix="draw one permutation and use it for both: order = torch.randperm(n); "
                "x[order], y[order]",
                why="there is nothing to learn from pairs that do not belong together",
                related=[(other, "the inputs are picked here")],
                evidence={"times": count},
                confidence=0.9,
            )
        ]


class RepeatedData(Rule):
    id = "repeated-data"
    severity = "warning"

    def look(self, session: Session) -> list[Finding]:
        return [
            self.finding(
                f"the loader is begun anew {facts.passes} times and only its first batch is used: "
                f"the model trains on 1 of {facts.batches} batches",
                facts.line,
                fix="for batch in loader: ..., or keep the iterator: batches = iter(loader); "
                "next(batches)",
                why="without shuffling, the first batch is always the same one",
                evidence={"passes": facts.passes, "batches": facts.batches},
                confidence=0.88,
            )
            for facts in session.repeats.loaders.values()
            if facts.passes >= 5
            and facts.batches > 1
            and facts.first_only >= facts.passes - 1
            and facts.trained >= 0.8 * facts.passes
        ]


class CheckpointMismatch(Rule):
    id = "checkpoint-mismatch"

    def look(self, session: Session) -> list[Finding]:
        return [
            self.finding(
                f"the block that is checkpointed at {difference.block} gives other values when it "
                f"runs again for backward: what {difference.op} saved differs",
                difference.line or difference.block,
                fix="make the block repeat itself: no counters, no state that changes between "
                "forward and backward, preserve_rng_state=True",
                why="gradients are computed from other activations than the loss",
                related=[(difference.block, "the checkpointed call")],
                evidence={"times": difference.count},
                confidence=0.92,
            )
            for difference in session.repeats.differences.values()
        ]


class CollapsedRepresentation(Rule):
    id = "collapsed-representation"
    severity = "warning"

    def look(self, session: Session) -> list[Finding]:
        if session.losses.rows or session.exit.status == "exception":
            return []  # a loss with targets: equal outputs are its own affair
        kinds = {site.kind for site in session.losses.sites.values() if site.used}
        if not kinds & {"similarity", "both-sides", "difference", "unit-length"}:
            return []
        for facts in session.spreads.values():
            values = facts.alike.values
            if len(values) < 8:
                continue
            early, late = statistics.median(values[:3]), min(values[-3:])
            if late < 0.995 or early > 0.97:
                continue
            line = most(session.loss_lines)
            return [
                self.finding(
                    f"the outputs of {facts.kind} have become the same for all inputs: the cosine "
                    f"between them rose from {early:.2f} to {late:.4f}",
                    line or line_of(facts.born),
                    fix="a term that keeps outputs apart (negatives, a variance or decorrelation "
                    "term), or a predictor with a stop-gradient",
                    why="the loss is smallest when every input is mapped to one point",
                    related=[(line_of(facts.born), "the encoder")],
                    evidence={"cosine_early": early, "cosine_late": late},
                    confidence=0.85,
                )
            ]
        return []


RULES: tuple[Rule, ...] = (
    ShuffledLabels(), RepeatedData(), CheckpointMismatch(), CollapsedRepresentation(),
)  # fmt: skip
