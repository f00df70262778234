"""What programs print about their surroundings, and `torch._assert`."""

from __future__ import annotations

from typing import Any

import clew
from clew.utils import collect_env
from tests.twice import raised, twice


def test_the_report_has_the_version_and_the_machine() -> None:
    report = collect_env.get_pretty_env_info()
    assert report.startswith(f"PyTorch version: {clew.version.__version__}")
    assert "Is CUDA available: False" in report and "numpy==" in report
    assert report.count("\n") >= 17


@twice
def test_assertions_as_a_function(lib: Any) -> Any:
    lib._assert(lib.tensor([True]), "never")
    return raised(lib._assert, False, "said"), raised(lib._assert, lib.tensor(False), "said")
