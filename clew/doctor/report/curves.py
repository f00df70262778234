"""The numbers of a run over its steps, as plain data for the report's charts."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from clew.doctor.facts.places import line_of
from clew.doctor.facts.records import ParamFacts, Series

if TYPE_CHECKING:
    from clew.doctor.observe.session import Session

_MOST_LAYERS = 2000
_MOST_CELLS = 60_000  # numbers in one chart: more layers, fewer steps
_SHOWN_EACH = 16  # more layers than this are shown by their extremes and their middle


def curves(session: Session) -> dict[str, Any]:
    """Loss, gradients and updates by layer, rates, activations, memory."""
    recorder, numbers = session.recorder, session.numbers
    layers = in_order(session)[:_MOST_LAYERS]
    most = max(8, _MOST_CELLS // max(len(layers), 1))
    gradients = [
        {"name": k.shown, "state": state_of(k), **points(k.grad_norm, most)} for k in layers
    ]
    updates = [{"name": k.shown, **points(k.update_ratio, most)} for k in layers]
    return {
        "loss": [
            {"name": str(line_of(site.place)), **points(site.losses)}
            for site in recorder.sites.values()
            if len(site.losses) > 1
        ],
        "gradient": {"name": "all parameters", **points(numbers.total_norm)},
        "gradients": gradients,
        "norms": few([g for g in gradients if g["x"]]),
        "updates": few([u for u in updates if u["x"]]),
        "rates": [
            {"name": f"{o.kind} ({line_of(o.born)})", **points(o.rates)}
            for o in recorder.optimizers.values()
            if len(o.rates) > 1
        ],
        "activations": activations(session),
        "memory": {"name": "held by the graph", **points(session.held)},
    }


def in_order(session: Session) -> list[ParamFacts]:
    """The parameters in the order of their use; one that is never used stands behind the one that
    was made before it."""
    recorder = session.recorder
    known = [
        k
        for k in recorder.params.values()
        if k.grad_norm.points
        or (k.is_parameter and (k.name or k.optimizers) and recorder.backwards)
    ]
    order: dict[int, tuple[int, int]] = {}
    last = 0
    for each in sorted(known, key=lambda k: (k.root, k.number)):
        last = each.use_order or last
        order[each.number] = last, each.number
    return sorted(known, key=lambda k: order[k.number])


def state_of(known: ParamFacts) -> str:
    """Why a layer has no gradients: it is frozen, or it should have some."""
    if any(v != 0 for v in known.grad_norm.values):
        return ""
    return "no gradient" if known.requires_grad else "frozen"


def few(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """All lines, or of many the lowest, the middle and the highest at each step."""
    if len(lines) <= _SHOWN_EACH:
        return lines
    at: dict[int, list[float]] = {}
    for line in lines:
        for step, value in zip(line["x"], line["y"]):
            if value is not None:
                at.setdefault(step, []).append(value)
    steps = sorted(at)
    kinds: dict[str, Callable[[list[float]], float]] = {
        "lowest layer": min, "middle layer": statistics.median, "highest layer": max,
    }  # fmt: skip
    return [
        {"name": f"{name} of {len(lines)}", "x": steps, "y": [pick(at[s]) for s in steps]}
        for name, pick in kinds.items()
    ]


def points(series: Series, most: int = 400) -> dict[str, list[Any]]:
    """Steps and values, thinned out; what is not finite is left out as a gap."""
    every = -(-len(series.points) // most) or 1
    kept = series.points[::every]
    return {
        "x": [step for step, _ in kept],
        "y": [value if math.isfinite(value) else None for _, value in kept],
    }


def activations(session: Session) -> list[dict[str, Any]]:
    """For each activation: the share of dead or saturated units."""
    found = []
    for activity in session.numbers.activities.values():
        name = f"{activity.kind} at {line_of(activity.place)}"
        if activity.saturated.points:
            share = activity.saturated.values[-1]
            found.append({"name": name, "what": "saturated", "share": share})
        elif activity.dead_shares or activity.active is not None:
            shares = list(activity.dead_shares)
            if not shares and activity.active is not None:
                shares = [1.0 - float(activity.active.mean())]
            found.append({"name": name, "what": "never active", "share": shares[-1]})
    return found
