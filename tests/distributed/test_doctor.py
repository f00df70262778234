"""The doctor across ranks: `clew launch --doctor`."""

from __future__ import annotations

import re

import pytest

from clew.doctor.rules.ranks import RULES
from tests.distributed.ranks import FOLDER, ROOT, launch, needs_mpi

pytestmark = needs_mpi

# The mistake, what is found, and the line that is named.
FAULTY = {
    "same": ("same-data", "for number, (x, y) in enumerate(loader):"),
    "outside": ("gradient-not-reduced", "model, head = nn.Linear(4, 1), nn.Linear(1, 1)"),
    "alone": ("gradient-not-reduced", "model, head = nn.Linear(4, 1), nn.Linear(1, 1)"),
    "init": ("parameters-differ", "model, head = nn.Linear(4, 1), nn.Linear(1, 1)"),
    "written": ("parameters-differ", "model, head = nn.Linear(4, 1), nn.Linear(1, 1)"),
    "uneven": ("unequal-steps", "for number, (x, y) in enumerate(loader):"),
    "augmented": ("same-augmentation", "for number, (x, y) in enumerate(loader):"),
    "augmented by workers": ("same-augmentation", "for number, (x, y) in enumerate(loader):"),
    "rolled": ("same-augmentation", "for number, (x, y) in enumerate(loader):"),
    "epoch": ("set-epoch", "for number, (x, y) in enumerate(loader):"),
}


@pytest.mark.parametrize("how", FAULTY)
def test_it_finds_what_is_wrong_between_ranks(how: str) -> None:
    rule, line = FAULTY[how]
    ended = launch(2, "program_doctor.py", how, options=("--doctor",))
    found = re.findall(r"─ (?:error|warning): (\S+) ─", ended.err)
    assert found == [rule], ended.err
    lines = (FOLDER / "program_doctor.py").read_text().splitlines()
    number = next(number for number, text in enumerate(lines, 1) if line in text)
    assert f"program_doctor.py:{number}" in ended.err
    assert ended.status == (1 if how == "uneven" else 0)


@pytest.mark.parametrize("how", ["correct", "seeds", "seeds of workers", "workers"])
def test_it_says_nothing_of_correct_programs(how: str) -> None:
    ended = launch(2, "program_doctor.py", how, options=("--doctor",))
    assert ended.status == 0 and "clew doctor: nothing to report (" in ended.err, ended.err


def test_every_rule_is_found_and_documented() -> None:
    page = (ROOT / "docs/doctor.md").read_text()
    rules = {rule.id for rule in RULES}
    assert rules == {rule for rule, _ in FAULTY.values()}
    assert all(f"\n### {rule}\n" in page for rule in rules)
