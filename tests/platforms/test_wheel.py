"""The source archive and the wheel: built, installed beside what they declare, and run."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """
import clew
clew.manual_seed(0)
model = clew.nn.Sequential(clew.nn.Linear(8, 16), clew.nn.GELU(), clew.nn.Linear(16, 2))
optimizer = clew.optim.AdamW(model.parameters())
losses = []
for _ in range(3):
    optimizer.zero_grad()
    loss = clew.nn.functional.cross_entropy(model(clew.ones(4, 8)), clew.tensor([0, 0, 0, 0]))
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
assert losses[2] < losses[1] < losses[0], losses
print(clew.__file__)
"""


def run(*command: object, folder: Path, **environment: str) -> str:
    done = subprocess.run(
        list(map(str, command)), cwd=folder, env=environment or None, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build(target: str, source: Path, folder: Path) -> Path:
    run(sys.executable, "-m", "hatchling", "build", "-t", target, "-d", folder, folder=source)
    (made,) = folder.iterdir()
    return made


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that is built from the source archive, as pip does."""
    pytest.importorskip("hatchling", reason="pip install -e '.[test]' installs what builds wheels")
    folder = tmp_path_factory.mktemp("packages")
    archive = build("sdist", ROOT, folder / "archive")
    with tarfile.open(archive) as file:
        file.extractall(folder / "source", filter="data")
    (source,) = (folder / "source").iterdir()
    return build("wheel", source, folder / "wheel")


def requirements(texts: list[str]) -> set[str]:
    """The names of what must be there, and of what these need; no extras."""
    found: set[str] = set()
    todo = [re.split(r"[^\w.-]", text)[0] for text in texts if ";" not in text]
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            needs = importlib.metadata.distribution(name).requires or []
            todo += [re.split(r"[^\w.-]", text)[0] for text in needs if ";" not in text]
    return found


def test_the_wheel_has_all_modules_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as file:
        packed = {name for name in file.namelist() if ".dist-info/" not in name}
    sources = {
        str(path.relative_to(ROOT))
        for package in ("clew", "clew_doctor")
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert packed == sources
    assert "clew/py.typed" in packed


def test_it_runs_with_what_it_declares(wheel: Path, tmp_path: Path) -> None:
    run(sys.executable, "-m", "venv", "--without-pip", "env", folder=tmp_path)
    python = tmp_path / "env/bin/python"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet"]
    run(*pip, "--no-deps", "--no-index", "--no-compile", wheel, folder=tmp_path)
    (packages,) = (tmp_path / "env/lib").glob("python*/site-packages")
    with zipfile.ZipFile(wheel) as file:
        (metadata,) = (name for name in file.namelist() if name.endswith("dist-info/METADATA"))
        texts = re.findall(r"^Requires-Dist: (.*)$", file.read(metadata).decode(), re.MULTILINE)
    for name in requirements(texts):
        distribution = importlib.metadata.distribution(name)
        for top in {path.parts[0] for path in distribution.files or ()} - {"..", "__pycache__"}:
            (packages / top).symlink_to(Path(str(distribution.locate_file(top))))
    # Without PYTHONPATH, which may name the sources.
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(Path.home())}
    said = run(python, "-c", PROGRAM, folder=tmp_path, **environment)
    assert said.strip() == str(packages / "clew/__init__.py")
    command = tmp_path / "env/bin/clew"
    version = importlib.metadata.version("clew")
    assert run(command, "--version", folder=tmp_path, **environment) == f"clew {version}\n"
    assert version in run(command, "info", folder=tmp_path, **environment)
    # An installed program of the gallery is still a user's.
    assert "stale_gradients.py:20" in run(
        command, "demo", "--steps", 20, folder=tmp_path, **environment
    )
