"""The doctor across ranks: what each rank notes beside its own session, and one report of all."""

from __future__ import annotations

import random
import time
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from clew.core.state import local
from clew.core.tensor import Tensor
from clew.doctor.facts.places import Line, line_of
from clew.doctor.facts.ranks import RankFacts, RankFile, load, note_drawn
from clew.doctor.observe.session import Session
from clew.doctor.report.findings import Finding, Report, ordered
from clew.doctor.rules.ranks import judge
from clew.observer import Observer, install, remove
from clew.random import get_rng_state
from clew.source import user_where
from clew.utils._pytree import tree_leaves

# So many batches and states are compared; parameters in the first steps, then ever more seldom.
_BATCHES, _STEPS = 64, 8
_SAVE_EVERY = 0.5


def checksum(values: Any) -> int:
    """Of all tensors in a structure."""
    code = 0
    for each in tree_leaves(values):
        if isinstance(each, Tensor):
            code = zlib.crc32(each._array.tobytes(), code)
    return code


def _random_states() -> dict[str, int]:
    numbers: Any = np.random.get_state()
    return {
        "torch": checksum(get_rng_state()),
        "numpy": zlib.crc32(numbers[1].tobytes(), numbers[2]),
        "random": zlib.crc32(np.array(random.getstate()[1], np.uint64).tobytes()),
    }


def _here() -> Line | None:
    return line_of(user_where())


class RankObserver(Observer):
    """Notes what is compared with other ranks."""

    def __init__(self, folder: str | Path, rank: int, session: Session) -> None:
        self._session = session
        self._file = RankFile(folder, rank)
        self.facts = RankFacts(rank)
        self._saved = 0.0
        self._optimizers: dict[int, int] = {}
        self._states: dict[str, int] | None = None
        self._epochs: dict[int, tuple[int, int]] = {}
        self._file.save(self.facts)

    def start(self) -> None:
        """Watch from now on."""
        install(self)

    def stop(self, report: Report, completed: bool) -> None:
        """The program has ended: leave everything behind."""
        remove(self)
        self.facts.has_ended = completed
        self.facts.findings = [_as_dict(finding) for finding in report.findings]
        self.facts.iterations = report.iterations
        self._file.save(self.facts)

    # -- parameters --------------------------------------------------------------------------------

    def optimizer_made(self, optimizer: Any) -> None:
        self._optimizers[id(optimizer)] = len(self._optimizers)
        self.facts.optimizer = self.facts.optimizer or _here()

    def step_begins(self, optimizer: Any, has_closure: bool) -> None:
        self._file.counts[0] += 1
        step = self._file.counts[0]
        if step <= _STEPS or step & (step - 1) == 0:
            self.facts.values[str(step)] = self._values(optimizer)
        if step <= _STEPS or time.monotonic() - self._saved > _SAVE_EVERY:
            self._saved = time.monotonic()
            self._file.save(self.facts)

    def _values(self, optimizer: Any) -> dict[str, tuple[int, int]]:
        number = self._optimizers.setdefault(id(optimizer), len(self._optimizers))
        found: dict[str, tuple[int, int]] = {}
        for place, group in enumerate(optimizer.param_groups):
            for index, param in enumerate(group["params"]):
                if hasattr(param, "placements"):
                    self.facts.is_sharded = True
                    continue
                key = f"{number}.{place}.{index}"
                found[key] = checksum(param), checksum(param._grad)
                if key not in self.facts.params:
                    self.facts.params[key] = self._name_of(param)
        return found

    def _name_of(self, param: Any) -> tuple[str, Line | None]:
        for known in self._session.recorder.params.values():
            if known.ref() is param:
                return known.shown, line_of(known.owner_born or known.born)
        return "a parameter", None

    # -- data --------------------------------------------------------------------------------------

    def module_entered(self, module: Any, args: tuple[Any, ...]) -> None:
        is_replica = type(module).__name__ == "DistributedDataParallel"
        if is_replica and module.training and local.state.grad_enabled:
            self._file.counts[2] += 1
            if len(self.facts.inputs) < _BATCHES:
                self.facts.inputs.append(checksum(args))
            self.facts.called = self.facts.called or _here()

    def loader_begins(self, loader: Any, iterator: Any) -> None:
        self._states = None  # the order of an epoch is drawn with its first batch
        self.facts.loader = self.facts.loader or _here()
        sampler: Any = getattr(loader, "sampler", None)
        if type(sampler).__name__ != "DistributedSampler" or not sampler.shuffle:
            return
        before = self._epochs.get(id(sampler))
        steps = self._file.counts[0]
        if before is not None and before[0] == sampler.epoch and steps > before[1]:
            self.facts.same_epoch = self.facts.same_epoch or _here()
            self.facts.epochs = max(2, self.facts.epochs + 1)
        self._epochs[id(sampler)] = sampler.epoch, steps

    def batch_loaded(self, iterator: Any, batch: Any) -> None:
        self._file.counts[1] += 1
        if self._states is not None:
            for kind, state in _random_states().items():
                noted = self.facts.drawn.setdefault(kind, [])
                if state != self._states[kind] and len(noted) < _BATCHES:
                    noted.append(state)
        self._states = None

    def step_ends(self, optimizer: Any) -> None:
        self._states = _random_states()

    def worker_made(self, task: Any) -> None:
        task.watchers.append(WorkerWatcher(self._file.path_of_worker(task.worker_id)))


class WorkerWatcher:
    """Notes, in the process of a loader's worker, the random numbers that are drawn.

    Args:
        path: the file for its notes
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._before: dict[str, int] = {}
        self._count = 0

    def begins(self) -> None:
        """A batch is about to be fetched."""
        self._before = _random_states()

    def ends(self) -> None:
        """It has been fetched."""
        now = _random_states()
        drawn = {kind: state for kind, state in now.items() if state != self._before[kind]}
        if drawn and self._count < _BATCHES:
            self._count += 1
            note_drawn(self._path, drawn)


# -- one report ------------------------------------------------------------------------------------


def _as_dict(finding: Finding) -> dict[str, Any]:
    return {
        name: getattr(finding, name)
        for name in ("rule", "severity", "message", "line", "fix", "why", "related", "parameters",
                     "evidence", "confidence")
    }  # fmt: skip


def _from_dict(given: dict[str, Any]) -> Finding:
    line = given["line"]
    related = [(Line(*place), role) for place, role in given["related"]]
    more = {**given, "line": None if line is None else Line(*line), "related": related}
    return Finding(**more)


def merged(folder: str | Path, count: int, script: str) -> Report:
    """What is said of the ranks together, and of each: once where all say it."""
    ranks = load(folder)
    said: dict[tuple[str, Any, str], tuple[Finding, list[int]]] = {}
    for facts in ranks:
        for each in map(_from_dict, facts.findings):
            said.setdefault((each.rule, each.line, each.message), (each, []))[1].append(facts.rank)
    for finding, who in said.values():
        if len(who) < count:
            finding.message += f" (on rank {', '.join(map(str, who))})"
    findings = [*judge(ranks), *(finding for finding, _ in said.values())]
    steps = max((facts.iterations or facts.steps for facts in ranks), default=0)
    return Report(ordered(findings), script, iterations=steps)
