"""How training went as a whole, and small judgements that several rules share."""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clew.doctor.observe.session import Session


def prepare(session: Session) -> None:
    """Before rules look: how training went as a whole."""
    session.explained.clear()
    session.growth, session.diverges = 1.0, False
    ratios = [v for v in session.numbers.ratio.values if math.isfinite(v)]
    # A first step that replaces the weights explains a loss that overflows at once; a NaN out of
    # finite numbers is an operation's own.
    origin = session.numbers.reported
    overflows = origin is None or origin.kind == "Inf"
    enough = 2 if overflows and ratios and max(ratios[:3]) > 3.0 else 3
    for site in session.recorder.sites.values():
        growth, lost = growth_of(site.losses.values, enough)
        if ratios and max(ratios[:3]) > 1.0 and len(site.losses.values) >= 8:
            # The first step replaces the weights: what was before it is the start.
            above = _growth_from_first(site.losses.values)
            growth = max(growth, above)
            # It has replaced them by far, and the loss has not come back since.
            session.diverges |= above > 30.0 and max(ratios[:3]) > 3.0 and site.count >= 8
        if site.count >= 3 and (session.recorder.steps >= 3 or not session.recorder.optimizers):
            session.growth = max(session.growth, growth)
            session.diverges |= growth > (30.0 if lost else 300.0)
    session.too_fast = bool(ratios) and statistics.median(ratios) > 0.3


def _growth_from_first(losses: list[float]) -> float:
    """By which factor the loss is above its first value, as a rule."""
    finite = [abs(v) for v in losses if math.isfinite(v)]
    return statistics.median(finite) / max(finite[0], 0.05) if finite else 1.0


def growth_of(losses: list[float], enough: int = 3) -> tuple[float, bool]:
    """By which factor a loss has grown, and whether it has become infinite or NaN."""
    finite = [abs(v) for v in losses if math.isfinite(v)]
    lost = len(finite) < len(losses)
    if len(finite) < (enough if lost else 3):
        return 1.0, False
    start = max(statistics.median(finite[:3]) if len(finite) > 2 else finite[0], 0.05)
    return max(finite) / start, lost
