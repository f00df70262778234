"""Break it: the doctor finds each of ten bugs, at its line, and nothing in the repaired twin."""

from __future__ import annotations

import pytest

from clew import gallery
from clew.cli.gallery import repair
from tests.doctor.test_rules import examine

RULES = {
    "stale_gradients": "missing-zero-grad",
    "accidental_detach": "detached-graph",
    "data_attribute": "detached-graph",
    "missing_requires_grad": "missing-requires-grad",
    "loss_kept": "graph-leak",
    "inplace_on_saved": "inplace-saved-tensor",
    "no_grad_around_training": "detached-graph",
    "non_scalar_backward": "non-scalar-backward",
    "backward_twice": "backward-twice",
    "nan": "nan-origin",
}


def test_there_are_ten_bugs() -> None:
    assert sorted(gallery.bugs()) == sorted(RULES)


@pytest.mark.parametrize("name", RULES)
def test_the_doctor_finds_the_bug_and_nothing_after_the_repair(name: str) -> None:
    path = gallery.BROKEN / f"{name}.py"
    lines = path.read_text(encoding="utf-8").splitlines()
    [bug] = [number for number, line in enumerate(lines, start=1) if "# the bug" in line]
    [finding] = examine(path).problems
    assert finding.rule.split(".")[0] == RULES[name]
    assert finding.line is not None
    assert (finding.line.file, finding.line.line) == (str(path), bug)

    repaired = gallery.BROKEN / f"{name}_repaired.py"
    report = examine(repaired)
    assert report.problems == []
    assert report.exit.status == "ok"
    assert 1 < len(list(repair(path, repaired))) < 12, "the repair is a few lines"
