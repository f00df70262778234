"""What programs ask about the CPU."""

from __future__ import annotations

__all__ = ["get_cpu_capability"]


def get_cpu_capability() -> str:
    """The instructions that operations are written for: those that NumPy chooses by itself."""
    return "DEFAULT"
