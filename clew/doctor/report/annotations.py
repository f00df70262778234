"""Findings as annotations: lines that a CI service shows beside the source."""

from __future__ import annotations

import os

from clew.doctor.report.findings import Finding, Report

_COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}


def github(report: Report, *, remarks: bool = False) -> list[str]:
    """Workflow commands of GitHub Actions, one for each finding."""
    return [_command(each) for each in (report.findings if remarks else report.problems)]


def _command(finding: Finding) -> str:
    place = ""
    if finding.line is not None:
        path = os.path.relpath(finding.line.file)
        path = finding.line.file if path.startswith("..") else path
        place = f"file={_property(path)},line={finding.line.line},"
    text = finding.message + (f"\nInstead: {finding.fix}." if finding.fix else "")
    title = _property(f"clew doctor: {finding.rule}")
    return f"::{_COMMANDS[finding.severity]} {place}title={title}::{_escaped(text)}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")
