"""Convolution, unfold and fold kernels, against PyTorch and against their own adjoints."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.kernels.conv import im2col_conv, winograd
from clew.kernels.numpy import convolution as conv
from clew.kernels.numpy import im2col
from clew.kernels.runtime import jit

TORCH_CONV = {1: torch.conv1d, 2: torch.conv2d, 3: torch.conv3d}
TORCH_TRANSPOSE = {1: torch.conv_transpose1d, 2: torch.conv_transpose2d, 3: torch.conv_transpose3d}


def random_array(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    values = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.standard_normal(shape)
    return values.astype(dtype)


def check_against_torch(x: np.ndarray, w: np.ndarray, params: dict[str, Any]) -> None:
    """Forward and both adjoints of one configuration."""
    rng = np.random.default_rng(1)
    single = x.dtype == np.float32
    tight = {"rtol": 1e-4, "atol": 1e-4} if single else {"rtol": 1e-10, "atol": 1e-11}
    tx = torch.tensor(x, requires_grad=True)
    tw = torch.tensor(w, requires_grad=True)
    expected = TORCH_CONV[x.ndim - 2](tx, tw, **params)
    out = conv.conv_forward(x, w, **params)
    assert out.shape == tuple(expected.shape) and out.dtype == x.dtype
    np.testing.assert_allclose(out, expected.detach().numpy(), **tight)
    g = random_array(rng, out.shape, x.dtype)
    # torch's adjoints conjugate; the kernels, which are plain transposes, do not.
    expected_x, expected_w = torch.autograd.grad(expected, (tx, tw), torch.tensor(g.conj()))
    grad_x = conv.conv_grad_input(g, w, input_shape=x.shape, **params)
    grad_w = conv.conv_grad_weight(g, x, weight_shape=w.shape, **params)
    assert grad_x.dtype == x.dtype and grad_w.dtype == w.dtype
    np.testing.assert_allclose(grad_x, expected_x.numpy().conj(), **tight)
    np.testing.assert_allclose(grad_w, expected_w.numpy().conj(), **tight)


GRID = [
    # input, weight, parameters
    ((2, 3, 8, 9), (4, 3, 3, 3), {}),
    ((2, 3, 8, 9), (4, 3, 3, 2), {"padding": (1, 2)}),
    ((2, 4, 9, 11), (6, 2, 3, 3), {"stride": (2, 3), "padding": (2, 1), "groups": 2}),
    ((2, 4, 12, 11), (6, 2, 2, 3), {"dilation": (3, 2), "padding": 1, "groups": 2}),
    ((2, 3, 13, 12), (5, 3, 2, 2), {"stride": (5, 4)}),
    ((2, 3, 13, 12), (5, 3, 3, 3), {"stride": (2, 2), "dilation": (3, 2), "padding": 3}),
    ((3, 4, 6, 6), (5, 4, 1, 1), {}),
    ((3, 4, 7, 6), (6, 2, 1, 1), {"stride": 2, "groups": 2}),
    ((3, 4, 6, 6), (5, 4, 1, 1), {"padding": 2}),
    ((2, 5, 7, 8), (5, 1, 3, 3), {"groups": 5, "padding": 1}),
    ((2, 5, 9, 8), (15, 1, 3, 2), {"groups": 5, "stride": (2, 3), "padding": 1}),
    ((2, 5, 9, 8), (10, 1, 3, 2), {"groups": 5, "dilation": (2, 3), "padding": (2, 1)}),
    ((2, 3, 20), (4, 3, 5), {"stride": 3, "padding": 4, "dilation": 2}),
    ((2, 4, 20), (4, 1, 5), {"groups": 4}),
    ((2, 2, 5, 6, 7), (3, 2, 2, 3, 2), {"padding": (1, 0, 2), "stride": (1, 2, 1)}),
    ((2, 4, 5, 6, 7), (4, 1, 2, 3, 2), {"padding": (1, 0, 2), "groups": 4}),
    ((1, 2, 3, 3), (2, 2, 3, 3), {}),
    ((0, 3, 8, 9), (4, 3, 3, 3), {"padding": 1}),
    ((0, 3, 8, 9), (3, 1, 3, 3), {"padding": 1, "groups": 3}),
    ((2, 2, 40, 50), (40, 2, 5, 5), {"padding": 2}),
    ((2, 20, 40, 50), (3, 20, 5, 5), {"padding": 2, "stride": 2}),
    ((70, 3, 4, 4), (8, 3, 3, 3), {"padding": 1}),
]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
@pytest.mark.parametrize(("x_shape", "w_shape", "params"), GRID)
def test_grid(
    x_shape: tuple[int, ...], w_shape: tuple[int, ...], params: dict[str, Any], dtype: Any
) -> None:
    rng = np.random.default_rng(0)
    x, w = random_array(rng, x_shape, dtype), random_array(rng, w_shape, dtype)
    check_against_torch(x, w, params)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("x_shape", "w_shape", "params"), GRID)
def test_grid_compiled(
    x_shape: tuple[int, ...],
    w_shape: tuple[int, ...],
    params: dict[str, Any],
    dtype: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("clew.kernels.numpy.convolution._COMPILED_FROM", 0)
    test_grid(x_shape, w_shape, params, dtype)


@pytest.mark.parametrize("kernel", [(1, 1), (1, 5), (4, 3), (5, 5), (7, 7), (2, 31)])
@pytest.mark.parametrize("per_group", [(1, 1), (1, 3), (3, 2)])
def test_few_channels_per_group(
    kernel: tuple[int, int], per_group: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clew.kernels.numpy.convolution._COMPILED_FROM", 0)
    rng = np.random.default_rng(0)
    channels, filters = per_group
    x = rng.standard_normal((3, 2 * channels, 20, 35))
    w = rng.standard_normal((2 * filters, channels, *kernel))
    for stride in (1, (2, 1), (3, 4)):
        for padding in (0, (3, 2)):
            for dilation in (1, (2, 1)):
                check_against_torch(
                    x, w,
                    {"stride": stride, "padding": padding, "dilation": dilation, "groups": 2},
                )  # fmt: skip


def test_few_channels_on_any_number_of_threads() -> None:
    rng = np.random.default_rng(0)
    x, w = random_array(rng, (8, 32, 24, 24), "f"), random_array(rng, (64, 1, 3, 3), "f")
    params: dict[str, Any] = {"groups": 32, "padding": 1, "stride": 2}
    before, results = jit.threads(), []
    for count in (1, 4):
        jit.set_threads(count)
        out = conv.conv_forward(x, w, **params)
        grad_x = conv.conv_grad_input(out, w, input_shape=x.shape, **params)
        results.append((out, grad_x, conv.conv_grad_weight(out, x, weight_shape=w.shape, **params)))
    jit.set_threads(before)
    for one, many in zip(*results, strict=True):
        np.testing.assert_array_equal(one, many)


def test_what_windows_miss_has_no_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clew.kernels.numpy.convolution._COMPILED_FROM", 0)
    w, g = np.ones((2, 1, 2, 2)), np.ones((1, 2, 1, 1))
    grad = conv.conv_grad_input(g, w, input_shape=(1, 2, 6, 7), stride=3, groups=2)
    expected = np.zeros((1, 2, 6, 7))
    expected[:, :, :2, :2] = 1
    np.testing.assert_array_equal(grad, expected)


WINOGRAD = [
    (16, 16, 16, 8, 8, (1, 1)), (9, 17, 20, 11, 13, (1, 1)), (8, 16, 18, 14, 12, (0, 2)),
    (64, 32, 16, 4, 5, (2, 0)), (1, 16, 16, 40, 33, (1, 1)), (6, 64, 40, 14, 14, (1, 1)),
]  # fmt: skip


def _images(batch: int, channels: int, filters: int, sizes: tuple[int, int], pad: Any) -> Any:
    rng = np.random.default_rng(channels * filters)
    x = rng.standard_normal((batch, channels, *sizes)).astype(np.float32)
    w = rng.standard_normal((filters, channels, 3, 3)).astype(np.float32)
    rows, columns = (size + 2 * p - 2 for size, p in zip(sizes, pad, strict=True))
    g = rng.standard_normal((batch, filters, rows, columns)).astype(np.float32)
    return x, w, g


@pytest.mark.parametrize("case", WINOGRAD, ids=str)
def test_winograd(case: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    batch, channels, filters, height, width, pad = case
    x, w, g = _images(batch, channels, filters, (height, width), pad)
    called = []
    run = winograd.run
    monkeypatch.setattr(winograd, "fits", lambda *args: True)
    monkeypatch.setattr(winograd, "run", lambda *args: (called.append(args[0]), run(*args)))
    found = (
        conv.conv_forward(x, w, padding=pad),
        conv.conv_grad_input(g, w, input_shape=x.shape, padding=pad),
        conv.conv_grad_weight(g, x, weight_shape=w.shape, padding=pad),
    )
    assert called == ["forward", "grad_input", "grad_weight"]
    exact, rounded = ([], [])
    for results, kind in ((exact, np.float64), (rounded, np.float32)):
        tx, tw = (torch.tensor(each.astype(kind), requires_grad=True) for each in (x, w))
        out = torch.conv2d(tx, tw, padding=pad)
        out.backward(torch.tensor(g.astype(kind)))
        results.extend(each.detach().numpy() for each in (out, tx.grad, tw.grad))
    for ours, theirs, truth in zip(found, rounded, exact, strict=True):
        # The transforms add roundings of their own to those that PyTorch's sums have, too.
        assert np.abs(ours - truth).max() <= 2 * np.abs(theirs - truth).max()


def test_winograd_keeps_infinities_in_their_windows() -> None:
    x, w, g = _images(4, 128, 128, (16, 16), (1, 1))
    x[3, 5, 4, 4], x[1, 2, 1, 6] = np.inf, np.nan
    g[2, 3, 3, 3] = -np.inf
    geometry = im2col_conv.Geometry(x.shape, w.shape, g.shape, (1, 1), (1, 1), (1, 1), 1)
    assert all(winograd.fits(kind, geometry, x.dtype) for kind in ("forward", "grad_weight"))
    tx, tw = (torch.tensor(each, requires_grad=True) for each in (x, w))
    out = torch.conv2d(tx, tw, padding=1)
    out.backward(torch.tensor(g))
    for ours, theirs in (
        (conv.conv_forward(x, w, padding=(1, 1)), out.detach()),
        (conv.conv_grad_input(g, w, input_shape=x.shape, padding=(1, 1)), tx.grad),
        (conv.conv_grad_weight(g, x, weight_shape=w.shape, padding=(1, 1)), tw.grad),
    ):
        for kind in (np.isnan, np.isposinf, np.isneginf):
            assert np.array_equal(kind(ours), kind(theirs.numpy()))


@pytest.mark.parametrize("tile_bytes", [1, 3000, 1 << 21])
@pytest.mark.parametrize("batch", [1, 5])
def test_tiling_does_not_change_results(
    monkeypatch: pytest.MonkeyPatch, tile_bytes: int, batch: int
) -> None:
    rng = np.random.default_rng(0)
    for name in ("convolution", "conv_scatter"):
        monkeypatch.setattr(f"clew.kernels.numpy.{name}._TILE_BYTES", tile_bytes)
        monkeypatch.setattr(f"clew.kernels.numpy.{name}._MIN_COLUMNS", 16)
    monkeypatch.setattr("clew.kernels.numpy.conv_depthwise._BLOCK_BYTES", tile_bytes)
    x = rng.standard_normal((batch, 4, 11, 7))
    for groups, params in ((1, {"stride": 2}), (2, {"padding": 2}), (4, {"dilation": 2})):
        w = rng.standard_normal((12, 4 // groups, 3, 2))
        check_against_torch(x, w, {"groups": groups, **params})


@st.composite
def configurations(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]:
    dims = draw(st.integers(1, 3))
    groups = draw(st.integers(1, 3))
    axes: dict[str, list[int]] = {"stride": [], "padding": [], "dilation": []}
    kernel, spatial = [], []
    for _ in range(dims):
        k, s, p = draw(st.integers(1, 4)), draw(st.integers(1, 4)), draw(st.integers(0, 4))
        d = draw(st.integers(1, 3))
        smallest = max(1, d * (k - 1) + 1 - 2 * p)
        spatial.append(draw(st.integers(smallest, smallest + 6)))
        kernel.append(k)
        for name, value in (("stride", s), ("padding", p), ("dilation", d)):
            axes[name].append(value)
    per_group = draw(st.integers(1, 3))
    x_shape = (draw(st.integers(0, 3)), groups * per_group, *spatial)
    w_shape = (groups * draw(st.integers(1, 4)), per_group, *kernel)
    return x_shape, w_shape, {name: tuple(v) for name, v in axes.items()} | {"groups": groups}


@settings(max_examples=150, deadline=None)
@given(configurations())
def test_random_configurations(
    config: tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]],
) -> None:
    x_shape, w_shape, params = config
    rng = np.random.default_rng(0)
    check_against_torch(rng.standard_normal(x_shape), rng.standard_normal(w_shape), params)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("clew.kernels.numpy.convolution._COMPILED_FROM", 0)
        check_against_torch(rng.standard_normal(x_shape), rng.standard_normal(w_shape), params)


@settings(max_examples=100, deadline=None)
@given(configurations(), st.data())
def test_conv_transpose(
    config: tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]], data: st.DataObject
) -> None:
    _, w_shape, params = config
    dims = len(w_shape) - 2
    rng = np.random.default_rng(0)
    extra = tuple(
        data.draw(st.integers(0, max(s, d) - 1))
        for s, d in zip(params["stride"], params["dilation"], strict=True)
    )
    counts = tuple(data.draw(st.integers(4, 7)) for _ in range(dims))
    params = params | {"padding": tuple(min(p, 1) for p in params["padding"])}
    x = rng.standard_normal((2, w_shape[0], *counts))
    w = rng.standard_normal(w_shape)
    shape = conv.conv_transpose_output_shape(x.shape, w_shape, output_padding=extra, **params)
    tx, tw = torch.tensor(x, requires_grad=True), torch.tensor(w, requires_grad=True)
    expected = TORCH_TRANSPOSE[dims](tx, tw, output_padding=extra, **params)
    assert shape == tuple(expected.shape)
    out = conv.conv_grad_input(x, w, input_shape=shape, **params)
    np.testing.assert_allclose(out, expected.detach().numpy(), rtol=1e-10, atol=1e-11)
    g = rng.standard_normal(out.shape)
    expected_x, expected_w = torch.autograd.grad(expected, (tx, tw), torch.tensor(g))
    grad_x = conv.conv_forward(g, w, output_size=counts, **params)
    grad_w = conv.conv_grad_weight(x, g, weight_shape=w_shape, **params)
    np.testing.assert_allclose(grad_x, expected_x.numpy(), rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(grad_w, expected_w.numpy(), rtol=1e-10, atol=1e-11)


def test_asymmetric_padding_is_padding_first() -> None:
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((2, 3, 7, 8)), rng.standard_normal((4, 3, 4, 2))
    pads = ((1, 2), (0, 1))
    padded = np.pad(x, ((0, 0), (0, 0), *pads))
    out = conv.conv_forward(x, w, padding=pads)
    np.testing.assert_allclose(out, conv.conv_forward(padded, w), rtol=1e-12)
    same = torch.conv2d(torch.tensor(x), torch.tensor(w), padding="same")
    np.testing.assert_allclose(out, same.numpy(), rtol=1e-10, atol=1e-12)
    g = rng.standard_normal(out.shape)
    grad = conv.conv_grad_input(g, w, input_shape=x.shape, padding=pads)
    full = conv.conv_grad_input(g, w, input_shape=padded.shape)
    np.testing.assert_allclose(grad, full[:, :, 1:-2, :-1], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("groups", [1, 4])
def test_dot_product_identity(groups: int) -> None:
    """<g, conv(x, w)> is the same number through each of the three kernels."""
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((3, 4, 9, 10)), rng.standard_normal((8, 4 // groups, 3, 2))
    params: dict[str, Any] = {"stride": (2, 1), "padding": (1, 3), "dilation": 2, "groups": groups}
    out = conv.conv_forward(x, w, **params)
    g = rng.standard_normal(out.shape)
    form = np.vdot(g, out)
    assert np.vdot(x, conv.conv_grad_input(g, w, input_shape=x.shape, **params)) == pytest.approx(
        form, rel=1e-12
    )
    assert np.vdot(w, conv.conv_grad_weight(g, x, weight_shape=w.shape, **params)) == pytest.approx(
        form, rel=1e-12
    )


@pytest.mark.parametrize("groups", [1, 4])
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_half_dtypes_compute_in_float32(dtype: Any, groups: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 4, 6, 6)).astype(dtype)
    w = rng.standard_normal((4, 4 // groups, 3, 3)).astype(dtype)
    params: dict[str, Any] = {"padding": 1, "groups": groups}
    wide_x, wide_w = x.astype(np.float32), w.astype(np.float32)
    out = conv.conv_forward(x, w, **params)
    assert out.dtype == dtype
    np.testing.assert_array_equal(out, conv.conv_forward(wide_x, wide_w, **params).astype(dtype))
    grad_x = conv.conv_grad_input(out, w, input_shape=x.shape, **params)
    grad_w = conv.conv_grad_weight(out, x, weight_shape=w.shape, **params)
    assert grad_x.dtype == dtype and grad_w.dtype == dtype


@pytest.mark.parametrize("groups", [1, 4])
def test_integers_are_exact(groups: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(-9, 9, (2, 4, 6, 6))
    w = rng.integers(-9, 9, (4, 4 // groups, 3, 3))
    params: dict[str, Any] = {"padding": 1, "stride": 2, "groups": groups}
    g = rng.integers(-9, 9, (2, 4, 3, 3))
    fx, fw, fg = (a.astype(np.float64) for a in (x, w, g))
    pairs = (
        (conv.conv_forward(x, w, **params), conv.conv_forward(fx, fw, **params)),
        (
            conv.conv_grad_input(g, w, input_shape=x.shape, **params),
            conv.conv_grad_input(fg, fw, input_shape=x.shape, **params),
        ),
        (
            conv.conv_grad_weight(g, x, weight_shape=w.shape, **params),
            conv.conv_grad_weight(fg, fx, weight_shape=w.shape, **params),
        ),
    )
    for exact, floating in pairs:
        assert exact.dtype == np.int64
        np.testing.assert_array_equal(exact, floating)


def test_inputs_may_be_strided_and_stay_untouched() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((6, 7, 3, 2)).transpose(3, 2, 1, 0)
    w = rng.standard_normal((3, 3, 3, 8))[..., ::2].transpose(3, 2, 1, 0)
    before = x.copy(), w.copy()
    check_against_torch(x, w, {"padding": 1})
    np.testing.assert_array_equal(x, before[0])
    np.testing.assert_array_equal(w, before[1])


def test_result_never_shares_memory_with_an_input() -> None:
    x, w = np.ones((1, 2, 3, 3)), np.ones((2, 2, 1, 1))
    assert not np.shares_memory(conv.conv_forward(x, w), x)
    columns = im2col.unfold(x, kernel_size=1)
    assert not np.shares_memory(columns, x)
    folded = im2col.fold(columns, output_size=(3, 3), kernel_size=1)
    assert not np.shares_memory(folded, columns)


@pytest.mark.parametrize(
    ("x_shape", "w_shape", "params", "words"),
    [
        ((1, 3, 2, 2), (4, 3, 3, 3), {}, "Calculated padded input size per channel"),
        ((1, 3, 5, 5), (4, 2, 3, 3), {}, "Given groups=1, weight of size"),
        ((1, 4, 5, 5), (3, 2, 3, 3), {"groups": 2}, "Given groups=2, expected weight"),
        ((1, 3, 5, 5), (4, 3, 3, 3), {"stride": 0}, "non-positive stride is not supported"),
        ((1, 3, 5, 5), (4, 3, 3, 3), {"padding": -1}, "negative padding is not supported"),
        ((1, 3, 5, 5), (4, 3, 3, 3), {"dilation": 0}, "dilation should be greater than zero"),
    ],
)
def test_errors_begin_as_torch_errors(
    x_shape: tuple[int, ...], w_shape: tuple[int, ...], params: dict[str, Any], words: str
) -> None:
    with pytest.raises(RuntimeError, match=words):
        torch.conv2d(torch.ones(x_shape), torch.ones(w_shape), **params)
    with pytest.raises(RuntimeError, match=words):
        conv.conv_forward(np.ones(x_shape), np.ones(w_shape), **params)


def test_own_errors() -> None:
    x, w = np.ones((1, 3, 5, 5)), np.ones((4, 3, 3, 3))
    with pytest.raises(RuntimeError, match="expected stride to be a single integer"):
        conv.conv_forward(x, w, stride=(1, 1, 1))
    with pytest.raises(RuntimeError, match="expected padding to be a single integer"):
        conv.conv_forward(x, w, padding=(1, 1, 1))
    with pytest.raises(RuntimeError, match="same number of dimensions"):
        conv.conv_forward(x[0], w)
    with pytest.raises(RuntimeError, match="to have size"):
        conv.conv_grad_input(np.ones((1, 4, 4, 4)), w, input_shape=x.shape)
    with pytest.raises(RuntimeError, match="to have size"):
        conv.conv_forward(x, w, output_size=(3, 4))
    with pytest.raises(RuntimeError, match="output padding must be smaller"):
        conv.conv_transpose_output_shape((1, 4, 3, 3), w.shape, output_padding=1)
    with pytest.raises(RuntimeError, match="Output size is too small"):
        conv.conv_transpose_output_shape((1, 4, 1, 1), w.shape, padding=2)
    with pytest.raises(RuntimeError, match="Given transposed=1"):
        conv.conv_transpose_output_shape((1, 3, 3, 3), w.shape)


@settings(max_examples=80, deadline=None)
@given(configurations())
def test_unfold_and_fold(
    config: tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]],
) -> None:
    x_shape, w_shape, params = config
    window = {"kernel_size": w_shape[2:]} | {k: v for k, v in params.items() if k != "groups"}
    rng = np.random.default_rng(0)
    x = rng.standard_normal(x_shape)
    columns = im2col.unfold(x, **window)
    g = rng.standard_normal(columns.shape)
    folded = im2col.fold(g, output_size=x_shape[2:], **window)
    assert np.vdot(columns, g) == pytest.approx(np.vdot(x, folded), rel=1e-10, abs=1e-10)
    if len(x_shape) == 4 and x_shape[0] > 0:
        expected = torch.nn.functional.unfold(torch.tensor(x), **window)
        np.testing.assert_array_equal(columns, expected.numpy())
        expected = torch.nn.functional.fold(torch.tensor(g), x_shape[2:], **window)
        np.testing.assert_allclose(folded, expected.numpy(), rtol=1e-12, atol=1e-12)


def test_unfold_and_fold_errors() -> None:
    with pytest.raises(RuntimeError, match="must be at least one"):
        im2col.unfold(np.ones((1, 1, 2, 2)), kernel_size=3)
    with pytest.raises(RuntimeError, match="divisible by the product"):
        im2col.fold(np.ones((1, 5, 4)), output_size=(3, 3), kernel_size=2)
    with pytest.raises(RuntimeError, match="sliding blocks"):
        im2col.fold(np.ones((1, 8, 5)), output_size=(3, 3), kernel_size=2)
