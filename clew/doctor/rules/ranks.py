"""Rules over all ranks of a job: what differs between them, and what should and does not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clew.doctor.facts.places import Line
from clew.doctor.facts.ranks import RankFacts
from clew.doctor.report.findings import Finding
from clew.doctor.rules.base import Rule


class RankRule(Rule):
    """One kind of finding between ranks; `compare` searches for it."""

    def compare(self, ranks: Sequence[RankFacts]) -> list[Finding]:
        """Everything of this kind that the ranks show together."""
        raise NotImplementedError  # every rule defines it


def common_steps(ranks: Sequence[RankFacts]) -> list[str]:
    """The steps at which all ranks looked at their parameters, in order."""
    first, *others = ranks
    return [step for step in first.values if all(step in each.values for each in others)]


def _common_params(ranks: Sequence[RankFacts]) -> list[str]:
    first, *others = ranks
    return [key for key in first.params if all(key in each.params for each in others)]


def _differ(ranks: Sequence[RankFacts], step: str, key: str, which: int) -> bool:
    found = [each.values[step][key][which] for each in ranks if key in each.values[step]]
    return len(found) == len(ranks) and len(set(found)) > 1


def _changes(ranks: Sequence[RankFacts]) -> Iterator[tuple[str, bool, bool, bool]]:
    """Of each parameter: differs it at first, differs its gradient, differs it at the end."""
    steps = common_steps(ranks)
    for key in _common_params(ranks) if steps else ():
        first, last = (_differ(ranks, step, key, 0) for step in (steps[0], steps[-1]))
        yield key, first, any(_differ(ranks, step, key, 1) for step in steps), last


def _named(rank: RankFacts, keys: Sequence[str]) -> tuple[list[str], Line | None]:
    names = [rank.params[key][0] for key in keys]
    places = [rank.params[key][1] for key in keys if rank.params[key][1] is not None]
    return names, Line(*places[0]) if places else None


def _some(names: Sequence[str]) -> str:
    more = len(names) - 3
    return ", ".join(names[:3]) + (f" and {more} more" if more > 0 else "")


class GradientNotReduced(RankRule):
    id = "gradient-not-reduced"

    def compare(self, ranks: Sequence[RankFacts]) -> list[Finding]:
        keys = [key for key, first, grad, last in _changes(ranks) if not first and grad and last]
        if not keys or ranks[0].is_sharded:
            return []
        names, line = _named(ranks[0], keys)
        whole = len(keys) == len(ranks[0].params)
        what = "no gradient is" if whole else f"the gradient of {_some(names)} is not"
        return [
            self.finding(
                f"{what} reduced: each of {len(ranks)} ranks steps with its own, and the "
                "parameters, equal at first, drift apart",
                line or ranks[0].line("optimizer"),
                fix="DistributedDataParallel around the module that owns them, before the "
                "optimizer is made",
                why="ranks train different models, and what is saved is one of them",
                parameters=names[:8],
                evidence={"parameters": len(keys), "of": len(ranks[0].params)},
            )
        ]


class ParametersDiffer(RankRule):
    id = "parameters-differ"

    def compare(self, ranks: Sequence[RankFacts]) -> list[Finding]:
        if ranks[0].is_sharded:
            return []
        changes = list(_changes(ranks))
        from_start = [key for key, first, _, last in changes if first and last]
        later = [key for key, first, grad, last in changes if last and not first and not grad]
        found = []
        for keys, when, fix in (
            (from_start, "from the first step on", "DistributedDataParallel, dist.broadcast of the "
             "parameters from rank 0, or the same seed before the model is made"),
            (later, "although their gradients are equal", "what changes parameters (loading, "
             "resetting, clipping by hand) on all ranks, and not on one"),
        ):  # fmt: skip
            if keys:
                names, line = _named(ranks[0], keys)
                found.append(
                    self.finding(
                        f"{_some(names)} differs between ranks, {when}",
                        line or ranks[0].line("optimizer"),
                        fix=fix,
                        why="averaged gradients belong to one model, and these are several",
                        parameters=names[:8],
                        evidence={"parameters": len(keys)},
                    )
                )
        return found


_COUNTS = {"batches": "batches", "calls": "training batches", "steps": "optimizer steps"}


class UnequalSteps(RankRule):
    id = "unequal-steps"

    def compare(self, ranks: Sequence[RankFacts]) -> list[Finding]:
        if not any(each.has_ended for each in ranks):
            return []
        for name, what in _COUNTS.items():
            counts = [getattr(each, name) for each in ranks]
            if len(set(counts)) > 1:
                said = ", ".join(f"{count} on rank {e.rank}" for e, count in zip(ranks, counts))
                return [
                    self.finding(
                        f"ranks have different numbers of {what}: {said}",
                        ranks[0].line("loader") or ranks[0].line("optimizer"),
                        fix="a DistributedSampler, drop_last, or `with model.join():` around "
                        "the loop",
                        why="the ranks that have more wait for the others in a collective",
                        evidence={what: counts},
                    )
                ]
        return []


class SameData(RankRule):
    id = "same-data"

    def compare(self, ranks: Sequence[RankFacts]) -> list[Finding]:
        length = min(len(each.inputs) for each in ranks)
        if length < 2 or any(e.inputs[:length] != ranks[0].inputs[:length] for e in ranks):
            return []
        return [
            self.finding(
                f"all {len(ranks)} ranks train on the same data ({length} batches compared)",
                ranks[0].line("loader") or ranks[0].line("called"),
                fix="DataLoader(dataset, sampler=DistributedSampler(dataset))",
                why="the average of equal gradients is what one rank computes by itself",
                evidence={"batches": length},
            )
        ]


class SameAugmentation(RankRule):
    id = "same-augmentation"
    severity = "warning"

    def compare(self, ranks: Sequence[RankFacts]) -> list[Finding]:
        for kind, states in ranks[0].drawn.items():
            others = [each.drawn.get(kind, []) for each in ranks]
            length = min(map(len, others))
            if length >= 2 and all(each[:length] == states[:length] for each in others):
                return [
                    self.finding(
                        f"the random numbers of {kind} that are drawn while batches are loaded "
                        "are the same on all ranks: so is the augmentation",
                        ranks[0].line("loader"),
                        fix=f"after the model is made, a seed that depends on the rank "
                        f"({_SEEDS[kind.partition(' ')[0]]})",
                        why="the batches of ranks are less different than one large batch",
                        evidence={"batches": length},
                        confidence=0.8,
                    )
                ]
        return []


_SEEDS = {
    "torch": "torch.manual_seed(seed + rank)",
    "numpy": "numpy.random.seed(seed + rank)",
    "random": "random.seed(seed + rank)",
}


class SetEpoch(RankRule):
    id = "set-epoch"
    severity = "warning"

    def compare(self, ranks: Sequence[RankFacts]) -> list[Finding]:
        line = ranks[0].line("same_epoch")
        if line is None:
            return []
        return [
            self.finding(
                f"{ranks[0].epochs} epochs went through a DistributedSampler in the same order",
                line,
                fix="sampler.set_epoch(epoch) before each epoch",
                why="the sampler shuffles by its seed and its epoch, which stayed the same",
                evidence={"epochs": ranks[0].epochs},
            )
        ]


RULES: tuple[RankRule, ...] = (
    SameData(), GradientNotReduced(), ParametersDiffer(), UnequalSteps(), SameAugmentation(),
    SetEpoch(),
)  # fmt: skip


def judge(ranks: Sequence[RankFacts]) -> list[Finding]:
    """All findings between ranks."""
    if len(ranks) < 2:
        return []
    return [finding for rule in RULES for finding in rule.compare(ranks)]
