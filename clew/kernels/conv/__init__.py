"""Convolutions: as matrix products, by Winograd's transforms, and depthwise."""

from typing import TYPE_CHECKING

from clew.aliasing import on_request

if TYPE_CHECKING:
    from clew.kernels.conv import algorithms, depthwise, im2col_conv

# Imported when they are first asked for, so that `import clew` is quick.
__all__ = [
    "algorithms",
    "depthwise",
    "im2col_conv",
]

__getattr__, __dir__ = on_request(__name__, __all__)
