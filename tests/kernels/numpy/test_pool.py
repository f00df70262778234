"""Pooling kernels, against PyTorch and against their own adjoints."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.kernels.numpy import average_pool, max_pool

MAX_POOL = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
AVG_POOL = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}
ADAPTIVE_MAX = {1: F.adaptive_max_pool1d, 2: F.adaptive_max_pool2d, 3: F.adaptive_max_pool3d}
ADAPTIVE_AVG = {1: F.adaptive_avg_pool1d, 2: F.adaptive_avg_pool2d, 3: F.adaptive_avg_pool3d}
UNPOOL = {1: F.max_unpool1d, 2: F.max_unpool2d, 3: F.max_unpool3d}


@st.composite
def windows(draw: st.DrawFn, dilated: bool) -> tuple[tuple[int, ...], dict[str, Any]]:
    """An input shape and the parameters of a pooling that fits it."""
    dims = draw(st.integers(1, 3))
    spatial, kernel, stride, padding, dilation = [], [], [], [], []
    for _ in range(dims):
        k = draw(st.integers(1, 4))
        d = draw(st.integers(1, 3)) if dilated else 1
        p = draw(st.integers(0, k // 2))
        smallest = max(d * (k - 1) + 1 - 2 * p, d * p + 1)
        if dims == 3 and not dilated:
            # avg_pool3d, alone, refuses an input smaller than the kernel without its padding.
            smallest = max(smallest, k)
        spatial.append(draw(st.integers(smallest, smallest + 7)))
        kernel.append(k)
        stride.append(draw(st.integers(1, 5)))
        padding.append(p)
        dilation.append(d)
    params: dict[str, Any] = {
        "kernel_size": tuple(kernel),
        "stride": tuple(stride),
        "padding": tuple(padding),
        "ceil_mode": draw(st.booleans()),
    }
    if dilated:
        params["dilation"] = tuple(dilation)
    return (draw(st.integers(0, 2)), draw(st.integers(1, 3)), *spatial), params


def tied_array(rng: np.random.Generator, shape: tuple[int, ...], nan_rate: float) -> np.ndarray:
    """Small integers as floats, so that maxima tie, with some infinities and NaNs."""
    x = rng.integers(-2, 3, shape).astype(np.float64)
    x[rng.random(shape) < 0.2] = -np.inf
    x[rng.random(shape) < nan_rate] = np.nan
    return x


def check_selection(x: np.ndarray, out: np.ndarray, indices: np.ndarray, expected: Any) -> None:
    values, torch_indices = expected
    assert out.dtype == x.dtype and indices.dtype == np.int64
    np.testing.assert_array_equal(indices, torch_indices.numpy())
    np.testing.assert_array_equal(out, values.numpy())
    np.testing.assert_array_equal(max_pool.gather_by_index(x, indices), out)


@settings(max_examples=200, deadline=None)
@given(windows(dilated=True), st.sampled_from([0.0, 0.1]), st.integers(0, 9))
def test_max_pool(
    config: tuple[tuple[int, ...], dict[str, Any]], nan_rate: float, seed: int
) -> None:
    shape, params = config
    x = tied_array(np.random.default_rng(seed), shape, nan_rate)
    out, indices = max_pool.max_pool(x, **params)
    if shape[0] == 0:
        assert out.shape[0] == 0 and out.shape == indices.shape
        return
    expected = MAX_POOL[x.ndim - 2](torch.tensor(x), return_indices=True, **params)
    check_selection(x, out, indices, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16, np.int64])
def test_max_pool_dtypes(dtype: Any) -> None:
    x = (np.random.default_rng(0).standard_normal((2, 3, 9, 8)) * 10).astype(dtype)
    out, indices = max_pool.max_pool(x, kernel_size=3, stride=2, padding=1)
    wide = torch.tensor(x.astype(np.float64))
    values, expected = F.max_pool2d(wide, 3, 2, 1, return_indices=True)
    assert out.dtype == dtype
    np.testing.assert_array_equal(out.astype(np.float64), values.numpy())
    np.testing.assert_array_equal(indices, expected.numpy())


@settings(max_examples=60, deadline=None)
@given(windows(dilated=True))
def test_gather_and_scatter_are_adjoint(config: tuple[tuple[int, ...], dict[str, Any]]) -> None:
    shape, params = config
    rng = np.random.default_rng(0)
    x = rng.standard_normal(shape)
    out, indices = max_pool.max_pool(x, **params)
    g = rng.standard_normal(out.shape)
    scattered = max_pool.scatter_by_index(g, indices, spatial=shape[2:])
    assert np.vdot(g, out) == pytest.approx(np.vdot(scattered, x), rel=1e-11, abs=1e-11)
    if shape[0]:
        tx = torch.tensor(x, requires_grad=True)
        (expected,) = torch.autograd.grad(MAX_POOL[x.ndim - 2](tx, **params), tx, torch.tensor(g))
        np.testing.assert_allclose(scattered, expected.numpy(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_max_unpool(dims: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 3, *(7, 8, 6)[:dims]))
    out, indices = max_pool.max_pool(x, kernel_size=2)
    restored = max_pool.max_unpool(out, indices, spatial=x.shape[2:])
    expected = UNPOOL[dims](
        torch.tensor(out), torch.tensor(indices), 2, output_size=list(x.shape[2:])
    )
    np.testing.assert_array_equal(restored, expected.numpy())
    np.testing.assert_array_equal(max_pool.gather_by_index(restored, indices), out)
    with pytest.raises(RuntimeError, match="Found an invalid max index"):
        max_pool.max_unpool(out, indices + 500, spatial=x.shape[2:])
    with pytest.raises(RuntimeError, match="Found an invalid max index: -"):
        max_pool.max_unpool(out, indices - 500, spatial=x.shape[2:])


@settings(max_examples=200, deadline=None)
@given(
    windows(dilated=False),
    st.booleans(),
    st.sampled_from([None, None, 1, 3, -2]),
    st.sampled_from([np.float64, np.float32]),
)
def test_avg_pool(
    config: tuple[tuple[int, ...], dict[str, Any]], include: bool, override: int | None, dtype: Any
) -> None:
    shape, params = config
    rng = np.random.default_rng(0)
    params = params | {"count_include_pad": include}
    if len(shape) > 3:
        params["divisor_override"] = override
    x = rng.standard_normal(shape).astype(dtype)
    out = average_pool.avg_pool(x, **params)
    g = rng.standard_normal(out.shape).astype(dtype)
    grad = average_pool.avg_pool_adjoint(g, input_shape=shape, **params)
    assert out.dtype == dtype and grad.dtype == dtype and grad.shape == shape
    if shape[0] == 0:
        return
    single = dtype == np.float32
    tolerance = {"rtol": 1e-5, "atol": 1e-6} if single else {"rtol": 1e-12, "atol": 1e-13}
    tx = torch.tensor(x, requires_grad=True)
    expected = AVG_POOL[x.ndim - 2](tx, **params)
    np.testing.assert_allclose(out, expected.detach().numpy(), **tolerance)
    (expected_grad,) = torch.autograd.grad(expected, tx, torch.tensor(g))
    np.testing.assert_allclose(grad, expected_grad.numpy(), **tolerance)


@pytest.mark.parametrize("bad", [np.inf, np.nan])
def test_unreal_values_stay_in_their_windows(bad: float) -> None:
    x = np.random.default_rng(0).standard_normal((1, 2, 9, 40))
    x[0, 0, 0, 0] = x[0, 1, 4, 20] = x[0, 1, 8, 39] = bad
    tx = torch.tensor(x)
    out = average_pool.avg_pool(x, kernel_size=3, stride=2, padding=1)
    np.testing.assert_allclose(out, F.avg_pool2d(tx, 3, 2, 1).numpy(), rtol=1e-12)
    out = average_pool.adaptive_avg_pool(x, output_size=(4, 7))
    np.testing.assert_allclose(out, F.adaptive_avg_pool2d(tx, (4, 7)).numpy(), rtol=1e-12)
    tx = torch.ones(1, 2, 20, 90, dtype=torch.float64, requires_grad=True)
    expected = F.avg_pool2d(tx, 4, (2, 2), (2, 1))
    g = np.ones(expected.shape)
    g[0, 0, 3, 3] = g[0, 1, 0, 0] = bad
    (expected_grad,) = torch.autograd.grad(expected, tx, torch.tensor(g))
    grad = average_pool.avg_pool_adjoint(
        g, input_shape=tuple(tx.shape), kernel_size=4, stride=2, padding=(2, 1)
    )
    np.testing.assert_allclose(grad, expected_grad.numpy(), rtol=1e-12)


@st.composite
def adaptive(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...]]:
    dims = draw(st.integers(1, 3))
    spatial = tuple(draw(st.integers(1, 9)) for _ in range(dims))
    sizes = tuple(draw(st.integers(1, 9)) for _ in range(dims))
    return (draw(st.integers(0, 2)), 2, *spatial), sizes


@settings(max_examples=150, deadline=None)
@given(adaptive(), st.sampled_from([0.0, 0.1]))
def test_adaptive_max_pool(
    config: tuple[tuple[int, ...], tuple[int, ...]], nan_rate: float
) -> None:
    shape, sizes = config
    x = tied_array(np.random.default_rng(0), shape, nan_rate)
    out, indices = max_pool.adaptive_max_pool(x, output_size=sizes)
    assert out.shape == (*shape[:2], *sizes)
    if shape[0]:
        expected = ADAPTIVE_MAX[x.ndim - 2](torch.tensor(x), sizes, return_indices=True)
        check_selection(x, out, indices, expected)


@settings(max_examples=150, deadline=None)
@given(adaptive())
def test_adaptive_avg_pool(config: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    shape, sizes = config
    rng = np.random.default_rng(0)
    x = rng.standard_normal(shape)
    out = average_pool.adaptive_avg_pool(x, output_size=sizes)
    g = rng.standard_normal(out.shape)
    grad = average_pool.adaptive_avg_pool_adjoint(g, input_shape=shape)
    assert np.vdot(out, g) == pytest.approx(np.vdot(x, grad), rel=1e-11, abs=1e-11)
    if shape[0]:
        tx = torch.tensor(x, requires_grad=True)
        expected = ADAPTIVE_AVG[x.ndim - 2](tx, sizes)
        np.testing.assert_allclose(out, expected.detach().numpy(), rtol=1e-12, atol=1e-13)
        (expected_grad,) = torch.autograd.grad(expected, tx, torch.tensor(g))
        np.testing.assert_allclose(grad, expected_grad.numpy(), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.complex64])
def test_averages_keep_dtype(dtype: Any) -> None:
    x = np.random.default_rng(0).standard_normal((2, 3, 9, 70)).astype(dtype)
    out = average_pool.avg_pool(x, kernel_size=3)
    wide_dtype = np.complex128 if np.dtype(dtype).kind == "c" else np.float64
    wide = average_pool.avg_pool(x.astype(wide_dtype), kernel_size=3)
    assert out.dtype == dtype
    np.testing.assert_allclose(out.astype(wide_dtype), wide, rtol=1e-2, atol=1e-2)
    assert average_pool.adaptive_avg_pool(x, output_size=4).dtype == dtype


@pytest.mark.parametrize("dims", [2, 3])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_fractional_max_pool(dims: int, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    pool = {2: F.fractional_max_pool2d, 3: F.fractional_max_pool3d}[dims]
    for kernel, sizes in (((2, 3, 2)[:dims], (4, 3, 5)[:dims]), ((1,) * dims, (1, 6, 2)[:dims])):
        for nan_rate in (0.0, 0.1):
            x = tied_array(rng, (2, 3, *(9, 11, 8)[:dims]), nan_rate).astype(dtype)
            samples = rng.random((2, 3, dims)).astype(dtype)
            expected = pool(
                torch.tensor(x),
                kernel,
                sizes,
                return_indices=True,
                _random_samples=torch.tensor(samples),
            )
            out, indices = max_pool.fractional_max_pool(
                x, kernel_size=kernel, output_size=sizes, samples=samples
            )
            check_selection(x, out, indices, expected)
    with pytest.raises(RuntimeError, match="too large relative to input"):
        max_pool.fractional_max_pool(x, kernel_size=9, output_size=4, samples=samples)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"kernel_size": 2, "padding": 2}, "pad should be at most half of effective kernel size"),
        ({"kernel_size": 7}, "Given input size"),
        ({"kernel_size": 0, "stride": 1}, "kernel size should be greater than zero"),
        ({"kernel_size": 2, "stride": 0}, "stride should not be zero"),
    ],
)
def test_errors_begin_as_torch_errors(params: dict[str, Any], words: str) -> None:
    x = np.ones((1, 2, 5, 5))
    with pytest.raises(RuntimeError, match=words):
        F.max_pool2d(torch.tensor(x), **params)
    with pytest.raises(RuntimeError, match=words):
        max_pool.max_pool(x, **params)


def test_a_window_in_the_padding_has_the_lowest_value_and_no_index() -> None:
    values, index = max_pool.max_pool(np.ones((1, 1, 1)), kernel_size=2, dilation=5, padding=3)
    assert (values == -np.inf).all()
    assert (index == -1).all()


def test_own_errors() -> None:
    x = np.ones((1, 2, 5, 5))
    with pytest.raises(RuntimeError, match="dilation should be greater than zero"):
        max_pool.max_pool(x, kernel_size=2, dilation=0)
    with pytest.raises(RuntimeError, match="divisor must be not zero"):
        average_pool.avg_pool(x, kernel_size=2, divisor_override=0)
    with pytest.raises(RuntimeError, match="not implemented for 'int64'"):
        average_pool.avg_pool(x.astype(np.int64), kernel_size=2)
    with pytest.raises(RuntimeError, match="non-zero size for non-batch"):
        average_pool.adaptive_avg_pool(np.ones((1, 2, 0, 5)), output_size=2)
