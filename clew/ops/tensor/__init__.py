"""What a tensor says and does: its properties, text, copies, conversion and pickling."""

from typing import TYPE_CHECKING

from clew.aliasing import on_request

if TYPE_CHECKING:
    from clew.ops.tensor import legacy_storages

# Imported when it is first asked for, so that `import clew` is quick.
__all__ = ["legacy_storages"]

__getattr__, __dir__ = on_request(__name__, __all__)
