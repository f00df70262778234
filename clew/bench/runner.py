"""Runs workloads in one process per engine, by turns, so that all meet the same machine noise."""

import json
import math
import os
import select
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Self

from clew.bench.compiled import COMPILERS
from clew.bench.in_jax import runs_in_jax
from clew.bench.processors import on_processors, some_processors
from clew.bench.workloads import CLIFFS, COMPILE_TIME, COMPILED_GROUP, PEAK, Workload

ENGINES = ("clew", "torch")
# Compared with where it is installed, in the workloads that are written for it, too.
OPTIONAL = "jax"
# Of the whole steps that are compiled; the first one is compared with the others.
COMPILED_ENGINES = ("clew.compile", "clew", "torch", "torch.compile", OPTIONAL)

# float32, with sums in another order: what two right answers may differ by.
RELATIVE_TOLERANCE = 1e-4
ABSOLUTE_TOLERANCE = 1e-5

# Of the cliffs, what is listed: from this ratio on. Seconds that a request may take there, and from
# which one call is a round.
LISTED = 3.0
CASE_LIMIT = 20.0
LONG_CALL = 0.5

# Peaks of memory differ from process to process, by how free memory happens to lie.
PEAK_PROCESSES = 3

# Where the compilers keep code from process to process.
CODE_CACHES = ("CLEW_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "JAX_COMPILATION_CACHE_DIR")


class BenchError(Exception):
    """The benchmark cannot run at all; the message says what to do."""


@dataclass
class Result:
    """One workload's seconds per call, round by round, of each engine."""

    workload: Workload
    seconds: dict[str, list[float]] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    answers_differ: bool = False
    # Where memory is measured: MiB that steps need, by engine.
    step_mib: dict[str, float] = field(default_factory=dict)
    # Of first calls: seconds of compilation, with an empty code cache and in a second process.
    compile_seconds: dict[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        return not self.errors and not self.answers_differ


class EngineProcess:
    """A worker process, asked one thing at a time."""

    def __init__(self, engine: str, threads: int, processors: Set[int] | None = None) -> None:
        """It may use only these processors, or all."""
        self.engine = engine
        self.processors = processors
        limits = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        self.environment = {**os.environ, **dict.fromkeys(limits, str(threads))}
        # XLA takes all processors that it may use, or one.
        self.environment["XLA_FLAGS"] = f"--xla_cpu_multi_thread_eigen={threads > 1}".lower()
        self._start()

    def _start(self) -> None:
        with on_processors(self.processors):
            self._process = subprocess.Popen(
                [sys.executable, "-m", "clew.bench.worker", self.engine],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=self.environment,
            )
        self.version: str = self._receive()["ready"]

    def ask(self, limit: float | None = None, **request: Any) -> dict[str, Any]:
        """The reply; with `limit`, an error if there is none after so many seconds.

        A new process then starts, as it does if the old one ended.
        """
        if limit is None:
            self._send(request)
            return self._receive()
        assert self._process.stdout is not None
        reason = f"takes more than {limit:g} s"
        try:
            self._send(request)
            if select.select([self._process.stdout], [], [], limit)[0]:
                return self._receive()
        except (BenchError, BrokenPipeError) as error:
            reason = str(error)
        self._end(kill=True)
        self._start()
        return {"error": reason}

    def _send(self, request: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()

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
        self._end(kill=kind is not None)

    def _end(self, kill: bool) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        if kill:
            self._process.kill()
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


def engines_of(workload: Workload) -> tuple[str, ...]:
    """The engines that a workload is measured in, if they are installed."""
    if workload.group == COMPILED_GROUP:
        return COMPILED_ENGINES if runs_in_jax(workload) else COMPILED_ENGINES[:-1]
    if workload.group == COMPILE_TIME:
        return COMPILERS
    return (*ENGINES, OPTIONAL) if runs_in_jax(workload) else ENGINES


def check_engines() -> None:
    """Raise BenchError when an engine to compare with is not installed."""
    if find_spec("torch") is None:
        raise BenchError(
            "clew bench compares with PyTorch, which is not installed. "
            "Install the `bench` extra: pip install 'clew[bench]' (in a checkout: make bench)."
        )


def run_together(
    workloads: Sequence[Workload],
    engines: Sequence[EngineProcess],
    rounds: int,
    round_seconds: float,
    cpu: bool = False,
) -> list[Result]:
    """Measure workloads that take turns: all in every round. With `cpu`, processor time."""
    results = [
        _prepared(workload, engines, round_seconds, cpu)
        if workload.is_timed
        else peaks(workload, engines, min(rounds, PEAK_PROCESSES))
        if workload.mode == PEAK
        else compile_times(workload, engines, min(rounds, PEAK_PROCESSES))
        for workload in workloads
    ]
    turns = [
        (result, engine)
        for result in results
        for engine in engines
        if engine.engine in result.seconds
    ]
    for number in range(rounds):
        # Who goes first changes every round: nobody always runs in another's warm wake.
        for result, engine in turns if number % 2 == 0 else reversed(turns):
            reply = engine.ask(do="round", id=result.workload.id)
            if "error" in reply:
                raise BenchError(
                    f"{result.workload.id} failed in {engine.engine}: {reply['error']}"
                )
            result.seconds[engine.engine].append(reply["seconds"])
    for engine in engines:
        engine.ask(do="forget")
    return results


def screen(
    workload: Workload, engines: Sequence[EngineProcess], rounds: int, round_seconds: float
) -> Result:
    """One of thousands of workloads: one round is enough if it shows nothing unusual.

    Times are of the processor, which other programs disturb less, and every request has a limit.
    """
    result = Result(workload)
    for engine in engines:
        asked = dict(do="prepare", id=workload.id, seconds=round_seconds, cpu=True)
        reply = engine.ask(limit=CASE_LIMIT, **asked)
        if "error" in reply:
            result.errors[engine.engine] = reply["error"]
        else:
            # A long call was warm enough when it was made the first time.
            result.seconds[engine.engine] = [reply["took"]] if reply["took"] > LONG_CALL else []
    while not result.errors and not _is_settled(result, rounds):
        for engine in engines:
            reply = engine.ask(limit=CASE_LIMIT, do="round", id=workload.id)
            if "error" in reply:
                result.errors[engine.engine] = reply["error"]
            else:
                result.seconds[engine.engine].append(reply["seconds"])
    for engine in engines:
        engine.ask(limit=CASE_LIMIT, do="forget")
    # An engine that was not timed because the other one failed has no times to show.
    result.seconds = {name: times for name, times in result.seconds.items() if times}
    return result


def _is_settled(result: Result, rounds: int) -> bool:
    """Whether the ratio is far below what is listed, or has been measured often enough."""
    done = min(map(len, result.seconds.values()))
    if done == 0 or done >= rounds:
        return done >= rounds
    least = {name: min(times) for name, times in result.seconds.items()}
    spent = sum(map(sum, result.seconds.values()))
    return least["clew"] / least["torch"] < LISTED / 2 or spent > LONG_CALL


def _prepared(
    workload: Workload, engines: Sequence[EngineProcess], round_seconds: float, cpu: bool
) -> Result:
    result = Result(workload)
    answers = []
    for engine in engines:
        if engine.engine not in engines_of(workload):
            continue
        reply = engine.ask(do="prepare", id=workload.id, seconds=round_seconds, cpu=cpu)
        if "error" in reply:
            result.errors[engine.engine] = reply["error"]
            continue
        answers.append(reply["answer"])
        result.seconds[engine.engine] = []
        if workload.measures_memory:
            result.step_mib[engine.engine] = _step_mib(workload, engine)
    result.answers_differ = not all(_agree(answers[0], other) for other in answers[1:])
    return result


def peaks(workload: Workload, engines: Sequence[EngineProcess], processes: int) -> Result:
    """The peak memory of train steps in each engine, a median; nothing is timed."""
    result = Result(workload)
    folder = Path(__file__).parent
    program, models = (folder / "peak.py").read_text(), str(folder / "models.py")
    answers = []
    for engine in engines:
        if engine.engine in engines_of(workload):
            command = ["-c", program, engine.engine, models, workload.name]
            found = [_from_new_process(workload, engine, command) for _ in range(processes)]
            result.step_mib[engine.engine] = statistics.median(each["mib"] for each in found)
            answers.append(found[0]["answer"])
    result.answers_differ = not all(_agree(answers[0], other) for other in answers[1:])
    return result


def compile_times(workload: Workload, engines: Sequence[EngineProcess], processes: int) -> Result:
    """What first calls of compiled steps take beyond calls without compilation, medians."""
    result = Result(workload)
    for engine in engines:
        if engine.engine not in engines_of(workload):
            continue
        try:
            pairs = [_cold_and_cached(workload, engine) for _ in range(processes)]
        except BenchError as error:
            result.errors[engine.engine] = str(error)
        else:
            cold, cached = (statistics.median(each) for each in zip(*pairs))
            result.compile_seconds[engine.engine] = cold, cached
    return result


def _cold_and_cached(workload: Workload, engine: EngineProcess) -> tuple[float, float]:
    """Of two processes, one after the other, with a folder for compiled code that is new."""
    command = ["-m", "clew.bench.first_calls", engine.engine, workload.name]
    with tempfile.TemporaryDirectory() as folder:
        cache = {name: f"{folder}/{name}" for name in CODE_CACHES}
        # Else JAX keeps only what took a second.
        cache["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
        cold, cached = (_from_new_process(workload, engine, command, cache) for _ in range(2))
    return cold["seconds"], cached["seconds"]


def _step_mib(workload: Workload, engine: EngineProcess) -> float:
    command = ["-m", "clew.bench.memory", engine.engine, workload.id]
    found = _from_new_process(workload, engine, command)
    if found["unreached"]:
        raise BenchError(f"{workload.id}: no gradient for {', '.join(found['unreached'])}")
    return float(found["mib"])


def _from_new_process(
    workload: Workload,
    engine: EngineProcess,
    command: list[str],
    changes: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Any]:
    """What a fresh process finds: memory that others used before would hide what is measured."""
    whole, environment = [sys.executable, *command], {**engine.environment, **changes}
    with on_processors(engine.processors):
        done = subprocess.run(whole, stdout=subprocess.PIPE, text=True, env=environment)
    if done.returncode:
        raise BenchError(f"{workload.id} could not be measured in {engine.engine}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


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
    cpu: bool,
    on_results: Callable[[Sequence[Result]], None],
) -> tuple[list[Result], dict[str, str]]:
    """All results, and the version of each engine; `on_results` gets results as they come."""
    check_engines()
    names = list(dict.fromkeys(name for each in workloads for name in engines_of(each)))
    if OPTIONAL in names and find_spec(OPTIONAL) is None:
        names.remove(OPTIONAL)
    # JAX has as many threads as processors. With it, all engines share as many as asked for.
    processors = some_processors(threads) if OPTIONAL in names else None
    results: list[Result] = []
    with ExitStack() as stack:
        engines = [stack.enter_context(EngineProcess(name, threads, processors)) for name in names]
        for _, group in groupby(workloads, lambda workload: workload.turns):
            together = list(group)
            if together[0].group == CLIFFS:
                found = [screen(each, engines, rounds, round_seconds) for each in together]
            else:
                found = run_together(together, engines, rounds, round_seconds, cpu)
            results += found
            on_results(found)
    return results, {engine.engine: engine.version for engine in engines}
