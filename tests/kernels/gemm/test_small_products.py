"""Products of small matrices: the order of their sums is PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import clew
from clew.kernels.gemm.small_products import LIMIT, SMALL_COMPLEX_PRODUCT, SMALL_PRODUCT

DTYPES = [torch.float32, torch.float64, torch.complex64, torch.complex128]
SIZES = [(2, 3, 2), (5, 10, 5), (1, 10, 10), (10, 10, 1), (3, 30, 3), (5, 5, 15), (4, 0, 3)]


def _matrices(dtype: torch.dtype, m: int, k: int, n: int) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(m * k * n)
    return torch.randn(6, m, k, dtype=dtype) * 5, torch.randn(6, k, n, dtype=dtype) * 5


def _same_bits(ours: clew.Tensor, theirs: torch.Tensor) -> bool:
    return np.array_equal(ours.detach().numpy(), theirs.detach().resolve_conj().numpy())


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("transposed", ["neither", "left", "right"])
def test_batches_have_pytorchs_bits(
    dtype: torch.dtype, size: tuple[int, int, int], transposed: str
) -> None:
    m, k, n = size
    assert m * k * n < LIMIT
    a, b = _matrices(dtype, *size)
    if transposed == "left":
        a = a.mT.contiguous().mT
    if transposed == "right":
        b = b.mT.contiguous().mT
    c, d = (clew.from_numpy(each.numpy()) for each in (a, b))
    assert _same_bits(clew.bmm(c, d), torch.bmm(a, b))
    bias = torch.randn(6, m, n, dtype=dtype)
    theirs = torch.baddbmm(bias, a, b, beta=0.5, alpha=2)
    assert _same_bits(clew.baddbmm(clew.tensor(bias.numpy()), c, d, beta=0.5, alpha=2), theirs)


@pytest.mark.parametrize("dtype", DTYPES[2:], ids=str)
def test_a_complex_matrix_times_a_vector_has_pytorchs_bits(dtype: torch.dtype) -> None:
    a, b = _matrices(dtype, 10, 25, 1)
    left, right = clew.tensor(a.numpy()), clew.tensor(b[0, :, 0].numpy())
    for of_ours, of_theirs in ((left, a), (left[0], a[0])):
        assert _same_bits(clew.matmul(of_ours, right), torch.matmul(of_theirs, b[0, :, 0]))


def test_gradients_of_batches_have_pytorchs_bits() -> None:
    a, b = (each.requires_grad_() for each in _matrices(torch.complex64, 4, 6, 3))
    c, d = (clew.tensor(each.detach().numpy(), requires_grad=True) for each in (a, b))
    g = torch.randn(6, 4, 3, dtype=torch.complex64)
    theirs = torch.autograd.grad(torch.bmm(a, b), (a, b), g)
    ours = clew.autograd.grad(clew.bmm(c, d), (c, d), clew.tensor(g.numpy()))
    for mine, other in zip(ours, theirs, strict=True):
        assert _same_bits(mine.resolve_conj(), other)


def test_parts_of_complex_matrices_are_summed_apart() -> None:
    a, b = (each[0].numpy() for each in _matrices(torch.complex64, 5, 7, 6))
    wide = [each.astype(np.complex128) for each in (a, b)]
    sums = np.zeros((4, 5, 6), np.float32)
    for k in range(7):
        x, y = wide[0][:, k, None], wide[1][k]
        terms = (x.real * y.real, x.real * y.imag, x.imag * y.real, x.imag * y.imag)
        sums = (sums + np.array(terms)).astype(np.float32)
    expected = (sums[0] - sums[3]) + 1j * (sums[1] + sums[2])
    ours = (clew.tensor(a) @ clew.tensor(b)).numpy()
    assert np.array_equal(ours, expected.astype(np.complex64))


def test_kernels_take_memory_with_gaps_and_broadcast() -> None:
    a, b = (each.numpy() for each in _matrices(torch.complex64, 4, 6, 3))
    for kernel in (SMALL_PRODUCT, SMALL_COMPLEX_PRODUCT):
        ufunc = kernel.specialize(a)
        gaps = np.repeat(a, 2, axis=2)[:, :, ::2], np.repeat(b, 2, axis=1)[:, ::2]
        assert np.array_equal(ufunc(*gaps), ufunc(a, b))
        assert np.array_equal(ufunc(a, b[:1]), np.stack([ufunc(each, b[0]) for each in a]))
        assert np.allclose(ufunc(a, b), a @ b, rtol=1e-4)
