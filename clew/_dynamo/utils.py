"""What programs ask about a compiler that has run: nothing was compiled."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

__all__ = ["compile_times", "counters", "is_compile_supported"]

counters: defaultdict[str, Counter[str]] = defaultdict(Counter)


def is_compile_supported(device_type: Any) -> bool:
    """Whether programs can be compiled for a device: no."""
    return False


def compile_times(repr: str = "str", aggregate: bool = False) -> str:
    """How long compilation took: there was none."""
    return ""
