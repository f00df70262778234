"""Single compiled kernels: attention, recurrent layers, multi-tensor apply, gather and scatter."""

from typing import TYPE_CHECKING

from clew.aliasing import on_request

if TYPE_CHECKING:
    from clew.kernels.compiled import (
        attention,
        bisection,
        cumulative_extrema,
        gather_scatter,
        grid_sampling,
        introsort,
        lu,
        merging,
        mersenne_twister,
        pair_distances,
        recurrent,
        sparse_products,
        transpose,
        triangular,
    )

# Imported when they are first asked for, so that `import clew` is quick.
__all__ = [
    "attention",
    "bisection",
    "cumulative_extrema",
    "gather_scatter",
    "grid_sampling",
    "introsort",
    "lu",
    "merging",
    "mersenne_twister",
    "pair_distances",
    "recurrent",
    "sparse_products",
    "transpose",
    "triangular",
]

__getattr__, __dir__ = on_request(__name__, __all__)
