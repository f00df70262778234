"""Convolutions through the implicit GEMM, their gradients, and weight gradients, by shape."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

import clew
from clew.kernels.conv import implicit_gemm, indirect_conv, weight_gradient
from clew.kernels.conv.im2col_conv import FORWARD, GRAD_INPUT, Geometry

# Images, channels, filters (of a group), height and width.
SHAPES = [
    (1, 3, 5, 40, 37), (3, 20, 40, 8, 8), (16, 64, 40, 4, 4), (5, 17, 70, 7, 9), (2, 40, 16, 1, 30),
    (9, 1, 1, 16, 16), (1, 70, 33, 33, 17), (2, 3, 64, 3, 300),
]  # fmt: skip
# Kernel, stride, padding, dilation, groups.
WINDOWS: list[tuple[Any, ...]] = [
    ((3, 3), (1, 1), (1, 1), (1, 1), 1),
    ((3, 3), (2, 2), (1, 1), (1, 1), 1),
    ((1, 5), (1, 1), (0, 2), (1, 1), 2),
    ((1, 2), (3, 3), (0, 1), (1, 2), 1),
    ((1, 3), (2, 1), (2, 3), (2, 2), 3),
    ((1, 1), (2, 2), (0, 0), (1, 1), 1),
    ((2, 2), (1, 1), (5, 4), (1, 1), 1),
]


@pytest.fixture(autouse=True)
def _same_threads_afterwards() -> Iterator[None]:
    threads = clew.get_num_threads()
    yield
    clew.set_num_threads(threads)


@pytest.mark.parametrize("is_indirect", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("window", WINDOWS)
def test_agrees_with_torch(
    window: tuple[Any, ...], dtype: Any, is_indirect: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indirect_conv, "fits", lambda geometry: is_indirect)
    kernel, stride, padding, dilation, groups = window
    tight = {"rtol": 1e-4, "atol": 1e-4} if dtype is np.float32 else {"rtol": 1e-10, "atol": 1e-10}
    generator = np.random.default_rng(0)
    for (batch, channels, filters, *size), threads in itertools.product(SHAPES, (1, 2, 16)):
        reach = [d * (k - 1) + 1 for d, k in zip(dilation, kernel, strict=True)]
        if any(n + 2 * p < r for n, p, r in zip(size, padding, reach, strict=True)):
            continue
        clew.set_num_threads(threads)
        x = generator.standard_normal((batch, channels * groups, *size)).astype(dtype)
        w = generator.standard_normal((filters * groups, channels, *kernel)).astype(dtype)
        bias = generator.standard_normal(filters * groups).astype(dtype)
        wide = [torch.tensor(each, dtype=torch.float64, requires_grad=True) for each in (x, w)]
        options = (torch.tensor(bias, dtype=torch.float64), stride, padding, dilation, groups)
        expected = torch.conv2d(*wide, *options)
        y = np.full(expected.shape, np.nan, dtype)
        geometry = Geometry(x.shape, w.shape, y.shape, stride, padding, dilation, groups)
        implicit_gemm.run(FORWARD, x, w, y, geometry, bias)
        np.testing.assert_allclose(y, expected.detach(), **tight)
        g = generator.standard_normal(y.shape).astype(dtype)
        of_x, of_w = torch.autograd.grad(expected, wide, torch.tensor(g, dtype=torch.float64))
        if stride == (1, 1):
            found = np.full(x.shape, np.nan, dtype)
            implicit_gemm.run(GRAD_INPUT, found, w, g, geometry, None)
            np.testing.assert_allclose(found, of_x, **tight)
        if is_indirect:  # gradients of weights know one way
            continue
        found = np.full(w.shape, np.nan, dtype)
        weight_gradient.run(x, found, g, geometry)
        scale = max(1.0, float(of_w.abs().max()))
        np.testing.assert_allclose(found / scale, of_w / scale, **tight)


def test_panels_of_weight_gradients_are_made_in_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(0)
    x, g = (generator.standard_normal((6, n, 20, 20)).astype(np.float32) for n in (5, 7))
    geometry = Geometry(x.shape, (7, 5, 3, 3), g.shape, (1, 1), (1, 1), (1, 1), 1)
    found = []
    for units in (1, 2, 5, 100):
        monkeypatch.setattr(weight_gradient, "_MAX_PANELS", 0)
        monkeypatch.setattr(weight_gradient, "_MIN_UNITS", units)
        found.append(np.full((7, 5, 3, 3), np.nan, np.float32))
        weight_gradient.run(x, found[-1], g, geometry)
    for each in found:
        np.testing.assert_array_equal(each, found[0])
    expected = torch.nn.grad.conv2d_weight(
        torch.tensor(x), (7, 5, 3, 3), torch.tensor(g), padding=1
    )
    np.testing.assert_allclose(found[0], expected, rtol=1e-3, atol=1e-3)


def test_results_do_not_depend_on_threads() -> None:
    generator = np.random.default_rng(0)
    x, w = generator.standard_normal((3, 40, 9, 9)), generator.standard_normal((150, 40, 3, 3))
    geometry = Geometry(x.shape, w.shape, (3, 150, 9, 9), (1, 1), (1, 1), (1, 1), 1)
    assert indirect_conv.fits(geometry)
    found = []
    for threads in (1, 2, 5, 16):
        clew.set_num_threads(threads)
        y, of_x, of_w = np.empty((3, 150, 9, 9)), np.empty(x.shape), np.empty(w.shape)
        implicit_gemm.run(FORWARD, x, w, y, geometry, w[:, 0, 0, 0].copy())
        implicit_gemm.run(GRAD_INPUT, of_x, w, y, geometry, None)
        weight_gradient.run(x, of_w, y, geometry)
        found.append((y, of_x, of_w))
    for each in found:
        for ours, first in zip(each, found[0], strict=True):
            np.testing.assert_array_equal(ours, first)


@pytest.mark.parametrize("transposed", [False, True])
def test_operands_with_gaps_in_memory(transposed: bool) -> None:
    generator = np.random.default_rng(0)
    x = generator.standard_normal((4, 24, 20, 40)).astype(np.float32)[..., ::2]
    w = generator.standard_normal((24, 24, 10, 5)).astype(np.float32)[:, :, ::2]
    bias = generator.standard_normal((24, 3)).astype(np.float32)[:, 1]

    def result(lib: Any) -> np.ndarray:
        name = "conv_transpose2d" if transposed else "conv2d"
        numbers = [lib.from_numpy(each) for each in (x, w, bias)]
        return getattr(lib.nn.functional, name)(*numbers, padding=2).numpy()

    np.testing.assert_allclose(result(clew), result(torch), rtol=1e-3, atol=1e-3)
