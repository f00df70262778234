"""Kernels over rows of images, with vectors of any width."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import clew
from clew.kernels.codegen import image_rows
from clew.kernels.conv import depthwise, im2col_conv, winograd
from clew.kernels.pool import separable_maps, small_max_pool
from tests.oracle import assert_same


@pytest.fixture(params=[16, 32, 64])
def vectors(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Nothing compiled, and vectors of so many bytes; LLVM splits those that are too wide."""
    monkeypatch.setenv("CLEW_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(image_rows, "vector_bytes", lambda: request.param)
    for module in (im2col_conv, depthwise, small_max_pool, winograd):
        cached: Any = module._function
        monkeypatch.setattr(module, "_function", cached.__wrapped__)
    fresh = separable_maps.SeparableMap(
        "separable_map_again",
        separable_maps._no_formula,
        separable_maps.KERNEL.signatures,
        separable_maps.CORE,
    )
    monkeypatch.setattr(separable_maps, "KERNEL", fresh)


def with_gradients(t: Any, function: Any, *shapes: tuple[int, ...]) -> list[Any]:
    generator = torch.Generator().manual_seed(0)
    inputs = [
        t.tensor(torch.randn(shape, generator=generator).tolist(), requires_grad=True)
        for shape in shapes
    ]
    out = function(t.nn.functional, *inputs)
    (out * t.arange(out.numel()).reshape(out.shape).cos()).sum().backward()
    return [out, *(each.grad for each in inputs)]


CONVOLUTIONS = {
    "winograd, 9 columns": ((16, 16, 9, 9), (16, 16, 3, 3), {"padding": 1}),
    "winograd, 37 columns": ((4, 16, 19, 37), (17, 16, 3, 3), {"padding": 1}),
    "columns": ((4, 3, 13, 21), (8, 3, 5, 5), {"padding": 2}),
    "columns, every other": ((4, 3, 13, 38), (8, 3, 3, 3), {"padding": 1, "stride": 2}),
    "columns, every third": ((4, 3, 13, 40), (8, 3, 3, 3), {"stride": 3, "dilation": 2}),
    "depthwise": ((4, 8, 15, 23), (8, 1, 3, 3), {"padding": 1, "groups": 8}),
    "depthwise, every other": ((4, 8, 15, 38), (8, 1, 3, 3), {"stride": 2, "groups": 8}),
    "depthwise, every third": ((4, 8, 16, 23), (8, 1, 5, 5), {"stride": 3, "groups": 8}),
}


@pytest.mark.usefixtures("vectors")
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolution(name: str) -> None:
    x, w, options = CONVOLUTIONS[name]

    def convolved(functional: Any, x: Any, w: Any) -> Any:
        return functional.conv2d(x, w, **options)

    found, expected = (with_gradients(t, convolved, x, w) for t in (clew, torch))
    for ours, theirs in zip(found, expected, strict=True):
        assert_same(ours, theirs, rtol=1e-4, atol=1e-3)


POOLS = {
    "2 by 2": lambda f, x: f.max_pool2d(x, 2),
    "3 by 3, every other": lambda f, x: f.max_pool2d(x, 3, 2, 1),
    "3 by 3": lambda f, x: f.max_pool2d(x, 3, 1, 1),
    "every third": lambda f, x: f.max_pool2d(x, (2, 3), 3),
    "one column": lambda f, x: f.max_pool2d(x, (3, 1), 2),
    "gaps": lambda f, x: f.max_pool2d(x, 2, 2, 0, 2),
    "averages": lambda f, x: f.avg_pool2d(x, 3, 2, 1),
    "interpolation": lambda f, x: f.interpolate(x, scale_factor=2, mode="bilinear"),
}


@pytest.mark.usefixtures("vectors")
@pytest.mark.parametrize("width", [9, 38])
@pytest.mark.parametrize("name", POOLS)
def test_pooling(name: str, width: int) -> None:
    found, expected = (with_gradients(t, POOLS[name], (3, 4, 11, width)) for t in (clew, torch))
    for ours, theirs in zip(found, expected, strict=True):
        assert_same(ours, theirs)
