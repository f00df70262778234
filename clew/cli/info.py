"""`clew info`: the versions and the machine, to be pasted into a bug report."""

import argparse
import os
import platform
from importlib import metadata
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import clew

_PACKAGES = ("numpy", "ml_dtypes", "rich", "torch")


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser("info", help="print versions and the machine")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    for name, value in collect().items():
        table.add_row(f"[bold]{name}[/bold]", value)
    Console().print(table)
    return 0


def collect() -> dict[str, str]:
    """What `clew info` prints, by name."""
    facts = {"clew": clew.__version__, "python": platform.python_version()}
    facts.update({package: _version(package) for package in _PACKAGES})
    facts["blas"] = _blas()
    facts["platform"] = platform.platform()
    facts["cpu"] = f"{platform.machine()}, {_usable_cores()} cores usable of {os.cpu_count()}"
    return facts


def _version(package: str) -> str:
    # From the metadata, without importing: torch alone takes seconds to import.
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _blas() -> str:
    config: Any = np.show_config(mode="dicts")
    blas = config.get("Build Dependencies", {}).get("blas", {})
    return f"{blas.get('name', 'unknown')} {blas.get('version', '')}".rstrip()


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
