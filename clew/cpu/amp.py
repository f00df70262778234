"""The older names of `clew.amp` for the CPU."""

from __future__ import annotations

from clew import amp as _amp
from clew.amp.settings import warn_of_older_name as _warn_of_older_name
from clew.backend import dtypes

__all__ = ["GradScaler", "autocast"]


class autocast(_amp.autocast):
    """`clew.amp.autocast("cpu", ...)`."""

    def __init__(
        self,
        enabled: bool = True,
        dtype: dtypes.dtype = dtypes.bfloat16,
        cache_enabled: bool = True,
    ) -> None:
        _warn_of_older_name("cpu.amp.autocast", "autocast('cpu', args...)")
        super().__init__("cpu", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


class GradScaler(_amp.GradScaler):
    """`clew.amp.GradScaler("cpu", ...)`."""

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        _warn_of_older_name("cpu.amp.GradScaler", "GradScaler('cpu', args...)")
        super().__init__("cpu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
