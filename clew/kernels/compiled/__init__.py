"""Single compiled kernels: attention, LSTM, multi-tensor apply, transpose, gather and scatter."""

from typing import TYPE_CHECKING

from clew.aliasing import on_request

if TYPE_CHECKING:
    from clew.kernels.compiled import (
        bisection,
        grid_sampling,
        lstm,
        lu,
        pair_distances,
        triangular,
    )

# Imported when they are first asked for, so that `import clew` is quick.
__all__ = [
    "bisection",
    "grid_sampling",
    "lstm",
    "lu",
    "pair_distances",
    "triangular",
]

__getattr__, __dir__ = on_request(__name__, __all__)
