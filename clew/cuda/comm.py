"""Copies between GPUs: there are none, and calling one raises."""

from __future__ import annotations

from typing import Any, NoReturn

from clew.cuda.streams import _refuse

__all__ = ["broadcast", "broadcast_coalesced", "gather", "reduce_add", "scatter"]


def _copies(name: str) -> Any:
    def refused(*args: Any, **kwargs: Any) -> NoReturn:
        """Raises: there is no GPU."""
        _refuse(f"comm.{name}")

    refused.__name__ = refused.__qualname__ = name
    return refused


broadcast, broadcast_coalesced = _copies("broadcast"), _copies("broadcast_coalesced")
gather, reduce_add, scatter = _copies("gather"), _copies("reduce_add"), _copies("scatter")
