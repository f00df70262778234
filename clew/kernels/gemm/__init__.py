"""Matrix products: microkernels, packing, cache blocking, and the ufunc around them."""

from typing import TYPE_CHECKING

from clew.aliasing import on_request

if TYPE_CHECKING:
    from clew.kernels.gemm import (
        gemm,
        inline_gemm,
        outer_product,
    )

# Imported when they are first asked for, so that `import clew` is quick.
__all__ = [
    "gemm",
    "inline_gemm",
    "outer_product",
]

__getattr__, __dir__ = on_request(__name__, __all__)
