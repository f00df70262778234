"""The table of functions for strided operands, compiled lazily, that every kernel may call.

At the index of an itemsize is the strided copy for it; then come `blocks` (strided_elementwise.py)
and `buffered` (strided_rows.py).
"""

from __future__ import annotations

from functools import partial

from clew.kernels import codegen
from clew.kernels.runtime.lazy_compilation import LazyFunction

# The name of the table in compiled code.
TABLE = "clew_strided"
_SIZES = (1, 2, 4, 8)
BLOCKS_INDEX = _SIZES[-1] + 1
BUFFERED_INDEX = BLOCKS_INDEX + 1


def _copy_module(size: int) -> str:
    return codegen.strided_elementwise.copy_module(size)


def functions() -> list[LazyFunction | None]:
    """The functions of the table."""
    found: list[LazyFunction | None] = [None] * BLOCKS_INDEX
    for size in _SIZES:
        found[size] = LazyFunction(f"copy{size}", partial(_copy_module, size))
    return [
        *found,
        LazyFunction("blocks", lambda: codegen.strided_elementwise.blocks_module()),
        LazyFunction("buffered", lambda: codegen.strided_rows.buffered_module()),
    ]
