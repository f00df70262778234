"""Outer products stored past the cache: the same numbers, wherever rows begin in memory."""

from typing import Any

import numpy as np
import pytest

import clew
from clew.func import grad, vmap
from clew.kernels.gemm import outer_product


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(3, 5, 67), (2, 3, 1000), (1, 1, 64), (7, 9, 5)])
def test_products(shape: tuple[int, int, int], dtype: Any) -> None:
    batch, count, length = shape
    rng = np.random.default_rng(0)
    columns = rng.standard_normal((batch, count, 1)).astype(dtype)
    rows = rng.standard_normal((batch, 1, length)).astype(dtype)
    np.testing.assert_array_equal(outer_product.outer_products(columns, rows), columns * rows)
    np.testing.assert_array_equal(
        outer_product.outer_products(columns[:, ::-1], rows[..., ::-1]),
        columns[:, ::-1] * rows[..., ::-1],
    )


def test_which_products_are_large() -> None:
    def are_large(batch: int, count: int, length: int, dtype: Any = np.float32) -> bool:
        return outer_product.are_large(
            np.empty((batch, count, 1), dtype), np.empty((batch, 1, length), dtype)
        )

    assert are_large(64, 128, 784) and are_large(64, 128, 784, np.float64)
    assert not are_large(64, 128, 784, np.float16)
    assert not are_large(4, 128, 784)
    assert not are_large(64, 100_000, 8)


@pytest.mark.parametrize("outside", [False, True])
def test_gradients_of_many_samples(outside: bool) -> None:
    """Large enough for the kernel, and with a gradient outside of the vmap, too."""
    clew.manual_seed(0)
    weight = clew.randn(64, 200, dtype=clew.float64, requires_grad=outside)
    x = clew.randn(50, 200, dtype=clew.float64, requires_grad=outside)

    def loss(w: Any, sample: Any) -> Any:
        return (sample.unsqueeze(0) @ w.t()).tanh().sum()

    rows = vmap(grad(loss), in_dims=(None, 0))(weight, x)
    expected = clew.stack([grad(loss)(weight, each) for each in x])
    assert rows._array.nbytes >= outer_product.LARGE
    np.testing.assert_allclose(
        rows.detach().numpy(), expected.detach().numpy(), rtol=1e-9, atol=1e-12
    )
    if outside:
        for ours, theirs in zip(
            clew.autograd.grad((rows * rows).sum(), (weight, x)),
            clew.autograd.grad((expected * expected).sum(), (weight, x)),
            strict=True,
        ):
            np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-9, atol=1e-12)
