"""Interpolation and grid sampling kernels, against PyTorch and against their own adjoints."""

import operator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from clew.kernels.numpy import grid_sample as grids
from clew.kernels.numpy import interpolate
from clew.kernels.numpy.separable import AxisTable, apply_table

MODES_BY_DIMS = {
    1: ["nearest", "nearest-exact", "linear", "area"],
    2: ["nearest", "nearest-exact", "bilinear", "bicubic", "area"],
    3: ["nearest", "nearest-exact", "trilinear", "area"],
}


def tolerance(dtype: Any) -> dict[str, float]:
    if dtype == np.float64:
        return {"rtol": 1e-10, "atol": 1e-11}
    return {"rtol": 1e-4, "atol": 2e-5}


def check_interpolate(
    x: np.ndarray, size: tuple[int, ...], torch_args: dict[str, Any], ours: dict[str, Any]
) -> None:
    rng = np.random.default_rng(1)
    out = interpolate.interpolate(x, size=size, **ours)
    g = rng.standard_normal(out.shape).astype(x.dtype)
    grad = interpolate.interpolate_adjoint(g, input_shape=x.shape, **ours)
    assert out.dtype == x.dtype and grad.shape == x.shape and grad.dtype == x.dtype
    close = 1e-10 if x.dtype == np.float64 else 1e-3
    assert np.vdot(out, g) == pytest.approx(np.vdot(x, grad), rel=close, abs=close)
    tx = torch.tensor(x, requires_grad=True)
    expected = F.interpolate(tx, **torch_args)
    np.testing.assert_allclose(out, expected.detach().numpy(), **tolerance(x.dtype))
    # torch does not always have the adjoint: it finds nearest elements in backward by another
    # formula than in forward, its bicubic backward copies when the size stays the same, and its
    # antialiased backward takes the factor for an axis that forward copied.
    copies = ours["mode"] == "bicubic" and size == x.shape[2:]
    copies |= bool(ours.get("antialias")) and any(map(operator.eq, size, x.shape[2:]))
    if not ours["mode"].startswith("nearest") and not copies:
        (expected_grad,) = torch.autograd.grad(expected, tx, torch.tensor(g))
        np.testing.assert_allclose(grad, expected_grad.numpy(), **tolerance(x.dtype))


def assume_torch_is_right(size: tuple[int, ...], options: dict[str, Any]) -> None:
    """Antialiased to a width of one element, torch repeats the first row downwards."""
    assume(size[-1] > 1 or not options.get("antialias"))


@st.composite
def resizings(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]:
    dims = draw(st.integers(1, 3))
    mode = draw(st.sampled_from(MODES_BY_DIMS[dims]))
    options: dict[str, Any] = {"mode": mode}
    if "linear" in mode or mode == "bicubic":
        options["align_corners"] = draw(st.booleans())
    if mode in ("bilinear", "bicubic"):
        options["antialias"] = draw(st.booleans())
    spatial = tuple(draw(st.integers(1, 12)) for _ in range(dims))
    size = tuple(draw(st.integers(1, 25)) for _ in range(dims))
    return (2, draw(st.integers(1, 3)), *spatial), size, options


@settings(max_examples=300, deadline=None)
@given(resizings(), st.sampled_from([np.float64, np.float32]))
def test_interpolate_to_size(
    config: tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]], dtype: Any
) -> None:
    shape, size, options = config
    assume_torch_is_right(size, options)
    x = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    check_interpolate(x, size, {"size": size, **options}, options)


@settings(max_examples=200, deadline=None)
@given(resizings(), st.data(), st.sampled_from([np.float64, np.float32]))
def test_interpolate_by_scale(
    config: tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]], data: st.DataObject, dtype: Any
) -> None:
    shape, _, options = config
    factor = st.floats(0.3, 3.5) | st.sampled_from([0.5, 1.0, 1.5, 2.0, 3.0])
    scales = tuple(data.draw(factor) for _ in shape[2:])
    size = interpolate.interpolate_output_size(shape[2:], scales)
    if min(size) < 1:
        with pytest.raises(RuntimeError, match="should be greater than 0"):
            interpolate.interpolate(np.ones(shape), size=size, **options)
        return
    assume_torch_is_right(size, options)
    x = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    # "area" takes its windows from the sizes alone.
    ours = options | {"scales": None if options["mode"] == "area" else scales}
    check_interpolate(x, size, {"scale_factor": scales, **options}, ours)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
@pytest.mark.parametrize("dims", [1, 2])
def test_nearest_is_exact_for_every_size(mode: str, dims: int, dtype: Any) -> None:
    for size in range(1, 40):
        x = np.arange(size, dtype=dtype).reshape(1, 1, *(1,) * (dims - 1), size)
        for count in range(1, 60):
            shape = (*(1,) * (dims - 1), count)
            out = interpolate.interpolate(x, size=shape, mode=mode)
            expected = F.interpolate(torch.tensor(x), size=shape, mode=mode)
            np.testing.assert_array_equal(out, expected.numpy())


@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_larger_images(mode: str, antialias: bool) -> None:
    x = np.random.default_rng(0).standard_normal((2, 3, 150, 171))
    for size in ((40, 57), (310, 200)):
        options = {"mode": mode, "antialias": antialias}
        check_interpolate(x, size, {"size": size, **options}, options)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_antialias_of_a_single_column(mode: str) -> None:
    column = np.random.default_rng(0).standard_normal((2, 3, 7, 1))
    for rows in (3, 10):
        out = interpolate.interpolate(column, size=(rows, 1), mode=mode, antialias=True)
        wide = np.repeat(column, 4, axis=3)
        expected = F.interpolate(torch.tensor(wide), size=(rows, 4), mode=mode, antialias=True)
        np.testing.assert_allclose(out, expected.numpy()[..., :1], rtol=1e-10, atol=1e-11)


def test_long_signals_do_not_need_dense_matrices() -> None:
    x = np.random.default_rng(0).standard_normal((1, 1, 100_000))
    out = interpolate.interpolate(x, size=150_001, mode="linear")
    # Not torch: it rounds double positions to single precision before it takes their floor.
    positions = (np.arange(150_001) + 0.5) * (100_000 / 150_001) - 0.5
    expected = np.interp(positions, np.arange(100_000), x[0, 0])
    np.testing.assert_allclose(out[0, 0], expected, rtol=1e-10, atol=1e-10)
    g = np.random.default_rng(1).standard_normal(out.shape)
    grad = interpolate.interpolate_adjoint(g, input_shape=x.shape, mode="linear")
    assert np.vdot(out, g) == pytest.approx(np.vdot(x, grad), rel=1e-10)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_interpolate_half_dtypes(dtype: Any) -> None:
    x = np.random.default_rng(0).standard_normal((2, 3, 5, 6)).astype(dtype)
    out = interpolate.interpolate(x, size=(9, 11), mode="bilinear")
    wide = interpolate.interpolate(x.astype(np.float32), size=(9, 11), mode="bilinear")
    assert out.dtype == dtype
    np.testing.assert_array_equal(out, wide.astype(dtype))


def test_interpolate_integers_and_empty_batch() -> None:
    x = np.arange(12, dtype=np.uint8).reshape(1, 1, 3, 4)
    out = interpolate.interpolate(x, size=(6, 8))
    np.testing.assert_array_equal(out, x.repeat(2, axis=2).repeat(2, axis=3))
    empty = interpolate.interpolate(np.ones((0, 3, 4, 4)), size=8, mode="bilinear")
    assert empty.shape == (0, 3, 8, 8)


def test_interpolate_errors() -> None:
    x = np.ones((1, 2, 4, 4))
    with pytest.raises(NotImplementedError, match="Got 4D input, but trilinear mode needs 5D"):
        interpolate.interpolate(x, size=8, mode="trilinear")
    with pytest.raises(NotImplementedError, match="mode must be one of"):
        interpolate.interpolate(x, size=8, mode="spline")
    with pytest.raises(ValueError, match="Lanczos mode requires antialias=True"):
        interpolate.interpolate(x, size=8, mode="lanczos")
    with pytest.raises(ValueError, match="Anti-alias option is restricted"):
        interpolate.interpolate(x, size=8, antialias=True)
    with pytest.raises(ValueError, match="align_corners option can only be set"):
        interpolate.interpolate(x, size=8, align_corners=True)
    with pytest.raises(RuntimeError, match="not implemented for 'int64'"):
        interpolate.interpolate(x.astype(np.int64), size=8, mode="bilinear")
    with pytest.raises(ValueError, match="scale_factor must have one entry"):
        interpolate.interpolate(x, size=8, scales=(2.0,))


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 200), st.integers(1, 40), st.integers(1, 5), st.integers(0, 2))
def test_table_is_its_dense_matrix(size: int, count: int, taps: int, axis: int) -> None:
    """Whatever way `apply_table` chooses, it is the product with the matrix of the table."""
    rng = np.random.default_rng(0)
    table = AxisTable(
        rng.integers(0, size, (count, taps)), rng.standard_normal((count, taps)), size
    )
    np.testing.assert_allclose(table.transposed.dense, table.dense.T, rtol=1e-12, atol=1e-14)
    shape = [2, 3, 4]
    shape[axis] = size
    x = rng.standard_normal(shape)
    expected = np.moveaxis(np.tensordot(table.dense, x, axes=(1, axis)), 0, axis)
    np.testing.assert_allclose(apply_table(x, table, axis), expected, rtol=1e-10, atol=1e-12)


SAMPLINGS = [
    (dims, mode, padding, align)
    for dims in (2, 3)
    for mode in grids.MODES
    for padding in grids.PADDING_MODES
    for align in (False, True)
    if dims == 2 or mode != "bicubic"
]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("dims", "mode", "padding", "align"), SAMPLINGS)
def test_grid_sample(dims: int, mode: str, padding: str, align: bool, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    for sizes in ((5, 6, 4)[:dims], (1, 3, 1)[:dims]):
        x = rng.standard_normal((2, 3, *sizes)).astype(dtype)
        grid = rng.uniform(-3.4, 3.4, (2, *(7, 8, 3)[:dims], dims)).astype(dtype)
        options = {"mode": mode, "padding_mode": padding, "align_corners": align}
        expected = F.grid_sample(torch.tensor(x), torch.tensor(grid), **options)
        out = grids.grid_sample(x, grid, **options)
        assert out.dtype == dtype
        np.testing.assert_allclose(out, expected.numpy(), **tolerance(dtype))


@pytest.mark.parametrize("padding", grids.PADDING_MODES)
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_grid_sample_with_unreal_points(mode: str, padding: str) -> None:
    """Huge coordinates are far outside: zeros or a border value, never a wrong element."""
    x = np.arange(1.0, 13.0).reshape(1, 1, 3, 4)
    grid = np.array([[1e9, 0], [-1e9, 0], [1e30, 0], [-1e30, 0]]).reshape(1, 1, 4, 2)
    options = {"mode": mode, "padding_mode": padding, "align_corners": False}
    out = grids.grid_sample(x, grid, **options)
    expected = F.grid_sample(torch.tensor(x), torch.tensor(grid), **options)
    np.testing.assert_array_equal(out, expected.numpy())


@pytest.mark.parametrize("dims", [2, 3])
@pytest.mark.parametrize("padding", grids.PADDING_MODES)
@pytest.mark.parametrize("align", [False, True])
def test_padding_slope_is_the_gradient(dims: int, padding: str, align: bool) -> None:
    """The decomposition differentiated by torch equals torch's own grid gradient."""
    rng = np.random.default_rng(0)
    sizes = (5, 6, 4)[:dims]
    x = rng.standard_normal((2, 3, *sizes))
    grid = torch.tensor(rng.uniform(-2.7, 2.7, (2, *(7, 8, 3)[:dims], dims)), requires_grad=True)
    expected = F.grid_sample(torch.tensor(x), grid, "bilinear", padding, align)
    g = torch.tensor(rng.standard_normal(expected.shape))
    (expected_grad,) = torch.autograd.grad(expected, grid, g)
    positions = []
    for axis, size in enumerate(sizes):
        slope, offset = grids.unnormalize_coefficients(size, align)
        position = grid[..., dims - 1 - axis] * slope + offset
        a, b = grids.padding_coefficients(position.detach().numpy(), size, padding, align)
        positions.append(position * torch.tensor(a) + torch.tensor(b))
    total = torch.zeros_like(expected)
    for bits in np.ndindex(*(2,) * dims):
        floors = [position.detach().floor() for position in positions]
        corner = [floor.numpy() + bit for floor, bit in zip(floors, bits, strict=True)]
        index, inside = grids.point_index(corner, sizes)
        weight = torch.ones(grid.shape[:-1], dtype=grid.dtype)
        for position, floor, bit in zip(positions, floors, bits, strict=True):
            part = position - floor
            weight = weight * (part if bit else 1 - part)
        total = total + weight[:, None] * torch.tensor(grids.gather_points(x, index, inside))
    np.testing.assert_allclose(total.detach().numpy(), expected.detach().numpy(), atol=1e-12)
    (grad,) = torch.autograd.grad(total, grid, g)
    np.testing.assert_allclose(grad.numpy(), expected_grad.numpy(), rtol=1e-10, atol=1e-11)


def test_gather_and_scatter_points_are_adjoint() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 3, 4, 5))
    index = rng.integers(0, 20, (2, 6, 7))
    inside = rng.random((2, 6, 7)) < 0.7
    out = grids.gather_points(x, index, inside)
    g = rng.standard_normal(out.shape)
    scattered = grids.scatter_points(g, index, inside, spatial=(4, 5))
    assert np.vdot(g, out) == pytest.approx(np.vdot(scattered, x), rel=1e-12)


def test_border_slope_is_zero_as_in_torch() -> None:
    positions = np.array([-1.0, 0.0, 1.5, 3.0, 4.0])
    slope, offset = grids.padding_coefficients(positions, 4, "border", True)
    np.testing.assert_array_equal(slope, [0, 0, 1, 0, 0])
    np.testing.assert_array_equal(offset, [0, 0, 0, 3, 3])


def test_grid_sample_errors() -> None:
    x, grid = np.ones((1, 2, 4, 4)), np.zeros((1, 3, 3, 2))
    with pytest.raises(ValueError, match="expected mode to be"):
        grids.grid_sample(x, grid, mode="cubic")
    with pytest.raises(ValueError, match="expected padding_mode to be"):
        grids.grid_sample(x, grid, padding_mode="wrap")
    cases: list[tuple[np.ndarray, np.ndarray, str]] = [
        (x[0], grid, "expected 4D or 5D input"),
        (x, np.zeros((2, 3, 3, 2)), "same batch size"),
        (x, np.zeros((1, 3, 3, 3)), "in last dimension"),
        (np.ones((1, 2, 0, 4)), grid, "non-empty spatial dimensions"),
    ]
    for bad_x, bad_grid, words in cases:
        with pytest.raises(RuntimeError, match=words):
            grids.grid_sample(bad_x, bad_grid)
    with pytest.raises(RuntimeError, match="bicubic interpolation only supports 4D"):
        grids.grid_sample(np.ones((1, 2, 4, 4, 4)), np.zeros((1, 3, 3, 3, 3)), mode="bicubic")
