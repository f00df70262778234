"""`Timer`: how long a statement takes, measured in blocks until the measurement is steady."""

from __future__ import annotations

import statistics
import timeit
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["Measurement", "Timer", "timer"]

timer = timeit.default_timer
_UNITS = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))
# A spread larger than this share of the median is reported as noise of the machine.
_NOISY = 0.1


def select_unit(seconds: float) -> tuple[str, float]:
    """The unit in which a time is read best, and its length in seconds."""
    return next((unit for unit in _UNITS if seconds >= unit[1]), _UNITS[-1])


@dataclass
class Measurement:
    """Times of blocks of runs; statistics are per run, in seconds."""

    number_per_run: int
    raw_times: list[float]
    stmt: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1
    metadata: dict[Any, Any] | None = field(default=None, repr=False)

    @property
    def times(self) -> list[float]:
        return [time / self.number_per_run for time in self.raw_times]

    @property
    def median(self) -> float:
        return statistics.median(self.times)

    @property
    def mean(self) -> float:
        return statistics.fmean(self.times)

    @property
    def iqr(self) -> float:
        """The width of the middle half of the times."""
        low, high = np.quantile(self.times, (0.25, 0.75))
        return float(high - low)

    @property
    def title(self) -> str:
        title = self.label or self.stmt
        return title + (f": {self.sub_label}" if self.sub_label else "")

    @property
    def as_row_name(self) -> str:
        return self.sub_label or self.stmt or "[Unknown]"

    @property
    def has_warnings(self) -> bool:
        """Whether the times spread so much that something else must have been running."""
        return len(self.times) > 1 and self.iqr > _NOISY * self.median

    def __repr__(self) -> str:
        unit, scale = select_unit(self.median)
        lines = [f"<{type(self).__module__}.{type(self).__name__} object>", self.title]
        lines += [self.description] if self.description else []
        if len(self.times) == 1:
            lines.append(f"  {self.median / scale:.2f} {unit}")
            runs = f"{self.number_per_run} runs"
        else:
            low, high = np.quantile(self.times, (0.25, 0.75)) / scale
            lines.append(f"  Median: {self.median / scale:.2f} {unit}")
            lines.append(f"  IQR:    {self.iqr / scale:.2f} {unit} ({low:.2f} to {high:.2f})")
            runs = f"{self.number_per_run} runs per measurement"
        plural = "" if len(self.times) == 1 else "s"
        threads = f"{self.num_threads} thread{'' if self.num_threads == 1 else 's'}"
        lines.append(f"  {len(self.times)} measurement{plural}, {runs}, {threads}")
        if self.has_warnings:
            share = self.iqr / self.median * 100
            lines.append(f"  WARNING: the middle half of the times spreads over {share:.1f}%")
        return "\n".join(lines)

    __str__ = __repr__


class Timer:
    """Times a statement, given as text as to `timeit`; names in it come from `globals`."""

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: str = "py",
    ) -> None:
        if str(language).lower() not in ("py", "python"):
            raise ValueError(f"clew's Timer runs Python, not {language}")
        self._timer = timeit.Timer(stmt, setup, timer, dict(globals or {}))
        self._facts: dict[str, Any] = {
            "stmt": stmt, "label": label, "sub_label": sub_label, "description": description,
            "env": env, "num_threads": num_threads,
        }  # fmt: skip

    def _measured(self, number: int, times: list[float]) -> Measurement:
        return Measurement(number, times, **self._facts)

    def timeit(self, number: int = 1_000_000) -> Measurement:
        """One block of `number` runs, after a few to warm up."""
        self._timer.timeit(max(number // 100, 2))
        return self._measured(number, [self._timer.timeit(number)])

    def blocked_autorange(
        self, callback: Callable[[int, float], Any] | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """Blocks of runs until `min_run_time` is over; a block is long enough for the clock."""
        number = self._block_size(min_run_time)
        return self._measured(number, self._blocks(number, min_run_time, callback))

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callable[[int, float], Any] | None = None,
    ) -> Measurement:
        """Blocks of runs until their spread is below `threshold` of the median."""
        number = self._block_size(min_run_time)
        times: list[float] = []
        while True:
            times += self._blocks(number, min_run_time, callback)
            result = self._measured(number, times)
            steady = len(times) > 3 and result.iqr < threshold * result.median
            if steady or sum(times) >= max_run_time:
                return result

    def _block_size(self, min_run_time: float) -> int:
        number = 1
        self._timer.timeit(2)
        # A thousandth of the whole, so that there are blocks enough for a spread.
        while self._timer.timeit(number) < min_run_time / 1000:
            number *= 10
        return number

    def _blocks(
        self, number: int, run_time: float, callback: Callable[[int, float], Any] | None
    ) -> list[float]:
        times: list[float] = []
        while not times or sum(times) < run_time:
            times.append(self._timer.timeit(number))
            if callback is not None:
                callback(number, times[-1])
        return times
