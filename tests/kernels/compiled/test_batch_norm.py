"""Batch norm by channels: agrees with PyTorch, and threads change no bit."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch

import clew
from clew.kernels.compiled import batch_norm


@pytest.fixture(autouse=True)
def _same_threads_afterwards() -> Iterator[None]:
    threads = clew.get_num_threads()
    yield
    clew.set_num_threads(threads)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(4, 3, 5, 7), (16, 64, 8, 8), (1, 20, 130), (9, 5, 2, 1, 3)])
@pytest.mark.parametrize("affine", [True, False])
def test_agrees_with_torch(shape: tuple[int, ...], dtype: type, affine: bool) -> None:
    generator = np.random.default_rng(0)
    x, g = (generator.standard_normal(shape).astype(dtype) for _ in range(2))
    vectors = [generator.standard_normal(shape[1]).astype(dtype) for _ in range(2)]
    weight, bias = vectors if affine else (None, None)
    given = [torch.tensor(each, requires_grad=True) for each in ([x, *vectors] if affine else [x])]
    expected = torch.native_batch_norm(
        given[0], *(given[1:] if affine else (None, None)), None, None, True, 0.1, 1e-3
    )
    tight = {"rtol": 2e-4, "atol": 2e-5} if dtype is np.float32 else {"rtol": 1e-9, "atol": 1e-12}
    found = []
    for threads in (1, 2, 16):
        clew.set_num_threads(threads)
        out, mean, rstd, variance = batch_norm.forward(x, weight, bias, 1e-3)
        gradients = batch_norm.backward(g, x, weight, mean, rstd, True)
        found.append([out, mean, rstd, variance, *gradients])
    for ours, theirs in zip((out, mean, rstd), expected, strict=True):
        np.testing.assert_allclose(ours, theirs.detach(), **tight)
    others = (0, *range(2, x.ndim))
    np.testing.assert_allclose(variance, x.astype(np.float64).var(others), **tight)
    wanted = torch.autograd.grad(expected[0], given, torch.tensor(g))
    for ours, theirs in zip(gradients, wanted, strict=False):
        assert ours is not None
        np.testing.assert_allclose(ours, theirs, **tight)
    for each in found[1:]:
        for ours, first in zip(each, found[0], strict=True):
            np.testing.assert_array_equal(ours, first)


def test_strided_arrays_and_gradients_that_are_not_wanted() -> None:
    x = np.random.default_rng(0).standard_normal((8, 5, 6, 4))[::2, :, ::3]
    out, mean, rstd, _ = batch_norm.forward(x, None, None, 1e-5)
    np.testing.assert_allclose(out.mean((0, 2, 3)), 0, atol=1e-12)
    through, of_weight, of_bias = batch_norm.backward(x, x, None, mean, rstd, False)
    assert through is None
    np.testing.assert_allclose(of_bias, x.sum((0, 2, 3)), atol=1e-12)
    np.testing.assert_allclose(of_weight, (x * out).sum((0, 2, 3)), atol=1e-9)
