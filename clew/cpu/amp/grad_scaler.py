"""The older name of `clew.amp.GradScaler` for the CPU."""

from __future__ import annotations

from clew import amp
from clew.amp.settings import warn_of_older_name

__all__ = ["GradScaler"]


class GradScaler(amp.GradScaler):
    """`clew.amp.GradScaler("cpu", ...)`."""

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        warn_of_older_name("cpu.amp.GradScaler", "GradScaler('cpu', args...)")
        super().__init__("cpu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
