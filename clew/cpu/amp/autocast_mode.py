"""The older name of `clew.amp.autocast` for the CPU."""

from __future__ import annotations

from clew import amp
from clew.amp.settings import warn_of_older_name
from clew.backend import dtypes

__all__ = ["autocast"]


class autocast(amp.autocast):
    """`clew.amp.autocast("cpu", ...)`."""

    def __init__(
        self,
        enabled: bool = True,
        dtype: dtypes.dtype = dtypes.bfloat16,
        cache_enabled: bool = True,
    ) -> None:
        warn_of_older_name("cpu.amp.autocast", "autocast('cpu', args...)")
        super().__init__("cpu", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)
