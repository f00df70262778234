"""Batching rules: how every operation runs on all examples of a vmap at once."""

from typing import TYPE_CHECKING

from clew.aliasing import on_request

if TYPE_CHECKING:
    from clew.ops.batching import level

# Imported when it is first asked for, so that `import clew` is quick.
__all__ = ["level"]

__getattr__, __dir__ = on_request(__name__, __all__)
