"""Convolution, pooling and their kin: what the op table cannot express."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import clew
from tests import oracle
from tests.twice import outcome, twice

ours, theirs = clew.nn.functional, torch.nn.functional


def _pair(*shape: int, seed: int = 0, grad: bool = True) -> tuple[Any, Any]:
    values = np.random.default_rng(seed).normal(size=shape)
    return (
        clew.tensor(values, requires_grad=grad),
        torch.tensor(values, requires_grad=grad),
    )


# ---------------------------------------------------------------- history


NODES: list[Callable[[Any, Any], Any]] = [
    lambda F, x: F.conv2d(x, x), lambda F, x: F.conv2d(x, x, x.sum((0, 2, 3))),
    lambda F, x: F.conv_transpose2d(x, x.transpose(0, 1)), lambda F, x: F.conv2d(x[0], x),
    lambda F, x: F.max_pool2d(x, 2), lambda F, x: F.max_pool2d(x[0], 2),
    lambda F, x: F.max_pool3d(x, 2), lambda F, x: F.max_pool1d(x[0], 2),
    lambda F, x: F.avg_pool2d(x, 2), lambda F, x: F.avg_pool3d(x, 2),
    lambda F, x: F.avg_pool1d(x[0], 2), lambda F, x: F.adaptive_avg_pool2d(x, 2),
    lambda F, x: F.adaptive_avg_pool2d(x, 1), lambda F, x: F.adaptive_avg_pool3d(x, 2),
    lambda F, x: F.adaptive_max_pool2d(x, 2), lambda F, x: F.adaptive_max_pool3d(x, 2),
    lambda F, x: F.lp_pool2d(x, 2.0, 2), lambda F, x: F.fractional_max_pool2d(x, 2, 2),
    lambda F, x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2),
    lambda F, x: F.interpolate(x, 3), lambda F, x: F.interpolate(x[0], 3),
    lambda F, x: F.interpolate(x[None], 3), lambda F, x: F.interpolate(x, 3, mode="nearest-exact"),
    lambda F, x: F.interpolate(x[0], 3, mode="linear"),
    lambda F, x: F.interpolate(x, 3, mode="bilinear"),
    lambda F, x: F.interpolate(x, 3, mode="bicubic"),
    lambda F, x: F.interpolate(x[None], 3, mode="trilinear"),
    lambda F, x: F.interpolate(x, 3, mode="area"),
    lambda F, x: F.interpolate(x, 3, mode="bilinear", antialias=True),
    lambda F, x: F.interpolate(x, 3, mode="bicubic", antialias=True),
    lambda F, x: F.interpolate(x, 3, mode="lanczos", antialias=True),
    lambda F, x: F.grid_sample(x, x[..., :2], align_corners=False),
    lambda F, x: F.affine_grid(x[:, 0, :2, :3], (4, 1, 3, 3), align_corners=False),
    lambda F, x: F.pad(x, (1, 1)), lambda F, x: F.pad(x, (1, 1, 1, 1), "reflect"),
    lambda F, x: F.pad(x[0], (1, 1), "replicate"), lambda F, x: F.unfold(x, 2),
    lambda F, x: F.fold(x.reshape(4, 4, 16), (5, 5), 2), lambda F, x: F.pixel_shuffle(x, 2),
    lambda F, x: F.pixel_unshuffle(x, 2), lambda F, x: F.channel_shuffle(x, 2),
]  # fmt: skip


@pytest.mark.parametrize("call", NODES, ids=range(len(NODES)))
def test_node_names(call: Callable[[Any, Any], Any]) -> None:
    a, b = _pair(4, 4, 4, 4)
    assert call(ours, a).grad_fn.name() == call(theirs, b).grad_fn.name()


SAVING: list[Callable[[Any, Any], Any]] = [
    lambda F, x: F.conv2d(x, x.detach()), lambda F, x: F.avg_pool2d(x, 2),
    lambda F, x: F.max_pool2d(x, 2), lambda F, x: F.adaptive_avg_pool2d(x, 2),
    lambda F, x: F.adaptive_max_pool2d(x, 2), lambda F, x: F.pad(x, (1, 1, 1, 1), "reflect"),
    lambda F, x: F.pad(x, (1, 1)), lambda F, x: F.interpolate(x, 5), lambda F, x: F.unfold(x, 2),
    lambda F, x: F.pixel_shuffle(x, 2),
    lambda F, x: F.grid_sample(x, x.detach()[..., :2], align_corners=False),
]  # fmt: skip


@pytest.mark.parametrize("call", SAVING, ids=range(len(SAVING)))
def test_overwriting_the_input_fails_as_in_torch(call: Callable[[Any, Any], Any]) -> None:
    errors = []
    for library, F, x in zip((clew, torch), (ours, theirs), _pair(4, 4, 4, 4), strict=True):
        y = call(F, x).sum()
        with library.no_grad():
            x.add_(1)
        errors.append(oracle.outcome(y.backward)[1])
    assert type(errors[0]) is type(errors[1])
    if errors[0] is not None:
        assert str(errors[0]).split(":")[0] == str(errors[1]).split(":")[0]


def test_a_convolution_keeps_its_weight_even_when_only_the_weight_is_differentiated() -> None:
    x, w = clew.ones(1, 1, 4, 4), clew.ones(1, 1, 3, 3, requires_grad=True)
    y = ours.conv2d(x, w).sum()
    with clew.no_grad():
        w.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


# ---------------------------------------------------------------- high derivatives


def _third(library: Any, F: Any, x: Any, w: Any, transposed: bool) -> list[Any]:
    conv = F.conv_transpose2d if transposed else F.conv2d
    y = conv(x, w, stride=2, padding=1).pow(3).sum()
    first = library.autograd.grad(y, (x, w), create_graph=True)
    second = library.autograd.grad(
        first[0].pow(2).sum() + first[1].pow(2).sum(), (x, w), create_graph=True
    )
    return list(library.autograd.grad(second[0].sum() + (second[1] * w).sum(), (x, w)))


@pytest.mark.parametrize("transposed", [False, True])
def test_third_derivatives_of_convolutions(transposed: bool) -> None:
    (a, b), (v, w) = _pair(2, 2, 5, 5), _pair(2, 2, 3, 3, seed=1)
    mine = _third(clew, ours, a, v, transposed)
    reference = _third(torch, theirs, b, w, transposed)
    for actual, expected in zip(mine, reference, strict=True):
        oracle.assert_same(actual, expected)


@pytest.mark.parametrize("padding_mode", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_second_derivatives_of_grid_sample(mode: str, padding_mode: str) -> None:
    """torch has none, so the check is against differences."""
    x, _ = _pair(1, 2, 4, 4)
    values = np.random.default_rng(2).uniform(-1.2, 1.2, (1, 3, 2, 2))
    grid = clew.tensor(values, requires_grad=True)

    def sample(x: Any, grid: Any) -> Any:
        return ours.grid_sample(x, grid, mode, padding_mode, align_corners=False)

    assert clew.autograd.gradcheck(sample, (x, grid))
    assert clew.autograd.gradgradcheck(sample, (x, grid))


def test_a_bias_has_a_tangent() -> None:
    fwd = clew.autograd.forward_ad
    (x, _), (w, _), (b, _) = _pair(1, 2, 4, 4), _pair(3, 2, 3, 3, seed=1), _pair(3, seed=2)
    with fwd.dual_level():
        dual = fwd.make_dual(b.detach(), clew.ones(3, dtype=clew.float64))
        out = ours.conv2d(x.detach(), w.detach(), dual)
        tangent = fwd.unpack_dual(out).tangent
    assert tangent.shape == out.shape
    assert bool((tangent == 1).all())


# ---------------------------------------------------------------- random windows


@pytest.mark.parametrize("dims", [2, 3])
@pytest.mark.parametrize("batched", [True, False])
def test_fractional_windows_are_drawn_as_in_torch(dims: int, batched: bool) -> None:
    a, b = _pair(*(2, 3)[not batched :], *(7,) * dims, grad=False)
    name = f"fractional_max_pool{dims}d"
    for x32 in (False, True):
        clew.manual_seed(5)
        torch.manual_seed(5)
        x, y = (a.float(), b.float()) if x32 else (a, b)
        actual = getattr(ours, name)(x, 2, 4, return_indices=True)
        oracle.assert_same(actual, getattr(theirs, name)(y, 2, 4, return_indices=True))
        actual = getattr(ours, name)(x, 3, output_ratio=(0.5,) * dims)
        oracle.assert_same(actual, getattr(theirs, name)(y, 3, output_ratio=(0.5,) * dims))


# ---------------------------------------------------------------- warnings and arguments


WARNING: list[Callable[[Any, Any], Any]] = [
    lambda F, x: F.conv2d(x, x[..., :2, :2], padding="same"), lambda F, x: F.upsample(x, 3),
    lambda F, x: F.upsample_nearest(x, 3), lambda F, x: F.upsample_bilinear(x, 3),
    lambda F, x: F.grid_sample(x, x[..., :2]),
    lambda F, x: F.affine_grid(x[:, 0, :2, :3], (4, 1, 3, 3)),
    lambda F, x: F.affine_grid(x[:, 0, :2, :3], (4, 1, 1, 3), align_corners=True),
    lambda F, x: F.interpolate(x, scale_factor=1.5, mode="bilinear"),
]  # fmt: skip


@pytest.mark.parametrize("call", WARNING, ids=range(len(WARNING)))
def test_warnings(call: Callable[[Any, Any], Any]) -> None:
    seen = []
    for lib, F, x in zip((clew, torch), (ours, theirs), _pair(4, 4, 4, 4, grad=False), strict=True):
        # Otherwise the warning about padding="same" is given once in a process.
        lib.set_warn_always(True)
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                call(F, x)
        finally:
            lib.set_warn_always(False)
        seen.append([(w.category, str(w.message).split(" (Triggered")[0]) for w in caught])
    assert seen[0] == seen[1]


def test_a_warning_points_at_the_callers_line() -> None:
    x = clew.ones(1, 1, 4, 4)
    clew.set_warn_always(True)
    try:
        with pytest.warns(UserWarning, match="padding='same'") as caught:
            ours.conv2d(x, clew.ones(1, 1, 2, 2), padding="same")
    finally:
        clew.set_warn_always(False)
    assert caught[0].filename == __file__


WRONG: list[Callable[[Any, Any], Any]] = [
    lambda F, x: F.conv2d(x, x, stride=1.5), lambda F, x: F.conv2d([1], x),
    lambda F, x: F.conv2d(x, 3), lambda F, x: F.max_pool2d(x, 2.5),
    lambda F, x: F.pad(x, 1), lambda F, x: F.pad(x, (1.0, 1)),
    lambda F, x: F.conv_transpose2d(x, x, padding="same"), lambda F, x: F.pixel_shuffle(x, 2.0),
    lambda F, x: F.adaptive_avg_pool2d(x, None), lambda F, x: F.interpolate(x, (3, None)),
    lambda F, x: F.fractional_max_pool2d(x, 2), lambda F, x: F.channel_shuffle(x, 1.0),
]  # fmt: skip


@pytest.mark.parametrize("call", WRONG, ids=range(len(WRONG)))
def test_wrong_arguments(call: Callable[[Any, Any], Any]) -> None:
    a, b = _pair(4, 4, 4, 4)
    _, expected = oracle.outcome(call, theirs, b)
    _, actual = oracle.outcome(call, ours, a)
    assert expected is not None
    oracle.assert_same_error(actual, expected)


def test_errors_name_the_users_line() -> None:
    with pytest.raises(RuntimeError, match=r"expected input\[1, 2, 8, 8\] to have 3 channels"):
        ours.conv2d(clew.ones(1, 2, 8, 8), clew.ones(4, 3, 3, 3))
    with pytest.raises(RuntimeError, match=r"test_conv_ops\.py"):
        ours.conv2d(clew.ones(1, 2, 8, 8), clew.ones(4, 3, 3, 3))


def test_resizing_bytes() -> None:
    values = np.random.default_rng(0).integers(0, 256, (1, 3, 5, 7), dtype=np.uint8)
    for mode in ("bilinear", "bicubic"):
        actual = ours.interpolate(clew.tensor(values), (8, 4), mode=mode)
        expected = theirs.interpolate(torch.tensor(values), (8, 4), mode=mode)
        # torch computes with fixed-point weights, so a tie may go the other way.
        off = np.abs(actual.numpy().astype(int) - expected.numpy().astype(int))
        assert actual.dtype is clew.uint8
        assert off.max() <= 1


TOP_LEVEL = (
    "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d convolution conv_tbc "
    "avg_pool1d max_pool1d max_pool2d max_pool3d max_pool1d_with_indices adaptive_avg_pool1d "
    "adaptive_max_pool1d pixel_shuffle pixel_unshuffle channel_shuffle grid_sampler "
    "affine_grid_generator constant_pad_nd"
)


@pytest.mark.parametrize("name", TOP_LEVEL.split())
def test_top_level_names(name: str) -> None:
    assert callable(getattr(torch, name))
    assert callable(getattr(clew, name))


def test_top_level_adaptive_max_pool_gives_the_indices() -> None:
    a, b = _pair(1, 2, 6, grad=False)
    oracle.assert_same(clew.adaptive_max_pool1d(a, 3), torch.adaptive_max_pool1d(b, 3))


@twice
def test_channels_last_of_images_or_weights(lib: Any) -> Any:
    """Either makes results and gradients of parameters lie so; not for volumes in float64."""
    strides = []
    for volumes, dtype in (
        (False, "float32"),
        (False, "float64"),
        (True, "float32"),
        (True, "float64"),
    ):
        space = (5,) * (3 if volumes else 2)
        last = lib.channels_last_3d if volumes else lib.channels_last
        for transposed, images_last, weights_last in itertools.product((False, True), repeat=3):
            kind = f"Conv{'Transpose' * transposed}{len(space)}d"
            layer = getattr(lib.nn, kind)(4, 3, 3, dtype=getattr(lib, dtype))
            if weights_last:
                layer = layer.to(memory_format=last)
            x = lib.ones(2, 4, *space, dtype=getattr(lib, dtype))
            x = x.to(memory_format=last) if images_last else x
            y = layer(x.requires_grad_())
            (y * y).sum().backward()
            strides.append((y.stride(), layer.weight.grad.stride()))
    return strides


@twice
def test_space_may_be_empty_where_the_batch_or_the_channels_are(lib: Any) -> Any:
    f = lib.nn.functional
    sizes = [(1, 0, 0), (0, 3, 0), (0, 0, 0), (2, 0, 4), (1, 3, 0), (0, 0)]
    seen: list[Any] = [
        outcome(lambda: f.conv1d(lib.ones(s), lib.ones(2, 3 if 3 in s else 0, 2), padding=2).shape)  # noqa: B023  # called at once
        for s in sizes
    ]
    return seen, f.conv2d(lib.ones(1, 0, 0, 4), lib.ones(2, 0, 2, 2), padding=1, stride=2).shape
