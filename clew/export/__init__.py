"""`torch.export`: a model as one graph. clew does not make graphs of programs, and says so."""

from __future__ import annotations

from typing import Any, NoReturn

from clew import errors
from clew.utils._pytree import register_dataclass

__all__ = [
    "Dim", "ExportedProgram", "export", "export_for_training", "load", "register_dataclass", "save",
]  # fmt: skip


class ExportedProgram:
    """A model as a graph: for annotations."""


class Dim:
    """The name of a size that may change, with its bounds.

    Args:
        name: the name
        min, max: the bounds
    """

    AUTO, STATIC, DYNAMIC = "AUTO", "STATIC", "DYNAMIC"

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None) -> None:
        self.__name__, self.min, self.max = name, min, max


def export(mod: Any, args: Any = (), kwargs: Any = None, **options: Any) -> NoReturn:
    """Raises: clew does not make graphs of programs."""
    raise RuntimeError(
        "torch.export.export: clew runs programs as they are written and makes no graph of them. "
        "Save the state dict with torch.save, and export with PyTorch." + errors.at_user_line()
    )


export_for_training = export


def save(ep: Any, f: Any, **options: Any) -> NoReturn:
    """Raises: there is no exported program."""
    export(ep)


def load(f: Any, **options: Any) -> NoReturn:
    """Raises: an exported program cannot be run."""
    raise RuntimeError(
        "torch.export.load: clew does not run exported graphs. Load a state dict instead."
        + errors.at_user_line()
    )
