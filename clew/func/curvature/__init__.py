"""Curvature of a network's loss, for models whose Hessian has no place anywhere.

The matrices are known by their products with vectors: the Hessian, the Gauss-Newton matrix, and
their approximations by Kronecker factors. What is asked of a matrix needs no more than that.
"""

from clew.func.curvature.hessians import GaussNewton, Hessian
from clew.func.curvature.influences import influence
from clew.func.curvature.kronecker import EKFAC, KFAC
from clew.func.curvature.lanczos import (
    Eigenpairs,
    SpectralDensity,
    eigenpairs,
    spectral_density,
)
from clew.func.curvature.operators import Operator
from clew.func.curvature.solving import Inverse, solve
from clew.func.curvature.traces import Estimate, trace

__all__ = [
    "EKFAC",
    "KFAC",
    "Eigenpairs",
    "Estimate",
    "GaussNewton",
    "Hessian",
    "Inverse",
    "Operator",
    "SpectralDensity",
    "eigenpairs",
    "influence",
    "solve",
    "spectral_density",
    "trace",
]
