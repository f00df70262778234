"""How training went as a whole, and small judgements that several rules share."""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING, Any

from clew.core.tensor import Tensor

if TYPE_CHECKING:
    from clew.doctor.session import Session


def prepare(session: Session) -> None:
    """Before rules look: how training went as a whole."""
    session.explained.clear()
    session.growth, session.diverges = 1.0, False
    for site in session.recorder.sites.values():
        growth, lost = growth_of(site.losses.values)
        if site.count >= 3 and session.recorder.steps >= 3:
            session.growth = max(session.growth, growth)
            session.diverges |= growth > (30.0 if lost else 300.0)
    ratios = [v for v in session.numbers.ratio.values if math.isfinite(v)]
    session.too_fast = bool(ratios) and statistics.median(ratios) > 0.3


def growth_of(losses: list[float]) -> tuple[float, bool]:
    """By which factor a loss has grown, and whether it has become infinite or NaN."""
    finite = [abs(v) for v in losses if math.isfinite(v)]
    if len(finite) < 3:
        return 1.0, False
    start = max(statistics.median(finite[:3]), 0.05)
    return max(finite) / start, len(finite) < len(losses)


def prefer_cuts(inputs: tuple[Any, ...], out: Tensor) -> None:
    """Of several reasons for having no history, data that came from numbers is the weakest."""
    for value in inputs:
        reason = value._reason if isinstance(value, Tensor) else None
        if reason is not None and reason.kind != "numpy":
            out._reason = reason
            return
