"""What operations are defined with: rows of the table, arguments, `out=`, named results."""

from typing import TYPE_CHECKING

from clew.aliasing import on_request

if TYPE_CHECKING:
    from clew.ops.define import return_types

# Imported when it is first asked for, so that `import clew` is quick.
__all__ = ["return_types"]

__getattr__, __dir__ = on_request(__name__, __all__)
