"""The `clew` command, run as a user runs it."""

import base64
import json
import re
import subprocess
import sys
import tomllib
import zlib
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import clew
from clew.bench.report import ratio, ratio_spread, summary_lines
from clew.bench.runner import Result
from clew.bench.workloads import ASKED_FOR, WORKLOADS
from clew.cli.main import main
from clew.cli.textchart import text_chart
from clew.utils.tensorboard.events import png_bytes

ROOT = Path(__file__).resolve().parents[2]
SVG = "{http://www.w3.org/2000/svg}"


def run_clew(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "clew.cli.main", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=120)


def test_demo_trains_and_writes_its_picture(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    picture = tmp_path / "a folder" / "spirals.svg"
    assert main(["demo", "--steps", "5", "--out", str(picture)]) == 0
    printed = capsys.readouterr().out
    for layer in ("hidden 1", "hidden 2", "output"):
        assert re.search(rf"{layer} .*█", printed)
    assert str(picture) in printed
    # The planted bug, and its line.
    assert "missing-zero-grad" in printed
    assert "loss.backward()  # the bug" in printed

    svg = ElementTree.parse(picture).getroot()
    assert len(svg.findall(f".//{SVG}circle")) == 600 + 2  # the points, and two in the legend
    image = svg.find(f"{SVG}image")
    assert image is not None
    data = base64.b64decode(image.attrib["href"].partition("base64,")[2])
    assert data.startswith(b"\x89PNG\r\n\x1a\n")


def test_demo_learns_the_spirals(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    assert main(["demo", "--out", str(tmp_path / "spirals.svg")]) == 0
    accuracy = re.search(r"accuracy ([\d.]+)%", capsys.readouterr().out)
    assert accuracy is not None
    assert float(accuracy[1]) > 97.0


def test_demo_gives_the_same_picture_for_the_same_seed(tmp_path: Path) -> None:
    for name, seed in (("a", "3"), ("b", "3"), ("c", "4")):
        main(["demo", "--steps", "2", "--seed", seed, "--out", str(tmp_path / f"{name}.svg")])
    a, b, c = ((tmp_path / f"{name}.svg").read_bytes() for name in "abc")
    assert a == b
    assert a != c


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["demo", "--out", "picture.png"], "should end in .svg"),
        (["demo", "--steps", "0"], "not a positive number"),
        (["no-such-command"], "no-such-command"),
        ([], "required"),
    ],
)
def test_bad_usage_exits_2_and_says_why(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture
) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    assert exit_.value.code == 2
    assert complaint in capsys.readouterr().err


def test_info_prints_versions() -> None:
    result = run_clew("info")
    assert result.returncode == 0, result.stderr
    facts = dict(line.split(maxsplit=1) for line in result.stdout.splitlines())
    assert facts["clew"].strip() == clew.__version__
    assert facts["numpy"].strip() == np.__version__


def test_version_is_the_one_that_is_packaged() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert clew.__version__ == project["version"]


def test_bench_prints_a_table_and_writes_json(tmp_path: Path) -> None:
    numbers = tmp_path / "numbers.json"
    result = run_clew(
        "bench", "--rounds", "1", "--round-ms", "1", "--filter", "op/mul/", "--json", str(numbers)
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert len(re.findall(r"\bmul\b", result.stdout)) == 2
    assert "clew/torch" in result.stdout
    rows = json.loads(numbers.read_text())["results"]
    assert [row["id"] for row in rows] == ["op/mul/forward", "op/mul/forward+backward"]
    assert all(len(row["seconds"][engine]) == 1 for row in rows for engine in ("clew", "torch"))


def test_bench_names_a_filter_that_matches_nothing(capsys: pytest.CaptureFixture) -> None:
    assert main(["bench", "--filter", "no-such-op"]) == 2
    assert "no-such-op" in capsys.readouterr().err


def test_bench_without_torch_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setattr("clew.bench.runner.find_spec", lambda name: None)
    assert main(["bench", "--rounds", "1"]) == 2
    assert "clew[bench]" in capsys.readouterr().err


def test_bench_lists_its_workloads(capsys: pytest.CaptureFixture) -> None:
    assert main(["bench", "--list"]) == 0
    listed = capsys.readouterr().out.split()
    assert listed == [name for name in WORKLOADS if name.partition("/")[0] not in ASKED_FOR]
    assert "chain/tiny200/forward+backward" in listed
    assert len([name for name in listed if name.startswith("op/")]) >= 2 * 30


def test_bench_report_shows_what_failed_and_leaves_it_out_of_the_mean() -> None:
    ids = ("op/add/forward", "op/mul/forward", "op/sub/forward", "op/div/forward")
    fast = Result(WORKLOADS[ids[0]], {"clew": [1e-6, 3e-6, 2e-6], "torch": [4e-6, 4e-6, 4e-6]})
    slow = Result(WORKLOADS[ids[1]], {"clew": [8e-6], "torch": [1e-6]})
    lacking = Result(WORKLOADS[ids[2]], {"torch": [1e-6]}, {"clew": "AttributeError: no sub"})
    wrong = Result(WORKLOADS[ids[3]], {"clew": [1e-6], "torch": [1e-6]}, answers_differ=True)

    assert ratio(fast) == pytest.approx(0.5)
    # A burst of noise hit both engines in the last two rounds: clew was slower in every round.
    noisy = Result(WORKLOADS[ids[0]], {"clew": [2e-6, 9e-6, 6e-6], "torch": [1e-6, 8e-6, 5e-6]})
    assert ratio(noisy) == pytest.approx(1.2)
    assert ratio_spread(noisy)[0] <= ratio(noisy) <= ratio_spread(noisy)[1]
    assert ratio_spread(fast) == pytest.approx((0.25, 0.75))
    lines = list(summary_lines([fast, slow, lacking, wrong]))
    assert "clew/torch 2.00; clew no slower in 1 of 2" in lines[0]
    assert lines[1:] == [
        "clew cannot run op/sub/forward: AttributeError: no sub",
        "the engines give different numbers in op/div/forward",
    ]


def test_png_holds_the_pixels_it_was_given() -> None:
    pixels = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3)
    data = png_bytes(pixels)
    assert data[16:24] == (3).to_bytes(4, "big") + (2).to_bytes(4, "big")
    start = data.index(b"IDAT") + 4
    length = int.from_bytes(data[start - 8 : start - 4], "big")
    rows = np.frombuffer(zlib.decompress(data[start : start + length]), np.uint8).reshape(2, 10)
    assert (rows[:, 0] == 0).all()
    assert (rows[:, 1:].reshape(2, 3, 3) == pixels).all()


def test_text_chart_falls_with_the_values_and_labels_its_ends() -> None:
    chart = text_chart([1.0, 0.1, 0.01, 0.001], width=4, height=3).splitlines()
    columns = list(zip(*(line.split("│")[1] for line in chart[:3])))
    filled = [sum(character != " " for character in column) for column in columns]
    assert filled == sorted(filled, reverse=True)
    assert (filled[0], filled[-1]) == (3, 1)
    assert chart[0].strip().startswith("1 ")
    assert chart[2].strip().startswith("0.001")
    assert text_chart([float("nan")], width=4, height=3) == "(no finite positive values to draw)"
