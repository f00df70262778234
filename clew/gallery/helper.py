"""What the programs of the gallery share: the command line, progress, data and pictures."""

from __future__ import annotations

import argparse
import base64
import math
import sysconfig
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from clew.utils.tensorboard.events import png_bytes

T = TypeVar("T")
Figures = dict[str, float]
Main = Callable[[bool, int, Path], Figures]
Claims = Callable[[Figures, bool], Iterable[tuple[str, bool]]]

# -- the command line ------------------------------------------------------------------------------


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--fast", action="store_true", help="a few seconds, with smaller claims")
    parser.add_argument("--seed", type=int, default=0, help="random seed (default 0)")
    parser.add_argument(
        "--out", type=Path, default=Path("clew-gallery"),
        help="the folder for pictures and saved states (default clew-gallery)",
    )  # fmt: skip


def run(main: Main, claims: Claims, options: argparse.Namespace | None = None) -> int:
    """Run a program of the gallery, print its figures and claims; 1 if a claim does not hold."""
    if options is None:
        parser = argparse.ArgumentParser()
        add_options(parser)
        options = parser.parse_args()
    console = Console(highlight=False)
    options.out.mkdir(parents=True, exist_ok=True)
    started = time.perf_counter()
    figures = main(options.fast, options.seed, options.out)
    seconds = time.perf_counter() - started
    width = max(map(len, figures))
    for name, value in figures.items():
        console.print(f"  {name:{width}}  {value:.4g}")
    status = 0
    for text, holds in claims(figures, options.fast):
        console.print(f"[green]✓[/green] {text}" if holds else f"[red]✗ {text}[/red]")
        status = status if holds else 1
    console.print(f"{seconds:.1f} s; pictures are in {options.out}", soft_wrap=True)
    return status


class progress(Generic[T]):
    """Goes through items with a bar; `say` writes a few words beside it."""

    def __init__(self, items: Sequence[T], label: str) -> None:
        self.items, self.label, self.words = items, label, ""

    def __iter__(self) -> Iterator[T]:
        columns = (
            TextColumn(self.label), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
            TextColumn("{task.fields[words]}"),
        )  # fmt: skip
        with Progress(*columns) as bar:
            task = bar.add_task("", total=len(self.items), words="")
            for item in self.items:
                yield item
                bar.update(task, advance=1, words=self.words)

    def say(self, words: str) -> None:
        self.words = words


class _Kept:
    """A tensor that autograd keeps, counted for as long as it does."""

    def __init__(self, tensor: Any, meter: SavedMemory) -> None:
        self.tensor, self.meter = tensor, meter
        self.place = tensor.untyped_storage().data_ptr()
        meter.add(self.place, tensor.untyped_storage().nbytes())

    def __del__(self) -> None:
        self.meter.remove(self.place)


class SavedMemory:
    """How many bytes autograd keeps for backward: now, and at most.

    `pack` and `unpack` are for `saved_tensors_hooks`. Memory that several tensors share counts
    once; that of the model's parameters, which is there anyway, does not count.
    """

    def __init__(self, parameters: Iterable[Any] = ()) -> None:
        self.free = {each.untyped_storage().data_ptr() for each in parameters}
        self.users: dict[int, list[int]] = {}
        self.now = self.peak = 0

    def pack(self, tensor: Any) -> _Kept:
        return _Kept(tensor, self)

    def unpack(self, kept: _Kept) -> Any:
        return kept.tensor

    def add(self, place: int, size: int) -> None:
        users = self.users.setdefault(place, [0, 0 if place in self.free else size])
        users[0] += 1
        if users[0] == 1:
            self.now += users[1]
            self.peak = max(self.peak, self.now)

    def remove(self, place: int) -> None:
        self.users[place][0] -= 1
        if not self.users[place][0]:
            self.now -= self.users.pop(place)[1]


# -- data ------------------------------------------------------------------------------------------


class MissingExtra(ImportError):
    """A package that only some programs need is not installed."""

    def __init__(self, package: str, extra: str = "gallery") -> None:
        super().__init__(f"this program needs {package}: pip install 'clew[{extra}]'")


def digits() -> tuple[Any, Any, Any, Any]:
    """scikit-learn's digits, 8 × 8 pixels from 0 to 1: train images, labels, test images, labels.

    The split is always the same one; the arrays are NumPy's, float32 and int64.
    """
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise MissingExtra("scikit-learn") from None
    images, labels = load_digits(return_X_y=True)
    order = np.random.RandomState(0).permutation(len(images))
    x, y = (images[order] / 16).astype(np.float32), labels[order].astype(np.int64)
    return x[:1297], y[:1297], x[1297:], y[1297:]


def augmented(images: Any, rng: np.random.Generator) -> Any:
    """Each digit moved by at most a pixel, brighter or darker, with noise and some pixels gone."""
    count = len(images)
    padded = np.pad(images.reshape(count, 8, 8), ((0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (8, 8), axis=(1, 2))
    moved = windows[np.arange(count), rng.integers(0, 3, count), rng.integers(0, 3, count)]
    changed = moved.reshape(count, 64) * rng.uniform(0.6, 1.4, (count, 1))
    changed = changed + 0.1 * rng.normal(size=changed.shape)
    return (changed * (rng.uniform(size=changed.shape) > 0.15)).astype(np.float32)


def linear_probe(x: Any, y: Any, test_x: Any, test_y: Any) -> float:
    """The accuracy on test features of a linear classifier (ridge regression) of the features."""
    mean, scale = x.mean(0), x.std(0) + 1e-6
    x, test_x = ((part - mean) / scale for part in (x, test_x))
    x, test_x = (np.hstack([part, np.ones((len(part), 1))]) for part in (x, test_x))
    targets = np.eye(10)[y]
    weights = np.linalg.solve(x.T @ x + 10.0 * np.eye(x.shape[1]), x.T @ targets)
    return float(((test_x @ weights).argmax(1) == test_y).mean())


def library_text(characters: int) -> str:
    """Source text of Python's standard library, which every machine has."""
    folder = Path(sysconfig.get_paths()["stdlib"])
    text = ""
    for name in ("argparse", "ast", "calendar", "configparser", "difflib", "inspect", "typing"):
        text += (folder / f"{name}.py").read_text(encoding="utf-8")
        if len(text) >= characters:
            break
    return "".join(c if c.isascii() else "?" for c in text[:characters])


def cartpole() -> Any:
    """gymnasium's CartPole: keep a pole upright; 1 for every step that it is, 500 at most."""
    try:
        import gymnasium
    except ImportError:
        raise MissingExtra("gymnasium") from None
    return gymnasium.make("CartPole-v1")


# -- pictures --------------------------------------------------------------------------------------

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 720, 420, 70, 50, 170, 50
# Of middle lightness, to be read on a light and on a dark page.
INK, GRID = "#79818b", "#79818b44"
COLORS = ("#3b82c4", "#d9772b", "#2e9e6b", "#b8509e", "#8a6fd1", "#a38a1f", "#c94f4f", "#4f9dac")


def _text(x: float, y: float, words: str, anchor: str = "start", size: int = 12) -> str:
    words = words.replace("&", "&amp;").replace("<", "&lt;")
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">{words}</text>'


def _write(path: Path, width: float, height: float, parts: Iterable[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        f'width="{width:g}" height="{height:g}" font-family="sans-serif" fill="{INK}">'
    )
    path.write_text("\n".join([head, *parts, "</svg>", ""]), encoding="utf-8")


def _ticks(low: float, high: float, log: bool) -> list[float]:
    if log:
        step = max(1, math.ceil((high - low) / 8))
        return [float(power) for power in range(math.ceil(low), math.floor(high) + 1, step)]
    step = 10 ** math.floor(math.log10((high - low) / 3))
    step *= next(times for times in (1, 2, 5, 10) if (high - low) / (step * times) <= 6)
    return [step * i for i in range(math.ceil(low / step), math.floor(high / step) + 1)]


def chart(
    path: Path, series: Mapping[str, Sequence[float]], title: str, x: str, y: str,
    log: bool = False, start: float = 0, step: float = 1,
) -> None:  # fmt: skip
    """Lines in an SVG file; the points of each lie at start, start + step, ... along x.

    With `log`, y is logarithmic, and what is not positive is left out; so is what is not finite.
    """
    lines: dict[str, list[tuple[float, float]]] = {}
    for name, values in series.items():
        drawable = [(start + step * i, v) for i, v in enumerate(values) if math.isfinite(v)]
        lines[name] = [(i, math.log10(v) if log else v) for i, v in drawable if v > 0 or not log]
    points = [point for line in lines.values() for point in line] or [(0.0, 0.0)]
    (x0, x1), (y0, y1) = ((min(values), max(values)) for values in zip(*points))
    x1, y1 = (x1 if x1 > x0 else x0 + 1), (y1 if y1 > y0 else y0 + 1)
    width, height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def place(point: tuple[float, float]) -> tuple[float, float]:
        return (
            LEFT + width * (point[0] - x0) / (x1 - x0),
            TOP + height * (y1 - point[1]) / (y1 - y0),
        )

    parts = [_text(LEFT, 28, title, size=16)]
    for value in _ticks(y0, y1, log):
        _, at = place((x0, value))
        parts.append(f'<path d="M{LEFT} {at:.1f}h{width}" stroke="{GRID}"/>')
        parts.append(_text(LEFT - 8, at + 4, f"{10**value:g}" if log else f"{value:g}", "end"))
    for value in _ticks(x0, x1, False):
        at, _ = place((value, y0))
        parts.append(_text(at, HEIGHT - BOTTOM + 18, f"{value:g}", "middle"))
    parts.append(_text(LEFT + width / 2, HEIGHT - 12, x, "middle"))
    parts.append(_text(LEFT, TOP - 6, y))
    for number, (name, line) in enumerate(lines.items()):
        color = COLORS[number % len(COLORS)]
        drawn = " ".join(f"{a:.1f},{b:.1f}" for a, b in map(place, line))
        parts.append(f'<polyline points="{drawn}" fill="none" stroke="{color}" stroke-width="2"/>')
        at = TOP + 10 + 20 * number
        parts.append(
            f'<rect x="{WIDTH - RIGHT + 14}" y="{at - 8}" width="16" height="4" fill="{color}"/>'
        )
        parts.append(_text(WIDTH - RIGHT + 36, at, name))
    _write(path, WIDTH, HEIGHT, parts)


def tiles(path: Path, rows: Mapping[str, Any], title: str, side: int = 48) -> None:
    """Rows of small grey images (each row an array: images × height × width, from 0 to 1)."""
    parts, label = [_text(10, 28, title, size=16)], 150
    for number, (name, images) in enumerate(rows.items()):
        y = 44 + number * (side + 8)
        parts.append(_text(10, y + side / 2, name))
        for place, image in enumerate(np.asarray(images)):
            pixels = (255 * (1 - image.clip(0, 1))).round().astype(np.uint8)[..., None]
            data = base64.b64encode(png_bytes(pixels)).decode("ascii")
            parts.append(
                f'<image x="{label + place * (side + 4)}" y="{y}" width="{side}" height="{side}" '
                f'style="image-rendering:pixelated" href="data:image/png;base64,{data}"/>'
            )
    most = max(len(images) for images in rows.values())
    _write(path, label + most * (side + 4) + 10, 54 + len(rows) * (side + 8), parts)
