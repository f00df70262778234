"""The time that a compiler takes, measured in a process of its own.

Started as `python -m clew.bench.first_calls ENGINE NAME`; prints one JSON object. What counts is
how much longer the first calls of a compiled step take than a call without compilation does: an
eager one, whose kernels are loaded; in JAX, which has no eager step, a later one. Four of them,
because what the first call makes (gradients, the state of the optimizer) may be compiled for anew.
"""

import json
import statistics
import sys
import time
from typing import Any

from clew.bench.worker import Worker
from clew.bench.workloads import WORKLOADS, Prepared

_FIRST, _OTHERS = 4, 3


def compile_seconds(engine: str, name: str) -> float:
    worker, workload = Worker(engine), WORKLOADS[f"compiled/{name}/step"]
    compiled = worker.bound(workload, worker.is_compiling)
    if not worker.is_compiling:
        first = _seconds(compiled, _FIRST)
        return beyond(first, _seconds(compiled, _OTHERS))
    eager = worker.bound(workload, False)
    _seconds(eager, _FIRST)
    usual = _seconds(eager, _OTHERS)
    return beyond(_seconds(compiled, _FIRST), usual)


def beyond(first: list[float], usual: list[float]) -> float:
    """How much longer the first calls took than so many usual ones."""
    call = statistics.median(usual)
    return sum(max(0.0, each - call) for each in first)


def _seconds(prepared: Prepared, calls: int) -> list[float]:
    found = []
    for _ in range(calls):
        started = time.perf_counter()
        prepared.run()
        found.append(time.perf_counter() - started)
    return found


def main() -> None:
    engine, name = sys.argv[1:]
    found: dict[str, Any] = {"seconds": compile_seconds(engine, name)}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
