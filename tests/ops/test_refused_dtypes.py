"""Dtypes that a function takes in general, but not in this case."""

from __future__ import annotations

from typing import Any

from tests.twice import raised, twice


@twice
def test_dilated_convolutions_of_integers(lib: Any) -> Any:
    seen = []
    for kind in (lib.uint8, lib.int32, lib.int64):
        x, w = lib.ones(1, 1, 4, 4, dtype=kind), lib.ones(1, 1, 2, 2, dtype=kind)
        F = lib.nn.functional
        seen += [F.conv2d(x, w), raised(F.conv2d, x, w, dilation=2)]
        seen.append(raised(F.conv1d, x[0, :, :1], w[0, :, :1], dilation=2))
    return seen


@twice
def test_dropout_of_complex_numbers(lib: Any) -> Any:
    x, F = lib.ones(2, 3, dtype=lib.complex64), lib.nn.functional
    return [
        raised(F.dropout, x, 0.5),
        raised(F.alpha_dropout, x, 0.5, True),
        F.dropout(x, 1.0),
        F.dropout(x, 0.0),
        F.dropout(x, 0.5, False),
    ]


@twice
def test_rounding_of_integers(lib: Any) -> Any:
    x = lib.tensor([12, -7])
    return [
        lib.round(x),
        raised(lib.special.round, x),
        raised(lib.round, x, decimals=0),
        raised(lib.round, x, decimals=-1),
        lib.special.round(lib.tensor([1.26, -2.5])),
        lib.special.round(lib.tensor([1.26, -2.5]), decimals=1),
        lib.special.round(lib.tensor([0.5]), out=lib.zeros(1)),
    ]


@twice
def test_images_in_half_precision_with_antialias(lib: Any) -> Any:
    x, F = lib.ones(1, 1, 4, 4), lib.nn.functional
    return [
        raised(F.interpolate, x.to(kind), (2, 2), mode=mode, antialias=True)
        for kind in (lib.float16, lib.bfloat16)
        for mode in ("bilinear", "bicubic")
    ]


@twice
def test_running_products_of_bools(lib: Any) -> Any:
    x = lib.tensor([True, False])
    return lib.cumprod(x, 0), raised(lib.cumprod, x, 0, dtype=lib.bool)


@twice
def test_logarithms_of_a_bool_are_of_single_precision(lib: Any) -> Any:
    x = lib.tensor([True, False])
    return lib.special.xlog1py(x, True), lib.xlogy(x, True), lib.special.xlog1py(True, x)


@twice
def test_margins_of_integers(lib: Any) -> Any:
    """The margin takes the dtype of the input, and what that cannot hold is refused."""
    target, loss = lib.tensor([1, -1, 0, -1]), lib.nn.functional.hinge_embedding_loss
    seen = []
    for kind in (lib.int64, lib.int8, lib.uint8, lib.float32):
        x = lib.tensor([1, 3, 0, 5], dtype=kind)
        seen += [loss(x, target, 2.7, reduction=each) for each in ("none", "sum")]
        seen.append(raised(loss, x, target, 2.7))
        seen.append(raised(loss, x, target, -3.0, reduction="sum", words=5))
    return seen, raised(loss, target.bool(), target, words=4)


@twice
def test_complex_rows_are_shortened(lib: Any) -> Any:
    table = lib.complex(lib.arange(6.0).reshape(3, 2), lib.ones(3, 2))
    return lib.nn.functional.embedding(lib.tensor([2, 0]), table, max_norm=1.0), table


@twice
def test_kernels_of_antialiasing(lib: Any) -> Any:
    resized = lib.ops.aten._upsample_bilinear2d_aa
    return [
        raised(resized, lib.ones(1, 1, 4, 4).to(kind), [2, 2], False)
        for kind in (lib.float16, lib.bfloat16, lib.int8, lib.bool)
    ]
