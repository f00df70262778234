"""Profiles as text, in PyTorch's columns."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

WIDTH = 12
GAP = "  "

# For each further column: its heading, and whether it is aligned to the left.
EXTRA = {
    "input_shapes": ("Input Shapes", False),
    "stack": ("Source Location", True),
    "module_path": ("Module", True),
}


def format_time(microseconds: float, unit: str | None = None) -> str:
    """`1.234ms`: in a given unit, or in the one that suits the size."""
    if unit is None:
        size = abs(microseconds)
        unit = "s" if size >= 1e6 else "ms" if size >= 1e3 else "us"
    return f"{microseconds / {'s': 1e6, 'ms': 1e3, 'us': 1.0}[unit]:.3f}{unit}"


def format_memory(count: int) -> str:
    """`3.81 MB`: in the unit that suits the size."""
    for unit, size in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if abs(count) >= size:
            return f"{count / size:.2f} {unit}"
    return f"{count} B"


def _share(part: float, total: float) -> str:
    return f"{part * 100 / total:.2f}%" if total else "NaN"


def _shortened(text: str, width: int) -> str:
    return text if len(text) <= width else text[: max(width - 3, 0)] + "..."


class _Column:
    """A heading, what to show of an event, and how wide."""

    def __init__(
        self, heading: str, show: Callable[[Any], str], width: int = WIDTH, left: bool = False
    ) -> None:
        self.heading = heading
        self.show = show
        self.width = width
        self.left = left

    def cell(self, text: str) -> str:
        text = _shortened(text, self.width)
        return (text.ljust if self.left else text.rjust)(self.width)


def _columns(events: Any, widths: dict[str, int], unit: str | None, total: float) -> list[_Column]:
    def longest(name: str) -> int:
        return max((len(_text(event, name)) for event in events), default=0) + 4

    columns = [
        _Column("Name", lambda e: e.key, min(longest("key"), widths["key"])),
        _Column("Self CPU %", lambda e: _share(e.self_cpu_time_total, total)),
        _Column("Self CPU", lambda e: format_time(e.self_cpu_time_total, unit)),
        _Column("CPU total %", lambda e: _share(e.cpu_time_total, total)),
        _Column("CPU total", lambda e: format_time(e.cpu_time_total, unit)),
        _Column("CPU time avg", lambda e: format_time(e.cpu_time, unit)),
    ]
    if events.profile_memory:
        columns += [
            _Column("CPU Mem", lambda e: format_memory(e.cpu_memory_usage)),
            _Column("Self CPU Mem", lambda e: format_memory(e.self_cpu_memory_usage)),
        ]
    columns.append(_Column("# of Calls", lambda e: str(e.count)))
    for name in events.columns:
        heading, left = EXTRA[name]
        width = max(min(longest(name), widths[name]), len(heading))
        columns.append(_Column(heading, partial(_text, name=name), width, left))
    if events.with_flops:
        columns.append(_flops_column(events))
    return columns


def _text(event: Any, name: str) -> str:
    value = getattr(event, name)
    if name == "stack":
        return value[0] if value else ""
    return str(value)


def _flops_column(events: Any) -> _Column:
    least = min((event.flops for event in events if event.flops > 0), default=1)
    units = ((10**12, "TFLOPs"), (10**9, "GFLOPs"), (10**6, "MFLOPs"), (1000, "KFLOPs"))
    size, unit = next((each for each in units if least >= each[0]), (1, "FLOPs"))
    return _Column(f"Total {unit}", lambda e: f"{e.flops / size:.3f}" if e.flops > 0 else "--")


def table_of(
    events: Any,
    sort_by: str | None,
    row_limit: int,
    max_src_column_width: int,
    max_name_column_width: int,
    max_shapes_column_width: int,
    header: str | None,
    top_level_events_only: bool,
    time_unit: str | None,
) -> str:
    """A list of events or averages as PyTorch prints it."""
    if not events:
        return ""
    rows = list(events)
    if sort_by is not None:
        # Older programs sort by GPU times under their older names.
        attribute = sort_by.replace("cuda", "device")
        rows.sort(key=lambda event: getattr(event, attribute), reverse=True)
    widths = {
        "key": max_name_column_width,
        "input_shapes": max_shapes_column_width,
        "stack": max_src_column_width,
        "module_path": max_src_column_width,
    }
    total = events.self_cpu_time_total
    columns = _columns(events, widths, time_unit, total)
    rule = GAP.join("-" * column.width for column in columns) + GAP
    lines = []
    if header is not None:
        lines += ["=" * len(rule), header]
    if top_level_events_only:
        lines += ["=" * len(rule), "This report only display top-level ops statistics"]
        rows = [event for event in rows if event.cpu_parent is None]
    lines += [rule, GAP.join(column.cell(column.heading) for column in columns) + GAP, rule]
    for event in rows[: row_limit if row_limit >= 0 else None]:
        lines.append(GAP.join(column.cell(column.show(event)) for column in columns) + GAP)
        if "stack" in events.columns:
            lines += _further_lines(event.stack[1:], columns)
    lines += [rule, f"Self CPU time total: {format_time(total, time_unit)}", ""]
    return "\n".join(lines)


def _further_lines(stack: list[str], columns: list[_Column]) -> list[str]:
    """The rest of a stack, below its innermost line."""
    blank = [" " * column.width for column in columns]
    place = next(i for i, column in enumerate(columns) if column.heading == "Source Location")
    return [
        GAP.join([*blank[:place], columns[place].cell(line), *blank[place + 1 :]]) + GAP
        for line in stack
    ]
