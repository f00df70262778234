"""Losses: activations in front of them, shapes, reductions, targets that stay in the graph."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from clew.doctor.facts.losses import LossSite
from clew.doctor.facts.places import Line, line_of
from clew.doctor.facts.records import ParamFacts
from clew.doctor.report.findings import Finding
from clew.doctor.rules.base import Rule, names_of

if TYPE_CHECKING:
    from clew.doctor.observe.session import Session


class LossActivationMismatch(Rule):
    id = "loss-activation-mismatch"

    def look(self, session: Session) -> list[Finding]:
        findings = [self._picked(*found) for found in session.terms.picked.found()]
        for site in session.losses.sites.values():
            if not site.used:
                continue
            text = self.text(site)
            if text:
                findings.append(
                    self.finding(
                        text,
                        site.line,
                        fix="give the loss what it expects: cross_entropy and "
                        "binary_cross_entropy_with_logits take raw scores, nll_loss and kl_div "
                        "take log-probabilities (log_softmax)",
                        why="the loss is computed from the wrong numbers: its gradient is small or "
                        "points elsewhere",
                        related=[(site.other, "the activation")],
                        evidence={"times": site.used, **site.facts},
                        confidence=0.95,
                    )
                )
        return findings

    def _picked(self, line: Line | None, count: int) -> Finding:
        return self.finding(
            "the scores of a layer, and not log-probabilities, are picked by the labels: the loss "
            "falls for ever, whatever the other classes get",
            line,
            refinement="picked",
            fix="take log_softmax(scores, dim=1) first, or use cross_entropy",
            why="nothing holds the scores of the wrong classes down",
            evidence={"times": count},
            confidence=0.9,
        )

    def text(self, site: LossSite) -> str:
        if site.kind == "activation":
            return f"{site.text} is applied before a loss that applies log_softmax itself"
        if site.kind == "activation.logits":
            return f"{site.text} is applied before binary_cross_entropy_with_logits"
        if site.kind == "nll":
            return (
                f"{site.facts['loss']} gets {site.text}, not log-probabilities: the exponentials "
                f"of a row sum to {site.facts['sum_of_exp']}, not 1"
            )
        if site.kind == "no-logarithm":
            return "a target's probabilities are multiplied by softmax, not by log_softmax"
        if site.kind == "kl":
            return f"kl_div gets {site.text} as its input, which must be log-probabilities"
        return ""


class LossBroadcast(Rule):
    id = "loss-broadcast"

    def look(self, session: Session) -> list[Finding]:
        return [
            self.finding(
                f"the operands of a loss broadcast against each other: {site.text} gives "
                f"{site.facts['pairs']} pairs",
                site.line,
                fix="make the shapes equal: prediction.squeeze(-1), or target.unsqueeze(-1)",
                why="every prediction is compared with every target: the best answer is the mean",
                evidence=dict(site.facts),
                confidence=0.95,
            )
            for site in session.losses.sites.values()
            if site.kind == "broadcast" and site.used
        ]


class TargetNotDetached(Rule):
    id = "target-not-detached"

    def look(self, session: Session) -> list[Finding]:
        findings = []
        for site in session.losses.sites.values():
            if site.kind == "product":
                findings += self._advantage(session, site) or self._soft_target(session, site)
                continue
            if site.kind not in ("both-sides", "difference", "similarity") or site.used < 2:
                continue
            reason = self.reason(session, site)
            if not reason:
                continue
            numbers = site.facts.get("target", frozenset())
            known_params = session.recorder.params
            params = [known_params[n] for n in sorted(numbers) if n in known_params]
            session.explained.update(k.number for k in params if not k.optimizers)
            findings.append(
                self.finding(
                    f"the target of this loss stays in the graph ({reason}): the loss also moves "
                    "its own target",
                    site.line,
                    fix="compute the target under torch.no_grad(), or detach() it",
                    why="both sides move towards each other instead of the prediction towards the "
                    "target",
                    related=[(site.facts.get("target_line"), "the target is computed here")],
                    parameters=names_of(params),
                    evidence={"times": site.used},
                    confidence=0.85,
                )
            )
        return findings + self._moved_targets(session, findings)

    def _advantage(self, session: Session, site: LossSite) -> list[Finding]:
        """A log-probability weighted by a difference that carries another network's graph."""
        if site.used < 2:
            return []
        for side, other in (("left", "right"), ("right", "left")):
            behind = site.facts.get(other, [])
            is_log_prob = "gather" in behind and (
                "logsumexp" in behind or "log_softmax" in behind or "log" in behind
            )
            named = bool(re.search(r"adv|td_err|delta", site.line.text if site.line else ""))
            weights = site.facts.get(f"{side}_leaves", frozenset())
            scores = site.facts.get(f"{other}_leaves", frozenset())
            params = [k for n in weights if (k := session.recorder.params.get(n)) is not None]
            # (A learned weight of a term, such as an uncertainty, is no network's output.)
            computed = any(len(known.shape) >= 2 for known in params)
            teacher = computed and not weights & scores and self.is_idle(session, site, params)
            if teacher and "log_softmax" in behind:
                session.explained.update(weights)
                return [
                    self.finding(
                        f"the soft targets of this loss stay in the graph: {params[0].shown} "
                        "belongs to a network that no optimizer moves here",
                        site.line,
                        fix="compute the teacher's output under torch.no_grad()",
                        parameters=names_of(params),
                        evidence={"times": site.used},
                        confidence=0.85,
                    )
                ]
            if site.facts.get(f"{side}_difference") and (is_log_prob or named):
                return [
                    self.finding(
                        "the weight of a log-probability (an advantage) stays in the graph: the "
                        "policy's loss also trains the critic, to make actions look better",
                        site.line,
                        fix="multiply by advantage.detach()",
                        related=[(site.facts.get(f"{side}_line"), "the advantage")],
                        evidence={"times": site.used},
                        confidence=0.85,
                    )
                ]
        return []

    def _soft_target(self, session: Session, site: LossSite) -> list[Finding]:
        """A score times what a network computes, too: a soft target, or an advantage."""
        found = session.losses.targets.sites.get(site.line)
        if site.used < 2 or found is None or sum(found.reasons.values()) < 2:
            return []
        reason = max(found.reasons, key=lambda each: found.reasons[each])
        return [
            self.finding(
                f"a factor of this product is a target and stays in the graph ({reason}): the loss "
                "also moves its own target",
                site.line,
                fix="compute the target under torch.no_grad(), or detach() it",
                related=[(found.target_line, "the target is computed here")],
                evidence={"times": site.used},
                confidence=0.85,
            )
        ]

    def is_idle(self, session: Session, site: LossSite, params: list[ParamFacts]) -> bool:
        """Whether no optimizer that holds these parameters steps while this loss is in use."""
        if not all(known.is_parameter for known in params):
            return False
        holders = {number for known in params for number in known.optimizers}
        optimizers = [o for o in session.recorder.optimizers.values() if o.number in holders]
        seen = site.facts.get("steps", 0)
        return all(o.last_count <= seen for o in optimizers)

    def _moved_targets(self, session: Session, found: list[Finding]) -> list[Finding]:
        """Gradients into a network that is moved by averaging or copying, not by an optimizer."""
        recorder = session.recorder
        if found or not any(o.steps for o in recorder.optimizers.values()):
            return []
        if not any(k.reached for k in recorder.params.values() if k.optimizers):
            return []  # nothing that is optimized takes part: it is the wrong network
        moved = [
            known
            for known in recorder.params.values()
            if known.is_parameter and not known.optimizers and known.reached >= 2
            and (known.manual >= 2 or known.loaded)
        ]  # fmt: skip
        if not moved:
            return []
        session.explained.update(known.number for known in moved)
        return [
            self.finding(
                f"the loss goes backward into {moved[0].shown}, whose network follows another one "
                "and is not trained: its output is a target and should be detached",
                line_of(moved[0].first_use),
                fix="compute it under torch.no_grad(), or detach() the result",
                parameters=names_of(moved),
                evidence={"gradients": moved[0].reached, "copies": moved[0].manual},
                confidence=0.85,
            )
        ]

    def reason(self, session: Session, site: LossSite) -> str:
        recorder = session.recorder
        known_params = recorder.params
        target = [known_params[n] for n in site.facts.get("target", ()) if n in known_params]
        own = [k for k in target if k.number not in site.facts.get("input", ())]
        inputs = site.facts.get("input", ())
        trained = any(known_params[n].optimizers for n in inputs if n in known_params)
        if own and trained and all(not k.optimizers and (k.manual or k.loaded) for k in own):
            return f"{own[0].shown} belongs to a network that is not trained"
        shapes = [known.shape for known in target]
        if set(site.facts.get("target", ())) < set(inputs) and trained and (
            session.copies.followers.is_idle(shapes, max(3, recorder.steps // 2))
        ):  # fmt: skip
            return "a copy of its network follows it and is never used"
        follows = all(k.manual >= max(2, 0.5 * k.steps) for k in own)
        if own and follows and not any(known_params[n].manual for n in inputs if n in known_params):
            return f"{own[0].shown} belongs to a network that follows another one"
        if trained and len(own) == len(target) and target and self.is_idle(session, site, own):
            return f"{own[0].shown} belongs to a network that no optimizer moves here"
        if site.facts.get("bootstrap"):
            return "it is a reward plus a discounted estimate"
        if site.kind == "similarity":
            one, two = site.facts.get("target", frozenset()), site.facts.get("input", frozenset())
            if one < two or two < one:
                return "the same network computes it, without the predictor"
            return ""
        if site.facts.get("cancels") and site.facts["input"] == site.facts["target"]:
            return "both sides are one computation, and their gradients cancel"
        found = session.losses.targets.sites.get(site.line)
        if found is not None and sum(found.reasons.values()) >= 2:
            return max(found.reasons, key=lambda reason: found.reasons[reason])
        return ""


class WrongReduction(Rule):
    id = "wrong-reduction"
    severity = "warning"

    def look(self, session: Session) -> list[Finding]:
        terms = session.terms
        if terms.mixed:
            (summed, mean), count = terms.mixed.most_common(1)[0]
            if count >= 2:
                return [self._found("one term of the loss is a sum over the batch and another a "
                                    "mean", summed, mean, count)]  # fmt: skip
        for found, text in (
            (terms.of_weights, "one term of the loss is a sum over the weights and another a mean "
             "over the samples of a batch"),
            (terms.inside, "a sum over the whole batch is added to what each sample has, before "
             "the mean is taken"),
        ):  # fmt: skip
            for (summed, mean), count in found.most_common(1):
                if count >= 2:
                    return [self._found(text, summed, mean, count)]
        if terms.summed and (session.diverges or session.too_fast):
            line, count = terms.summed.most_common(1)[0]
            session.diverges = False
            session.too_fast = False
            return [
                self._found(
                    f"the loss is a sum over {terms.batch} rows, and training diverges at a rate "
                    "that suits a mean",
                    line, None, count,
                )
            ]  # fmt: skip
        return []

    def _found(self, text: str, line: Line | None, other: Line | None, count: int) -> Finding:
        return self.finding(
            text,
            line,
            fix="use the same reduction for all terms: reduction='mean', or divide by the batch "
            "size; what there is once for all data, by the number of samples",
            why="the weight of a sum grows with the batch size",
            related=[(other, "the mean")],
            evidence={"times": count},
            confidence=0.8,
        )


RULES: tuple[Rule, ...] = (
    LossActivationMismatch(), LossBroadcast(), TargetNotDetached(), WrongReduction(),
)  # fmt: skip
