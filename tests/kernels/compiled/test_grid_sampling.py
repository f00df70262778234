"""Sampling at points: all modes and paddings against PyTorch, and what is not finite."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch

import clew

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


def test_strided_images_and_points() -> None:
    generator = torch.manual_seed(1)
    x = torch.randn(6, 5, 3, 2, generator=generator).permute(3, 2, 1, 0)[..., ::2]
    points = torch.rand(2, 3, 4, 2, generator=generator).permute(3, 2, 1, 0) * 2 - 1
    ours, theirs = _both(x, points, "bilinear", "zeros", False)
    np.testing.assert_allclose(ours, theirs, 1e-5, 1e-5)


def test_points_that_are_not_finite_lie_outside() -> None:
    x = torch.full((1, 1, 3, 3), torch.inf)
    points = torch.tensor([torch.nan, torch.inf, -torch.inf, 1e30]).reshape(1, 2, 1, 2)
    x, points = (clew.from_numpy(each.numpy()) for each in (x, points))
    for mode in ("bilinear", "nearest"):
        found = clew.nn.functional.grid_sample(x, points, mode, "zeros", False)
        assert found.tolist() == [[[[0.0], [0.0]]]]
