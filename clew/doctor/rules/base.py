"""What rules are made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from clew.doctor.facts.places import Line, line_of
from clew.doctor.facts.records import OptimizerFacts, ParamFacts, number_mark
from clew.doctor.report.findings import Finding

if TYPE_CHECKING:
    from clew.doctor.observe.session import Session


class Rule:
    """One kind of finding: its id, how bad it is, and `look`, which searches for it."""

    id: str
    severity = "error"
    gives: tuple[str, ...] = ()  # ids of findings beside its own

    def look(self, session: Session) -> list[Finding]:
        """Everything of this kind that the run shows."""
        raise NotImplementedError  # every rule defines it

    def finding(self, message: str, line: Line | None, **more: Any) -> Finding:
        rule = self.id + (f".{more.pop('refinement')}" if "refinement" in more else "")
        severity = more.pop("severity", self.severity)
        related = [(place, role) for place, role in more.pop("related", []) if place is not None]
        return Finding(rule, severity, message, line, related=related, **more)


def most(counter: Counter[Any]) -> Any:
    """The most frequent entry; None of an empty counter. Known places win over unknown ones."""
    best = [key for key, _ in counter.most_common() if key is not None]
    return best[0] if best else None


def names_of(params: list[ParamFacts], limit: int = 8) -> list[str]:
    return [known.shown for known in params[:limit]]


def layered(session: Session) -> list[ParamFacts]:
    """Weight matrices with gradients, in the order in which forward uses them."""
    found = [
        known
        for known in session.recorder.params.values()
        if known.reached >= 2 and len(known.shape) >= 2 and known.grad_norm.points
        and "Norm" not in known.owner_kind and "Embedding" not in known.owner_kind
    ]  # fmt: skip
    return sorted(found, key=lambda known: known.use_order)


def networks(session: Session) -> list[list[ParamFacts]]:
    """Layers that learn together; an actor and its critic have nothing to do with each other."""
    together: dict[Any, list[ParamFacts]] = {}
    for known in layered(session):
        together.setdefault((frozenset(known.optimizers), known.reached), []).append(known)
    networks = []
    for layers in together.values():
        by_root: dict[int, list[ParamFacts]] = {}
        for known in layers:
            by_root.setdefault(known.root, []).append(known)
        whole = [group for group in by_root.values() if len(group) >= 4]
        networks += whole if len(whole) > 1 else [layers]
    return [layers for layers in networks if len(layers) >= 4]


def listed(params: list[ParamFacts], limit: int = 3) -> str:
    """`fc.weight, fc.bias and 4 more`."""
    shown = ", ".join(known.shown for known in params[:limit])
    more = len(params) - limit
    return f"{shown} and {more} more" if more > 0 else shown


def active_optimizers(session: Session) -> list[OptimizerFacts]:
    return [o for o in session.recorder.optimizers.values() if o.steps or o.attempts]


def known_of(session: Session, parameters: Iterable[Any]) -> list[ParamFacts]:
    """What is known of a module's parameters."""
    seen = [session.engine.tensor(each) for each in parameters]
    return [known for each in seen if (known := session.recorder.find(each)) is not None]


def frozen_at(known: ParamFacts) -> Line | None:
    """The line that froze a parameter; None if it was never asked to record."""
    tensor = known.ref()
    reason = None if tensor is None else tensor._reason
    return line_of(reason.where) if reason is not None and reason.kind == "frozen" else None


def was_moved(known: ParamFacts) -> bool:
    """Whether the user has written to a parameter after training began."""
    if known.manual:
        return True
    tensor = known.ref()
    return tensor is not None and known.value_mark not in (None, number_mark(tensor))
