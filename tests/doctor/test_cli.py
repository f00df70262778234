"""`clew doctor` and `clew graph`: the program is left as it is, the report is always written."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

import clew
from clew import nn
from clew.doctor.engines.native_graph import graph
from clew.doctor.report.live import LiveServer

HEAD = "import torch\nfrom torch import nn\n"
LOOP = """
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(8):
        loss = model(torch.randn(4, 3)).pow(2).mean()
        loss.backward()
        optimizer.step()
"""


def script(folder: Path, body: str) -> Path:
    path = folder / "train.py"
    path.write_text(HEAD + textwrap.dedent(body))
    return path


def clew_command(*args: Any, **options: Any) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, "-m", "clew.cli.main", *map(str, args)],
        capture_output=True, text=True, timeout=120, check=False, env=environment, **options,
    )  # fmt: skip


def test_a_report_in_json_and_the_programs_own_output(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    path = script(tmp_path, LOOP + "    import sys; print('done', sys.argv[1:])\n")
    done = clew_command("doctor", "--json", out, path, "--lr", "3")
    assert done.returncode == 0
    assert done.stdout == "done ['--lr', '3']\n"
    assert "missing-zero-grad" in done.stderr
    report = json.loads(out.read_text())
    assert report["schema"] == 1
    assert report["exit"] == {"status": "ok", "type": None, "message": None}
    assert report["iterations"] == 8
    finding = report["findings"][0]
    assert finding["rule"] == "missing-zero-grad"
    assert (finding["file"], finding["line"]) == ("train.py", 8)
    assert finding["severity"] == "error" and finding["fix"] and finding["evidence"]


@pytest.mark.parametrize(
    ("ending", "status", "exit_status"),
    [
        ("    raise ValueError('mine')\n", 1, "exception"),
        ("    raise SystemExit(5)\n", 5, "exit"),
        ("    raise KeyboardInterrupt\n", -signal.SIGINT, "exception"),
    ],
    ids=["exception", "exit", "interrupt"],
)
def test_the_report_is_written_however_the_program_ends(
    tmp_path: Path, ending: str, status: int, exit_status: str
) -> None:
    out = tmp_path / "out.json"
    done = clew_command("doctor", "--json", out, script(tmp_path, LOOP + ending))
    assert done.returncode == status
    report = json.loads(out.read_text())
    assert report["exit"]["status"] == exit_status
    assert report["findings"][0]["rule"] == "missing-zero-grad"
    if exit_status == "exception" and status == 1:
        assert "ValueError: mine" in done.stderr
        assert "clew/cli" not in done.stderr and "clew/doctor" not in done.stderr


def test_check_turns_findings_into_an_exit_status(tmp_path: Path) -> None:
    bad = script(tmp_path, LOOP)
    assert clew_command("doctor", "--check", "--quiet", bad).returncode == 1
    good = script(
        tmp_path, LOOP.replace("loss.backward()", "optimizer.zero_grad(); loss.backward()")
    )
    done = clew_command("doctor", "--check", good)
    assert done.returncode == 0
    assert "nothing to report" in done.stderr


ODD = {
    "a syntax error": ("x = (\n", 1, "SyntaxError", 0),
    "arguments that are missing": (
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('--n', required=True)\n"
        "p.parse_args()\n",
        2, "SystemExit", 0,
    ),
    "an exit with a text": (
        textwrap.dedent(LOOP) + "raise SystemExit('enough')\n", 1, "SystemExit", 8,
    ),
    "no optimizer": ("x = torch.ones(2, requires_grad=True)\nx.sum().backward()\n", 0, None, 1),
    "no training": ("print('hello')\n", 0, None, 0),
    "deep recursion": (
        textwrap.dedent(LOOP) + "def f(n):\n    return f(n + 1)\nf(0)\n", 1, "RecursionError", 8,
    ),
    "objects that refuse to be looked at": (
        "class Evil:\n    def __getattr__(self, name):\n        raise RuntimeError(name)\n"
        "    def __eq__(self, other):\n        raise RuntimeError('eq')\n"
        "evil = Evil()\nkept = []\n"
        + textwrap.dedent(LOOP).replace("loss.backward()", "loss.backward(); kept.append(loss)"),
        0, None, 8,
    ),
    "an exception of its own base class": (
        textwrap.dedent(LOOP) + "class Stop(BaseException): pass\nraise Stop\n", 1, "Stop", 8,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_an_odd_program_ends_as_it_does_alone(tmp_path: Path, name: str) -> None:
    body, status, kind, iterations = ODD[name]
    out = tmp_path / "out.json"
    path = tmp_path / "train.py"
    path.write_text(HEAD + body)
    done = clew_command("doctor", "--quiet", "--json", out, path)
    alone = clew_command("run", path)
    assert done.returncode == alone.returncode == status
    assert done.stdout == alone.stdout and done.stderr == alone.stderr
    report = json.loads(out.read_text())
    assert report["exit"]["type"] == kind
    assert report["iterations"] == iterations
    assert "doctor-failed" not in {finding["rule"] for finding in report["findings"]}


def test_a_program_that_does_not_exist() -> None:
    done = clew_command("doctor", "no_such_program.py")
    assert done.returncode == 2
    assert "clew doctor: can't open file 'no_such_program.py'" in done.stderr


# -- pages -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def report_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    body = LOOP.replace("model(torch.randn(4, 3))", "(model(x).relu() + extra(x).detach())")
    body = body.replace("nn.Linear(3, 1)", "nn.Linear(3, 2); extra = nn.Linear(3, 2)")
    body = body.replace("        loss = (", "        x = torch.randn(4, 3)\n        loss = (")
    path = script(folder, body)
    page = folder / "report.html"
    done = clew_command("doctor", "--quiet", "--html", page, path)
    assert done.returncode == 0, done.stderr
    return page


def test_the_page_needs_nothing_from_outside(report_page: Path) -> None:
    text = report_page.read_text()
    own = re.sub(r"<script>.*?</script>", "", text, count=1, flags=re.DOTALL)
    assert "missing-zero-grad" in own and "loss.backward()" in own
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", own)


def test_the_page_in_a_browser(report_page: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        pytest.skip("needs chromium")
    done = subprocess.run(
        [
            browser, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000",
            "--host-resolver-rules=MAP * ~NOTFOUND", "--dump-dom", report_page.as_uri(),
        ],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    # The charts have been drawn, and the script came to its end.
    assert 'data-ready="yes"' in done.stdout
    for chart in ("loss", "flow", "norms", "updates", "rates", "activations", "memory"):
        assert re.search(rf'id="{chart}" class="chart js-plotly-plot"', done.stdout), chart
    assert "<svg" in done.stdout and "<details>" in done.stdout
    assert "✂" in done.stdout  # what was cut off from the graph


def test_the_live_page_answers_on_loopback_only(report_page: Path) -> None:
    server = LiveServer(lambda script: f"<html>{script}</html>")
    server.start()
    try:
        assert server.server.server_address[0] == "127.0.0.1"
        with urllib.request.urlopen(server.address) as answer:
            assert b"/plotly.js" in answer.read()
        with urllib.request.urlopen(server.address + "plotly.js") as answer:
            assert len(answer.read()) > 1_000_000
        foreign = urllib.request.Request(server.address, headers={"Host": "example.com"})
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(foreign)
    finally:
        server.stop()


def test_live_serves_the_report_while_the_program_runs(tmp_path: Path) -> None:
    path = script(
        tmp_path, LOOP + "    import time; print('trained', flush=True); time.sleep(30)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "clew.cli.main", "doctor", "--live", "--quiet", str(path)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stderr is not None and process.stdout is not None
        address = process.stderr.readline().split()[-1]
        assert process.stdout.readline() == "trained\n"
        with urllib.request.urlopen(address) as answer:
            assert b"missing-zero-grad" in answer.read()
    finally:
        process.kill()
        process.communicate()


# -- graphs ----------------------------------------------------------------------------------------


def test_graph_of_a_script(tmp_path: Path) -> None:
    path = script(tmp_path, "print('hello')\n" + textwrap.dedent(LOOP))
    done = clew_command("graph", path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("#0 mean")
    assert "hello" not in done.stdout and "hello" in done.stderr
    assert any("weight" in line for line in lines)
    # Every operation shows the gradient that reaches it, and so do the parameters.
    assert all("|grad|" in line for line in lines if line.startswith(("#", "├"))), lines
    drawing, page = tmp_path / "g.svg", tmp_path / "g.html"
    assert clew_command("graph", "--svg", drawing, "--html", page, path).returncode == 0
    assert drawing.read_text().startswith("<svg")
    assert "<details>" in page.read_text()
    empty = tmp_path / "empty.py"
    empty.write_text("x = 1\n")
    assert clew_command("graph", empty).returncode == 1


def test_graph_of_a_transformer_names_all_parameters() -> None:
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    model = nn.TransformerEncoder(layer, 12)
    loss = model(clew.randn(2, 5, 16)).pow(2).mean()
    begin = time.perf_counter()
    view = graph(loss)
    text, drawing, page = str(view), view.svg(), view.html()
    assert time.perf_counter() - begin < 5  # the figure to hold is 1 s on an idle machine
    for name, _ in model.named_parameters():
        assert name in text and name in page
    assert "layers.11" in drawing
    assert view.saved > 0


def test_a_graph_asks_no_object_that_is_not_in_it() -> None:
    class Lazy:
        @property
        def __class__(self) -> type:
            raise AssertionError("a proxy that loads what it stands for when it is asked")

    kept = [Lazy()]
    assert "mul" in str(clew.graph(clew.ones(2, requires_grad=True) * 2))
    assert len(kept) == 1


def test_a_deep_graph_is_shown_without_recursion() -> None:
    x = clew.ones(1, requires_grad=True)
    y = x
    for _ in range(5000):
        y = y * 1.0001
    view = clew.graph(y)
    assert len(view.nodes) == 5001
    assert str(view).count("\n") == 5001
    assert view.svg(by_module=False).count("<rect") == 5001


def test_what_is_used_twice_is_shown_once() -> None:
    x = clew.ones(2, requires_grad=True)
    h = x.exp()
    view = graph((h * h.sin()).sum())
    assert str(view).count("#3 exp") + str(view).count("#2 exp") == 1
    assert "exp ↑ #" in str(view)
    with pytest.raises(RuntimeError, match="this tensor has no graph"):
        graph(clew.ones(1))
