"""Pooling and interpolation of images."""

from typing import TYPE_CHECKING

from clew.aliasing import on_request

if TYPE_CHECKING:
    from clew.kernels.pool import (
        adaptive_max_pool,
        max_pool,
        separable_maps,
        window_max,
    )

# Imported when they are first asked for, so that `import clew` is quick.
__all__ = [
    "adaptive_max_pool",
    "max_pool",
    "separable_maps",
    "window_max",
]

__getattr__, __dir__ = on_request(__name__, __all__)
