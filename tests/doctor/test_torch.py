"""The doctor on PyTorch: the same findings, the same outcomes, no engine of clew's."""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import re
import subprocess
import sys
import types
import warnings
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import clew
from clew.doctor import Session, Unhealthy, watch
from clew.doctor.engines import engine_named
from clew.doctor.engines import pytorch as requirements
from clew.doctor.engines.pytorch.gaps import GAPS
from clew.doctor.engines.pytorch.hub import hub
from clew.doctor.rules import RULES
from tests import doctor_score

ROOT = Path(__file__).resolve().parent.parent.parent


def problems(path: Path, engine: str) -> list[dict[str, Any]]:
    """What the doctor finds in a program that runs on an engine, in this process."""
    source = doctor_score.on_torch(path.read_text(encoding="utf-8"))
    if engine == "clew":
        source = re.sub(r"(?m)^(\s*)import torch\b(?!\.)", r"\1import clew as torch", source)
        source = re.sub(r"(?m)^(\s*)(import|from) torch\b", r"\1\2 clew", source)
    module = types.ModuleType("__main__")
    module.__file__ = str(path)
    code = compile(source, str(path), "exec", dont_inherit=True)
    session = Session(engine_named(engine))
    before, arguments = sys.modules["__main__"], sys.argv
    sys.modules["__main__"], sys.argv = module, [str(path)]
    session.start()
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(code, module.__dict__)
    except (Exception, SystemExit) as error:
        session.ended_by(error)
    finally:
        session.stop()
        sys.modules["__main__"], sys.argv = before, arguments
    assert not session.failures
    found: list[dict[str, Any]] = session.report(str(path)).as_json("")["findings"]
    return [finding for finding in found if finding["severity"] != "info"]


# (Those of the newest batch are measured by `tests.doctor_score --engine torch`.)
FAULTY = [job for job in doctor_score.programs("faulty", "") if "styles_w_" not in job[0].name][
    5::55
]
CORRECT = [j for j in doctor_score.programs("correct", "") if "styles_w_" not in j[0].name][11::70]


@pytest.mark.parametrize(("path", "expected"), FAULTY, ids=[path.stem for path, _ in FAULTY])
def test_a_fault_is_found_on_pytorch_as_on_clew(path: Path, expected: Any) -> None:
    found = problems(path, "torch")
    rules = {finding["rule"].split(".")[0] for finding in found}
    assert rules & set(expected.classes)
    lines = {f["line"] for f in problems(path, "clew")} | set(expected.lines)
    assert any(abs(f["line"] - line) <= 1 for f in found for line in lines if f["line"])


@pytest.mark.parametrize("path", [p for p, _ in CORRECT], ids=[p.stem for p, _ in CORRECT])
def test_a_correct_program_is_not_accused(path: Path) -> None:
    assert problems(path, "torch") == []


# -- nothing changes -----------------------------------------------------------------------------


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2))
        self.rnn = nn.GRU(16, 8, batch_first=True)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.out = nn.Linear(8, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden, _ = self.rnn(self.inner(x).unsqueeze(1).expand(-1, 5, -1))
        mixed, _ = self.attention(hidden, hidden, hidden)
        result: torch.Tensor = self.out(F.layer_norm(mixed.mean(1), (8,)))
        return result


def training(steps: int = 6) -> list[Any]:
    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)
    data = torch.utils.data.TensorDataset(torch.randn(32, 6), torch.randint(0, 3, (32,)))
    losses = []
    for _ in range(steps):
        for x, y in torch.utils.data.DataLoader(data, 16, shuffle=True):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y) + 1e-3 * model.out.weight.norm()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.item())
        scheduler.step()
    weights = [p.detach().clone() for p in model.parameters()]
    return [losses, weights, torch.get_rng_state()]


@pytest.mark.parametrize("every", [None, 2])
def test_losses_weights_and_random_numbers_are_the_same_bit_for_bit(every: int | None) -> None:
    losses, weights, state = training()
    with watch(engine="torch", every=every) as doctor:
        seen = training()
    assert losses == seen[0]
    assert all(torch.equal(a, b) for a, b in zip(weights, seen[1], strict=True))
    assert torch.equal(state, seen[2])
    assert not doctor.session.failures
    assert doctor.report().problems == []


def test_errors_are_the_same() -> None:
    def program() -> None:
        h = torch.ones(3, requires_grad=True).exp()
        h += 1
        h.sum().backward()

    with pytest.raises(RuntimeError) as plain:
        program()
    with pytest.raises(RuntimeError) as seen, watch(engine="torch") as doctor:
        program()
    assert str(plain.value) == str(seen.value)
    (finding,) = doctor.report().problems
    assert finding.rule == "inplace-saved-tensor"
    assert finding.line is not None and finding.line.text == "h += 1"
    assert finding.related[0][0].text.endswith(".exp()")


def test_everything_is_as_before_when_the_watch_is_over() -> None:
    owners = (nn.Module, torch.optim.Optimizer, torch.autograd, torch, torch.nn.utils)
    before = [dict(vars(owner)) for owner in owners]
    with watch(engine="torch"):
        training(1)
    after = [vars(owner) for owner in owners]
    for old, new in zip(before, after, strict=True):
        assert [name for name in old if old[name] is not new[name]] == []
    assert torch._C._len_torch_function_stack() == 0
    assert not hub.sessions


def test_a_mode_that_the_program_has_not_left_stays() -> None:
    class Mine(torch.overrides.TorchFunctionMode):
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return func(*args, **(kwargs or {}))

    mode = Mine()
    with watch(engine="torch"):
        mode.__enter__()
        torch.ones(2) + 1
    try:
        assert torch._C._len_torch_function_stack() == 1
    finally:
        mode.__exit__(None, None, None)


def test_nothing_is_kept_alive() -> None:
    with watch(engine="torch"):
        model = nn.Linear(3, 1)
        loss = model(torch.randn(5, 3)).sum()
        weight, out = weakref.ref(model.weight), weakref.ref(loss)
        loss.backward()
        del loss, model
        gc.collect()
        assert weight() is None and out() is None


# -- sampling ------------------------------------------------------------------------------------


def steps(count: int, zero: bool) -> None:
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for _ in range(count):
        if zero:
            optimizer.zero_grad()
        model(torch.randn(8, 4)).square().mean().backward()
        optimizer.step()


def test_one_of_many_steps_is_looked_at_and_memory_stays() -> None:
    sizes = []
    with watch(engine="torch", every=25) as doctor:
        for _ in range(3):
            steps(200, zero=False)
            sizes.append(len(hub.world._tensors))
    assert doctor.session.recorder.steps < 60
    assert [f.rule for f in doctor.report().problems] == ["missing-zero-grad"]
    assert sizes[2] <= sizes[0] + 20
    with watch(engine="torch", every=25) as doctor:
        steps(200, zero=True)
    assert doctor.report().problems == []


def test_of_clew_too_one_of_many_steps_is_looked_at() -> None:
    found = {}
    for every in (None, 25):
        model = clew.nn.Linear(4, 1)
        optimizer = clew.optim.SGD(model.parameters(), lr=1e-3)
        with watch(engine="clew", every=every) as doctor:
            for _ in range(100):
                model(clew.randn(8, 4)).square().mean().backward()
                optimizer.step()
        assert [f.rule for f in doctor.report().problems] == ["missing-zero-grad"]
        found[every] = len(doctor.session.numbers.total_norm.points)
    assert found[25] < found[None]


def test_an_engine_that_is_not_there() -> None:
    with pytest.raises(ValueError, match="no such engine: 'jax'"):
        watch(engine="jax")


# -- other ways to train -------------------------------------------------------------------------


def test_compiled_functions_run_eagerly_and_the_report_says_so() -> None:
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with watch(engine="torch") as doctor:

        @torch.compile
        def train_step(x: torch.Tensor) -> torch.Tensor:
            optimizer.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            optimizer.step()
            return loss

        for _ in range(3):
            train_step(torch.randn(8, 3))
    assert doctor.report().iterations == 3
    assert "ran eagerly" in doctor.report().eagerly and "train_step" in doctor.report().eagerly


def test_mixed_precision_and_closures() -> None:
    with watch(engine="torch") as doctor:
        model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
        x = torch.randn(32, 8)
        for _ in range(8):
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=torch.float16):
                loss = F.cross_entropy(model(x), (x[:, 0] > 0).long())
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        second = torch.optim.LBFGS(model.parameters(), max_iter=3)

        def closure() -> Any:
            second.zero_grad()
            loss = F.cross_entropy(model(x), (x[:, 0] > 0).long())
            loss.backward()
            return loss

        second.step(closure)
    assert not doctor.session.failures
    assert doctor.report().problems == []


def test_custom_functions_and_transforms() -> None:
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            (x,) = ctx.saved_tensors
            return 2 * x * grads[0]

    with watch(engine="torch") as doctor:
        x = torch.randn(4, requires_grad=True)
        Square.apply(x).sum().backward()
        assert x.grad is not None and torch.equal(x.grad, 2 * x.detach())
        batched = torch.func.vmap(torch.func.grad(lambda row: row.pow(3).sum()))(torch.ones(3, 2))
        assert torch.equal(batched, torch.full((3, 2), 3.0))
        hessian = torch.autograd.functional.hessian(lambda v: v.pow(3).sum(), torch.ones(2))
        assert torch.equal(hessian, 6 * torch.eye(2))
    assert not doctor.session.failures


# -- processes -----------------------------------------------------------------------------------

SCRIPT = """
import sys
import torch
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(6):
    loss = model(torch.randn(4, 3)).square().mean()
    loss.backward()
    optimizer.step()
heavy = ("clew.kernels", "clew.core.tensor", "clew.ops", "clew.nn", "llvmlite")
print([name for name in sys.modules if name.startswith(heavy)], sys.argv[1:])
sys.exit(3)
"""


def run(*command: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, env=environment, check=False
    )


def test_the_command_runs_without_clews_engine(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    out = tmp_path / "report.json"
    done = run(
        "-m", "clew", "doctor", "--engine", "torch", "--json", str(out),
        str(tmp_path / "train.py"), "--lr", "1",
    )  # fmt: skip
    assert done.returncode == 3, done.stderr
    assert done.stdout == "[] ['--lr', '1']\n"
    report = json.loads(out.read_text())
    assert [(f["rule"], f["line"]) for f in report["findings"]] == [("missing-zero-grad", 8)]
    assert "missing-zero-grad" in done.stderr


TESTS = """
import torch

def train(zero):
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(6):
        if zero:
            optimizer.zero_grad()
        model(torch.randn(4, 3)).square().mean().backward()
        optimizer.step()

def test_good():
    train(True)

def test_bad():
    train(False)
"""


def test_the_plugin_of_pytest(tmp_path: Path) -> None:
    (tmp_path / "test_training.py").write_text(TESTS)
    done = run(
        "-m", "pytest", "-q", "-p", "clew_doctor.pytest_plugin", "-p", "no:cacheprovider",
        "--doctor", "--rootdir", str(tmp_path), str(tmp_path),
    )  # fmt: skip
    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "missing-zero-grad at test_training.py:10" in done.stdout


# -- what is missing -----------------------------------------------------------------------------


def test_a_missing_or_old_pytorch_is_said_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    needs = "the doctor's engine 'torch' needs PyTorch 2.4 or newer"
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=f"^{needs}, which is not installed$"):
        requirements._require()
    old = types.ModuleType("torch")
    old.__version__ = "2.3.1+cpu"  # type: ignore[attr-defined]  # as PyTorch has it
    monkeypatch.setitem(sys.modules, "torch", old)
    with pytest.raises(ImportError, match=rf"^{needs}; this is 2\.3\.1\+cpu$"):
        requirements._require()


def test_the_table_of_gaps_is_the_engines() -> None:
    page = (ROOT / "docs/doctor.md").read_text(encoding="utf-8")
    section = page.partition("## What PyTorch does not tell")[2].partition("\n# ")[0]
    rows = dict(re.findall(r"^\| \[([\w-]+)\]\(#[\w-]+\) \| (.+?) \|$", section, re.MULTILINE))
    assert rows == GAPS
    known = {rule.id for rule in RULES} | {name for rule in RULES for name in rule.gives}
    assert set(GAPS) <= known


def test_assert_healthy() -> None:
    def loop(body: Callable[[], None]) -> None:
        with watch(engine="torch") as doctor:
            body()
        doctor.assert_healthy()

    loop(lambda: steps(6, zero=True))
    with pytest.raises(Unhealthy, match="missing-zero-grad"):
        loop(lambda: steps(6, zero=False))


# -- steps that are not looked at ----------------------------------------------------------------


def test_between_looks_no_module_is_hooked() -> None:
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    hooks = torch.nn.modules.module._global_forward_hooks

    def step() -> None:
        optimizer.zero_grad()
        model(torch.randn(4, 3)).sum().backward()
        optimizer.step()

    with watch(engine="torch", every=1000):
        for _ in range(7):
            step()
        assert hooks
        for _ in range(3):
            step()
        assert not hooks
        with torch.no_grad():
            model(torch.randn(4, 3))
        assert hooks and hub.is_open  # an evaluation is looked at
        step()
        assert not hooks
    assert not hooks


def test_schedulers_are_followed_in_all_steps() -> None:
    path = doctor_score.PROGRAMS / "faulty" / "styles_schedulers_a.py"
    assert [finding["rule"] for finding in problems(path, "torch")] == ["scheduler-misuse"]
