"""What programs ask about a compiler that has run: nothing was compiled."""

from __future__ import annotations

import contextlib
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from clew.errors import warn_once

__all__ = [
    "compile_times", "counters", "disable_cache_limit", "is_compile_supported", "warn_once",
]  # fmt: skip

counters: defaultdict[str, Counter[str]] = defaultdict(Counter)


def is_compile_supported(device_type: Any) -> bool:
    """Whether programs can be compiled for a device: no."""
    return False


def compile_times(repr: str = "str", aggregate: bool = False) -> str:
    """How long compilation took: there was none."""
    return ""


@contextlib.contextmanager
def disable_cache_limit() -> Iterator[None]:
    """A block in which nothing limits how much is compiled: nothing does anywhere."""
    yield
