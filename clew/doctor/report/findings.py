"""What the doctor has to say: findings, and the report that holds them."""

from __future__ import annotations

import html
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from clew.doctor.facts.places import Line

SCHEMA = 1
RANK = {"error": 0, "warning": 1, "info": 2}


@dataclass
class Finding:
    """One thing that is wrong: what, where, why, and what to write instead."""

    rule: str
    severity: str
    message: str
    line: Line | None
    fix: str = ""
    why: str = ""
    related: list[tuple[Line, str]] = field(default_factory=list)
    parameters: list[str] = field(default_factory=list)
    evidence: dict[str, Any] = field(default_factory=dict)
    confidence: float = 0.9

    @property
    def family(self) -> str:
        """The rule's id without its refinement."""
        return self.rule.split(".")[0]

    def as_json(self, script: str) -> dict[str, Any]:
        line = self.line
        return {
            "rule": self.rule,
            "severity": self.severity,
            "message": self.message,
            "file": os.path.basename(line.file if line else script),
            "line": line.line if line else None,
            "related": [
                {"file": os.path.basename(place.file), "line": place.line, "role": role}
                for place, role in self.related
            ],
            "parameters": self.parameters,
            "fix": self.fix,
            "why": self.why,
            "evidence": self.evidence,
            "confidence": round(self.confidence, 3),
            "docs": f"docs/doctor.md#{self.family}",
        }


@dataclass
class Exit:
    """How a script ended."""

    status: str = "ok"
    type: str | None = None
    message: str | None = None


@dataclass
class Report:
    """All findings of one run, the most probable cause first, and the numbers behind them."""

    findings: list[Finding]
    script: str = ""
    exit: Exit = field(default_factory=Exit)
    iterations: int = 0
    series: dict[str, Any] = field(default_factory=dict)
    graph: Any = None
    # The names of compiled functions: they were run eagerly, so that there was something to see.
    compiled: list[str] = field(default_factory=list)

    @property
    def eagerly(self) -> str:
        """What the summary says about compiled functions."""
        if not self.compiled:
            return ""
        some, more = ", ".join(self.compiled[:3]), len(self.compiled) - 3
        others = f" and {more} others" if more > 0 else ""
        return f"; compiled functions ran eagerly under the doctor: {some}{others}"

    @property
    def problems(self) -> list[Finding]:
        """The findings that are more than remarks."""
        return [finding for finding in self.findings if finding.severity != "info"]

    def __str__(self) -> str:
        lines = [f"{f.severity}: {f.rule} at {f.line}: {f.message}" for f in self.problems]
        return "\n".join(lines) or "nothing to report"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td><b>{html.escape(f.rule)}</b></td><td>{html.escape(str(f.line))}</td>"
            f"<td style='text-align:left'>{html.escape(f.message)}<br><i>{html.escape(f.fix)}</i>"
            "</td></tr>"
            for f in self.problems
        )
        return f"<table>{rows}</table>" if rows else "<p>nothing to report</p>"

    def as_json(self, version: str) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "tool": f"clew doctor {version}",
            "script": self.script,
            "exit": vars(self.exit),
            "iterations": self.iterations,
            "findings": [finding.as_json(self.script) for finding in self.findings],
        }


def ordered(findings: Iterable[Finding]) -> list[Finding]:
    """Errors before warnings before remarks; within each, the surest first."""
    return sorted(findings, key=lambda f: (RANK[f.severity], -f.confidence))
