"""Initial values that keep units, or whole layers, equal."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from clew.doctor.facts.places import Line, line_of
from clew.doctor.facts.records import ParamFacts
from clew.doctor.report.findings import Finding
from clew.doctor.rules.base import Rule, layered, listed, names_of

if TYPE_CHECKING:
    from clew.doctor.observe.session import Session

_LAYERS = re.compile(r"Linear|Conv|LSTM|GRU|RNN")


class BadInit(Rule):
    id = "bad-init"

    def look(self, session: Session) -> list[Finding]:
        stuck = []
        for known in session.recorder.params.values():
            if known.constant is None and not known.rows_equal:
                continue
            if max(known.steps, known.manual) < 3 or not known.still_equal:
                continue
            stuck.append(known)
        # What a penalty alone trains stays equal: it treats all units alike.
        explained = {k.init_at for k in stuck if k.number in session.explained}
        stuck = [known for known in stuck if known.init_at not in explained]
        if not stuck:
            return self._constant(session) or self._copies(session)
        by_line: dict[Line | None, list[ParamFacts]] = {}
        for known in stuck:
            by_line.setdefault(line_of(known.init_at) or known.made_at, []).append(known)
        line, params = max(by_line.items(), key=lambda item: len(item[1]))
        zero = params[0].constant == 0.0
        steps = max(params[0].steps, params[0].manual)
        what = "all zero" if zero else "all equal"
        return [
            self.finding(
                f"{listed(params)} start(s) {what}, and after {steps} steps the units "
                "are still identical",
                line,
                fix="initialise weights at random (the default of nn.Linear is)",
                why="equal units get equal gradients: a layer of n units does the work of one",
                parameters=names_of(params),
                evidence={"value": params[0].constant, "steps": params[0].steps},
                confidence=0.93,
            )
        ]

    def _constant(self, session: Session) -> list[Finding]:
        """A hidden layer of equal units: only what comes after it can tell them apart."""
        hidden = layered(session)[:-1]
        # One layer of zeros at the end of a branch is a way to begin; a network of zeros is not.
        zeros = [known for known in hidden if known.constant == 0.0]
        nothing = len(zeros) >= 3 and len(zeros) >= 0.8 * len(hidden)
        found = [
            known
            for known in hidden
            if known.number not in session.explained
            # (One filter per channel sees other inputs than its neighbours.)
            if (known.constant or (nothing and known in zeros)) and known.shape[0] >= 4
            and known.shape[1] > 1 and known.steps >= 3 and _LAYERS.match(known.owner_kind)
        ]  # fmt: skip
        if not found:
            return []
        return [
            self.finding(
                f"{listed(found)} start(s) with all weights equal to {found[0].constant:.3g}",
                line_of(found[0].init_at) or found[0].made_at,
                fix="initialise weights at random (the default of nn.Linear is)",
                why="equal units compute the same: only noise from other layers drives them apart",
                parameters=names_of(found),
                evidence={"value": found[0].constant, "steps": found[0].steps},
                confidence=0.85,
            )
        ]

    def _copies(self, session: Session) -> list[Finding]:
        """Layers that are trained apart and stay equal, element by element."""
        groups: dict[tuple[tuple[int, ...], bytes], list[ParamFacts]] = {}
        for known in session.recorder.params.values():
            tensor = known.ref()
            if (
                tensor is not None and known.is_parameter and len(known.shape) >= 2
                and known.steps >= 3 and known.nonzero_grads >= 3
            ):  # fmt: skip
                groups.setdefault((known.shape, tensor._array.tobytes()), []).append(known)
        alike = max(groups.values(), key=len, default=[])
        if len(alike) < 2:
            return []
        return [
            self.finding(
                f"{listed(alike)} are equal after {alike[0].steps} steps: they began as copies and "
                "get the same gradients",
                line_of(alike[0].init_at) or alike[0].made_at,
                refinement="copies",
                fix="initialise each of them anew",
                why="copies that see the same data do the work of one",
                parameters=names_of(alike),
                evidence={"copies": len(alike), "steps": alike[0].steps},
                confidence=0.85,
            )
        ]


RULES: tuple[Rule, ...] = (BadInit(),)
