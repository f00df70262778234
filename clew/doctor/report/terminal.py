"""The report for the terminal: short, with the source line and a caret under it."""

from __future__ import annotations

import linecache

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.text import Text

from clew.doctor.facts.places import Line
from clew.doctor.report.findings import Finding, Report

_STYLES = {"error": "bold red", "warning": "bold yellow", "info": "dim"}


def show(report: Report, console: Console, remarks: bool = False) -> None:
    """Print a report; remarks only where they are asked for."""
    findings = report.findings if remarks else report.problems
    for finding in findings:
        console.print(_finding(finding))
    console.print(_summary(report), highlight=False)


def show_on_stderr(report: Report, remarks: bool) -> None:
    show(report, Console(stderr=True), remarks)


def _summary(report: Report) -> Text:
    count = len(report.problems)
    steps = f"{report.iterations} step{'s' if report.iterations != 1 else ''} seen"
    steps += report.eagerly
    if not count:
        ended = f", which ended with {report.exit.type}" if report.exit.type else ""
        return Text(f"clew doctor: nothing to report{ended} ({steps})", style="green")
    return Text(f"clew doctor: {count} finding{'s' if count != 1 else ''} ({steps})", style="bold")


def _finding(finding: Finding) -> RenderableType:
    parts: list[RenderableType] = [Text(finding.message)]
    if finding.line is not None:
        parts.append(source(finding.line))
    for place, role in finding.related:
        if place != finding.line:
            parts.append(Text(f"{place}  {role}", style="cyan"))
    if finding.why:
        parts.append(Text(f"Why it matters: {finding.why}."))
    if finding.fix:
        parts.append(Text(f"Instead: {finding.fix}.", style="green"))
    title = f"{finding.severity}: {finding.rule}"
    foot = f"{finding.confidence:.0%} sure · docs/doctor.md#{finding.family}"
    return Panel(
        Group(*parts), title=Text(title, style=_STYLES[finding.severity]), title_align="left",
        subtitle=Text(foot, style="dim"), subtitle_align="right", border_style="dim",
    )  # fmt: skip


def source(line: Line) -> Text:
    """The line and the one before it, with a caret under its first character."""
    text = Text()
    for number in (line.line - 1, line.line):
        content = linecache.getline(line.file, number).rstrip() if number > 0 else ""
        if number == line.line:
            text.append(f"{line}\n", style="cyan")
            indent = len(content) - len(content.lstrip())
            text.append(f"{number:5} │ {content}\n", style="bold")
            text.append("      │ " + " " * indent + "^" * max(len(content.strip()), 1), style="red")
    return text
