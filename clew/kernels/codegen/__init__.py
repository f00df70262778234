"""The code generator: kernel IR, elementary functions, loops, and NumPy ufuncs made of them."""

from typing import TYPE_CHECKING

from clew.aliasing import on_request

if TYPE_CHECKING:
    from clew.kernels.codegen import (
        cascades,
        columns,
        loops,
        rows,
        scans,
        strided_elementwise,
        strided_reductions,
        strided_rows,
    )

# Imported when they are first asked for, so that `import clew` is quick.
__all__ = [
    "cascades",
    "columns",
    "loops",
    "rows",
    "scans",
    "strided_elementwise",
    "strided_reductions",
    "strided_rows",
]

__getattr__, __dir__ = on_request(__name__, __all__)
