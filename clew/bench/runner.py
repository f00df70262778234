"""Runs workloads in one process per engine, by turns, so that both meet the same machine noise."""

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from types import TracebackType
from typing import Any, Self

from clew.bench.workloads import Workload

ENGINES = ("clew", "torch")

# float32, with sums in another order: what two right answers may differ by.
RELATIVE_TOLERANCE = 1e-4
ABSOLUTE_TOLERANCE = 1e-5


class BenchError(Exception):
    """The benchmark cannot run at all; the message says what to do."""


@dataclass
class Result:
    """One workload's seconds per call, round by round, of each engine."""

    workload: Workload
    seconds: dict[str, list[float]] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    answers_differ: bool = False

    @property
    def ok(self) -> bool:
        return not self.errors and not self.answers_differ


class EngineProcess:
    """A worker process, asked one thing at a time."""

    def __init__(self, engine: str, threads: int) -> None:
        self.engine = engine
        limits = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "clew.bench.worker", engine],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **dict.fromkeys(limits, str(threads))},
        )
        self.version: str = self._receive()["ready"]

    def ask(self, **request: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return self._receive()

    def _receive(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            status = self._process.wait()
            raise BenchError(f"the {self.engine} process ended with status {status}")
        reply: dict[str, Any] = json.loads(line)
        return reply

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        if kind is None:
            self._process.stdin.close()
        else:
            self._process.kill()
        self._process.wait()
        self._process.stdout.close()


def check_engines() -> None:
    """Raise BenchError when an engine to compare with is not installed."""
    if find_spec("torch") is None:
        raise BenchError(
            "clew bench compares with PyTorch, which is not installed. "
            "Install the `bench` extra: pip install 'clew[bench]' (in a checkout: make bench)."
        )


def run_workload(
    workload: Workload, engines: Sequence[EngineProcess], rounds: int, round_seconds: float
) -> Result:
    result = Result(workload)
    answers = []
    for engine in engines:
        reply = engine.ask(do="prepare", id=workload.id, seconds=round_seconds)
        if "error" in reply:
            result.errors[engine.engine] = reply["error"]
        else:
            answers.append(reply["answer"])
            result.seconds[engine.engine] = []
    result.answers_differ = len(answers) == 2 and not _agree(*answers)

    running = [engine for engine in engines if engine.engine in result.seconds]
    for number in range(rounds):
        # Who goes first changes every round: neither always runs in the other's warm wake.
        for engine in running if number % 2 == 0 else reversed(running):
            reply = engine.ask(do="round")
            if "error" in reply:
                raise BenchError(f"{workload.id} failed in {engine.engine}: {reply['error']}")
            result.seconds[engine.engine].append(reply["seconds"])
    return result


def _agree(first: list[float], second: list[float]) -> bool:
    return len(first) == len(second) and all(
        math.isclose(a, b, rel_tol=RELATIVE_TOLERANCE, abs_tol=ABSOLUTE_TOLERANCE)
        for a, b in zip(first, second)
    )


def run_benchmark(
    workloads: Sequence[Workload],
    rounds: int,
    round_seconds: float,
    threads: int,
    on_result: Callable[[Result], None],
) -> tuple[list[Result], dict[str, str]]:
    """All results, and the version of each engine; `on_result` hears of each as it comes."""
    check_engines()
    results = []
    with EngineProcess("clew", threads) as ours, EngineProcess("torch", threads) as theirs:
        for workload in workloads:
            results.append(run_workload(workload, (ours, theirs), rounds, round_seconds))
            on_result(results[-1])
    return results, {"clew": ours.version, "torch": theirs.version}
