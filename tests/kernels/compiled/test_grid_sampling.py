"""Sampling at points: all modes and paddings against PyTorch, and what is not finite."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch

import clew
from tests.oracle import to_clew
from tests.tensors import to_torch

MODES = [
    (axes, mode, padding, align)
    for axes, mode, padding, align in product(
        (2, 3),
        ("bilinear", "nearest", "bicubic"),
        ("zeros", "border", "reflection"),
        (True, False),
    )
    if not (axes == 3 and mode == "bicubic")
]


def _both(x: torch.Tensor, grid: torch.Tensor, *options: object) -> tuple[np.ndarray, np.ndarray]:
    theirs = torch.nn.functional.grid_sample(x, grid, *options)  # type: ignore[arg-type]  # a table of options
    given = (clew.from_numpy(each.numpy()) for each in (x, grid))
    ours = clew.nn.functional.grid_sample(*given, *options)
    return ours.numpy(), theirs.numpy()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize(("axes", "mode", "padding", "align"), MODES)
def test_values(axes: int, mode: str, padding: str, align: bool, dtype: torch.dtype) -> None:
    generator = torch.manual_seed(0)
    for batch, spatial in ((2, (5, 7, 3)), (0, (5, 7, 3)), (2, (1, 1, 1))):
        x = torch.randn(batch, 3, *spatial[:axes], dtype=dtype, generator=generator)
        points = torch.rand(batch, *(4, 5, 2)[:axes], axes, dtype=dtype, generator=generator)
        ours, theirs = _both(x, points * 4 - 2, mode, padding, align)
        np.testing.assert_allclose(ours, theirs, 1e-4, 1e-4)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize(("axes", "mode", "padding", "align"), MODES)
def test_halves_have_torchs_bits(
    axes: int, mode: str, padding: str, align: bool, dtype: torch.dtype
) -> None:
    generator = torch.manual_seed(2)
    x = torch.randn(2, 3, *(5, 7, 3)[:axes], generator=generator).to(dtype) * 5
    points = torch.randn(2, *(4, 13, 2)[:axes], axes, generator=generator).to(dtype)
    given = [each.requires_grad_() for each in (x, points)]
    theirs = torch.nn.functional.grid_sample(*given, mode, padding, align)
    g = torch.randn(theirs.shape, generator=generator).to(dtype)
    expected = (theirs.detach(), *torch.autograd.grad(theirs, given, g))
    ours_in = [to_clew(each.detach()).requires_grad_() for each in given]
    ours = clew.nn.functional.grid_sample(*ours_in, mode, padding, align)
    found = (ours.detach(), *clew.autograd.grad(ours, ours_in, to_clew(g)))
    for mine, other in zip(found, expected, strict=True):
        assert torch.equal(to_torch(mine), other)


def test_strided_images_and_points() -> None:
    generator = torch.manual_seed(1)
    x = torch.randn(6, 5, 3, 2, generator=generator).permute(3, 2, 1, 0)[..., ::2]
    points = torch.rand(2, 3, 4, 2, generator=generator).permute(3, 2, 1, 0) * 2 - 1
    ours, theirs = _both(x, points, "bilinear", "zeros", False)
    np.testing.assert_allclose(ours, theirs, 1e-5, 1e-5)


@pytest.mark.parametrize("axes", [2, 3])
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
@pytest.mark.parametrize("padding_mode", ["zeros", "border"])
def test_points_that_are_not_finite(axes: int, mode: str, padding_mode: str) -> None:
    x = torch.full((1, 1, *(3,) * axes), 2.0)
    values = [torch.nan, 0.0, torch.inf, -torch.inf, 1e30, 0.5]
    points = torch.tensor(values).reshape(1, -1, *(1,) * (axes - 1), axes)
    expected = torch.nn.functional.grid_sample(x, points, mode, padding_mode, False)
    ours = [clew.from_numpy(each.numpy()) for each in (x, points)]
    found = clew.nn.functional.grid_sample(*ours, mode, padding_mode, False)
    assert np.array_equal(found.numpy(), expected.numpy(), equal_nan=True)
