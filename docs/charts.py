"""Draws performance.svg: the ratios of the tables of performance.md as bars.

Run by hand after a table has changed: `python docs/charts.py`. The colours are of middle
lightness, so that the picture can be read on a light and on a dark page.
"""

import re
import statistics
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).resolve().parent
PAGE, PICTURE = FOLDER / "performance.md", FOLDER / "performance.svg"

# The title of a panel, the section of the page, and the column of its first table.
PANELS = (
    ("Train step, 2 threads", "Train steps", "2 threads"),
    ("Train step, 16 threads", "Train steps", "16 threads"),
    ("Train step, peak memory", "Memory", "clew by PyTorch"),
)
GREY, FASTER, SLOWER = "#79818b", "#3b82c4", "#d9772b"
LABELS, PANEL, GAP, ROW, TOP, LONGEST = 140, 210, 30, 24, 62, 1.9


class Bar(NamedTuple):
    """One row: the median run (of two the slower), and the span of the middle halves of all."""

    value: float
    low: float
    high: float


def first_table(text: str, section: str) -> list[dict[str, str]]:
    """The rows of the first table of a section, by their headings."""
    body = text.split(f"\n## {section}\n", 1)[1].split("\n## ", 1)[0]
    table = re.search(r"(?:^\|.*\|\n)+", body, re.MULTILINE)
    assert table, section
    heading, _, *rows = (
        [cell.strip() for cell in line.strip("|").split("|")] for line in table[0].splitlines()
    )
    return [dict(zip(heading, row, strict=True)) for row in rows]


def bar(cell: str) -> Bar:
    """From runs like `0.66 (0.63..0.66), 0.59 (0.52..0.60)`, or one number."""
    runs = re.findall(r"([\d.]+)(?: \(([\d.]+)\.\.([\d.]+)\))?", cell)
    values = [float(value) for value, _, _ in runs]
    lows = [float(low or value) for value, low, _ in runs]
    highs = [float(high or value) for value, _, high in runs]
    return Bar(statistics.median_high(values), min(lows), max(highs))


def panels(text: str) -> dict[str, dict[str, Bar]]:
    """For each panel the bars by network; means are left out."""
    return {
        title: {
            row["network"]: bar(row[column])
            for row in first_table(text, section)
            if row["network"] != "geometric mean"
        }
        for title, section, column in PANELS
    }


def svg(text: str) -> str:
    """The picture of a page's tables: a row for each network, a panel for each table."""
    content = panels(text)
    networks = list(next(iter(content.values())))
    assert all(list(bars) == networks for bars in content.values()), "other networks in a table"
    width = LABELS + len(content) * (PANEL + GAP)
    height = TOP + ROW * len(networks) + 44
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" font-family="sans-serif" font-size="13" '
        f'fill="{GREY}">',
        "<title>Time and memory of clew by PyTorch's, nine networks</title>",
    ]
    for place, name in enumerate(networks):
        y = TOP + ROW * place + 16
        parts.append(f'<text x="{LABELS - 12}" y="{y}" text-anchor="end">{name}</text>')
    for place, (title, bars) in enumerate(content.items()):
        parts += _panel(title, list(bars.values()), LABELS + place * (PANEL + GAP))
    parts.append(
        f'<text x="{LABELS}" y="{height - 8}" font-size="12">clew by PyTorch, the line is 1.0; '
        "bars: the median of the rounds, whiskers: their middle half</text>"
    )
    return "\n".join([*parts, "</svg>", ""])


def _panel(title: str, bars: list[Bar], left: int) -> list[str]:
    def x(value: float) -> float:
        return round(left + PANEL * value / LONGEST, 1)

    bottom = TOP + ROW * len(bars)
    parts = [f'<text x="{left}" y="24" font-weight="bold" font-size="14">{title}</text>']
    for place, each in enumerate(bars):
        y = TOP + ROW * place
        color = FASTER if each.value <= 1.0 else SLOWER
        parts.append(
            f'<rect x="{left}" y="{y + 3}" width="{round(x(each.value) - left, 1)}" '
            f'height="{ROW - 6}" fill="{color}"/>'
        )
        if each.low < each.high:
            parts.append(
                f'<path d="M{x(each.low)} {y + 12}H{x(each.high)}" stroke="{GREY}" '
                'stroke-width="2"/>'
            )
        parts.append(
            f'<text x="{left + 6}" y="{y + 16}" fill="#ffffff" font-size="12">'
            f"{each.value:.2f}</text>"
        )
    for value in (0.0, 0.5, 1.0):
        parts.append(
            f'<text x="{x(value)}" y="46" text-anchor="middle" font-size="11">{value:.1f}</text>'
        )
    parts.append(
        f'<path d="M{x(1.0)} {TOP - 10}V{bottom}" stroke="{GREY}" stroke-width="1.5" '
        'stroke-dasharray="4 3"/>'
    )
    return parts


if __name__ == "__main__":
    PICTURE.write_text(svg(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
