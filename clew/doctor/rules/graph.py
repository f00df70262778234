"""The shape of the graph: what is left out, unused, kept or kept for nothing."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from clew.doctor.facts.places import Line, line_of
from clew.doctor.facts.records import OptimizerFacts, ParamFacts
from clew.doctor.report.findings import Finding
from clew.doctor.rules.base import Rule, active_optimizers, frozen_at, listed, names_of, was_moved
from clew.doctor.rules.detached import RULES as DETACHED
from clew.doctor.rules.wanted import misnamed_in, misspelled_in

if TYPE_CHECKING:
    from clew.doctor.observe.session import Session

# Names of what is deliberately left as it is.
_INTENDED = re.compile(
    r"(?<![a-z])(backbone|pretrain|frozen|teacher|target|momentum|base|feature|(ema|old|ref)(?![a-z]))",
    re.IGNORECASE,
)


class MissingRequiresGrad(Rule):
    id = "missing-requires-grad"

    def look(self, session: Session) -> list[Finding]:
        recorder = session.recorder
        if session.exit.status == "exception" or not recorder.backwards:
            return []
        findings = []
        plain = [
            known
            for known in recorder.params.values()
            if known.optimizers
            and not known.is_parameter
            and not known.requires_grad_seen
            and not was_moved(known)
        ]
        if plain:
            findings.append(
                self.finding(
                    f"{listed(plain)} is given to an optimizer but does not record gradients",
                    line_of(plain[0].born) or most_born(recorder.optimizers, plain[0]),
                    fix="make it with requires_grad=True",
                    parameters=names_of(plain),
                    confidence=0.93,
                )
            )
        findings += (
            self._misspelled(session) or self._misnamed(session) or self._optimized_in_vain(session)
        )
        return findings + self._asked_in_vain(session)

    def _optimized_in_vain(self, session: Session) -> list[Finding]:
        """Parameters that were chosen for an optimizer, and are frozen all the time.

        That all parameters of a model are given to an optimizer says nothing: it skips frozen ones.
        """
        recorder = session.recorder
        frozen: list[ParamFacts] = []
        for optimizer in active_optimizers(session):
            if optimizer.steps < 3:
                continue
            idle = {n for n in optimizer.params if _is_frozen(recorder.params[n])}
            several = len(optimizer.groups) > 1 or len(recorder.optimizers) > 1
            chosen = {n for group in optimizer.groups if set(group) <= idle for n in group}
            if not (several and chosen):
                chosen = {n for n in idle if _is_chosen(session, recorder.params[n])}
            frozen += [recorder.params[n] for n in sorted(chosen)]
        if not frozen:
            return []
        return [
            self.finding(
                f"{listed(frozen)} is given to an optimizer, and frozen during the whole run",
                frozen_at(frozen[0]) or frozen[0].made_at,
                refinement="frozen",
                fix="check which names the code that freezes and unfreezes matches; "
                "requires_grad_(True) before the first backward()",
                why="a frozen parameter gets no gradient: the optimizer skips it",
                parameters=names_of(frozen),
                related=[(most_born(recorder.optimizers, frozen[0]), "the optimizer")],
                evidence={"parameters": len(frozen), "steps": recorder.steps},
                confidence=0.85,
            )
        ]

    def _asked_in_vain(self, session: Session) -> list[Finding]:
        """Tensors whose `.grad` the program reads again and again, and that record none."""
        asked = [
            known
            for known in session.recorder.params.values()
            if known.grad_wanted >= 3 and not known.requires_grad_seen and not known.optimizers
            and known.born is not None and not was_moved(known)
        ]  # fmt: skip
        if not asked:
            return []
        return [
            self.finding(
                f"the program reads .grad of {listed(asked)} {asked[0].grad_wanted} times, and it "
                "does not record gradients",
                line_of(asked[0].born),
                refinement="asked",
                fix="make it with requires_grad=True",
                why="its gradient is always None: it is never updated",
                parameters=names_of(asked),
                evidence={"reads": asked[0].grad_wanted},
                confidence=0.88,
            )
        ]

    def _misnamed(self, session: Session) -> list[Finding]:
        """Parameters that the program means to unfreeze by a name that none of them has."""
        params = [k for k in session.recorder.params.values() if k.is_parameter and k.name]
        frozen = [k for k in params if k.optimizers and _is_frozen(k)]
        names = {known.name for known in params}
        for file in session.user_files() if frozen else ():
            found = misnamed_in(file, names, {known.name for known in frozen})
            if found is not None:
                text, line = found
                meant = [k for k in frozen if text.strip(".") in k.name] or frozen
                return [
                    self.finding(
                        f"no parameter's name has {text!r} in it: {listed(meant)} stays frozen",
                        line,
                        refinement="frozen",
                        fix="compare with the names that named_parameters() gives",
                        why="a frozen parameter gets no gradient: the optimizer skips it",
                        parameters=names_of(meant),
                        evidence={"parameters": len(meant)},
                        confidence=0.9,
                    )
                ]
        return []

    def _misspelled(self, session: Session) -> list[Finding]:
        frozen = [
            known
            for known in session.recorder.params.values()
            if known.is_parameter and not known.requires_grad
        ]
        if not frozen:
            return []
        lines = [misspelled_in(file) for file in session.user_files()]
        lines += [
            line
            for line, numbers in session.recorder.flagged.items()
            if any(known.number in numbers for known in frozen)
        ]
        for line in lines:
            if line is not None:
                return [
                    self.finding(
                        f"{line.text!r} sets an attribute that does not exist: {listed(frozen)} "
                        "stays frozen",
                        line,
                        fix="write requires_grad, or call requires_grad_(True)",
                        parameters=names_of(frozen),
                        confidence=0.9,
                    )
                ]
        return []


def _is_frozen(known: ParamFacts) -> bool:
    """Whether the program froze it before it was ever trained, and left it so."""
    return (
        known.is_parameter
        and not known.ever_live
        and not known.reached
        and not was_moved(known)
        and frozen_at(known) is not None
    )


def _is_chosen(session: Session, known: ParamFacts) -> bool:
    """Whether other frozen parameters of its model were kept from the optimizers."""
    return bool(known.root) and any(
        other.root == known.root and not other.optimizers and not other.requires_grad
        for other in session.recorder.params.values()
    )


def most_born(optimizers: dict[int, OptimizerFacts], known: ParamFacts) -> Line | None:
    for optimizer in optimizers.values():
        if optimizer.number in known.optimizers:
            return line_of(optimizer.born)
    return None


class ParamNotInOptimizer(Rule):
    id = "param-not-in-optimizer"

    def look(self, session: Session) -> list[Finding]:
        recorder = session.recorder
        active = active_optimizers(session)
        if not active or recorder.steps < 2:
            return []
        left_out = [known for known in recorder.params.values() if self.is_left_out(session, known)]
        left_out = [known for known in left_out if known.number not in session.explained]
        held = [recorder.params[n] for o in active for n in o.params]
        if not left_out or not any(known.is_parameter for known in held):
            return []  # what is optimized is an input: the network is fixed
        named = [k for k in left_out if k.unfrozen or not _INTENDED.search(k.name)]
        if not named:
            return []
        optimizer = max(active, key=lambda o: o.steps)
        replaced = [
            recorder.params[n]
            for n in optimizer.params
            if not recorder.params[n].reached and recorder.params[n].is_parameter
        ]
        line = line_of(optimizer.born)
        if len(active) > 1 or line is None:
            line = left_out[0].made_at or line
        text = f"{listed(named)} receive(s) gradients, but no optimizer holds them"
        if replaced:
            text += "; the optimizer holds others, which get none"
            session.explained.update(known.number for known in replaced)
        return [
            self.finding(
                text,
                line,
                fix="build the optimizer after the model is complete, over all of its parameters; "
                "keep layers in nn.ModuleList and tensors in nn.Parameter",
                why="they keep their initial values",
                parameters=names_of(named),
                related=[
                    (named[0].made_at, "made here"),
                    (line_of(optimizer.born), "the optimizer's construction"),
                ],
                evidence={"parameters": len(named), "gradients": named[0].reached},
                confidence=0.9,
            )
        ]

    def is_left_out(self, session: Session, known: ParamFacts) -> bool:
        recorder = session.recorder
        share = 0.1 if known.unfrozen else 0.3
        # Of the passes while it was in use: a program may have several phases.
        passes = recorder.accumulations
        if known.reached > 4:
            passes = known.last_pass - known.first_pass + 1
        if known.optimizers or known.reached < max(2, share * passes):
            return False
        if known.asked or known.first_steps == known.last_steps:
            return False  # nothing was trained while it got gradients: they were wanted themselves
        once = known.manual <= 1 and not known.loaded and known.reached >= 0.5 * passes
        if (was_moved(known) and not once) or known.loaded:
            # A network that follows another one; unless it is the only one that learns anything.
            # (Masters in full precision get gradients too: those of the copies that compute.)
            trained = (k for k in recorder.params.values() if k.optimizers)
            return not any(k.reached or k.steps for k in trained)
        if known.is_parameter or known.is_attribute:
            return True
        return not known.used_as_input and known.persistent


class ParamUnused(Rule):
    id = "param-unused"
    severity = "warning"

    def look(self, session: Session) -> list[Finding]:
        recorder = session.recorder
        if session.exit.status == "exception" or recorder.steps < 2:
            return []
        active = {o.number for o in active_optimizers(session)}
        trained_roots = {
            k.root for k in recorder.params.values() if (k.reached or k.asked) and k.root
        }
        unused = [
            known
            for known in recorder.params.values()
            if known.is_parameter
            and known.name
            and not known.reached
            and not known.asked
            and not known.derived  # (the last bias of an energy has no part in its slope)
            and known.number not in session.explained
            and known.requires_grad
            and not was_moved(known)
            and (known.optimizers & active)
            and (known.root in trained_roots or not known.root)
        ]
        by_line: dict[Line | None, list[ParamFacts]] = {}
        for known in unused:
            if not self.is_conditional(session, known):
                by_line.setdefault(self.made_at(session, known), []).append(known)
        return [
            self.finding(
                f"{listed(params)} never take(s) part in a forward pass that is back-propagated",
                line,
                fix="use the layer in forward(), or remove it",
                why="it is saved and decayed, but never trained",
                parameters=names_of(params),
                evidence={"parameters": len(params), "backwards": recorder.backwards},
                confidence=0.85,
            )
            for line, params in by_line.items()
        ]

    def made_at(self, session: Session, known: ParamFacts) -> Line | None:
        """Where the largest part of the model was made of which nothing is used."""
        recorder = session.recorder
        path = known.name.split(".")
        for length in range(1, len(path) - 1):
            prefix = ".".join(path[:length])
            like = [
                other
                for other in recorder.params.values()
                if other.root == known.root and other.name.startswith(prefix + ".")
            ]
            line = line_of(recorder.made.get((known.root, prefix)))
            if line is not None and not any(other.reached or other.asked for other in like):
                return line
        return known.made_at

    def is_conditional(self, session: Session, known: ParamFacts) -> bool:
        """Whether its like is used elsewhere: in another model, or now and then (experts)."""
        recorder = session.recorder
        last = known.name.rsplit(".", 1)[-1]
        for other in recorder.params.values():
            is_like = other.made_at == known.made_at and other.name.rsplit(".", 1)[-1] == last
            if is_like and other.reached and other.root != known.root:
                return True
        numbered = re.match(r"(.*?)\.(\d+)\.", known.name)
        if numbered is None:
            return False
        if re.search(r"expert|branch|task|head", numbered[1], re.IGNORECASE):
            return True  # which of them is used depends on the data
        prefix = numbered[1] + "."
        counts = {
            other.reached
            for other in recorder.params.values()
            if other.reached and other.root == known.root and other.name.startswith(prefix)
        }
        return len(counts) > 1


class InplaceUnseen(Rule):
    """Writes through `.data` or NumPy to what backward then used."""

    id = "inplace-saved-tensor"

    def look(self, session: Session) -> list[Finding]:
        findings = []
        for place, facts in session.copies.unseen_writes.items():
            line, saved = line_of(place), line_of(facts["saved_at"])
            findings.append(
                self.finding(
                    f"a tensor that {facts['saved_by']} saved at {saved} is overwritten through "
                    f"{facts['writer']} at {line}, unseen by autograd",
                    line,
                    refinement="unseen",
                    fix="write under torch.no_grad() to the tensor itself, after backward()",
                    why="the gradient is computed from the new values and is wrong",
                    related=[(saved, f"saved by {facts['saved_by']}")],
                    evidence={"times": facts["count"]},
                    confidence=0.95,
                )
            )
        return findings


class GraphLeak(Rule):
    id = "graph-leak"

    def look(self, session: Session) -> list[Finding]:
        leak = session.keeping.leak
        if leak is None:
            return []
        holder = f" in {leak.holder!r}" if leak.holder else ""
        return [
            self.finding(
                f"tensors with their graphs are kept{holder}: the graphs of {leak.alive} earlier "
                "iterations are still alive",
                leak.line,
                fix="keep loss.item() or x.detach() instead",
                why="each kept tensor holds the graph behind it: memory grows with every step",
                evidence={"graphs_alive": leak.alive},
                confidence=0.93,
            )
        ]


class RetainGraphMisuse(Rule):
    id = "retain-graph-misuse"
    severity = "warning"

    def look(self, session: Session) -> list[Finding]:
        findings = []
        for site in session.recorder.sites.values():
            if site.kept < 3 or site.kept < 0.5 * site.count:
                continue
            sizes = site.sizes.values
            growing = (
                len(sizes) >= 4
                and sizes[-1] > 1.5 * sizes[0]
                and all(b > a for a, b in pairwise(sizes))
            )
            if (site.kept_needed or site.asked) and not growing:
                continue
            text = (
                f"the graph grows with every call, from {sizes[0]:.0f} to {sizes[-1]:.0f} nodes"
                if growing
                else "no later backward uses the graph that it keeps"
            )
            findings.append(
                self.finding(
                    f"backward(retain_graph=True): {text}",
                    line_of(site.place),
                    fix="leave retain_graph out; if backward then fails, detach the state that is "
                    "carried over",
                    why="all that was saved for backward stays in memory",
                    evidence={"calls": site.kept, "needed": site.kept_needed},
                    confidence=0.85,
                )
            )
        return findings


RULES: tuple[Rule, ...] = (
    ParamNotInOptimizer(), *DETACHED, MissingRequiresGrad(), ParamUnused(),
    InplaceUnseen(), GraphLeak(), RetainGraphMisuse(),
)  # fmt: skip
