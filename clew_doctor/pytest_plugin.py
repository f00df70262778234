"""`pytest --doctor`: every test is watched, and fails where its training loop is wrong."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Generator
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("doctor", "clew's doctor")
    group.addoption(
        "--doctor", action="store_true", help="fail tests whose training loops the doctor faults"
    )
    group.addoption(
        "--doctor-engine", choices=("clew", "torch"), default=None,
        help="what to watch (default: PyTorch if it is imported, else clew)",
    )  # fmt: skip
    group.addoption(
        "--doctor-severity", choices=("error", "warning"), default="warning",
        help="the least severity that fails a test (default: warning)",
    )  # fmt: skip


def _engine(config: pytest.Config) -> str | None:
    chosen: str | None = config.getoption("--doctor-engine")
    if chosen is not None:
        return chosen
    torch = sys.modules.get("torch")
    if torch is not None and torch is not sys.modules.get("clew"):
        return "torch"
    return "clew" if "clew.core.tensor" in sys.modules else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    engine = _engine(item.config) if item.config.getoption("--doctor") else None
    if engine is None:
        return (yield)
    watching = importlib.import_module("clew_doctor").watch(engine=engine)
    with watching:
        result = yield
    report = watching.report()
    if report.problems:
        item.add_report_section("call", "doctor", str(report))
    watching.assert_healthy(item.config.getoption("--doctor-severity"))
    return result
