"""NVIDIA's profiler, which does not see the CPU: using it raises."""

from __future__ import annotations

from clew.cuda.streams import _refuse

__all__ = ["init", "profile", "start", "stop"]


def init(output_file: str, flags: object = None, output_mode: str = "key_value") -> None:
    """Raises: there is no GPU."""
    _refuse("profiler.init")


def start() -> None:
    """Raises: there is no GPU."""
    _refuse("profiler.start")


def stop() -> None:
    """Raises: there is no GPU."""
    _refuse("profiler.stop")


def profile() -> None:
    """Raises: there is no GPU."""
    _refuse("profiler.profile")
