"""`linear_cross_entropy` with options: what they may be, and that results do not depend on them."""

from __future__ import annotations

from typing import Any

import pytest

import clew
from tests.twice import raised, twice


@twice
def test_what_options_may_be(lib: Any) -> Any:
    Options = lib.nn.LinearCrossEntropyOptions
    wrong = [{"acc_policy": each} for each in ("x", "", None)]
    wrong += [{"batch_chunk_size": each} for each in (0, -1, 2.5, "a")]
    methods = ("x", "aspect_ratio:", "aspect_ratio:0", "aspect_ratio:2.5")
    wrong += [{"chunking_method": each} for each in methods]
    wrong += [{"acc_dtype": each} for each in (lib.int32, lib.complex64, lib.bool)]
    return repr(Options()), [raised(Options, **each) for each in wrong]


@twice
def test_how_many_rows_are_taken_at_a_time(lib: Any) -> Any:
    Options, cpu = lib.nn.LinearCrossEntropyOptions, lib.device("cpu")
    options = [
        Options(), Options(batch_chunk_size=5), Options(chunking_method=None),
        Options(chunking_method="aspect_ratio"), Options(acc_policy="balanced"),
        Options(batch_chunk_size=8, chunking_method="aspect_ratio:2"),
        Options(batch_chunk_size=500),
    ]  # fmt: skip
    sizes = ((128, 4096, 50000), (13, 5, 4), (16, 64, 64), (100, 7, 30))
    return [
        repr(each._adjust(*size, dtype, cpu))
        for each in options[:-2]
        for size in sizes
        for dtype in (lib.float32, lib.bfloat16)
    ] + [
        raised(options[-2]._adjust, 16, 64, 64, lib.float32),
        repr(options[-1]._adjust(16, 64, 64, lib.float32)),
    ]


@twice
def test_arguments_that_options_have_no_meaning_for_warn(lib: Any) -> Any:
    loss, options = lib.nn.functional.linear_cross_entropy, lib.nn.LinearCrossEntropyOptions()
    x, weight, target = lib.ones(4, 6), lib.ones(5, 6), lib.tensor([0, 1, 2, 3])
    return (
        loss(x, weight, target, label_smoothing=0.1, options=options),
        loss(
            x,
            lib.ones(5, 3, 6),
            lib.zeros(4, 3).long(),
            linear_bias=lib.ones(5, 3),
            options=options,
        ),
        loss(x, weight, lib.ones(4, 5) / 5, options=options),
        raised(loss, x, weight, target, linear_bias=lib.ones(3)),
        raised(loss, x, weight, target, linear_bias=lib.ones(5, 1)),
    )


@twice
def test_values_in_parts(lib: Any) -> Any:
    values = lib.arange(40.0, dtype=lib.float64)
    x, weight = (values[:28] % 5).reshape(7, 4), (values % 7).reshape(10, 4) / 10
    target, factors = lib.tensor([0, 9, 3, 3, 5, 1, 2]), (values[:10] + 1) / 4
    return [
        lib.nn.functional.linear_cross_entropy(
            x.to(dtype), weight.to(dtype), target, reduction=reduction,
            linear_bias=weight[:, 0].to(dtype), **more,
            options=lib.nn.LinearCrossEntropyOptions(batch_chunk_size=2),
        )
        for dtype in (lib.float64, lib.float32)
        for reduction in ("mean", "sum", "none")
        for more in ({}, {"weight": factors.to(dtype)}, {"ignore_index": 3})
    ]  # fmt: skip


@pytest.mark.parametrize("dtype", [clew.float16, clew.bfloat16])
def test_gradients_of_half_precision_are_rounded_once(dtype: clew.dtype) -> None:
    clew.manual_seed(0)
    x, weight = clew.randn(32, 16).to(dtype), clew.randn(8, 16).to(dtype)
    target = clew.arange(32) % 8
    exact = [each.double().requires_grad_() for each in (x, weight)]
    clew.nn.functional.linear_cross_entropy(*exact, target).backward()
    given = [each.requires_grad_() for each in (x, weight)]
    options = clew.nn.LinearCrossEntropyOptions()
    clew.nn.functional.linear_cross_entropy(*given, target, options=options).backward()
    for mine, best in zip(given, exact, strict=True):
        assert mine.grad is not None and best.grad is not None
        rounding = clew.finfo(dtype).eps * best.grad.abs() + 1e-6
        assert bool(((mine.grad.double() - best.grad).abs() <= rounding).all())
