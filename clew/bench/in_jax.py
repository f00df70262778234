"""Which workloads JAX runs as well, and how.

JAX is not needed for anything else, and the benchmark goes without where it is not installed.
"""

from typing import Any

from clew.bench.compiled import FIRST_CALLS
from clew.bench.jax_steps import is_step_in_jax, prepare_step
from clew.bench.jax_transforms import MAKERS
from clew.bench.workloads import COMPILE_TIME, Prepared, Workload


def runs_in_jax(workload: Workload) -> bool:
    is_timed_to_compile = workload.group == COMPILE_TIME and workload.name in FIRST_CALLS
    return workload.id in MAKERS or is_step_in_jax(workload) or is_timed_to_compile


def prepare_in_jax(workload: Workload, jax: Any) -> Prepared:
    """A workload bound to JAX; what is timed is the compiled function."""
    if is_step_in_jax(workload):
        return prepare_step(workload, jax)
    run = MAKERS[workload.id](jax)
    return Prepared(run, lambda: [float(abs(run()).sum())])
