"""What the op_db check does not ask of clew, and where clew is known to depart from torch.

`DEPARTURES[(op, what, dtype)]` is the reason why that one check fails; dtype is "-" for checks
that have none. A listed departure that no longer departs fails the test, so entries expire.
`OUT_OF_SCOPE` groups, by reason, the patterns (fnmatch) of the op_db names that clew leaves out.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

DEPARTURES: dict[tuple[str, str, str], str] = {}

OUT_OF_SCOPE: dict[str, tuple[str, ...]] = {
    "torch-internal kernels and backward helpers, not called by user code": (
        "_*", "torch.*", "native_*", "max_pool2d_with_indices_backward", "grid_sampler_*",
        "hash_tensor", "slice", "constant_pad_nd", "unsafe_*", "resolve_neg",
    ),
    "copying twins of views, made for functionalization": (
        "*_copy",
    ),
    "sparse layouts": ("sparse.*", "to_sparse"),
    "CUDA only": ("jiterator_*", "bmm.triton_optimized"),
    "masked prototype namespace": ("masked.*",),
    "orthogonal polynomials and Bessel functions without derivatives": (
        "special.airy_ai", "special.bessel_*", "special.*chebyshev_polynomial_*",
        "special.hermite_polynomial_*", "special.laguerre_polynomial_l",
        "special.legendre_polynomial_p", "special.*modified_bessel_*",
        "special.spherical_bessel_j0",
    ),
    "LAPACK building blocks with no use in the surveyed programs": (
        "geqrf", "ormqr", "linalg.householder_product", "linalg.ldl_*", "triangular_solve",
        "lu_unpack", "svd_lowrank", "pca_lowrank",
    ),
    "samples that read storage outside of the tensor given, which translation does not carry": (
        "as_strided.partial_views",
    ),
    "complex half precision, which NumPy lacks": ("chalf",),
    "prototype or rarely used, absent from the surveyed programs": (
        "nn.functional.linear_cross_entropy*", "histogramdd", "nonzero_static",
        "empty_permuted", "nn.functional.fractional_max_pool*",
    ),
}


def out_of_scope(name: str) -> str | None:
    """The reason why an op_db name is left out, or None for an op that clew is to have."""
    for reason, patterns in OUT_OF_SCOPE.items():
        if any(fnmatchcase(name, pattern) for pattern in patterns):
            return reason
    return None
