"""Kernels over NumPy arrays: array in, array out; the compiled ones are called from here."""

from typing import TYPE_CHECKING

from clew.aliasing import on_request

if TYPE_CHECKING:
    from clew.kernels.numpy import (
        argsort,
        average_pool,
        bessel,
        complex_logarithms,
        convolution,
        ctc,
        grid_sample,
        im2col,
        implicit_gradients,
        incomplete_gamma,
        interpolate,
        lapack,
        ldl,
        lobpcg,
        max_pool,
        orthogonal_polynomials,
        recurrent,
        scatter,
        separable,
        special_functions,
    )

# Imported when they are first asked for, so that `import clew` is quick.
__all__ = [
    "argsort",
    "average_pool",
    "bessel",
    "complex_logarithms",
    "convolution",
    "ctc",
    "grid_sample",
    "im2col",
    "implicit_gradients",
    "incomplete_gamma",
    "interpolate",
    "lapack",
    "ldl",
    "lobpcg",
    "max_pool",
    "orthogonal_polynomials",
    "recurrent",
    "scatter",
    "separable",
    "special_functions",
]

__getattr__, __dir__ = on_request(__name__, __all__)
