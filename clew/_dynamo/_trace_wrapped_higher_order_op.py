"""`TransformGetItemToIndex`: indexing by tensors of a vmap, which clew's vmap always allows."""

from __future__ import annotations

from typing import Any

__all__ = ["TransformGetItemToIndex"]


class TransformGetItemToIndex:
    """Inside, `x[i]` with a batched `i` is an index, and not a number: as it always is in clew."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc: Any) -> None:
        return None
