"""The benchmark of compiled steps: the engines do the same work, and are told apart."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from rich.console import Console

import clew
from clew.bench import processors, runner
from clew.bench.compiled import COMPILED, FIRST_CALLS, TRAINED, compiled_steps
from clew.bench.compiled_report import compile_time_table, compiled_lines, compiled_table
from clew.bench.first_calls import beyond
from clew.bench.in_jax import prepare_in_jax, runs_in_jax
from clew.bench.report import as_json, summary_lines
from clew.bench.runner import (
    COMPILED_ENGINES,
    BenchError,
    Result,
    compile_times,
    engines_of,
    run_together,
)
from clew.bench.workloads import WORKLOADS, prepare

STEPS = {name: WORKLOADS[f"compiled/{name}/step"] for name in COMPILED}
# Those that take a moment only.
QUICK = ("mlp_small", "mlp", "dqn", "vae", "chain_1e6", "gpt_d64")
AGREE = {"rel": runner.RELATIVE_TOLERANCE, "abs": runner.ABSOLUTE_TOLERANCE}


@pytest.fixture(autouse=True)
def _validation() -> Iterator[None]:
    """torch.compile switches the checks of torch's distributions off, for the whole process."""
    yield
    torch.distributions.Distribution.set_default_validate_args(True)


def shown(table: Any) -> str:
    console = Console(width=80)
    with console.capture() as captured:
        console.print(table)
    return captured.get()


def result_of(name: str, *seconds: float) -> Result:
    """One round, of the engines in their order."""
    return Result(STEPS[name], {e: [s] for e, s in zip(COMPILED_ENGINES, seconds)})


@pytest.mark.parametrize("name", QUICK)
def test_clew_compiled_and_eager_and_torch_agree(name: str) -> None:
    expected = prepare(STEPS[name], torch).answer()
    assert prepare(STEPS[name], clew).answer() == pytest.approx(expected, **AGREE)
    compiled = prepare(STEPS[name], clew, is_compiling=True)
    assert isinstance(compiled.run, clew.compiler.api.CompiledFunction)
    assert compiled.answer() == pytest.approx(expected, **AGREE)


@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs a C++ compiler")
def test_torch_compile_agrees() -> None:
    expected = prepare(STEPS["chain_1e6"], torch).answer()
    compiled = prepare(STEPS["chain_1e6"], torch, is_compiling=True).answer()
    assert compiled == pytest.approx(expected, **AGREE)


@pytest.mark.parametrize("name", [name for name in COMPILED if name != "gpt_d384"])
def test_jax_agrees(name: str) -> None:
    jax = pytest.importorskip("jax", reason="JAX is an optional peer of the benchmark")
    expected = prepare(STEPS[name], clew).answer()
    prepared = prepare_in_jax(STEPS[name], jax)
    assert prepared.answer() == pytest.approx(expected, **AGREE)
    prepared.run()


def test_random_numbers_of_answers_are_those_of_eager() -> None:
    asked: list[dict[str, Any]] = []

    class Library:
        __name__ = "torch"
        compiler = torch.compiler

        def compile(self, step: Any, **options: Any) -> Any:
            asked.append(options)
            return step

    compiled_steps("dqn", lambda: (), Library())
    compiled_steps("vae", lambda: (), Library())
    assert asked == [{}, {}, {"options": {"fallback_random": True}}]


def test_every_network_has_a_step_and_jax_runs_all() -> None:
    assert set(COMPILED) == {*TRAINED, "chain_1e6"}
    for workload in STEPS.values():
        assert engines_of(workload) == COMPILED_ENGINES and runs_in_jax(workload)
    for name in FIRST_CALLS:
        workload = WORKLOADS[f"compile_time/{name}/first calls"]
        assert engines_of(workload) == ("clew.compile", "torch.compile", "jax")
    assert engines_of(WORKLOADS["train/mlp/step"]) == ("clew", "torch")


def test_compiled_steps_run_only_if_asked_for() -> None:
    def listed(*options: str) -> str:
        command = [sys.executable, "-m", "clew", "bench", "--list", *options]
        return subprocess.run(command, stdout=subprocess.PIPE, text=True).stdout

    assert "compiled/" not in listed("--filter", "mlp") and "train/" in listed("--filter", "mlp")
    assert listed("--filter", "compiled/").split() == [each.id for each in STEPS.values()]
    assert "compile_time/gpt_d128/" in listed("--filter", "compile_time")


def test_the_ratio_is_by_the_fastest_peer_and_by_torch() -> None:
    results = [result_of("mlp", 2.0, 3.0, 8.0, 4.0, 1.0), result_of("dqn", 1.0, 9.0, 2.0, 4.0)]
    rows = shown(compiled_table(results)).splitlines()
    cells = [row.replace("│", " ").split() for row in rows if "│" in row]
    assert ["mlp", "jax", "2.00", "2.00..2.00", "0.25", "0.25..0.25", "0.67"] in cells
    assert ["dqn", "torch", "0.50", "0.50..0.50", "0.50", "0.50..0.50", "0.11"] in cells
    assert list(compiled_lines(results)) == [
        "compiled: geometric mean of clew.compile by the fastest peer 1.00; "
        "clew.compile no slower in 1 of 2"
    ]
    lines = list(summary_lines(results))
    assert lines[0].startswith("compiled, step: geometric mean of clew.compile/torch 0.35; ")
    assert lines[1] == (
        "jax is not installed: dqn would be compared with it, too (pip install jax)"
    )
    assert as_json(results, {})["results"][0]["ratio"] == 0.25


def test_engines_that_fail_or_differ_are_named() -> None:
    failing, differing = result_of("mlp", 2.0, 3.0, 4.0), result_of("dqn", 1.0, 1.0, 1.0)
    failing.errors["torch.compile"] = "RuntimeError: no C++ compiler"
    differing.answers_differ = True
    text = shown(compiled_table([failing, differing]))
    assert "fails" in text and "differ" in text and "0.50" in text
    lines = list(summary_lines([failing, differing]))
    assert "torch.compile cannot run compiled/mlp/step: RuntimeError: no C++ compiler" in lines
    assert list(compiled_lines([failing, differing])) == []


class Engine:
    def __init__(self, engine: str) -> None:
        self.engine = engine


def test_compile_time_is_of_a_cold_and_a_cached_process(monkeypatch: pytest.MonkeyPatch) -> None:
    folders: list[Path] = []

    def answer(workload: Any, engine: Any, command: list[str], cache: dict[str, str]) -> Any:
        if engine.engine == "jax":
            raise BenchError("it could not be measured")
        folder = Path(cache["CLEW_CACHE_DIR"])
        is_cached = folder.exists()
        folder.mkdir(exist_ok=True)
        folders.append(folder)
        return {"seconds": 0.5 if is_cached else 3.0}

    monkeypatch.setattr(runner, "_from_new_process", answer)
    engines: Any = [Engine("clew"), Engine("clew.compile"), Engine("torch.compile"), Engine("jax")]
    result = compile_times(WORKLOADS["compile_time/mlp/first calls"], engines, processes=2)
    assert result.compile_seconds == {"clew.compile": (3.0, 0.5), "torch.compile": (3.0, 0.5)}
    assert len(set(folders)) == 4 and not any(folder.exists() for folder in folders)
    assert result.errors == {"jax": "it could not be measured"}
    text = shown(compile_time_table([result]))
    assert "3.00" in text and "0.50" in text and "fails" in text


def test_processor_time_is_counted_if_asked_for() -> None:
    asked: list[Any] = []

    class Asked(Engine):
        def ask(self, **request: Any) -> dict[str, Any]:
            asked.append(request.get("cpu"))
            return {"answer": [1.0], "seconds": 0.5}

    engines: Any = [Asked(engine) for engine in COMPILED_ENGINES]
    for cpu in (False, True):
        asked.clear()
        (result,) = run_together([STEPS["dqn"]], engines, 1, 0.1, cpu=cpu)
        assert asked[: len(engines)] == [cpu] * len(engines) and len(result.seconds) == 5


def test_first_calls_count_by_what_they_take_longer() -> None:
    assert beyond([5.0, 2.0, 0.5], [1.0, 1.0, 9.0]) == 5.0


def test_processors_of_different_cores_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1, 2, 3}, raising=False)
    monkeypatch.setattr(processors, "_siblings", lambda each: f"{each // 2}")
    assert processors.some_processors(1) == {0}
    assert processors.some_processors(2) == {0, 2}
    assert processors.some_processors(3) == {0, 1, 2}
    assert processors.some_processors(4) is None


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system has no affinities")
def test_processes_start_on_the_processors_given() -> None:
    before = os.sched_getaffinity(0)
    one = frozenset([max(before)])
    program = "import os; print(os.sched_getaffinity(0))"
    with processors.on_processors(one):
        done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert done.stdout.strip() == str(set(one))
    assert os.sched_getaffinity(0) == before
