"""The benchmark's own parts: rounds that are shared, modes that are compared, memory of a step."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import clew
from clew.bench import peak, runner
from clew.bench.memory import step_memory
from clew.bench.models import MODELS, dqn, gpt
from clew.bench.report import as_json, memory_table, results_table, summary_lines
from clew.bench.runner import EngineProcess, Result, run_together, screen
from clew.bench.workloads import GRAD_MODES, WORKLOADS, Workload, prepare

MODES = [WORKLOADS[f"modes/mlp_small/{mode}"] for mode in GRAD_MODES]


class Scripted:
    """Stands for an engine's process: notes what it is asked, and answers the same always."""

    def __init__(self, engine: str, log: list[tuple[str, str]]) -> None:
        self.engine = engine
        self.log = log

    def ask(self, **request: Any) -> dict[str, Any]:
        self.log.append((self.engine, f"{request['do']} {request.get('id', '')[-7:]}"))
        return {"answer": [1.0], "calls": 1, "seconds": 0.5}


def test_workloads_to_be_compared_share_every_round() -> None:
    log: list[tuple[str, str]] = []
    engines: Any = (Scripted("clew", log), Scripted("torch", log))
    results = run_together(MODES[:2], engines, rounds=2, round_seconds=0.1)
    assert [result.seconds for result in results] == [{"clew": [0.5] * 2, "torch": [0.5] * 2}] * 2
    rounds = [entry for entry in log if entry[1].startswith("round")]
    assert rounds[:4] == [
        ("clew", "round default"), ("torch", "round default"),
        ("clew", "round no_grad"), ("torch", "round no_grad"),
    ]  # fmt: skip
    assert rounds[4:] == rounds[3::-1], "who goes first changes"
    assert [entry[1] for entry in log[-2:]] == ["forget ", "forget "]


def test_who_takes_turns() -> None:
    def turns(*ids: str) -> set[str]:
        return {WORKLOADS[each].turns for each in ids}

    assert turns(*(workload.id for workload in MODES)) == {"modes/mlp_small"}
    assert turns("sweep/add_1e1/call", "sweep/sum_first_1e1/call") == {"sweep/1e1"}
    assert len(turns("sweep/add_1e1/call", "sweep/add_1e2/call", "op/add/forward")) == 3


def test_modes_are_compared_with_each_other() -> None:
    default, without, inference = (Result(workload) for workload in MODES)
    default.seconds = {"clew": [4.0, 8.0], "torch": [2.0, 2.0]}
    without.seconds = {"clew": [2.0, 4.0], "torch": [1.0, 2.0]}
    inference.seconds = {"clew": [1.0, 3.0], "torch": [1.0, 1.0]}
    lines = list(summary_lines([default, without, inference]))
    assert (
        "modes/mlp_small, clew: no_grad takes 0.500 (0.500..0.500) of the time of default" in lines
    )
    assert (
        "modes/mlp_small, clew: inference_mode takes 0.625 (0.500..0.750) of the time of no_grad"
        in lines
    )


def test_checkpointing_is_compared_in_time_and_memory() -> None:
    kept = Result(WORKLOADS["checkpoint/transformer_8/kept"])
    again = Result(WORKLOADS["checkpoint/transformer_8/checkpointed"])
    for result, seconds, mib in ((kept, 1.0, 80.0), (again, 1.3, 20.0)):
        result.seconds = {"clew": [seconds], "torch": [seconds]}
        result.step_mib = {"clew": mib, "torch": mib}
    (line, _) = [text for text in summary_lines([kept, again]) if "takes" in text]
    assert line == (
        "checkpoint/transformer_8, clew: checkpointed takes 1.300 (1.300..1.300) of the time of "
        "kept and 20.0 of 80.0 MiB (75% less)"
    )


SWEEP = [workload for workload in WORKLOADS.values() if workload.group == "sweep"]


def test_the_sweep_has_forty_operations_at_every_size() -> None:
    stems = [workload.name.rpartition("_1e") for workload in SWEEP]
    assert len({stem for stem, _, _ in stems}) == 40
    assert {int(exponent) for _, _, exponent in stems} == set(range(1, 8))
    assert len(SWEEP) == 280


@pytest.mark.parametrize(
    "workload", [each for each in SWEEP if each.name.endswith("_1e3")], ids=lambda each: each.name
)
def test_the_engines_agree_in_the_sweep(workload: Any) -> None:
    ours, theirs = (prepare(workload, t).answer() for t in (clew, torch))
    assert ours == pytest.approx(theirs, rel=1e-5, abs=1e-6)


def test_the_slow_ones_of_the_sweep_are_named_worst_first() -> None:
    results = [Result(workload, {"clew": [1.0], "torch": [1.0]}) for workload in SWEEP]
    results[3].seconds["clew"], results[7].seconds["clew"] = [1.5], [3.0]
    (line,) = [text for text in summary_lines(results) if "above" in text]
    assert line == f"sweep: above 1.2: {SWEEP[7].name} 3.00, {SWEEP[3].name} 1.50"
    assert not [text for text in summary_lines(results[:20]) if "above" in text]


@pytest.mark.parametrize("workload", MODES, ids=lambda workload: workload.mode)
def test_the_engines_agree_in_every_mode(workload: Any) -> None:
    ours, theirs = (prepare(workload, t).answer() for t in (clew, torch))
    assert ours == pytest.approx(theirs, rel=1e-4, abs=1e-5)


def test_modes_are_what_they_say() -> None:
    outs = {workload.mode: prepare(workload, clew).run() for workload in MODES}
    assert outs["default"].requires_grad and not outs["no_grad"].requires_grad
    assert outs["inference_mode"].is_inference() and not outs["no_grad"].is_inference()


def test_every_parameter_of_a_checkpointed_network_gets_its_gradient() -> None:
    found = step_memory(clew, gpt(32, 2, 16, 2, 4, checkpoint=True)(clew))
    assert found["unreached"] == [] and found["mib"] >= 0


def test_a_parameter_that_is_not_reached_is_named() -> None:
    training = gpt(32, 1, 16, 2, 4)(clew)
    training.model.extra = clew.nn.Linear(2, 2)
    assert step_memory(clew, training)["unreached"] == ["extra.weight", "extra.bias"]


MEMORY = [workload for workload in WORKLOADS.values() if workload.group == "memory"]


def test_the_memory_of_every_network_of_the_train_steps_is_measured() -> None:
    assert [workload.name for workload in MEMORY] == list(MODELS)


def test_a_peak_counts_what_is_no_longer_there() -> None:
    peak._free_unused_memory()
    before = peak.resident()
    peak._forget_peak()
    np.ones(8 * peak.MIB)  # 64 MiB, dropped at once
    grown = (peak.peak() - before) / peak.MIB
    assert 60 < grown < 80
    peak._free_unused_memory()
    assert peak.resident() - before < 30 * peak.MIB
    peak._forget_peak()
    assert peak.peak() - before < 30 * peak.MIB


def test_the_peak_grows_with_what_steps_hold() -> None:
    """In one process after the other, a network and the same one beside 40 MiB of its own."""

    def make(t: Any) -> Any:
        training = dqn(t)
        training.model.ballast = np.ones(5 * peak.MIB)
        return training

    small, large = (peak.measure(clew, each)["mib"] for each in (dqn, make))
    assert 0 <= small < 10 and 35 < large - small < 45


@pytest.mark.parametrize("t", [clew, torch], ids=["clew", "torch"])
def test_the_same_network_is_trained_for_the_peak_as_for_the_time(t: Any) -> None:
    times = prepare(WORKLOADS["train/dqn/step"], t).answer()
    assert peak.measure(t, dqn)["answer"] == pytest.approx(times, rel=1e-6)


def test_peaks_are_measured_in_processes_where_clew_does_not_reach_torch() -> None:
    program = Path(peak.__file__).read_text() + "\nassert 'clew' not in sys.modules\n"
    models = str(Path(peak.__file__).with_name("models.py"))
    command = [sys.executable, "-c", program, "torch", models, "dqn"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    assert done.returncode == 0 and '"mib"' in done.stdout


def test_a_peak_is_the_median_of_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    found = iter([{"mib": each, "answer": [1.0]} for each in (5.0, 9.0, 6.0, 8.0, 8.0, 1.0)])
    asked: list[str] = []

    def answer(workload: Workload, engine: Any, command: list[str]) -> Any:
        asked.append(f"{command[0]} {command[2]} {command[-1]}")
        return next(found)

    monkeypatch.setattr(runner, "_from_new_process", answer)
    log: list[tuple[str, str]] = []
    engines: Any = (Scripted("clew", log), Scripted("torch", log))
    (result,) = run_together(MEMORY[:1], engines, rounds=11, round_seconds=0.1)
    assert asked == ["-c clew mlp"] * 3 + ["-c torch mlp"] * 3
    assert result.step_mib == {"clew": 6.0, "torch": 8.0} and not result.seconds and result.ok
    assert [entry for entry in log if not entry[1].startswith("forget")] == []


def test_peaks_have_a_table_and_a_mean_of_their_own() -> None:
    results = [
        Result(workload, step_mib={"clew": mib, "torch": 2.0})
        for workload, mib in zip(MEMORY[:2], (1.0, 4.0), strict=True)
    ]
    assert list(summary_lines(results)) == [
        "memory, peak: geometric mean of clew/torch 1.00; clew needs no more in 1 of 2"
    ]
    columns = {str(column.header): list(column.cells) for column in memory_table(results).columns}
    assert columns["workload"] == ["mlp", "cnn"] and columns["clew"] == ["1.0", "4.0"]
    assert columns["clew/torch"] == ["[green]0.50[/green]", "[yellow]2.00[/yellow]"]
    rows = as_json(results, {})["results"]
    assert [row["ratio"] for row in rows] == [None, None]
    assert rows[1]["step_mib"] == {"clew": 4.0, "torch": 2.0}


CLIFFS = {each.name: each for each in WORKLOADS.values() if each.group == "cliffs"}


def test_the_cliffs_are_measured_at_two_sizes_and_only_if_asked_for() -> None:
    assert {name.rpartition("_1e")[2] for name in CLIFFS} == {"4", "6"}
    command = [sys.executable, "-m", "clew", "bench", "--list"]
    listed = subprocess.run(command, stdout=subprocess.PIPE, text=True).stdout
    assert "cliffs/" not in listed and "sweep/" in listed


@pytest.mark.parametrize("name", ["fmod", "sort_last", "max_pool2d", "poisson"])
def test_a_cliff_runs_in_both_engines(name: str) -> None:
    found = [each for each in CLIFFS if each.endswith(f"/{name}.float32_1e4")]
    assert found
    for workload in [WORKLOADS[f"cliffs/{each}/{mode}"] for each in found
                     for mode in ("forward", "forward+backward")]:  # fmt: skip
        for t in (clew, torch):
            prepared = prepare(workload, t)
            prepared.run()
            assert prepared.answer() == []


def test_slow_cliffs_are_named_with_their_mode() -> None:
    results = [
        Result(each, {"clew": [1.0], "torch": [1.0]}) for each in list(CLIFFS.values())[:120]
    ]
    results[5].seconds["clew"] = [12.0]
    (line,) = [text for text in summary_lines(results) if "above" in text]
    workload = results[5].workload
    assert line == f"cliffs: above 3.0: {workload.name}/{workload.mode} 12.00"


def test_a_cliff_that_one_engine_cannot_run_is_named_and_shown() -> None:
    class Failing(Scripted):
        def ask(self, **request: Any) -> dict[str, Any]:
            return {"error": "RuntimeError: no"} if request["do"] == "prepare" else {}

    class Working(Scripted):
        def ask(self, **request: Any) -> dict[str, Any]:
            return {"took": 0.1, "seconds": 0.1}

    engines: Any = (Failing("clew", []), Working("torch", []))
    workload = next(iter(CLIFFS.values()))
    result = screen(workload, engines, rounds=2, round_seconds=0.1)
    assert list(summary_lines([result])) == [f"clew cannot run {workload.id}: RuntimeError: no"]
    columns = {str(each.header): list(each.cells) for each in results_table([result]).columns}
    assert columns["clew"] == ["[red]fails[/red]"] and columns["torch"] == [""]
    assert as_json([result], {})["results"][0]["ratio"] is None


def test_a_process_that_ends_is_an_error_of_its_workload() -> None:
    with EngineProcess("clew", 1) as engine:
        process = engine._process
        process.kill()
        process.wait()
        assert "error" in engine.ask(limit=20.0, do="forget")
        assert engine.ask(limit=20.0, do="forget") == {}
