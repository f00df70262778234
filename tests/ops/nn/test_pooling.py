"""Pooling at its borders: formats in memory, empty windows, sizes that are refused."""

from __future__ import annotations

import time
from typing import Any

import pytest

import clew
from tests.twice import outcome, raised, twice


def _laid_out(m: Any, dims: int) -> list[Any]:
    """Batches that have channels last in memory, or nearly."""
    last = m.channels_last if dims == 2 else m.channels_last_3d
    whole = m.arange(4 * 8 * 6.0**dims).reshape(4, 8, *(6,) * dims).to(memory_format=last)
    return [whole, whole[:, ::2], whole[::2], whole[0], whole.contiguous()]


def _strides(m: Any, dims: int, function: Any) -> list[Any]:
    """Strides of results and of gradients."""
    seen: list[Any] = []
    for array in _laid_out(m, dims):
        x = array.requires_grad_()
        result = outcome(function, x)
        if not isinstance(result, m.Tensor):
            seen.append("refused")
            continue
        (grad,) = m.autograd.grad(result, x, m.ones_like(result))
        seen.append((result.stride(), grad.stride()))
    return seen


@twice
def test_formats_of_pooled_images(m: Any) -> Any:
    F = m.nn.functional
    return [
        _strides(m, 2, function)
        for function in (
            lambda x: F.max_pool2d(x, 2, padding=1),
            lambda x: F.avg_pool2d(x, 2, padding=1),
            lambda x: F.adaptive_max_pool2d(x, 3),
            lambda x: F.adaptive_avg_pool2d(x, 3),
            lambda x: F.fractional_max_pool2d(x, 1, 1),
            lambda x: F.interpolate(x, scale_factor=2),
            lambda x: F.pad(x, (1, 1, 1, 1), mode="replicate"),
            lambda x: F.pad(x, (1, 1, 1, 1), mode="circular"),
        )
    ]


@twice
def test_strides_tell_the_format_of_a_single_channel(m: Any) -> Any:
    F, seen = m.nn.functional, []
    for shape in ((4, 1, 6, 6), (4, 8, 1, 1), (1, 1, 1, 1)):
        x = m.zeros(*shape).to(memory_format=m.channels_last)
        seen += [x.stride(), F.adaptive_max_pool2d(x, 1).stride(), F.pad(x, (1, 1)).stride()]
        seen.append(x.to(memory_format=m.contiguous_format).stride())
    return seen


@twice
def test_a_single_window_keeps_the_format(m: Any) -> Any:
    F, seen = m.nn.functional, []
    for x in _laid_out(m, 2):
        seen.append(_strides(m, 2, lambda x: F.adaptive_avg_pool2d(x, 1)))
        result = F.adaptive_avg_pool2d(x.requires_grad_(), (1, 1))
        seen.append((result.grad_fn.name(), result._is_view()))
    seen += [F.adaptive_avg_pool3d(x, 1).stride() for x in _laid_out(m, 3)]
    images = m.vmap(lambda x: F.adaptive_avg_pool2d(x, 1))(_laid_out(m, 2)[0].unsqueeze(1))
    return seen, images.shape


@twice
def test_formats_of_pooled_volumes(m: Any) -> Any:
    F = m.nn.functional
    forward = [
        [y.stride() for y in F.max_pool3d(x, 2, padding=1, return_indices=True)]
        for x in _laid_out(m, 3)
    ]
    return forward, [
        _strides(m, 3, function)
        for function in (
            lambda x: F.avg_pool3d(x, 2, padding=1),
            lambda x: F.adaptive_max_pool3d(x, 3),
            lambda x: F.adaptive_avg_pool3d(x, 3),
        )
    ]


@twice
def test_unpooled_images_keep_their_format(m: Any) -> Any:
    F = m.nn.functional
    images = m.randn(2, 10, 9, 9).to(memory_format=m.channels_last)
    back = F.max_unpool2d(*F.max_pool2d(images, 3, 2, return_indices=True), 3, 2)
    return back, back.stride()


@twice
def test_windows_wholly_in_the_padding(m: Any) -> Any:
    """Their maximum is -inf."""
    F, seen = m.nn.functional, []
    for dims in (1, 2, 3):
        pool = getattr(F, f"max_pool{dims}d")
        seen.append(pool(m.ones(1, *(1,) * dims), 2, None, 1, 2))
        seen.append(pool(m.arange(5.0**dims).reshape(1, *(5,) * dims), 2, 1, 1, 6))
    return seen


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_no_element_gets_the_gradient_of_a_window_in_the_padding(dims: int) -> None:
    """PyTorch's backward writes outside of the gradient here, so it cannot be asked."""
    pool = getattr(clew.nn.functional, f"max_pool{dims}d")
    x = clew.arange(5.0**dims).reshape(1, *(5,) * dims).requires_grad_()
    values, indices = pool(x, 2, 1, 1, 6, return_indices=True)
    assert (indices[values == -float("inf")] == -1).all()
    values.sum().backward()
    found = values > -float("inf")
    assert x.grad.sum() == found.sum()
    assert x.grad.view(-1)[indices[found]].all()


@twice
def test_infinite_norms(m: Any) -> Any:
    F, seen = m.nn.functional, []
    for dims in (1, 2, 3):
        pool = getattr(F, f"lp_pool{dims}d")
        for order in (float("inf"), -float("inf")):
            x = m.randn(2, 3, *(5,) * dims, requires_grad=True)
            result = pool(x, order, 2, 2, True)
            seen.append((result.detach(), *m.autograd.grad(result.sum(), x)))
    return seen


@twice
def test_adaptive_maxima_with_ties_and_nans(m: Any) -> Any:
    """The first of equal values, the last NaN, in the order of memory."""
    F, seen = m.nn.functional, []
    for dims in (1, 2, 3):
        pool = getattr(F, f"adaptive_max_pool{dims}d")
        for dtype in (m.float16, m.bfloat16, m.float32, m.float64):
            x = m.randn(2, 3, *(9,) * dims).round().to(dtype)
            seen.append(pool(x, 4, return_indices=True))
            x.view(-1)[::5] = float("nan")
            seen.append([y[-1].float() for y in pool(x, 4, return_indices=True)])
    return seen


@twice
def test_fractional_sizes(m: Any) -> Any:
    F, seen = m.nn.functional, []
    for dims in (2, 3):
        pool = getattr(F, f"fractional_max_pool{dims}d")
        x, samples = m.randn(3, *(7,) * dims), m.rand(3, 3, dims)
        for size in (0, -1, 3, 8, (), (3,), (3, 3), (3, 3, 3), (0, 1), (0, 1, 1), 3.0):
            seen.append(outcome(lambda: pool(x, 2, size, _random_samples=samples)))  # noqa: B023  # called at once
        for ratio in (0.5, (0.5,), (0.5, 0.4), (0.5, 0.4, 0.6), (0.5,) * 4):
            seen.append(
                outcome(lambda: pool(x, 2, output_ratio=ratio, _random_samples=samples))  # noqa: B023  # called at once
            )
        for shape in ((0, 3), (2, 0), (0,), (2, 2, 3)):
            seen.append(outcome(lambda: pool(m.zeros(*shape, *(7,) * dims), 2, 3)))  # noqa: B023  # called at once
        seen.append(raised(pool, x, 2, 3, _random_samples=m.rand(3, dims)))
        seen.append(getattr(m.nn, f"FractionalMaxPool{dims}d")(2, 3)(x))
    seen.append(raised(m.nn.FractionalMaxPool3d, 0, 3))
    return seen


@twice
def test_sizes_that_are_refused(m: Any) -> Any:
    F, seen = m.nn.functional, []
    for dims in (2, 3):
        x = m.ones(1, 2, *(5,) * dims)
        for name in ("max_pool", "avg_pool"):
            pool = getattr(F, f"{name}{dims}d")
            for size in (2.0, (2.0,) * dims, None, True, 2**31, 2**70, 0, -1, 6):
                seen.append(raised(pool, x, size))
                seen.append(raised(pool, x, 2, size) if size is not None else None)
            seen.append(raised(pool, x, 3, 1, 2))
        for name in ("adaptive_max_pool", "adaptive_avg_pool"):
            pool = getattr(F, f"{name}{dims}d")
            seen += [raised(pool, x, size) for size in ((2.0,) * dims, True, (2,) * 4, -1)]
            seen.append(raised(lambda: pool(x.requires_grad_(), 0).sum().backward()))  # noqa: B023  # called at once
            seen.append(raised(lambda: pool(m.ones(2, 0, *(5,) * dims), 3)))  # noqa: B023  # called at once
    line = m.ones(1, 2, 5)
    for size in (2.0, True, 2**70, (2, 2)):
        seen += [raised(F.max_pool1d, line, size), raised(F.avg_pool1d, line, size)]
    seen.append(raised(F.max_pool1d_with_indices, line, 3, 2, 0, 3))
    seen.append(raised(F.max_pool1d, line, 3, 2, 0, 3))
    return seen


@twice
def test_unpooling_with_wrong_windows(m: Any) -> Any:
    F, seen = m.nn.functional, []
    for dims in (2, 3):
        pooled = getattr(F, f"max_pool{dims}d")(m.randn(1, *(6,) * dims), 2, return_indices=True)
        unpool = getattr(F, f"max_unpool{dims}d")
        seen += [raised(unpool, *pooled, size, words=5) for size in ((), (2,))]
    return seen


def test_results_too_large_for_memory_are_refused() -> None:
    with pytest.raises(RuntimeError, match="Storage size calculation overflowed"):
        clew.nn.AdaptiveMaxPool1d(0x3FFFFFFFFFFFFFFF)(clew.empty(2, 2, 2))


def test_one_long_window_is_quick() -> None:
    """Windows are reduced by compiled code, however long: this took a second for each 300,000."""
    x = clew.zeros(1, 1, 2, 1, 1_000_000)
    x[..., -1] = 1
    start = time.perf_counter()
    _, index = clew.nn.functional.adaptive_max_pool3d(x, 1, return_indices=True)
    assert time.perf_counter() - start < 2
    assert index.item() == 999_999
