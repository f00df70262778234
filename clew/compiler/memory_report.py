"""What a memory plan tells: the lines of `explain()`, and time against memory as a table."""

from __future__ import annotations

from clew.compiler.memory_plan import MemoryPlan
from clew.memory import NO_LIMIT, size_text

_WIDTH = 24
# Names of instructions that are told.
_MOST_NAMES = 6


def plan_lines(plan: MemoryPlan) -> list[str]:
    """The memory plan of a trace, as `explain()` tells it."""
    lines = [
        f"memory: at most {size_text(plan.peak)} of {_budget_text(plan.budget)}, of which "
        f"{size_text(plan.resident)} are parameters, arguments and other state"
    ]
    count = sum(plan.again.values())
    if not count:
        return [*lines, "nothing is computed again"]
    names = sorted(plan.again.items(), key=lambda item: -item[1])
    text = ", ".join(f"{name} {times} times" for name, times in names[:_MOST_NAMES])
    more = len(names) - _MOST_NAMES
    lines.append(
        f"{count} instructions run again, for {plan.extra_seconds * 1e3:.2f} ms more "
        f"({_percent(plan)}): {text}" + (f", and {more} more" if more > 0 else "")
    )
    return lines


def _budget_text(budget: int) -> str:
    return "any memory" if budget >= NO_LIMIT else size_text(budget)


def _percent(plan: MemoryPlan) -> str:
    return f"+{plan.extra_seconds / (plan.seconds or 1.0):.1%}"


class MemoryCurve:
    """The time of a compiled call against the memory that it may use, the most memory first.

    `plans` have `peak` (bytes), `seconds` and `extra_seconds`.
    """

    def __init__(self, plans: list[MemoryPlan]) -> None:
        self.plans = plans

    def __str__(self) -> str:
        rows = [("Memory", "Time", "More", "Runs again", "")]
        most = max(plan.peak for plan in self.plans)
        for plan in self.plans:
            seconds = plan.seconds + plan.extra_seconds
            rows.append((
                size_text(plan.peak), f"{seconds * 1e3:.2f} ms", _percent(plan),
                str(sum(plan.again.values())), "█" * round(_WIDTH * plan.peak / most),
            ))  # fmt: skip
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join([cell.rjust(width) for cell, width in zip(row[:4], widths, strict=False)])
            + ("  " + row[4] if row[4] else "")
            for row in rows
        ]
        return "\n".join(lines)

    __repr__ = __str__
