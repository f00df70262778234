"""The demo's picture: an SVG file written with nothing but NumPy and the standard library."""

import base64
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.utils.tensorboard.events import png_bytes

WIDTH, HEIGHT = 960, 540
PANEL = 380  # both panels are squares of this side
TOP = 114
LEFT_PANEL, RIGHT_PANEL = 40, 540
INK, FAINT, GRID = "#22303c", "#6b7a88", "#e3e8ec"
ARM_COLORS = ("#d1495b", "#2a6f97")
LOSS_COLOR = "#3d5a40"
_RGB = NDArray[np.uint8]


@dataclass
class Picture:
    """What is drawn: the network's answer over the plane, the data, and the loss curve."""

    probability: NDArray[Any]  # of the second arm, over the square [-view, view]², top row first
    points: NDArray[Any]
    labels: NDArray[Any]
    view: float
    losses: list[float]
    accuracy: float


def write_picture(picture: Picture, path: Path) -> None:
    body = "\n".join((*_headings(picture), *_plane(picture), *_loss_curve(picture.losses)))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}" font-family="Helvetica, Arial, sans-serif">\n'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>\n{body}\n</svg>\n',
        encoding="utf-8",
    )


def text(x: float, y: float, words: str, size: int = 13, fill: str = FAINT, **more: str) -> str:
    attributes = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in more.items())
    return f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{fill}"{attributes}>{words}</text>'


def _headings(picture: Picture) -> Iterator[str]:
    summary = (
        f"{len(picture.points)} points, {len(picture.losses)} steps, "
        f"accuracy {picture.accuracy:.1%}, final loss {picture.losses[-1]:.2g}"
    )
    yield text(LEFT_PANEL, 40, "clew demo: two spirals", 22, INK, font_weight="bold")
    yield text(LEFT_PANEL, 64, summary, 14)
    yield text(LEFT_PANEL, TOP - 10, "What the network answers", 13, INK, font_weight="bold")
    yield text(RIGHT_PANEL, TOP - 10, "Loss (cross-entropy)", 13, INK, font_weight="bold")


def _plane(picture: Picture) -> Iterator[str]:
    """The decision as a shaded square with its boundary, the points on it, and a legend."""
    image = base64.b64encode(png_bytes(_shade(picture.probability))).decode("ascii")
    yield (
        f'<image x="{LEFT_PANEL}" y="{TOP}" width="{PANEL}" height="{PANEL}" '
        f'preserveAspectRatio="none" href="data:image/png;base64,{image}"/>'
    )
    scale = PANEL / (2 * picture.view)
    for arm, color in enumerate(ARM_COLORS):
        yield f'<g fill="{color}" stroke="white" stroke-width="0.8">'
        for x, y in picture.points[picture.labels == arm]:
            cx = LEFT_PANEL + (float(x) + picture.view) * scale
            cy = TOP + (picture.view - float(y)) * scale
            yield f'<circle cx="{cx:.1f}" cy="{cy:.1f}" r="3.4"/>'
        yield "</g>"
    yield _frame(LEFT_PANEL)
    for arm, color in enumerate(ARM_COLORS):
        x = LEFT_PANEL + 8 + 110 * arm
        yield f'<circle cx="{x}" cy="{TOP + PANEL + 21}" r="5" fill="{color}"/>'
        yield text(x + 11, TOP + PANEL + 26, f"arm {arm + 1}")
    x = LEFT_PANEL + 228
    yield f'<path d="M{x} {TOP + PANEL + 21}h22" stroke="{INK}" stroke-width="2"/>'
    yield text(x + 29, TOP + PANEL + 26, "decision boundary")


def _shade(probability: NDArray[Any]) -> _RGB:
    """Probabilities as pale mixtures of the two arms' colours, with a dark line along 0.5."""
    # Four pixels for each grid value: the boundary is then a line and not a staircase.
    p = _upsample(probability.astype(np.float64), 4)[..., None]
    first, second = (np.array([int(c[i : i + 2], 16) for i in (1, 3, 5)]) for c in ARM_COLORS)
    pale = 255 - 0.42 * (255 - (first * (1 - p) + second * p))
    step_y, step_x = np.gradient(p[..., 0])
    # The distance to the boundary in pixels is the distance in value over the slope.
    distance = np.abs(p[..., 0] - 0.5) / (np.hypot(step_x, step_y) + 1e-9)
    line = np.clip(2.6 - distance, 0.0, 1.0)[..., None]
    ink = np.array([int(INK[i : i + 2], 16) for i in (1, 3, 5)])
    mixed = pale * (1 - line) + ink * line
    return np.round(mixed).astype(np.uint8)


def _upsample(values: NDArray[Any], times: int) -> NDArray[Any]:
    """Bilinear interpolation to `times` as many rows and columns."""
    for _ in range(2):
        old = np.arange(len(values))
        new = np.linspace(0, len(values) - 1, times * len(values))
        values = np.stack([np.interp(new, old, column) for column in values.T])
    return values


def _loss_curve(losses: list[float]) -> Iterator[str]:
    drawable = [loss for loss in losses if math.isfinite(loss) and loss > 0]
    if drawable:
        low = math.floor(math.log10(min(drawable)))
        high = max(math.log10(max(drawable)) + 0.1, low + 1.0)
        yield from _loss_axes(low, high, len(losses))
        points = " ".join(
            f"{_step_x(i, len(losses)):.1f},{_loss_y(math.log10(loss), low, high):.1f}"
            for i, loss in enumerate(losses)
            if math.isfinite(loss) and loss > 0
        )
        yield (
            f'<polyline points="{points}" fill="none" stroke="{LOSS_COLOR}" '
            'stroke-width="2.2" stroke-linejoin="round"/>'
        )
    yield _frame(RIGHT_PANEL)


def _loss_axes(low: int, high: float, steps: int) -> Iterator[str]:
    bottom = TOP + PANEL
    for power in range(low, math.floor(high) + 1):
        y = _loss_y(power, low, high)
        yield f'<path d="M{RIGHT_PANEL} {y:.1f}h{PANEL}" stroke="{GRID}"/>'
        yield text(RIGHT_PANEL - 8, y + 4, f"{10.0**power:g}", 12, text_anchor="end")
    for step in sorted({round(1 + (steps - 1) * quarter / 4) for quarter in range(5)}):
        x = _step_x(step - 1, steps)
        yield f'<path d="M{x:.1f} {TOP}v{PANEL}" stroke="{GRID}"/>'
        yield text(x, bottom + 18, str(step), 12, text_anchor="middle")
    yield text(RIGHT_PANEL + PANEL / 2, bottom + 36, "step", 12, text_anchor="middle")


def _step_x(index: int, steps: int) -> float:
    return RIGHT_PANEL + PANEL * index / max(steps - 1, 1)


def _loss_y(log_loss: float, low: float, high: float) -> float:
    return TOP + PANEL * (high - log_loss) / (high - low)


def _frame(x: int) -> str:
    return (
        f'<rect x="{x}" y="{TOP}" width="{PANEL}" height="{PANEL}" fill="none" '
        f'stroke="{FAINT}" stroke-width="1"/>'
    )
