"""The old place of `clew.hub.load_state_dict_from_url`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from clew.hub import load_state_dict_from_url as load_url

try:
    from tqdm import tqdm  # type: ignore[import-untyped]  # it has no annotations
except ImportError:

    class tqdm:  # type: ignore[no-redef]  # it takes the place of the one that is not installed
        """What shows a bar if the package is installed: here, what it is given, without a bar."""

        def __init__(self, iterable: Iterable[Any] = (), *args: Any, **kwargs: Any) -> None:
            self.iterable = iterable

        def __iter__(self) -> Iterator[Any]:
            return iter(self.iterable)

        def update(self, n: int = 1) -> None:
            """One step more."""

        def close(self) -> None:
            """The end."""

        def __enter__(self) -> tqdm:
            return self

        def __exit__(self, *exc: Any) -> None:
            return None


__all__ = ["load_url", "tqdm"]
