"""Long runs: few steps looked at, a watch that ends, lines of JSON, reports on demand, CI."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
import types
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import pytest

import clew
from clew import nn
from clew.doctor import Unhealthy, watch
from clew.doctor.facts.numerics import FIRST_STEPS
from clew.doctor.facts.places import Line
from clew.doctor.observe import callbacks
from clew.doctor.report.annotations import github
from clew.doctor.report.findings import Finding, Report

TRAIN = """
    import torch
    from torch import nn
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    for step in range({steps}):
        loss = model(torch.ones(4, 3)).pow(2).mean()
        loss.backward()
        optimizer.step()
        {then}
"""


def train(times: int, **options: Any) -> Any:
    model = nn.Linear(3, 1)
    optimizer = clew.optim.SGD(model.parameters(), lr=1e-4)
    with watch(model, optimizer, **options) as d:
        for _ in range(times):
            model(clew.ones(4, 3)).pow(2).mean().backward()
            optimizer.step()
    return d


def test_every_looks_at_few_steps_after_the_first_ones() -> None:
    seen = train(200, every=50)
    steps = [step for step, _ in seen.session.numbers.total_norm.points]
    assert steps == [*range(FIRST_STEPS), 50, 100, 150]
    assert [f.rule for f in seen.report().problems] == ["missing-zero-grad"]


def test_steps_end_the_watch_and_not_the_program() -> None:
    seen = train(30, steps=10)
    assert not seen.session.active
    assert seen.report().iterations == 10


def doctor(folder: Path, body: str, *options: str) -> subprocess.Popen[str]:
    program = folder / "train.py"
    program.write_text(textwrap.dedent(body))
    command = [sys.executable, "-m", "clew.cli.main", "doctor", *options, str(program)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder,
        env=os.environ | {"PYTHONPATH": str(Path(clew.__file__).parents[1])},
    )  # fmt: skip


def test_lines_of_json_and_annotations(tmp_path: Path) -> None:
    body = TRAIN.format(steps=8, then="")
    out, err = doctor(tmp_path, body, "--log", "log", "--annotate", "--quiet").communicate()
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert [line["event"] for line in lines] == ["begin", "step", "finding", "end"]
    assert lines[1]["step"] == 1 and lines[1]["rate"] == 1e-4
    assert lines[2]["rule"] == "missing-zero-grad" and lines[3]["exit"]["status"] == "ok"
    assert err.startswith("::error file=train.py,line=8,title=clew doctor%3A missing-zero-grad::")
    assert out == ""


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="no such signal on this system")
def test_a_report_on_demand(tmp_path: Path) -> None:
    then = "print(step, flush=True) if step == 9 else None; import time; time.sleep(0.01)"
    body = TRAIN.format(steps=3000, then=then)
    running = doctor(tmp_path, body, "--background", "--quiet", "--json", "now")
    assert running.stdout is not None
    assert running.stdout.readline() == "9\n"
    running.send_signal(signal.SIGUSR1)
    for _ in range(600):
        if (tmp_path / "now").exists():
            break
        time.sleep(0.05)
    assert running.poll() is None
    time.sleep(0.1)
    report = json.loads((tmp_path / "now").read_text())
    assert [f["rule"] for f in report["findings"]] == ["missing-zero-grad"]
    running.send_signal(signal.SIGINT)
    running.communicate()


def test_annotations_are_one_line_each() -> None:
    finding = Finding("bad-init", "warning", "50% of\na, b: c", Line("/nowhere/a,b.py", 3), fix="x")
    (line,) = github(Report([finding, Finding("remark", "info", "", None)]))
    assert line == (
        "::warning file=/nowhere/a%2Cb.py,line=3,title=clew doctor%3A bad-init::50%25 of%0Aa, b: c"
        "%0AInstead: x."
    )


def test_callbacks_of_frameworks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    lightning = types.ModuleType("lightning.pytorch")
    vars(lightning)["Callback"] = type("Callback", (), {})
    package = types.ModuleType("lightning")
    package.__spec__ = ModuleSpec("lightning", None)
    monkeypatch.setitem(sys.modules, "lightning", package)
    monkeypatch.setitem(sys.modules, "lightning.pytorch", lightning)
    model = nn.Linear(3, 1)
    optimizer = clew.optim.SGD(model.parameters(), lr=1e-4)
    made = callbacks.lightning_callback()(
        check=True, quiet=True, engine="clew", html=tmp_path / "page.html"
    )
    made.on_train_start(types.SimpleNamespace(optimizers=[optimizer]), model)
    for _ in range(5):
        model(clew.ones(4, 3)).pow(2).mean().backward()
        optimizer.step()
    with pytest.raises(Unhealthy, match="missing-zero-grad"):
        made.on_train_end(None, model)
    assert "missing-zero-grad" in (tmp_path / "page.html").read_text(encoding="utf-8")
