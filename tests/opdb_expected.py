"""What the op_db check does not ask of clew, and where clew is known to depart from torch.

`DEPARTURES[(op, what, dtype)]` is the reason why that one check fails; dtype is "-" for checks
that have none. A listed departure that no longer departs fails the test, so entries expire.
`OUT_OF_SCOPE` groups, by reason, the patterns (fnmatch) of the op_db names that clew leaves out.
"""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any

import torch

DEPARTURES: dict[tuple[str, str, str], str] = {
    (
        "as_strided_scatter",
        "grad",
        "float64",
    ): "torch's gradient of the input is that of the overwritten elements instead of the others",
    (
        "as_strided_scatter",
        "grad",
        "complex128",
    ): "torch's gradient of the input is that of the overwritten elements instead of the others",
    (
        "native_layer_norm",
        "gradgrad",
        "float64",
    ): "torch's second derivative without a weight trips over the weight",
    **{
        (
            f"nn.functional.linear_cross_entropy.{name}",
            "gradgrad",
            "float64",
        ): "torch's form in chunks has no second derivative"
        for name in ("chunked", "chunked_none")
    },
    (
        "nn.functional.instance_norm",
        "forward",
        "bfloat16",
    ): "mean and deviation are rounded as in torch, and where they cancel their last bit shows",
    (
        "svd_lowrank",
        "gradgrad",
        "complex128",
    ): "of three decompositions in a row: the rounding of torch's first one shows in the 7th digit",
    **{
        (f"special.bessel_{name}", "forward", "float64"): "torch's short series is off by 4e-7 at 5"
        for name in ("j0", "j1", "y1")
    },
}

# Of checks and dtypes that only `python -m tests.opdb_wide` has.
WIDE_DEPARTURES: dict[tuple[str, str, str], str] = {
    ("normal", "out", "float64"): "torch draws in the order of the memory of an `out` with gaps",
    (
        "gcd",
        "reference",
        "int8",
    ): "of -128, torch's sign is an accident: its absolute value is no int8",
    **{
        (name, "reference", dtype): "torch has NaN for complex infinities: it multiplies by 1 + 0j"
        for name in ("add", "sub", "__radd__", "__rsub__", "logaddexp")
        for dtype in ("complex64", "complex128")
    },
    (
        "pca_lowrank",
        "gradgrad",
        "complex128",
    ): "of three decompositions in a row: the rounding of torch's first one shows in the 7th digit",
    **{
        ("to_sparse", "forward", dtype): "of complex tensors, torch has no gradient"
        for dtype in ("complex64", "complex128")
    },
    **{
        ("float_power", "reference", dtype): "0j ** 0j is 1, as in NumPy; torch has NaN"
        for dtype in ("complex64", "complex128")
    },
    **{
        ("ldexp", "reference", dtype): "of a complex number that is too large, torch has NaN"
        for dtype in ("complex64", "complex128")
    },
    (
        "nn.functional.interpolate.bilinear",
        "reference",
        "bfloat16",
    ): "where the pixels cancel, the rounding of their weights in float32 shows",
    **{
        (
            "cov",
            what,
            "complex128",
        ): "the weights are float32, and what is left when their gradients cancel is rounding"
        for what in ("grad", "gradgrad", "jvp")
    },
    **{
        (
            name,
            "reference",
            "complex64",
        ): "beside an infinity, the rounding of the other part, which cancels"
        for name in ("mul", "__rmul__")
    },
}

# torch computes these with a rounding to the dtype after every step, and is off by more than clew,
# which rounds once: clew is compared with torch's result in the next wider dtype, rounded.
ROUNDED_AT_EACH_STEP: dict[str, tuple[str, ...]] = {
    "bfloat16": ("matrix_exp", "nn.functional.nll_loss"),
    "float32": (
        "linalg.pinv.hermitian",
        "nn.functional.multi_head_attention_forward",
    ),
}

# Sums of products that cancel: their rounding error, which depends on the order of the sum, is in
# proportion to the largest elements of the result, not to each one; in float32, so is the
# tolerance.
SUMS_OF_PRODUCTS = (
    "__rmatmul__",
    "addbmm",
    "linalg.tensorsolve",
    "matmul",
    "matrix_exp",
    "nn.functional.conv3d",
    "nn.functional.conv_transpose3d",
)

# Eigenvalues come in no order: both libraries' are sorted, with the vectors, before they are
# compared.
ANY_ORDER = ("linalg.eig", "linalg.eigvals")

# torch's forward-mode formula is wrong or inexact there, its gradients are right.
TANGENT_BY_TRANSPOSITION: dict[str, str] = {
    "cholesky_inverse": "torch has two factors in the wrong order",
    "logcumsumexp": "torch cancels in float64, and has NaN for complex numbers",
}


def _is_empty(sample: Any) -> bool:
    return bool(sample.input.numel() == 0)


def _has_one_element(sample: Any) -> bool:
    return bool(sample.input.numel() == 1)


def _out_is_too_small(sample: Any) -> bool:
    out = sample.kwargs.get("out")
    return out is not None and bool(out.numel() < sample.args[1].numel())


def _is_on_an_edge(sample: Any) -> bool:
    bins = sample.args[0]
    return bool(sample.input.numel() == 1) and isinstance(bins, int) and bins % 2 == 0


def _always(sample: Any) -> bool:
    return True


def _has_another_target_shape(sample: Any) -> bool:
    return bool(sample.args[0].shape != sample.input.shape and sample.args[0].numel() > 1)


def _is_of_a_number(sample: Any) -> bool:
    return not isinstance(sample.input, torch.Tensor)


SAMPLES_LEFT_OUT: dict[tuple[str, str], tuple[Callable[[Any], bool], str]] = {
    ("as_strided*", "gaps"): (
        _always,
        "with other strides in memory, the strides asked for lead to what is not initialised",
    ),
    **{
        ("sparse.*", check): (_always, "torch has no strides, and no batches, of sparse tensors")
        for check in ("gaps", "vmap")
    },
    ("__r*__", "*"): (_is_of_a_number, "Python never calls it with a number for `self`"),
    ("native_group_norm", "gaps"): (_always, "torch refuses memory with gaps"),
    **{
        (f"nn.functional.{name}", "*"): (
            _has_another_target_shape,
            "clew refuses targets of another shape than the input's, on purpose",
        )
        for name in ("hinge_embedding_loss", "gaussian_nll_loss")
    },
    ("std*", "jvp"): (_is_empty, "the result is NaN; torch has tangents of 0 and of NaN beside it"),
    ("var*", "jvp"): (_is_empty, "the result is NaN; torch has tangents of 0 and of NaN beside it"),
    ("addbmm", "variants"): (
        _has_one_element,
        "torch's addbmm_ resizes a tensor that would have to be broadcast",
    ),
    ("gather", "errors"): (
        _out_is_too_small,
        "torch resizes `out` in place, onto the index; clew gives it new memory",
    ),
    ("histogram", "forward"): (
        _is_on_an_edge,
        "the one value lies on an edge, and torch's rounding decides on its side",
    ),
}


# (op, kind of `out`) for which torch returns nothing to compare with.
OUTS_LEFT_OUT: dict[tuple[str, str], str] = {
    **{
        (name, "of another shape"): "torch's words are of a check inside it"
        for name in ("native_batch_norm", "_native_batch_norm_legit")
    },
    ("normal.number_mean", "of no elements"): "torch does not resize `out` here",
    ("normal.number_mean", "of another shape"): "torch does not resize `out` here",
    ("narrow_copy", "with gaps"): "torch writes as if there were no gaps",
    ("nn.functional.avg_pool3d", "with gaps"): "torch writes as if there were no gaps",
    **{
        (f"fft.{name}", kind): "torch leaves `out` as it is"
        for name in ("ihfft2", "ihfftn")
        for kind in ("of the shape", "of no elements", "with gaps", "of another shape")
    },
}


def left_out(name: str, what: str, sample: Any) -> bool:
    """Whether a sample says nothing in that check of that op."""
    return any(
        check in (what, "*") and fnmatchcase(name, pattern) and says_nothing(sample)
        for (pattern, check), (says_nothing, _reason) in SAMPLES_LEFT_OUT.items()
    )


OUT_OF_SCOPE: dict[str, tuple[str, ...]] = {
    "CUDA only": (
        "jiterator_*",
        "bmm.triton_optimized",
        "nn.functional.batch_norm.without_cudnn",
        "torch._scaled_mm*",
        "torch.ops.aten._efficient_attention_forward",
        "torch.ops.aten._flash_attention_forward",
    ),
    "samples that read storage outside of the tensor given, which translation does not carry": (
        "as_strided.partial_views",
    ),
    "complex half precision, which NumPy cannot carry to the other library": ("chalf",),
}


def out_of_scope(name: str) -> str | None:
    """The reason why an op_db name is left out, or None for an op that clew is to have."""
    for reason, patterns in OUT_OF_SCOPE.items():
        if any(fnmatchcase(name, pattern) for pattern in patterns):
            return reason
    return None
