"""Kernels of normalisations, losses over classes, softmax and dropout, against PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import clew

LAST = "channels last"
TOLERANCE = {"float32": 2e-5, "float64": 1e-11}


def tensors(lib: Any, dtype: str, layout: str, *shapes: tuple[int, ...] | None) -> list[Any]:
    """The same random leaves for either library; None stays None."""
    rng = np.random.default_rng(3)
    made: list[Any] = []
    for shape in shapes:
        if shape is None:
            made.append(None)
            continue
        leaf = lib.tensor(rng.standard_normal(shape).astype(dtype) + 0.5)
        if layout == LAST and len(shape) == 4:
            leaf = leaf.contiguous(memory_format=lib.channels_last)
        made.append(leaf.requires_grad_())
    return made


def agree(function: Callable[..., Any], dtype: str, layout: str, *shapes: Any) -> None:
    """Results, their strides and all gradients are PyTorch's."""
    results = []
    for lib in (clew, torch):
        leaves = tensors(lib, dtype, layout, *shapes)
        out = function(lib, *leaves)
        weights = lib.tensor(np.cos(np.arange(out.numel())).astype(dtype)).reshape(out.shape)
        out.backward(weights)
        grads = [None if leaf is None else leaf.grad.numpy() for leaf in leaves]
        results.append((out.detach().numpy(), out.stride(), grads))
    ours, theirs = results
    assert ours[1] == theirs[1]
    close = {"rtol": TOLERANCE[dtype], "atol": TOLERANCE[dtype] * 4}
    for actual, expected in zip([ours[0], *ours[2]], [theirs[0], *theirs[2]], strict=True):
        if expected is not None:
            np.testing.assert_allclose(actual, expected, **close)


NORM_SHAPES = [(4, 6), (3, 6, 5), (3, 6, 4, 4), (2, 6, 1, 1), (1, 12, 7, 9), (5, 6, 2, 3, 4)]
PARAMETERS = [(True, True), (True, False), (False, False)]


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("given", PARAMETERS)
@pytest.mark.parametrize("shape", NORM_SHAPES)
def test_group_norm(shape: tuple[int, ...], given: tuple[bool, bool], dtype: str) -> None:
    vectors = [(shape[1],) if each else None for each in given]
    for groups in (1, 2, 6):
        for layout in ("rows", LAST):
            agree(
                lambda lib, x, w, b, n=groups: lib.nn.functional.group_norm(x, n, w, b),
                dtype, layout, shape, *vectors,
            )  # fmt: skip


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("given", PARAMETERS)
@pytest.mark.parametrize("shape", NORM_SHAPES)
@pytest.mark.parametrize("training", [True, False])
def test_batch_norm(
    shape: tuple[int, ...], given: tuple[bool, bool], dtype: str, training: bool
) -> None:
    vectors = [(shape[1],) if each else None for each in given]

    def normalized(lib: Any, x: Any, w: Any, b: Any) -> Any:
        mean = lib.linspace(-1, 1, shape[1], dtype=x.dtype)
        variance = lib.linspace(1, 2, shape[1], dtype=x.dtype)
        out = lib.nn.functional.batch_norm(x, mean, variance, w, b, training)
        # What became of the running statistics is part of the result.
        per_channel = (1, -1, *(1,) * (len(shape) - 2))
        return out + (mean + variance).reshape(per_channel)

    for layout in ("rows", LAST):
        agree(normalized, dtype, layout, shape, *vectors)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("given", PARAMETERS)
@pytest.mark.parametrize(("shape", "last"), [((4, 6), 1), ((3, 2, 5), 2), ((7,), 1), ((2, 700), 1)])
def test_layer_and_rms_norm(
    shape: tuple[int, ...], last: int, given: tuple[bool, bool], dtype: str
) -> None:
    own = shape[-last:]
    vectors = [own if each else None for each in given]
    agree(
        lambda lib, x, w, b: lib.nn.functional.layer_norm(x, own, w, b),
        dtype, "rows", shape, *vectors,
    )  # fmt: skip
    agree(
        lambda lib, x, w: lib.nn.functional.rms_norm(x, own, w),
        dtype, "rows", shape, vectors[0],
    )  # fmt: skip
    agree(
        lambda lib, x, w: lib.nn.functional.rms_norm(x.t() if x.ndim == 2 else x, (shape[0],), w)
        if last == 1
        else lib.nn.functional.rms_norm(x, own),
        dtype, "rows", shape, (shape[0],) if last == 1 else None,
    )  # fmt: skip


def test_rms_norm_twice_differentiable() -> None:
    x = clew.randn(3, 5, dtype=clew.float64, requires_grad=True)
    w = clew.randn(5, dtype=clew.float64, requires_grad=True)

    def function(x: clew.Tensor, w: clew.Tensor) -> clew.Tensor:
        return clew.nn.functional.rms_norm(x, (5,), w)

    assert clew.autograd.gradcheck(function, (x, w), check_forward_ad=True)
    assert clew.autograd.gradgradcheck(function, (x, w))


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("shape", [(3, 4), (2, 300, 70), (2, 3, 4, 65), (5, 1), (1, 7), (700, 3)])
def test_softmax_along_any_dimension(shape: tuple[int, ...], name: str, dtype: str) -> None:
    for dim in range(len(shape)):
        agree(lambda lib, x, d=dim: getattr(lib, name)(x * 5, d), dtype, "rows", shape)
        agree(lambda lib, x, d=dim: getattr(lib, name)(x.mT, d), dtype, "rows", shape)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_across_keeps_what_is_not_finite_in_its_row(name: str) -> None:
    x = np.zeros((4, 40), np.float32)
    x[1, 0], x[1, 1], x[2, 2], x[:, 3] = np.nan, np.inf, -np.inf, -np.inf
    expected = getattr(torch, name)(torch.tensor(x), 0).numpy()
    np.testing.assert_allclose(getattr(clew, name)(clew.tensor(x), 0).numpy(), expected, rtol=1e-6)


def test_long_columns_are_summed_accurately() -> None:
    x = np.random.default_rng(0).standard_normal((200_000, 2)).astype(np.float32)
    expected = torch.log_softmax(torch.tensor(x.astype(np.float64)), 0).numpy()
    np.testing.assert_allclose(clew.log_softmax(clew.tensor(x), 0).numpy(), expected, rtol=4e-7)


# -- losses ------------------------------------------------------------------------------------

TARGETS = {
    "usual": ([3, 0, 5, 2, 2], {}),
    "some ignored": ([3, -100, 5, -100, 2], {}),
    "a class ignored": ([3, 0, 5, 2, 2], {"ignore_index": 2}),
    "all ignored": ([-1] * 5, {"ignore_index": -1}),
    "smoothed": ([3, 0, 5, 2, 2], {"label_smoothing": 0.2}),
}


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("case", TARGETS)
def test_cross_entropy(case: str, reduction: str, dtype: str) -> None:
    target, options = TARGETS[case]

    def loss(lib: Any, x: Any, w: Any = None) -> Any:
        return lib.nn.functional.cross_entropy(
            x, lib.tensor(target), None if w is None else w.detach().abs(), reduction=reduction,
            **options,
        ).reshape(-1)  # fmt: skip

    agree(loss, dtype, "rows", (5, 6))
    agree(lambda lib, x: loss(lib, x.t()), dtype, "rows", (6, 5))


def test_cross_entropy_is_log_softmax_and_nll_loss_in_the_graph() -> None:
    x = clew.randn(4, 3, requires_grad=True)
    node = clew.nn.functional.cross_entropy(x, clew.tensor([0, 1, 2, 0])).grad_fn
    assert node is not None and node.name() == "NllLossBackward0"
    (before, _), *_ = node.next_functions
    assert before is not None and before.name() == "LogSoftmaxBackward0"


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_cross_entropy_of_what_is_not_finite(value: float) -> None:
    x = np.zeros((3, 4), np.float32)
    x[0, 1] = x[1, 2] = value
    for reduction in ("none", "mean"):
        ours, theirs = (
            lib.nn.functional.cross_entropy(
                lib.tensor(x), lib.tensor([1, 0, 3]), reduction=reduction
            )
            for lib in (clew, torch)
        )
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-6)


# -- dropout -----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("p", [0.1, 0.5, 1 / 3, 0.999])
def test_dropout_drops_what_pytorch_drops(p: float, dtype: str) -> None:
    def run(lib: Any, layout: str) -> list[Any]:
        lib.manual_seed(5)
        x = lib.linspace(-3, 3, 1200).to(getattr(lib, dtype)).reshape(40, 30)
        x = x.t() if layout == "columns" else x
        x = x.detach().requires_grad_()
        out = lib.nn.functional.dropout(x, p, True)
        out.backward(lib.ones_like(out))
        kept = lib.nn.functional.dropout2d(x.reshape(2, 10, -1, 3), p, True)

        return [each.detach().double().numpy() for each in (out, x.grad, kept)] + [lib.rand(1)]

    for layout in ("rows", "columns"):
        for ours, theirs in zip(run(clew, layout), run(torch, layout), strict=True):
            np.testing.assert_array_equal(np.asarray(ours), np.asarray(theirs))


def test_dropout_keeps_a_byte_for_each_element() -> None:
    x = clew.ones(100, 10, requires_grad=True)
    node: Any = clew.nn.functional.dropout(x, 0.5).grad_fn
    assert node.name() == "MulBackward0"
    assert node._saved_kept.dtype is clew.bool


# -- adaptive pooling --------------------------------------------------------------------------


def test_a_single_adaptive_window_takes_any_rank() -> None:
    for shape, pool in (((4, 5), "2d"), ((3, 4, 5), "3d"), ((2, 2, 2, 3, 4, 5), "3d")):
        name = f"adaptive_avg_pool{pool}"
        agree(lambda lib, x, f=name: getattr(lib.nn.functional, f)(x, 1), "float64", "rows", shape)


# -- maps of planes ------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("layout", ["rows", LAST])
def test_pooling_and_resizing(layout: str, dtype: str) -> None:
    functions: list[Callable[[Any, Any], Any]] = [
        lambda F, x: F.avg_pool2d(x, 2),
        lambda F, x: F.avg_pool2d(x, (3, 2), (2, 1), 1, ceil_mode=True, count_include_pad=False),
        lambda F, x: F.adaptive_avg_pool2d(x, (3, 20)),
        lambda F, x: F.adaptive_max_pool2d(x, (3, 20)),
        lambda F, x: F.interpolate(x, size=(5, 31), mode="bilinear"),
        lambda F, x: F.interpolate(x, scale_factor=(2.5, 0.4), mode="bicubic"),
        lambda F, x: F.interpolate(x, scale_factor=2),
    ]
    for function in functions:
        agree(lambda lib, x, f=function: f(lib.nn.functional, x), dtype, layout, (2, 3, 9, 17))


def test_what_is_not_finite_stays_where_it_is() -> None:
    x = np.zeros((1, 2, 6, 40), np.float32)
    x[0, 0, 2, 3], x[0, 0, 4, 20], x[0, 0, 4, 21], x[0, 1, 0, 0] = np.inf, np.nan, 1, np.nan
    for name, options in (
        ("avg_pool2d", {"kernel_size": 3, "padding": 1}),
        ("adaptive_avg_pool2d", {"output_size": (4, 7)}),
        ("adaptive_max_pool2d", {"output_size": (4, 7)}),
    ):
        ours, theirs = (
            getattr(lib.nn.functional, name)(lib.tensor(x), **options).numpy()
            for lib in (clew, torch)
        )
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_adaptive_maximum_of_equals_is_the_first_and_of_nans_the_last() -> None:
    x = np.zeros((1, 1, 5, 6), np.float32)
    x[0, 0, 1, 1:3] = x[0, 0, 3, 2:5] = np.nan
    for size in (1, 2, (2, 3)):
        indices = [
            lib.nn.functional.adaptive_max_pool2d(lib.tensor(x), size, return_indices=True)[1]
            for lib in (clew, torch)
        ]
        np.testing.assert_array_equal(indices[0].numpy(), indices[1].numpy())
