"""How good the doctor is: `python -m tests.doctor_score [--filter TEXT] [--verbose]`.

Each program in tests/doctor_programs/ says in its first lines what is wrong with it:
`# expect: <class> line <n>[, <n> ...]` (or `<class> or <class> line ...`), or `# expect: nothing`.
A line counts as found within ±1.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROGRAMS = Path(__file__).resolve().parent / "doctor_programs"
_EXPECT = re.compile(r"^# expect:\s*(.+?)(?:\s+lines?\s+([\d,\s]+))?$", re.MULTILINE)
_TIMEOUT = 120


@dataclass
class Expected:
    """What a program says about itself."""

    classes: tuple[str, ...]
    lines: tuple[int, ...]


@dataclass
class Outcome:
    """What the doctor said about a program."""

    path: Path
    expected: Expected
    report: dict[str, Any] | None
    stderr: str = ""

    @property
    def problems(self) -> list[dict[str, Any]]:
        findings = (self.report or {}).get("findings", [])
        return [finding for finding in findings if finding["severity"] != "info"]

    @property
    def hits(self) -> list[dict[str, Any]]:
        return [f for f in self.problems if f["rule"].split(".")[0] in self.expected.classes]

    @property
    def found(self) -> bool:
        return bool(self.hits)

    @property
    def located(self) -> bool:
        return any(
            finding["line"] is not None and abs(finding["line"] - line) <= 1
            for finding in self.hits
            for line in self.expected.lines
        )

    @property
    def first(self) -> bool:
        return bool(self.problems) and self.problems[0] in self.hits


def expectation(path: Path) -> Expected | None:
    found = _EXPECT.search(path.read_text(encoding="utf-8"))
    if found is None:
        return None
    classes = tuple(re.split(r"\s*(?:,|\bor\b)\s*", found[1].strip()))
    lines = tuple(int(n) for n in re.findall(r"\d+", found[2] or ""))
    return Expected(() if classes == ("nothing",) else classes, lines)


def programs(folder: str, text: str) -> Iterator[tuple[Path, Expected]]:
    for path in sorted((PROGRAMS / folder).glob("*.py")):
        expected = expectation(path)
        if text in path.name and expected is not None:
            yield path, expected


def examine(job: tuple[Path, Expected]) -> Outcome:
    """Run one program under the doctor."""
    path, expected = job
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "report.json"
        command = [sys.executable, "-m", "clew.cli.main", "doctor", "--quiet", "--json", str(out)]
        try:
            done = subprocess.run(
                [*command, str(path)], capture_output=True, text=True, timeout=_TIMEOUT,
                env=environment, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return Outcome(path, expected, None, "timed out")
        report = json.loads(out.read_text(encoding="utf-8")) if out.exists() else None
        return Outcome(path, expected, report, done.stderr)


def describe(outcome: Outcome) -> str:
    said = "; ".join(f"{f['rule']}:{f['line']}" for f in outcome.problems) or "nothing"
    wanted = " or ".join(outcome.expected.classes) or "nothing"
    lines = ", ".join(map(str, outcome.expected.lines))
    return f"{outcome.path.name}: expected {wanted} {lines}; said {said}"


def score(faulty: list[Outcome], correct: list[Outcome], verbose: bool) -> None:
    by_class: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in faulty:
        by_class[outcome.expected.classes[0]].append(outcome)
    print(f"{'class':28} {'programs':>8} {'found':>6} {'line':>6} {'first':>6}")
    for name in sorted(by_class):
        row = by_class[name]
        print(
            f"{name:28} {len(row):8} {sum(o.found for o in row):6} "
            f"{sum(o.located for o in row):6} {sum(o.first for o in row):6}"
        )
    missed = [o for o in faulty if not o.found]
    for title, chosen in (
        ("not found", missed),
        ("wrong line", [o for o in faulty if o.found and not o.located]),
        ("not first", [o for o in faulty if o.found and not o.first] if verbose else []),
        ("false alarm", [o for o in correct if o.problems]),
        ("no report", [o for o in [*faulty, *correct] if o.report is None]),
    ):
        for outcome in chosen:
            print(f"{title}: {describe(outcome)}")
    total = max(len(faulty), 1)
    noise = sum(len(o.problems) - len(o.hits) for o in faulty) / total
    print(
        f"recall {sum(o.found for o in faulty) / total:.1%}, "
        f"localisation {sum(o.located for o in faulty) / total:.1%}, "
        f"top-1 {sum(o.first for o in faulty) / total:.1%}, noise {noise:.2f}, "
        f"false alarms {sum(bool(o.problems) for o in correct)}/{len(correct)}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="score the doctor on tests/doctor_programs")
    parser.add_argument("--filter", default="", help="only programs whose name contains this")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    jobs = [list(programs(folder, args.filter)) for folder in ("faulty", "correct")]
    with ThreadPoolExecutor(args.jobs) as pool:
        faulty, correct = (list(pool.map(examine, each)) for each in jobs)
    score(faulty, correct, args.verbose)
    return 0


if __name__ == "__main__":
    sys.exit(main())
