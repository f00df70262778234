"""A curve as a small chart of block characters, for the terminal."""

import math
from collections.abc import Sequence
from itertools import pairwise

_EIGHTHS = " ▁▂▃▄▅▆▇█"


def text_chart(values: Sequence[float], width: int, height: int) -> str:
    """Positive `values` as filled columns over a logarithmic axis with its ends labelled."""
    drawable = [value for value in values if math.isfinite(value) and value > 0]
    if not drawable:
        return "(no finite positive values to draw)"
    low, high = math.log(min(drawable)), math.log(max(drawable))
    columns = [_fill(bin_, low, high, height) for bin_ in _bins(values, width)]

    lines = []
    for row in range(height - 1, -1, -1):
        label = {height - 1: math.exp(high), 0: math.exp(low)}.get(row)
        blocks = "".join(_EIGHTHS[min(max(fill - 8 * row, 0), 8)] for fill in columns)
        lines.append(f"{'' if label is None else format(label, '.2g'):>8} │{blocks}")
    lines.append(f"{'':>8} └{'─' * len(columns)}")
    lines.append(f"{'step':>8}  1{len(values):>{max(len(columns) - 1, 1)}}")
    return "\n".join(lines)


def _bins(values: Sequence[float], width: int) -> list[Sequence[float]]:
    count = max(1, min(width, len(values)))
    edges = [len(values) * i // count for i in range(count + 1)]
    return [values[start:end] for start, end in pairwise(edges)]


def _fill(bin_: Sequence[float], low: float, high: float, height: int) -> int:
    """The height of one column in eighths of a character: 1 for the lowest value."""
    logs = [math.log(value) for value in bin_ if math.isfinite(value) and value > 0]
    if not logs:
        return 0
    share = (sum(logs) / len(logs) - low) / (high - low) if high > low else 1.0
    return 1 + round(share * (8 * height - 1))
