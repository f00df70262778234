"""`clew gallery` and `clew scratch`, as a user runs them."""

from __future__ import annotations

from pathlib import Path

import pytest

import clew
from clew import gallery
from clew.cli.main import main
from clew.gallery import helper
from tests.gallery.test_programs import NEEDS


def test_it_lists_all_programs(capsys: pytest.CaptureFixture) -> None:
    assert main(["gallery"]) == 0
    listed = capsys.readouterr().out
    for name in [*(entry.name for entry in gallery.entries()), *gallery.bugs()]:
        assert f"  {name} " in listed
    for section in gallery.SECTIONS:
        assert gallery.title(gallery.FOLDER / section / "__init__.py") in listed


def test_every_folder_of_programs_is_a_section() -> None:
    folders = {path.parent.name for path in gallery.FOLDER.glob("*/__init__.py")}
    assert folders == {*gallery.SECTIONS, gallery.BROKEN.name}
    names = [*(entry.name for entry in gallery.entries()), *gallery.bugs()]
    assert len(set(names)) == len(names)


def test_it_runs_one_and_prints_its_claims(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    out = tmp_path / "a folder"
    assert main(["gallery", "width", "--fast", "--seed", "3", "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert printed.count("✓") == 4
    assert (out / "width.svg").exists()


def test_a_claim_that_does_not_hold_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = gallery.load(gallery.Entry("flow", "width"))
    monkeypatch.setattr(program, "claims", lambda figures, fast: [("pigs fly", False)])
    assert main(["gallery", "width", "--fast", "--out", str(tmp_path)]) == 1
    assert "✗ pigs fly" in capsys.readouterr().out


def test_it_compares_with_pytorch(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    assert main(["gallery", "width", "--fast", "--torch", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert printed.count("✓") == 8
    assert "times as long" in printed


def test_a_program_that_pytorch_cannot_run(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    assert main(["gallery", "influence", "--fast", "--torch", "--out", str(tmp_path)]) == 0
    assert "it does not run there: module 'torch.func' has no" in capsys.readouterr().out


def test_a_wrong_name_gets_the_nearest(capsys: pytest.CaptureFixture) -> None:
    assert main(["gallery", "vanishin"]) == 2
    assert "nearest: vanishing" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "package"), [(name, each) for each, names in NEEDS.items() for name in sorted(names)]
)
def test_a_missing_package_is_named_with_its_extra(
    name: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture,
) -> None:  # fmt: skip
    for module in (package, f"{package}.datasets"):
        monkeypatch.setitem(__import__("sys").modules, module, None)
    assert main(["gallery", name, "--fast", "--out", str(tmp_path)]) == 2
    assert "pip install 'clew[gallery]'" in capsys.readouterr().err


def test_break_it_shows_the_bug_and_its_repair(capfd: pytest.CaptureFixture) -> None:
    assert main(["gallery", "inplace_on_saved"]) == 0
    said = capfd.readouterr()
    assert "inplace-saved-tensor" in said.err
    assert "+        answer = answer * 2" in said.out


@pytest.mark.parametrize("step", range(1, 6))
def test_each_step_of_scratch_runs_by_itself(step: int, capsys: pytest.CaptureFixture) -> None:
    assert main(["scratch", str(step)]) == 0
    printed = capsys.readouterr().out
    assert f"step {step}:" in printed
    assert f"step {step + 1}:" not in printed


def test_scratch_runs_all_steps(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    assert main(["scratch", "--fast", "--out", str(tmp_path)]) == 0
    assert "every step agrees with the library" in capsys.readouterr().out


# -- memory ----------------------------------------------------------------------------------------


def test_saved_memory_counts_storages_once_and_while_they_are_kept() -> None:
    x, w = clew.randn(10, requires_grad=True), clew.randn(10, requires_grad=True)
    meter = helper.SavedMemory([w])
    with clew.autograd.graph.saved_tensors_hooks(meter.pack, meter.unpack):
        y = x.exp()  # keeps its result, which the product keeps, too
        z = y[:5] * w[:5]  # and w, which is not counted
    assert meter.now == meter.peak == 40
    z.sum().backward()
    del y, z
    assert meter.now == 0
    assert meter.peak == 40


# -- pictures --------------------------------------------------------------------------------------


def test_a_chart_leaves_out_what_cannot_be_drawn(tmp_path: Path) -> None:
    path = tmp_path / "chart.svg"
    values = [1.0, 0.0, float("nan"), 100.0, float("inf")]
    helper.chart(path, {"a < b": values}, "some & all", "x", "y", log=True)
    drawn = path.read_text()
    assert "a &lt; b" in drawn
    assert "some &amp; all" in drawn
    [points] = [line for line in drawn.splitlines() if line.startswith("<polyline")]
    assert points.count(",") == 2
    helper.chart(path, {"nothing": []}, "empty", "x", "y")
    helper.chart(path, {"flat": [2.0, 2.0]}, "flat", "x", "y")
