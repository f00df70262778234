"""`clew plan` against published tables (ZeRO's memory, Megatron-LM's runs) and real steps."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from clew.cli.main import main
from clew.distributed.planning.model import Cluster, Cost, Layout, cost, state_bytes
from clew.distributed.planning.search import plans
from clew.distributed.planning.transformer import Transformer

# Rajbhandari et al. 2020, table 1: GB per device for 7.5 billion parameters, by ranks and stage.
ZERO = {
    (4, 1): 52.5, (4, 2): 41.3, (4, 3): 30.0, (16, 1): 35.6, (16, 2): 21.6, (16, 3): 7.5,
    (64, 1): 31.4, (64, 2): 16.6, (64, 3): 1.88, (256, 1): 30.4, (256, 2): 15.4, (256, 3): 0.47,
    (1024, 1): 30.1, (1024, 2): 15.1, (1024, 3): 0.12,
}  # fmt: skip


@pytest.mark.parametrize(("ranks", "stage"), ZERO)
def test_memory_of_states_is_zeros_table(ranks: int, stage: int) -> None:
    found = state_bytes(7.5e9, ranks, stage) / 1e9
    assert found == pytest.approx(ZERO[ranks, stage], rel=0.03, abs=0.05)


# Narayanan et al. 2021, table 1: billions of parameters, heads, width, layers, tensor and pipeline
# parallel, devices, batch, TFLOP/s of a device.
RUNS = [
    (1.7, 24, 2304, 24, 1, 1, 32, 512, 137), (3.6, 32, 3072, 30, 2, 1, 64, 512, 138),
    (7.5, 32, 4096, 36, 4, 1, 128, 512, 142), (18.4, 48, 6144, 40, 8, 1, 256, 1024, 135),
    (39.1, 64, 8192, 48, 8, 2, 512, 1536, 138), (76.1, 80, 10240, 60, 8, 4, 1024, 1792, 140),
    (145.6, 96, 12288, 80, 8, 8, 1536, 2304, 148), (310.1, 128, 16384, 96, 8, 16, 1920, 2160, 155),
    (529.6, 128, 20480, 105, 8, 35, 2520, 2520, 163),
    (1008.0, 160, 25600, 128, 8, 64, 3072, 3072, 163),
]  # fmt: skip


def fastest(model: Transformer, devices: int, batch: int, tensor: int, pipeline: int) -> Cost:
    """The paper says neither micro-batches nor interleaving: the best that fit."""
    data = devices // tensor // pipeline
    found = [
        cost(model, Cluster(devices), batch, Layout(tensor, pipeline, data, 0, b, True, False, v))
        for b in (1, 2, 4, 8)
        if batch // data % b == 0
        for v in ((1, 2) if pipeline > 1 else (1,))
    ]
    return max((each for each in found if each.memory < 80e9), key=lambda each: each.achieved)


@pytest.mark.parametrize("run", RUNS, ids=lambda run: f"{run[0]}B")
def test_speed_is_that_of_megatrons_runs(run: tuple[float, ...]) -> None:
    """Within 6 percent; two numbers of the model are fitted to this table."""
    billions, heads, width, layers, tensor, pipeline, devices, batch, expected = run
    model = Transformer(int(layers), int(width), int(heads))
    assert model.parameters / 1e9 == pytest.approx(billions, rel=0.01, abs=0.06)
    best = fastest(model, int(devices), int(batch), int(tensor), int(pipeline))
    assert best.achieved / 1e12 == pytest.approx(expected, rel=0.06)


def test_the_best_layout_fits_and_the_command_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    model, cluster = Transformer(96, 12288), Cluster(1024)
    found = plans(model, cluster, 1536)
    assert found[0].memory < cluster.memory and found[0].step <= found[-1].step
    assert found[0].layout.devices == 1024
    assert main(["plan", "--devices", "1024"]) == 0
    shown = capsys.readouterr().out
    assert "174.6 billion parameters" in shown and "10 times the devices" in shown
    assert main(["plan", "--devices", "8"]) == 1


# A script as people write it, and what a step of it keeps for backward when it really runs.
GPT = """
import sys
import torch
from torch import nn
from torch.nn import functional as F

class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x):
        parts = self.qkv(self.norm(x)).view(*x.shape[:2], 3, 2, -1).permute(2, 0, 3, 1, 4)
        heads = F.scaled_dot_product_attention(*parts, is_causal=True)
        x = x + self.out(heads.transpose(1, 2).reshape(x.shape))
        return x + self.mlp(x)

class GPT(nn.Module):
    def __init__(self, words, width, layers):
        super().__init__()
        self.words, self.head = nn.Embedding(words, width), nn.Linear(width, words)
        self.blocks = nn.ModuleList(Block(width) for _ in range(layers))

    def forward(self, x):
        h = self.words(x)
        for block in self.blocks:
            h = block(h)
        return self.head(h)

words, width, layers = map(int, sys.argv[1:])
model = GPT(words, width, layers).to("cuda" if torch.cuda.is_available() else "cpu")
optimizer = torch.optim.AdamW(model.parameters())
total = 0.0
for step in range(2):
    x = torch.randint(0, words, (8, 32))
    memory = MEMORY()
    loss = F.cross_entropy(model(x).flatten(0, 1), x.flatten())
    print("kept", MEMORY() - memory)
    if not torch.isfinite(loss):
        raise SystemExit("NaN")
    total += loss.item()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("plan") / "train.py"
    path.write_text(GPT.replace("MEMORY()", "0"))
    return path


def test_activations_of_a_script_are_those_of_a_real_step(script: Path) -> None:
    real = script.with_name("real.py")
    counted = "import tracemalloc; tracemalloc.start()\n"
    real.write_text(counted + GPT.replace("MEMORY()", "tracemalloc.get_traced_memory()[0]"))
    arguments = ["50", "32", "3"]
    run = [sys.executable, "-m", "clew", "run", str(real), *arguments]
    shown = subprocess.run(run, capture_output=True, text=True, check=True).stdout.split()
    plan = [sys.executable, "-m", "clew", "plan", "--devices", "1", str(script), *arguments]
    found = subprocess.run(plan, capture_output=True, text=True, check=True).stdout
    measured = float(found.split(" MB of activations")[0].split()[-1])
    # The second step's: the first one also compiles.
    assert measured * 1e6 * 8 == pytest.approx(float(shown[-1]), rel=0.02)
    assert "8 samples" in found and "3 blocks" in found.replace("\n", " ")
    assert "4 + 4 + 8 bytes a parameter" in found.replace("\n", " ")


def test_flops_of_a_script_are_those_of_the_formula(
    script: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A model that no memory here would hold: 100 billion parameters."""
    picture = tmp_path / "plan.svg"
    words, width, layers = 10000, 20480, 20
    command = ["plan", "--devices", "64", "--svg", str(picture), str(script)]
    arguments = [str(words), str(width), str(layers)]
    run = [sys.executable, "-m", "clew", *command, *arguments]
    shown = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    formula = Transformer(layers, width, 2, words, 32)
    billions = float(shown.split(" billion")[0])
    assert billions == pytest.approx((formula.parameters + words * width) / 1e9, rel=0.01)
    gigaflops = float(shown.split(" GFLOP")[0].split()[-1])
    assert gigaflops == pytest.approx(formula.flops(1, False) / 1e9, rel=0.02)
    bars = ElementTree.parse(picture).iter("{http://www.w3.org/2000/svg}rect")
    assert len(list(bars)) > 7


@pytest.mark.parametrize(
    ("text", "status", "words"),
    [
        ("x = 1", 1, "ended before a step"),
        ("import torch\nm = torch.nn.Linear(2, 2)\nm(torch.ones(1, 2)).tolist()", 1, "line 3"),
        ("raise ValueError('mine')", 1, "ValueError: mine"),
        (None, 2, "No such file"),
    ],
)
def test_scripts_without_a_step_are_told_so(
    tmp_path: Path, text: str | None, status: int, words: str
) -> None:
    path = tmp_path / "none.py"
    if text is not None:
        path.write_text(text)
    command = [sys.executable, "-m", "clew", "plan", path.name]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == status and words in run.stderr.replace("none.py:", "line ")
