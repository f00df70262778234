"""One engine in one process: answers requests, one JSON object a line, until its input ends.

Started as `python -m clew.bench.worker ENGINE`; an engine is a library (`torch`), or its compiler
(`torch.compile`). The requests:

    {"do": "prepare", "id": WORKLOAD, "seconds": S}  ->  {"answer": [...], "calls": N, "took": T}
    {"do": "round", "id": WORKLOAD}                  ->  {"seconds": seconds of one call}
    {"do": "forget"}                                 ->  {}

`prepare` also finds how many calls of the workload last about S seconds; a round times that many.
T is what one call took at last. With "cpu" seconds are those of the processor, not of the clock.
Several workloads may be prepared at a time, to be timed by turns; `forget` drops them all.
A failing request is answered with {"error": "Type: message"}, and the worker goes on.
"""

import gc
import importlib
import json
import sys
import time
from collections.abc import Callable
from typing import Any

from clew.bench.in_jax import prepare_in_jax
from clew.bench.workloads import WORKLOADS, Prepared, Workload, prepare

Clock = Callable[[], float]


class Worker:
    """An engine's module, and the prepared workloads with their numbers of calls."""

    def __init__(self, engine: str) -> None:
        library, _, compiler = engine.partition(".")
        self.module = importlib.import_module(library)
        self.is_compiling = bool(compiler)
        self.prepared: dict[str, tuple[Prepared, int, Clock]] = {}

    def handle(self, request: dict[str, Any]) -> dict[str, Any]:
        if request["do"] == "prepare":
            clock = time.process_time if request.get("cpu") else time.perf_counter
            return self.prepare(request["id"], request["seconds"], clock)
        if request["do"] == "forget":
            self.prepared.clear()
            return {}
        return self.time_round(request["id"])

    def bound(self, workload: Workload, is_compiling: bool) -> Prepared:
        if self.module.__name__ == "jax":
            return prepare_in_jax(workload, self.module)
        return prepare(workload, self.module, is_compiling)

    def prepare(self, workload_id: str, seconds: float, clock: Clock) -> dict[str, Any]:
        prepared = self.bound(WORKLOADS[workload_id], self.is_compiling)
        answer = prepared.answer()
        # The first call may compile.
        prepared.run()
        calls = 1
        while (elapsed := _elapsed(prepared, calls, clock)) < seconds:
            # Aim a little past the goal, growing at most tenfold: the first calls are slow.
            growth = min(10.0, 1.1 * seconds / max(elapsed, 1e-9))
            calls = max(calls + 1, int(calls * growth))
        self.prepared[workload_id] = prepared, calls, clock
        return {"answer": answer, "calls": calls, "took": elapsed / calls}

    def time_round(self, workload_id: str) -> dict[str, Any]:
        prepared, calls, clock = self.prepared[workload_id]
        gc.collect()
        return {"seconds": _elapsed(prepared, calls, clock) / calls}


def _elapsed(prepared: Prepared, calls: int, clock: Clock) -> float:
    run = prepared.run
    started = clock()
    for _ in range(calls):
        run()
    return clock() - started


def main() -> None:
    worker = Worker(sys.argv[1])
    # The garbage collector stays on, as it is for users, but does not walk what was imported:
    # how much that is differs between the engines and has nothing to do with the workload.
    gc.collect()
    gc.freeze()
    _send({"ready": worker.module.__version__})
    for line in sys.stdin:
        try:
            _send(worker.handle(json.loads(line)))
        except Exception as error:  # reported to the runner, which shows it in the table
            _send({"error": f"{type(error).__name__}: {error}"})


def _send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
