"""The benchmark of transforms: JAX is compared with where it is installed, and only there."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from rich.console import Console

import clew
from clew.bench.in_jax import prepare_in_jax, runs_in_jax
from clew.bench.report import results_table, summary_lines
from clew.bench.runner import Result, run_together
from clew.bench.workloads import WORKLOADS, prepare

IN_JAX = [each for each in WORKLOADS.values() if each.group == "func" and runs_in_jax(each)]
ELSEWHERE = WORKLOADS["func/mlp_b64/call"]


class Scripted:
    """Stands for an engine's process."""

    def __init__(self, engine: str, answer: float = 1.0) -> None:
        self.engine, self.answer = engine, answer
        self.asked: list[str] = []

    def ask(self, **request: Any) -> dict[str, Any]:
        self.asked.append(request.get("id", ""))
        return {"answer": [self.answer], "calls": 1, "seconds": 0.5}


def table_of(results: list[Result]) -> str:
    console = Console(width=200)
    with console.capture() as captured:
        console.print(results_table(results))
    return captured.get()


def test_jax_runs_what_is_written_for_it() -> None:
    assert {workload.name for workload in IN_JAX} == {"hessian200", "jacrev100"}
    engines: Any = [Scripted("clew"), Scripted("torch"), Scripted("jax")]
    results = run_together([*IN_JAX, ELSEWHERE], engines, rounds=2, round_seconds=0.1)
    assert ELSEWHERE.id not in engines[2].asked and IN_JAX[0].id in engines[2].asked
    assert [sorted(result.seconds) for result in results] == [
        ["clew", "jax", "torch"], ["clew", "jax", "torch"], ["clew", "torch"],
    ]  # fmt: skip
    assert " jax " in table_of(results)
    lines = [line for line in summary_lines(results) if "jax" in line]
    assert lines == [f"{each.name}: clew/jax 1.00 (1.00..1.00)" for each in IN_JAX]


def test_a_different_answer_of_jax_is_seen() -> None:
    engines: Any = [Scripted("clew"), Scripted("torch"), Scripted("jax", 2.0)]
    (result,) = run_together(IN_JAX[:1], engines, rounds=1, round_seconds=0.1)
    assert result.answers_differ


def test_without_jax_its_column_is_left_out_and_that_is_said() -> None:
    engines: Any = [Scripted("clew"), Scripted("torch")]
    results = run_together([*IN_JAX, ELSEWHERE], engines, rounds=2, round_seconds=0.1)
    assert "jax" not in table_of(results)
    (line,) = [line for line in summary_lines(results) if "jax" in line]
    assert line.startswith("jax is not installed: hessian200 and jacrev100")


@pytest.mark.parametrize("workload", IN_JAX, ids=lambda workload: workload.name)
def test_the_engines_agree(workload: Any) -> None:
    answers = [prepare(workload, t).answer() for t in (clew, torch)]
    assert answers[0] == pytest.approx(answers[1], rel=1e-4)


@pytest.mark.parametrize("workload", IN_JAX, ids=lambda workload: workload.name)
def test_jax_agrees(workload: Any) -> None:
    jax = pytest.importorskip("jax", reason="JAX is an optional peer of the benchmark")
    ours = prepare(workload, clew).answer()
    assert prepare_in_jax(workload, jax).answer() == pytest.approx(ours, rel=1e-4)
