"""Numbers: NaN, vanishing and exploding gradients, dead units, updates, initial values."""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING

from clew.doctor.facts import Activity, OptimizerFacts, ParamFacts
from clew.doctor.findings import Finding
from clew.doctor.places import Line, line_of
from clew.doctor.rules.base import Rule, layered, most, names_of

if TYPE_CHECKING:
    from clew.doctor.session import Session


def main_optimizer(session: Session) -> OptimizerFacts | None:
    stepping = [o for o in session.recorder.optimizers.values() if o.steps]
    return max(stepping, key=lambda o: o.steps) if stepping else None


class NanOrigin(Rule):
    id = "nan-origin"

    def look(self, session: Session) -> list[Finding]:
        origin = session.numbers.reported
        if origin is None:
            return []
        if session.diverges and origin.step > 1:
            return []
        line = origin.line
        where = f" in module {origin.module}" if origin.module else ""
        if origin.from_data:
            what = f"the data holds NaN: {origin.facts}"
        elif origin.backward:
            what = f"{origin.op} returned {origin.kind} in backward{where}: {origin.facts}"
            if origin.branch is not None:
                what += (
                    f"; the torch.where at {origin.branch} takes the other branch, but its zero "
                    "gradient times infinity is NaN"
                )
        else:
            what = f"{origin.op} produced the first {origin.kind}{where}: {origin.facts}"
        return [
            self.finding(
                what,
                line,
                fix=_fix_for(origin.op, origin.backward),
                related=[(origin.branch, "the branch that is not taken")],
                why="everything computed from it is NaN, and after the next step all weights are",
                evidence={"step": origin.step, "op": origin.op, "backward": origin.backward},
                confidence=0.95,
            )
        ]


def _fix_for(op: str, backward: bool) -> str:
    if backward:
        return (
            "keep the input away from the pole before the operation: sqrt(x + eps), "
            "clamp(min=eps), or torch.where on the input, too: "
            "torch.where(ok, sqrt(torch.where(ok, x, 1.0)), other)"
        )
    name = op.rstrip("_")
    if name.startswith("log"):
        return "log(x.clamp(min=eps)), log_softmax, or log1p"
    if name in ("div", "reciprocal", "rsqrt"):
        return "add a small number to the divisor"
    if name in ("exp", "pow", "expm1", "exp2", "cosh", "sinh"):
        return "subtract the maximum first (logsumexp, log_softmax), or clamp the exponent"
    if "softmax" in name:
        return "leave at least one entry of every row unmasked"
    return "check the inputs of this operation"


class VanishingGradient(Rule):
    id = "vanishing-gradient"
    severity = "warning"

    def look(self, session: Session) -> list[Finding]:
        findings = self._saturated(session)
        if findings or session.diverges:
            return findings
        findings = self._over_time(session)
        layers = layered(session)
        if findings or len(layers) < 4:
            return findings
        ratios = _ratios(layers)
        if ratios is None:
            return findings
        first, last, ratio = ratios
        if ratio > 2e-4:
            return findings
        line = _activation_line(session) or first.made_at
        findings.append(
            self.finding(
                f"the gradient shrinks by a factor of {1 / max(ratio, 1e-30):.1e} from "
                f"{last.shown} to {first.shown}",
                line,
                fix="ReLU-like activations, normalisation layers, residual connections, or an "
                "initialisation that keeps the scale",
                why="the early layers hardly move",
                parameters=[first.shown, last.shown],
                related=[(first.made_at, "hardly any gradient"), (last.made_at, "full gradient")],
                evidence={"ratio": ratio, "layers": len(layers)},
                confidence=0.85,
            )
        )
        return findings

    def _over_time(self, session: Session) -> list[Finding]:
        """A recurrence with small weights: the same line, many times, with less gradient each."""
        small = [
            known
            for known in session.recorder.params.values()
            if known.gain is not None and known.gain < 0.25 and known.reached
            and len(known.shape) == 2 and known.shape[0] == known.shape[1]
            and id(known.ref()) in session.flow.recurrent
        ]  # fmt: skip
        steep = [each for each in session.flow.declines if each.ratio < 1e-7]
        if not small or not steep:
            return []
        worst = min(steep, key=lambda each: each.ratio)
        return [
            self.finding(
                f"the gradient of {worst.op} falls to {worst.ratio:.1e} of its size over "
                f"{worst.repeats} repetitions of this line; {small[0].shown} is too small to carry "
                "it back",
                line_of(worst.place),
                refinement="over-time",
                fix="an orthogonal or identity initialisation of the recurrent matrix, a gated "
                "cell (GRU, LSTM), or shorter sequences",
                why="the early time steps have no influence on the weights",
                parameters=names_of(small),
                related=[(small[0].made_at, "the recurrent matrix")],
                evidence={"ratio": worst.ratio, "repeats": worst.repeats, "gain": small[0].gain},
                confidence=0.85,
            )
        ]

    def _saturated(self, session: Session) -> list[Finding]:
        found = []
        for activity in session.numbers.activities.values():
            shares = activity.saturated.values
            if len(shares) < 3:
                continue
            early = statistics.median(shares[: max(3, len(shares) // 3)])
            share = statistics.median(shares)
            enough = 0.9 if "softmax" in activity.kind else 0.6
            if early < enough or share < enough or activity.is_output:
                continue
            found.append((share, activity))
        if not found:
            return []
        share, activity = max(found, key=lambda item: item[0])
        return [
            self.finding(
                f"{share:.0%} of the outputs of {activity.kind} are saturated from the start",
                line_of(activity.place),
                refinement="saturated",
                fix="scale the inputs and the initial weights so that activations stay near zero",
                why="the derivative there is nearly zero: no gradient passes",
                evidence={"share": round(share, 3)},
                confidence=0.85,
            )
        ]


def _scale(known: ParamFacts) -> float:
    """The typical size of an element of the gradient, over the first steps."""
    values = [v for v in known.grad_norm.values[:12] if math.isfinite(v)]
    return statistics.median(values) / math.sqrt(known.size) if values else 0.0


def _ratios(layers: list[ParamFacts]) -> tuple[ParamFacts, ParamFacts, float] | None:
    scales = [(_scale(known), known) for known in layers]
    scales = [(s, k) for s, k in scales if s > 0]
    if len(scales) < 4:
        return None
    # A single layer beside the main path may see little; the early layers together must.
    third = max(1, len(scales) // 3)
    early = statistics.median(s for s, _ in scales[:third])
    late = statistics.median(s for s, _ in scales[-third:])
    if early > 2e-3 * late:
        return None
    first_scale, first = scales[0]
    last_scale, last = max(scales[len(scales) // 2 :], key=lambda item: item[0])
    return first, last, first_scale / last_scale


def _activation_line(session: Session) -> Line | None:
    lines = [
        line_of(a.place)
        for a in session.numbers.activities.values()
        if a.kind in ("sigmoid", "tanh") and not a.is_output
    ]
    return lines[0] if lines else None


class ExplodingGradient(Rule):
    id = "exploding-gradient"

    def look(self, session: Session) -> list[Finding]:
        norms = [v for v in session.numbers.total_norm.values[:4]]
        if not norms:
            return []
        first = norms[0]
        rows = max(session.modes.batch or 1, 1)
        layers = layered(session)
        loss = session.recorder.loss.values[:1]
        size = abs(loss[0]) if loss else 0.0
        if session.numbers.reported is not None and not math.isfinite(first + size):
            return []
        if not (first > 1e4 or not math.isfinite(first) or size > 1e6):
            return []
        if session.data.terms.summed:
            return []
        known = _amplifier(layers)
        growth = session.numbers.growth
        grows = max(growth.values(), default=0.0) > 1.5
        if not grows and (known is None or (known.gain or 0.0) < 2.0):
            return []  # the data or the targets are large, not the network
        line = None
        if known is not None:
            line = line_of(known.init_at) or known.made_at
        if known is None or (known.gain or 0.0) < 2.0:
            line = max(growth, key=lambda place: growth[place]) if growth else line
        return [
            self.finding(
                f"the gradient norm is {first:.2e} at the first step, with a loss of {size:.2e}",
                line,
                fix="initialise with the fan-in in mind (kaiming, xavier, orthogonal), normalise, "
                "or clip gradients",
                why="one step destroys the weights",
                parameters=[known.shown] if known else [],
                evidence={"norm": first, "rows": rows},
                confidence=0.88,
            )
        ]


def _amplifier(layers: list[ParamFacts]) -> ParamFacts | None:
    """The layer whose weights are the largest for its fan-in."""
    best: tuple[float, ParamFacts] | None = None
    for known in layers:
        gain = known.gain
        if gain is not None and (best is None or gain > best[0]):
            best = gain, known
    return best[1] if best else (layers[0] if layers else None)


class DeadRelu(Rule):
    id = "dead-relu"

    def look(self, session: Session) -> list[Finding]:
        dead: list[tuple[float, Activity]] = []
        for activity in session.numbers.activities.values():
            if activity.kind not in ("relu", "threshold", "clamp_min.number"):
                continue
            shares = list(activity.dead_shares)
            if activity.window >= 3 and activity.active is not None:
                shares.append(1.0 - float(activity.active.mean()))
            if shares and min(shares[-2:]) >= 0.8 and activity.samples >= 4:
                dead.append((min(shares[-2:]), activity))
        if not dead:
            return []
        share, activity = max(dead, key=lambda item: (item[0], -item[1].order))
        return [
            self.finding(
                f"{share:.0%} of the units of this ReLU are never active: no gradient passes them",
                line_of(activity.place),
                fix="a smaller learning rate, a bias that is not negative, normalised inputs, or "
                "LeakyReLU",
                why="a unit that is zero for all data gets no gradient and stays zero",
                evidence={"dead_share": round(share, 3), "batches": activity.samples},
                confidence=0.9,
            )
        ]


class BadLearningRate(Rule):
    id = "bad-learning-rate"

    def look(self, session: Session) -> list[Finding]:
        optimizer = main_optimizer(session)
        if optimizer is None or optimizer.steps < 5:
            return []
        line = line_of(optimizer.born)
        ratios = [v for v in session.numbers.ratio.values if math.isfinite(v)]
        if not ratios:
            return []
        if session.diverges:
            return [self._too_high(optimizer, line, ratios, session.growth)]
        typical = statistics.median(ratios)
        if typical > 0.4 and optimizer.steps >= 8 and not _learns(session):
            return [self._too_high(optimizer, line, ratios, session.growth)]
        if _thrown_around(session, ratios):
            return [self._too_high(optimizer, line, ratios, session.growth)]
        scheduled = any(
            s.optimizer == optimizer.number for s in session.schedules.schedulers.values()
        )
        rates = optimizer.rates.values
        if len(rates) >= 8 and not scheduled and optimizer.first_rate:
            late = statistics.median(rates[len(rates) // 2 :])
            if late < 1e-4 * optimizer.first_rate:
                return [
                    self.finding(
                        f"the learning rate falls from {optimizer.first_rate:.1e} to {late:.1e} "
                        "before the run is half over: nothing moves any more",
                        line,
                        fix="let the rate fall by epochs, not by batches",
                        evidence={"first": optimizer.first_rate, "late": late},
                        confidence=0.85,
                    )
                ]
        if max(ratios) < 2e-6 and optimizer.steps >= 5 and _stands_still(session, optimizer):
            return [
                self.finding(
                    f"nothing moves: a step changes the weights by {typical:.1e} of their size "
                    f"(lr = {optimizer.first_rate})",
                    line,
                    fix="a learning rate that is larger by orders of magnitude",
                    why="the loss cannot change in the steps that are taken",
                    evidence={"update_ratio": typical, "lr": optimizer.first_rate},
                    confidence=0.88,
                )
            ]
        return []

    def _too_high(
        self, optimizer: OptimizerFacts, line: Line | None, ratios: list[float], growth: float
    ) -> Finding:
        return self.finding(
            f"training diverges: the loss grew by a factor of {growth:.1e}, and a step changes the "
            f"weights by up to {max(ratios):.1e} of their size (lr = {optimizer.first_rate})",
            line,
            fix="a smaller learning rate",
            why="each step overshoots the minimum by more than the last",
            evidence={"growth": growth, "update_ratio": max(ratios), "lr": optimizer.first_rate},
            confidence=0.9,
        )


def _thrown_around(session: Session, ratios: list[float]) -> bool:
    """The first steps replace the weights, and the loss stays far above where it began."""
    values = [v for v in session.recorder.loss.values if math.isfinite(v)]
    if len(values) < 8 or max(ratios[:3]) < 1.0:
        return False
    return statistics.median(values[-len(values) // 3 :]) > 2.0 * max(values[0], 1e-3)


def _learns(session: Session) -> bool:
    values = [v for v in session.recorder.loss.values if math.isfinite(v)]
    if len(values) < 6:
        return True
    third = len(values) // 3
    return statistics.median(values[-third:]) < 0.9 * statistics.median(values[:third])


def _stands_still(session: Session, optimizer: OptimizerFacts) -> bool:
    """Gradients are there, and the rate is small: it is not that training has converged."""
    rate = optimizer.first_rate
    norms = [v for v in session.numbers.total_norm.values if math.isfinite(v)]
    return rate is not None and rate < 1e-5 and bool(norms) and statistics.median(norms) > 1e-6


class Fp16Underflow(Rule):
    id = "fp16-underflow"

    def look(self, session: Session) -> list[Finding]:
        precision = session.precision
        if precision.half_backwards < 2 or not precision.zero_shares:
            return []
        share = statistics.median(precision.zero_shares)
        if share < 0.1:
            return []
        line = most(precision.regions) or most(precision.half_at)
        return [
            self.finding(
                f"{share:.0%} of the gradient elements are zero: float16 cannot hold numbers below "
                "6e-8, and the loss is not scaled",
                line,
                fix="scale the loss: scaler = torch.amp.GradScaler(); "
                "scaler.scale(loss).backward(); scaler.step(optimizer); scaler.update()",
                why="small gradients become zero and their weights stop moving",
                related=[(most(precision.half_at), "backward in float16")],
                evidence={"zero_share": round(share, 3), "backwards": precision.half_backwards},
                confidence=0.85,
            )
        ]


RULES: tuple[Rule, ...] = (
    NanOrigin(), DeadRelu(), VanishingGradient(), ExplodingGradient(), BadLearningRate(),
    Fp16Underflow(),
)  # fmt: skip
