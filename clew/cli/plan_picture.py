"""The picture of `clew plan`: for each layout, what a step's time and a device's memory go into."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from clew.cli.picture import FAINT, GRID, INK, text
from clew.distributed.planning.model import Cluster, Cost

_TIME = ("#2a6f97", "#e09f3e", "#8d6a9f", "#d1495b")
_MEMORY = ("#3d5a40", "#9cb380")
_LEFT, _BAR, _GAP, _ROW, _TOP = 24, 440, 60, 46, 96
_WIDTH = 2 * _LEFT + 2 * _BAR + _GAP


def write_plans(costs: Sequence[Cost], cluster: Cluster, title: str, path: Path) -> None:
    """Draw layouts below each other: seconds of a step on the left, memory on the right."""
    height = _TOP + _ROW * len(costs) + 16
    body = "\n".join((*_heads(costs[0], title), *_rows(costs, cluster)))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        f'width="{_WIDTH}" height="{height}" font-family="Helvetica, Arial, sans-serif">\n'
        f'<rect width="{_WIDTH}" height="{height}" fill="white"/>\n{body}\n</svg>\n',
        encoding="utf-8",
    )


def _heads(best: Cost, title: str) -> Iterator[str]:
    yield text(_LEFT, 32, escape(title), 16, INK, font_weight="bold")
    right = _LEFT + _BAR + _GAP
    yield text(_LEFT, 60, "Seconds of a step", 13, INK, font_weight="bold")
    yield text(right, 60, "Memory of a device", 13, INK, font_weight="bold")
    yield from _legend(_LEFT, tuple(best.parts()), _TIME)
    yield from _legend(right, ("states", "activations"), _MEMORY)


def _legend(x: float, names: Sequence[str], colors: Sequence[str]) -> Iterator[str]:
    for name, color in zip(names, colors, strict=True):
        yield f'<rect x="{x}" y="70" width="10" height="10" fill="{color}"/>'
        yield text(x + 14, 79, name, 11)
        x += 26 + 5.6 * len(name)


def _rows(costs: Sequence[Cost], cluster: Cluster) -> Iterator[str]:
    slowest = max(each.step for each in costs)
    right = _LEFT + _BAR + _GAP
    for number, each in enumerate(costs):
        y = _TOP + _ROW * number
        yield text(_LEFT, y + 14, escape(each.layout.words()), 11, INK)
        seconds = tuple(each.parts().values())
        yield from _bar(_LEFT, y, seconds, slowest, _TIME, f"{each.step:.3g} s")
        share = (each.states, each.activations)
        label = f"{each.memory / 1e9:.3g} of {cluster.memory / 1e9:g} GB"
        yield from _bar(right, y, share, cluster.memory, _MEMORY, label)


def _bar(
    x: float, y: float, parts: Sequence[float], whole: float, colors: Sequence[str], label: str
) -> Iterator[str]:
    """Parts of a whole beside each other, on a pale bar of the whole, and a number above."""
    yield f'<rect x="{x}" y="{y + 20}" width="{_BAR}" height="14" fill="{GRID}"/>'
    place = x
    for part, color in zip(parts, colors, strict=True):
        width = _BAR * part / whole
        yield f'<rect x="{place:.2f}" y="{y + 20}" width="{width:.2f}" height="14" fill="{color}"/>'
        place += width
    yield text(x + _BAR, y + 14, label, 11, FAINT, text_anchor="end")
