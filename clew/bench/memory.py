"""The memory that one train step needs, measured in a process of its own.

Started as `python -m clew.bench.memory ENGINE WORKLOAD`; prints one JSON object. What counts is how
far the step raises the process's high-water mark, so everything that lives longer is made before:
weights, gradients, and whatever an engine loads or compiles when it first runs such a step.
"""

import importlib
import json
import sys
import time
from typing import Any

from clew.bench.models import Training, gpt
from clew.bench.peak import MIB, peak
from clew.bench.workloads import WORKLOADS

# Engines compile in the background while the small step runs.
_SETTLE_SECONDS = 1.0


def step_memory(t: Any, training: Training) -> dict[str, Any]:
    """The growth of the peak by forward and backward, and the parameters without a gradient."""
    _run(gpt(32, 1, 16, 1, 4)(t))
    time.sleep(_SETTLE_SECONDS)
    for parameter in training.model.parameters():
        parameter.grad = t.ones_like(parameter)
    before = peak()
    _run(training)
    after = peak()
    training.model.zero_grad()
    _run(training)
    unreached = [name for name, p in training.model.named_parameters() if p.grad is None]
    return {"mib": (after - before) / MIB, "unreached": unreached}


def _run(training: Training) -> None:
    training.loss(training.forward()).backward()


def main() -> None:
    engine, workload = sys.argv[1:]
    module = importlib.import_module(engine)
    module.manual_seed(0)
    print(json.dumps(step_memory(module, WORKLOADS[workload].make(module))))


if __name__ == "__main__":
    main()
