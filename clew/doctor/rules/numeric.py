"""Numbers: NaN, vanishing and exploding gradients, dead units, updates, initial values."""

from __future__ import annotations

import math
import statistics
from itertools import pairwise
from typing import TYPE_CHECKING

from clew.doctor.facts.numerics import CLAMPS
from clew.doctor.facts.places import Line, line_of
from clew.doctor.facts.records import Activity, OptimizerFacts, ParamFacts
from clew.doctor.report.findings import Finding
from clew.doctor.rules.base import Rule, layered, most, names_of, networks

if TYPE_CHECKING:
    from clew.doctor.observe.session import Session


def main_optimizer(session: Session) -> OptimizerFacts | None:
    stepping = [o for o in session.recorder.optimizers.values() if o.steps]
    return max(stepping, key=lambda o: o.steps) if stepping else None


def _updates_by_hand(session: Session) -> OptimizerFacts | None:
    """The program's own updates, as if an optimizer made them."""
    recorder = session.recorder
    moved = [k for k in recorder.params.values() if k.manual >= 5 and k.manual_at is not None]
    if not moved or recorder.optimizers or session.numbers.ascents > 0:
        return None  # there are none, or they are meant to make the value larger
    known = max(moved, key=lambda each: each.manual)
    facts = OptimizerFacts(session, -1, known.manual_at)
    facts.kind, facts.steps = "the update", known.manual
    rates = session.numbers.rate.values
    facts.first_rate = float(f"{statistics.median(rates):.1e}") if rates else None
    return facts


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
        if findings:
            return findings
        found = [ratios for layers in networks(session) if (ratios := _ratios(layers)) is not None]
        if not found:
            return findings
        first, last, ratio = min(found, key=lambda ratios: ratios[2])
        # Each sigmoid takes three quarters or more: four of them are enough to stop learning.
        is_sigmoid = any(
            a.kind == "sigmoid" and not a.is_output for a in session.numbers.activities.values()
        )
        if ratio > (6e-4 if is_sigmoid else 2e-4):
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
                evidence={"ratio": ratio, "layers": len(layered(session))},
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
    found = [
        a
        for a in session.numbers.activities.values()
        if a.kind in ("sigmoid", "tanh") and not a.is_output
    ]
    # A sigmoid takes three quarters of a gradient at least, a tanh nothing where it is steep.
    steepest = max(found, key=lambda a: (a.kind == "sigmoid", a.samples, -a.order), default=None)
    return None if steepest is None else line_of(steepest.place)


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
        known = _amplifier(layers)
        growth = session.numbers.growth
        orders = max(growth.values(), default=0.0)
        # Weights far too large for their fan-in show before the numbers are astronomical.
        oversized = known is not None and (known.gain or 0.0) >= 3.0 and orders >= 2.5
        if not (first > (200 if oversized else 1e4) or not math.isfinite(first) or size > 1e6):
            return []
        if session.terms.summed:
            return []
        grows = orders > 1.5
        if not grows and (known is None or (known.gain or 0.0) < 2.0):
            return []  # the data or the targets are large, not the network
        line = None
        if known is not None:
            line = line_of(known.init_at) or known.made_at
        if known is None or (known.gain or 0.0) < 2.0:
            line = max(growth, key=lambda place: growth[place]) if growth else line
        if line is None and growth:
            line = max((place for place in growth if place), key=lambda p: growth[p], default=None)
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
            if activity.kind not in ("relu", "threshold") and activity.kind not in CLAMPS:
                continue
            if activity.kind in CLAMPS and activity.is_output:
                continue  # a hinge: nothing is wrong when all margins are kept
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
        optimizer = main_optimizer(session) or _updates_by_hand(session)
        if optimizer is None or optimizer.steps < 5:
            return []
        line = _rate_set_at(session, optimizer)
        ratios = [v for v in session.numbers.ratio.values if math.isfinite(v)]
        if not ratios:
            return []
        if session.diverges:
            if _comes_back(session):
                return [self._overshot(session, optimizer, line, ratios)]
            return [self._too_high(optimizer, line, ratios, session.growth)]
        typical = statistics.median(ratios)
        if typical > 0.4 and optimizer.steps >= 8 and not _learns(session):
            return [self._too_high(optimizer, line, ratios, session.growth)]
        if optimizer.number >= 0 and _overshoots(session, ratios):
            return [self._overshot(session, optimizer, line, ratios)]
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
        reach = statistics.median(session.numbers.reach.values or [1.0])
        slow = max(ratios) < 2e-6 or (
            min(typical, reach) * optimizer.steps < 5e-4 and not _falls(session)
        )
        if slow and _stands_still(session, optimizer):
            return [
                self.finding(
                    f"nothing moves: a step changes the weights by {typical:.1e} of their size "
                    f"and can lower the loss by {reach:.1e} of it (lr = {optimizer.first_rate})",
                    line,
                    fix="a learning rate that is larger by orders of magnitude",
                    why="the loss cannot change in the steps that are taken",
                    evidence={"update_ratio": typical, "lr": optimizer.first_rate},
                    confidence=0.88,
                )
            ]
        return []

    def _overshot(
        self, session: Session, optimizer: OptimizerFacts, line: Line | None, ratios: list[float]
    ) -> Finding:
        values = [v for v in session.recorder.loss.values if math.isfinite(v)]
        return self.finding(
            f"a step changes the weights by up to {max(ratios):.1e} of their size, and the loss, "
            f"{values[0]:.2g} at first, was thrown up to {max(values):.2g} "
            f"(lr = {optimizer.first_rate})",
            line,
            refinement="overshoots",
            fix="a smaller learning rate",
            why="each step replaces what the steps before have learnt",
            evidence={"update_ratio": max(ratios), "loss": values[0], "highest": max(values)},
            confidence=0.85,
        )

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


def _rate_set_at(session: Session, optimizer: OptimizerFacts) -> Line | None:
    """Where the rate comes from: the optimizer, or a schedule that drove it far up."""
    rates = optimizer.rates.values
    if optimizer.first_rate and rates and max(rates) > 10 * optimizer.first_rate:
        for scheduler in session.schedules.schedulers.values():
            if scheduler.optimizer == optimizer.number:
                return line_of(scheduler.born)
    return line_of(optimizer.born)


def _overshoots(session: Session, ratios: list[float]) -> bool:
    """Steps that replace the weights, and a loss that they have thrown far up and not brought back.

    Large steps alone are no fault (a rate may be found by trying), nor is a loss that jumps once.
    """
    values = [v for v in session.recorder.loss.values if math.isfinite(v)]
    gains = [k.gain for k in session.recorder.params.values() if k.gain is not None and k.steps]
    # Weights that start near zero have to grow by many times their size.
    if len(values) < 8 or values[0] < 1e-3 or not gains or statistics.median(gains) < 0.2:
        return False
    highest = max(values) / values[0]
    last = sorted(values[-(len(values) // 3) :])
    late, good = statistics.median(last) / values[0], last[len(last) // 4] / values[0]
    early, typical, largest = max(ratios[:3]), statistics.median(ratios), max(ratios)
    after = values[len(values) // 4 :]
    # What the first step has replaced the weights by has no gradient.
    stuck = max(after) - min(after) <= 1e-4 * values[0]
    return (
        (early >= 1.0 and highest >= 2.5 and late >= 0.5)
        or (early >= 3.0 and stuck and late >= 0.2)
        or (typical >= 0.25 and highest >= 2.5 and good >= 0.6)
        or (largest >= 0.5 and highest >= 5.0 and good >= 0.8)
        or (largest >= 0.3 and good >= 5.0)
        or (typical >= 0.2 and highest >= 5.0 and _swing(values) >= 5.0)
    )


def _swing(values: list[float]) -> float:
    """By which factor a loss typically jumps, up or down, from one step to the next."""
    jumps = [abs(math.log(b / a)) for a, b in pairwise(values) if a > 0 and b > 0]
    return math.exp(statistics.median(jumps)) if jumps else 1.0


def _comes_back(session: Session) -> bool:
    """Whether a loss that had grown is small again in the end, as when all units have died."""
    values = session.recorder.loss.values
    last = values[-(len(values) // 3) :]
    return bool(last) and all(math.isfinite(v) and abs(v) < 3.0 * abs(values[0]) for v in last)


def _falls(session: Session) -> bool:
    """Whether the loss is lower in the last third of the run than in the first."""
    values = [v for v in session.recorder.loss.values if math.isfinite(v)]
    third = len(values) // 3
    if not third:
        return True
    return statistics.median(values[-third:]) < 0.97 * statistics.median(values[:third])


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
    return rate is not None and rate <= 1e-5 and bool(norms) and statistics.median(norms) > 1e-6


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
