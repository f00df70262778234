"""The picture of the layers, docs/layers.svg, drawn from the import statements of the package.

`python -m tests.import_graph docs/layers.svg` writes it. It shows which parts import which, not how
often, so that it changes when the structure does and not with every line.
"""

from __future__ import annotations

import ast
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

from tests.test_layers import (
    LIBRARY,
    MODULES,
    PACKAGE,
    RANKS,
    executed_nodes,
    imported_modules,
    package_of_file,
    part_of_file,
    part_of_module,
    rank_of,
)

# What is written on a layer, by one of its parts: its name in the picture, and what it is.
CAPTIONS = {
    "errors": ("bottom", "the user's line, the catalogue of errors, events, signals and forks"),
    "backend": ("backend", "dtypes and promotion, devices, random streams"),
    "kernels": ("kernels", "array in, array out: NumPy and compiled code"),
    "core": ("core", "Tensor, Node, Op: recording, the engine, in-place writes"),
    "ops": ("ops", "every operation, each defined once"),
    "autograd": ("autograd", "what users reach as clew.autograd, written in ops"),
    "nn": ("library", "PyTorch's names, written in ops"),
    "doctor": ("doctor", "watches a run and finds gradient bugs"),
    "__init__": ("clew", "the names of `import clew`"),
    "bench": ("bench", "the benchmark"),
    "gallery": ("gallery", "classic systems, each one small program"),
    "cli": ("cli", "the `clew` command"),
}
NAMES, TEXTS = zip(*[CAPTIONS[next(iter(p & CAPTIONS.keys()))] for p in RANKS], strict=True)


class Layer(NamedTuple):
    """One rank: what it imports, its folders, each with those beside it that it imports."""

    name: str
    caption: str
    imports: list[str]
    folders: dict[str, list[str]]
    modules: list[str]


# -- the graph -------------------------------------------------------------------------------------


def box_of(parts: tuple[str, ...]) -> str | None:
    """The folder of a layer that a module lies in; None for a single module of the layer.

    The folders of the library are those of clew/, the folders of other layers are one level below.
    """
    depth = 1 if rank_of(parts[0]) == LIBRARY else 2
    inside = len(parts) >= depth and PACKAGE.joinpath(*parts[:depth]).is_dir()
    return parts[depth - 1] if inside else None


def imports_of(path: Path) -> Iterator[tuple[str, ...]]:
    """What a module of clew imports of clew, as paths below clew/."""
    for node in executed_nodes(ast.parse(path.read_text(encoding="utf-8"))):
        for module, name in imported_modules(node, package_of_file(path)):
            if module.split(".")[0] == "clew":
                below = module.split(".")[2:] + ([name] if name else [])
                yield part_of_module(module, name), *below


def layers() -> list[Layer]:
    """All layers, from top to bottom."""
    lower: list[set[int]] = [set() for _ in RANKS]
    folders: list[dict[str, set[str]]] = [{} for _ in RANKS]
    modules: list[set[str]] = [set() for _ in RANKS]
    for path in MODULES:
        own = path.relative_to(PACKAGE).with_suffix("").parts
        rank, box = rank_of(part_of_file(path)), box_of(own)
        if box is None:
            modules[rank].add(own[-1])
        else:
            folders[rank].setdefault(box, set())
        for target in imports_of(path):
            other = rank_of(target[0])
            if other != rank:
                lower[rank].add(other)
            elif box is not None and (beside := box_of(target)) not in (None, box):
                folders[rank][box].add(str(beside))
    return [
        Layer(
            NAMES[rank],
            TEXTS[rank],
            [NAMES[other] for other in sorted(lower[rank], reverse=True)],
            {name: sorted(beside) for name, beside in sorted(folders[rank].items())},
            sorted(modules[rank] - {"__init__"}),
        )
        for rank in reversed(range(len(RANKS)))
    ]


# -- the picture -----------------------------------------------------------------------------------

WIDTH, MARGIN, GAP, COLUMNS = 960, 14, 8, 7
INSIDE = WIDTH - 4 * MARGIN
BOX = (INSIDE - (COLUMNS - 1) * GAP) / COLUMNS
LINE = 14
SMALL = 6.3  # the width of a letter of the small type

STYLE = """
  .page { fill: #ffffff }
  .layer { fill: #f3f5f8; stroke: #c9d1da }
  .box { fill: #ffffff; stroke: #c9d1da }
  text { font: 10.5px ui-monospace, Menlo, Consolas, monospace; fill: #59636e }
  .name { font-weight: bold; font-size: 15px; fill: #0b57a4 }
  .folder { font-weight: bold; font-size: 12px; fill: #1f2328 }
  .caption { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .imports { fill: #0b57a4; text-anchor: end }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117 }
    .layer { fill: #161b22; stroke: #3d444d }
    .box { fill: #0d1117; stroke: #3d444d }
    text { fill: #9198a1 }
    .name, .imports { fill: #79b8ff }
    .folder, .caption { fill: #e6edf3 }
  }
"""


def text(x: float, y: float, kind: str, words: str) -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" class="{kind}">{escape(words)}</text>'


def rectangle(x: float, y: float, width: float, height: float, kind: str) -> str:
    size = f'width="{width:.0f}" height="{height:.0f}"'
    return f'<rect x="{x:.0f}" y="{y:.0f}" {size} rx="6" class="{kind}"/>'


def wrapped(words: str, width: float) -> list[str]:
    return textwrap.wrap(words, int(width / SMALL), break_on_hyphens=False)


def row_of_boxes(row: list[tuple[str, list[str]]], y: float) -> tuple[list[str], float]:
    """Folders side by side, each with the folders that it imports; and the height of the row."""
    lines = [wrapped("→ " + " ".join(beside), BOX - 16) if beside else [] for _, beside in row]
    height = 24 + LINE * max(map(len, lines))
    drawn = []
    for column, ((name, _), imports) in enumerate(zip(row, lines, strict=True)):
        x = 2 * MARGIN + column * (BOX + GAP)
        drawn += [rectangle(x, y, BOX, height, "box"), text(x + 8, y + 16, "folder", name + "/")]
        drawn += [text(x + 8, y + 30 + LINE * i, "", line) for i, line in enumerate(imports)]
    return drawn, height


def draw_layer(layer: Layer, top: float) -> tuple[list[str], float]:
    """The elements of one layer, and its height."""
    inside = [
        text(2 * MARGIN, top + 22, "name", layer.name),
        text(2 * MARGIN + 84, top + 22, "caption", layer.caption),
    ]
    if layer.imports:
        imports = "↓ " + " ".join(layer.imports)
        inside.append(text(WIDTH - 2 * MARGIN, top + 22, "imports", imports))
    y = top + 34
    folders = list(layer.folders.items())
    for first in range(0, len(folders), COLUMNS):
        drawn, height = row_of_boxes(folders[first : first + COLUMNS], y)
        inside += drawn
        y += height + GAP
    for line in wrapped(" ".join(layer.modules), INSIDE):
        inside.append(text(2 * MARGIN, y + 9, "", line))
        y += LINE
    height = y - top + (6 if layer.modules else 2)
    return [rectangle(MARGIN, top, WIDTH - 2 * MARGIN, height, "layer"), *inside], height


def svg() -> str:
    elements: list[str] = []
    y = float(MARGIN)
    for layer in layers():
        drawn, height = draw_layer(layer, y)
        elements += drawn
        y += height + GAP
    height = y - GAP + MARGIN
    return "\n".join(
        [
            '<svg xmlns="http://www.w3.org/2000/svg" role="img" '
            f'viewBox="0 0 {WIDTH} {height:.0f}">',
            "<title>The layers of clew, from top to bottom, and what each imports</title>",
            f"<style>{STYLE}</style>",
            rectangle(0, 0, WIDTH, height, "page"),
            *elements,
            "</svg>\n",
        ]
    )


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(svg(), encoding="utf-8")
