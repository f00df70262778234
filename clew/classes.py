"""`torch.classes`: classes of compiled extensions, of which there are none."""

from __future__ import annotations

from typing import Any, NoReturn

from clew import errors

__all__ = ["load_library", "loaded_libraries"]

loaded_libraries: set[str] = set()
__path__: list[str] = []


class _Namespace:
    """The classes of one extension: asking for one raises."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__") and name not in ("__file__",):
            raise AttributeError(name)
        raise RuntimeError(
            f"Tried to instantiate class '{self._name}.{name}', but it does not exist! Compiled "
            "extensions of PyTorch cannot be loaded by clew." + errors.at_user_line()
        )


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _Namespace(name)


def load_library(path: Any) -> NoReturn:
    """Raises: compiled extensions cannot be loaded."""
    raise OSError(
        f"torch.classes.load_library: {path} is compiled for PyTorch's binary interface, which "
        "clew does not have" + errors.at_user_line()
    )
