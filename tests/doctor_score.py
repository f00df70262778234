"""How good the doctor is: `python -m tests.doctor_score [--filter TEXT] [--verbose]`.

With `--engine torch` the programs run on PyTorch, those that import clew as well. `--engine both`
runs them on both engines and says how many of them get the same findings.

Each program in tests/doctor_programs/ says in its first lines what is wrong with it:
`# expect: <class> line <n>[, <n> ...]` (or `<class> or <class> line ...`), or `# expect: nothing`.
A line counts as found within ±1.
"""

from __future__ import annotations

import argparse
import functools
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
    def verdict(self) -> tuple[str, ...]:
        """What was expected and found; of a correct program, what it was accused of."""
        found = self.hits if self.expected.classes else self.problems
        return tuple(sorted({finding["rule"].split(".")[0] for finding in found}))

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


_IMPORTS = (
    (re.compile(r"^(\s*)import clew as torch$", re.MULTILINE), r"\1import torch"),
    (re.compile(r"^(\s*)import clew$", re.MULTILINE), r"\1import torch; clew = torch"),
    (re.compile(r"^(\s*)(import|from) clew\b", re.MULTILINE), r"\1\2 torch"),
)


def on_torch(source: str) -> str:
    """A program, line by line, with PyTorch in the place of clew."""
    for pattern, text in _IMPORTS:
        source = pattern.sub(text, source)
    return source


def examine(job: tuple[Path, Expected], engine: str = "clew") -> Outcome:
    """Run one program under the doctor."""
    path, expected = job
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "report.json"
        command = [sys.executable, "-m", "clew.cli.main", "doctor"]
        program = path
        if engine == "torch":
            command = [sys.executable, "-m", "clew_doctor"]
            program = Path(folder) / path.name
            program.write_text(on_torch(path.read_text(encoding="utf-8")), encoding="utf-8")
        try:
            done = subprocess.run(
                [*command, "--quiet", "--json", str(out), str(program)], capture_output=True,
                text=True, timeout=_TIMEOUT, env=environment, check=False,
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
    parser.add_argument("--engine", choices=("clew", "torch", "both"), default="clew")
    parser.add_argument("--every", type=int, default=1, help="only one of so many programs")
    args = parser.parse_args()
    jobs = [list(programs(folder, args.filter))[:: args.every] for folder in ("faulty", "correct")]
    engines = ("clew", "torch") if args.engine == "both" else (args.engine,)
    said: list[list[Outcome]] = []
    for engine in engines:
        with ThreadPoolExecutor(args.jobs) as pool:
            run = functools.partial(examine, engine=engine)
            faulty, correct = (list(pool.map(run, each)) for each in jobs)
        print(f"on {engine}:")
        score(faulty, correct, args.verbose)
        said.append([*faulty, *correct])
    if len(said) == 2:
        agreement(*said)
    return 0


def agreement(one: list[Outcome], other: list[Outcome]) -> None:
    """Whether two engines are right, or wrong, about the same programs."""
    unlike = [(a, b) for a, b in zip(one, other, strict=True) if a.verdict != b.verdict]
    for a, b in unlike:
        print(f"unlike: {describe(a)}; on the other engine {b.verdict}")
    print(f"the engines agree on {1 - len(unlike) / max(len(one), 1):.1%} of {len(one)} programs")


if __name__ == "__main__":
    sys.exit(main())
