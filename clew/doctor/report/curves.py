"""The numbers of a run over its steps, as plain data for the report's charts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from clew.doctor.facts.places import line_of
from clew.doctor.facts.records import Series

if TYPE_CHECKING:
    from clew.doctor.observe.session import Session

_MOST_LAYERS = 80


def curves(session: Session) -> dict[str, Any]:
    """Loss, gradients and updates by layer, rates, activations, memory."""
    recorder, numbers = session.recorder, session.numbers
    layers = [k for k in recorder.params.values() if k.grad_norm.points]
    layers.sort(key=lambda known: known.use_order)
    layers = layers[:_MOST_LAYERS]
    return {
        "loss": [
            {"name": str(line_of(site.place)), **points(site.losses)}
            for site in recorder.sites.values()
            if len(site.losses) > 1
        ],
        "gradient": {"name": "all parameters", **points(numbers.total_norm)},
        "gradients": [{"name": k.shown, **points(k.grad_norm)} for k in layers],
        "updates": [{"name": k.shown, **points(k.update_ratio)} for k in layers],
        "rates": [
            {"name": f"{o.kind} ({line_of(o.born)})", **points(o.rates)}
            for o in recorder.optimizers.values()
            if len(o.rates) > 1
        ],
        "activations": activations(session),
        "memory": {"name": "held by the graph", **points(session.held)},
    }


def points(series: Series) -> dict[str, list[Any]]:
    """Steps and values; what is not finite is left out as a gap."""
    return {
        "x": [step for step, _ in series.points],
        "y": [value if math.isfinite(value) else None for value in series.values],
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
