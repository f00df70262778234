"""Histories that are cut: parameters that get no gradient, or only that of a penalty."""

from __future__ import annotations

import ast
from collections import Counter
from typing import TYPE_CHECKING

from clew.doctor.facts.places import Line, line_of, statement_at
from clew.doctor.facts.records import Cut, ParamFacts
from clew.doctor.report.findings import Finding
from clew.doctor.rules.base import Rule, active_optimizers, listed, most, names_of, was_moved

if TYPE_CHECKING:
    from clew.doctor.observe.session import Session


class DetachedGraph(Rule):
    id = "detached-graph"

    def look(self, session: Session) -> list[Finding]:
        if session.exit.status == "exception" and session.recorder.backwards < 2:
            return []
        lost = self.lost(session)
        findings: list[Finding] = []
        by_line: dict[Line | None, list[ParamFacts]] = {}
        cuts: dict[Line | None, Cut | None] = {}
        for known in lost:
            line, cut = self.cause(session, known)
            if line is not None:
                by_line.setdefault(line, []).append(known)
                cuts[line] = cut
        for line, params in by_line.items():
            findings.append(self.found(session, line, cuts[line], params))
            session.explained.update(known.number for known in params)
        return findings

    def lost(self, session: Session) -> list[ParamFacts]:
        """Parameters that are meant to be trained and never got a gradient."""
        recorder = session.recorder
        if recorder.backwards < 2:
            return []
        active = {o.number for o in active_optimizers(session)}
        if not active:
            active = {o.number for o in recorder.optimizers.values()}
        return [
            known
            for known in recorder.params.values()
            if (not known.reached or self.is_flat(session, known))
            and not known.steps_with_value
            and known.optimizers & active
            and (not was_moved(known) or self.is_flat(session, known))
            and known.requires_grad_seen
        ]

    def is_flat(self, session: Session, known: ParamFacts) -> bool:
        """Whether every gradient was zero because a rounding operation lies on the path."""
        return (
            known.zero_grads >= 3
            and not known.nonzero_grads
            and any(
                known.number in cut.leaves and cut.kind == "stairs" and cut.used
                for cut in session.recorder.cuts.values()
            )
        )

    def cause(self, session: Session, known: ParamFacts) -> tuple[Line | None, Cut | None]:
        recorder = session.recorder
        holders = [o for o in recorder.optimizers.values() if o.number in known.optimizers]
        starved = sum((each.starved_by for each in holders), start=Counter())
        often = max(1.0, 0.1 * recorder.backwards)  # once or twice, it was for a log
        certain = [
            ((cut.kind != "not differentiable", starved[line], recorder.joined[line]), line, cut)
            for line, cut in recorder.cuts.items()
            if known.number in cut.leaves
            and (cut.used if cut.kind == "stairs" else often <= recorder.joined[line])
            and (cut.kind == "stairs" or not known.reached)
            and cut.kind != "exit"
        ]
        if certain:
            _, line, cut = max(certain, key=lambda item: item[0])
            return line, cut
        under = most(Counter({line_of(p): n for p, n in known.used_without_grad.items()}))
        behind = [
            (cut.count, line, cut)
            for line, cut in recorder.cuts.items()
            if known.number in cut.leaves and line is not None and cut.kind == "exit"
            and cut.since < recorder.backwards and not self.is_log(session, line, cut)
        ]  # fmt: skip
        behind.sort(key=lambda item: (item[2].kind == "exit", -item[0]))
        if behind:
            _, line, cut = behind[0]
            return line, cut
        return self.cut_before(session, known) or (under, None)

    def is_log(self, session: Session, line: Line, cut: Cut) -> bool:
        """Whether the value of a parameter leaves to be shown, or now and then."""
        if not cut.of_leaf:
            return False
        statement = statement_at(line)
        shown = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
        return shown or cut.count < 0.5 * session.recorder.backwards

    def cut_before(self, session: Session, known: ParamFacts) -> tuple[Line | None, Cut] | None:
        """The cut that every pass went through, when nothing at all is trained.

        Values may come back by a way that nobody sees (NumPy, lists): then no join is recorded.
        """
        recorder = session.recorder
        if any(k.reached for k in recorder.params.values() if k.optimizers or k.is_parameter):
            return None
        steady = [
            (cut.count, line, cut)
            for line, cut in recorder.cuts.items()
            if known.number in cut.leaves and line is not None
            and cut.count >= recorder.backwards
        ]  # fmt: skip
        return max(steady, key=lambda item: item[0])[1:] if steady else None

    def found(
        self, session: Session, line: Line | None, cut: Cut | None, params: list[ParamFacts]
    ) -> Finding:
        how = {
            "detach": "cuts the graph",
            "exit": "takes the values out of the graph",
            "not differentiable": "has no derivative",
            "stairs": "has a derivative of zero",
            "no_grad": "switches recording off",
            "numpy": "rebuilds a tensor from numbers",
            "frozen": "freezes",
        }.get(cut.kind if cut else "no_grad", "cuts the graph")
        op = cut.op if cut else "no_grad"
        return self.finding(
            f"{op} at {line} {how}: no gradient ever reaches {listed(params)}",
            line,
            fix="keep the path from the loss to these parameters in tensor operations with grad "
            "mode on",
            why="the optimizer skips parameters without a gradient: they keep their initial values",
            parameters=names_of(params),
            related=[(params[0].made_at, "the parameters that are never trained")],
            evidence={"parameters": len(params), "backwards": session.recorder.backwards},
            confidence=0.92,
        )


class Bypassed(Rule):
    """A network that its users are cut off from, and that a penalty still gives gradients."""

    id = "detached-graph"

    def look(self, session: Session) -> list[Finding]:
        partial = session.partial
        findings = []
        for line, bypass in partial.bypasses.items():
            lost = [session.recorder.params[n] for n in sorted(bypass.lost)]
            if bypass.count < 2 or any(was_moved(known) for known in lost):
                continue
            if bypass.others >= 0.5 * bypass.count:
                continue  # they have a pass of their own, as a generator has beside its critic's
            cut = session.recorder.cuts[line]
            session.explained.update(bypass.lost)
            findings.append(
                self.finding(
                    f"{cut.op} at {line} cuts {listed(lost)} off from the term of the loss that "
                    "uses the result: only a penalty trains them",
                    line,
                    refinement="bypassed",
                    fix="keep the path: rsample() for sample(), mu + std * eps for a sample of "
                    "detached parameters, no detach() between the networks",
                    why="the network in front learns to please the penalty, not the task",
                    parameters=names_of(lost),
                    related=[(lost[0].made_at, "the parameters that the task does not train")],
                    evidence={"parameters": len(lost), "backwards": bypass.count},
                    confidence=0.88,
                )
            )
        return findings


class ConstantPenalty(Rule):
    """A gradient is a term of the loss, and its computation was not recorded."""

    id = "detached-graph"

    def look(self, session: Session) -> list[Finding]:
        return [
            self.finding(
                "a gradient that was computed without create_graph=True is added to the loss: the "
                "term is a constant and trains nothing",
                site.other or site.line,
                refinement="penalty",
                fix="torch.autograd.grad(..., create_graph=True)",
                why="a penalty on a gradient needs the derivative of that gradient",
                related=[(site.line, "added here")],
                evidence={"times": site.used},
                confidence=0.93,
            )
            for site in session.losses.sites.values()
            if site.kind == "constant-penalty" and site.used >= 2
        ]


class OtherParameters(Rule):
    """Gradients for some parameters, of a loss that was computed with others."""

    id = "detached-graph"

    def look(self, session: Session) -> list[Finding]:
        return [
            self.finding(
                "gradients are asked for a set of parameters that the loss does not depend on: it "
                f"is computed with another set of the same shapes at {line}",
                line,
                refinement="other-parameters",
                fix="call the model with the parameters that are given: "
                "functional_call(model, params, (x,))",
                why="every gradient is zero, and nothing is trained",
                evidence={"times": count},
                confidence=0.93,
            )
            for line, count in session.recorder.missed.items()
            if count >= 2
        ]


class RewrappedLoss(Rule):
    """Backward from a tensor that no parameter leads to."""

    id = "detached-graph"

    def look(self, session: Session) -> list[Finding]:
        recorder = session.recorder
        findings = []
        for tensor_line, place, count in session.lonely_roots():
            if count < 2 or count < 0.6 * recorder.backwards:
                continue
            line = place or tensor_line
            findings.append(
                self.finding(
                    "backward() starts from a tensor that was made anew: no parameter is behind it",
                    line,
                    refinement="rewrapped",
                    fix="call backward() on the loss itself, not on torch.tensor(loss) or a tensor "
                    "whose requires_grad was set afterwards",
                    why="a new tensor has no history, so nothing is trained",
                    evidence={"backwards": count},
                    confidence=0.95,
                )
            )
        return findings


RULES: tuple[Rule, ...] = (
    RewrappedLoss(), DetachedGraph(), OtherParameters(), Bypassed(), ConstantPenalty(),
)  # fmt: skip
