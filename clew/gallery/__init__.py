"""The gallery: classic systems that live by gradients, each one small program.

Each program is one file: `main(fast, seed, out)` trains, draws and returns its figures, and
`claims(figures, fast)` says what they show, and whether they do. `import clew as torch` is the
only line that names the library, so that the same file runs under PyTorch.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable
from importlib.machinery import SourceFileLoader
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from types import ModuleType
from typing import NamedTuple, Protocol, cast

FOLDER = Path(__file__).resolve().parent
# In the order in which they are listed.
SECTIONS = ("by_hand", "flow", "stop_gradient", "second_order", "memory", "models")
BROKEN = FOLDER / "break_it"
OURS, THEIRS = "import clew as torch\n", "import torch\n"

Figures = dict[str, float]
Claims = Iterable[tuple[str, bool]]


class Program(Protocol):
    """What a module of the gallery has."""

    main: Callable[[bool, int, Path], Figures]
    claims: Callable[[Figures, bool], Claims]


class Entry(NamedTuple):
    """One program, not loaded yet."""

    section: str
    name: str

    @property
    def module(self) -> str:
        return f"{__name__}.{self.section}.{self.name}"

    @property
    def path(self) -> Path:
        return FOLDER / self.section / f"{self.name}.py"


def title(path: Path) -> str:
    """The first line of a file's docstring, read without running anything."""
    return path.read_text(encoding="utf-8").split("\n", 1)[0].strip('"')


def entries() -> list[Entry]:
    """All programs, section by section."""
    return [
        Entry(section, module.name)
        for section in SECTIONS
        for module in pkgutil.iter_modules([str(FOLDER / section)])
    ]


def load(entry: Entry) -> Program:
    """The program, imported."""
    return cast(Program, importlib.import_module(entry.module))


class _UnderPyTorch(SourceFileLoader):
    """Loads a program with the line that imports the library changed, and nothing else."""

    def get_code(self, fullname: str) -> object:  # type: ignore[override]  # no cached bytecode
        source = Path(self.path).read_text(encoding="utf-8")
        assert source.count(OURS) == 1, self.path
        return self.source_to_code(source.replace(OURS, THEIRS).encode(), self.path)


def load_for_pytorch(entry: Entry) -> Program:
    """The same program with PyTorch in place of clew."""
    spec = find_spec(entry.module)
    assert spec is not None
    spec.loader = _UnderPyTorch(entry.module, str(entry.path))
    module: ModuleType = module_from_spec(spec)
    spec.loader.exec_module(module)
    return cast(Program, module)


def bugs() -> list[str]:
    """The scripts of "Break it"; each has a twin whose name ends in `_repaired`."""
    names = [module.name for module in pkgutil.iter_modules([str(BROKEN)])]
    return [name for name in names if not name.endswith("_repaired")]
