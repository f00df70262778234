"""The compiled matrix product, against products in float64 of the same numbers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clew
from clew.kernels.gemm import gemm as native
from clew.kernels.gemm import microkernels, products
from clew.kernels.gemm.products import AFFINE, PRODUCT, Product, affine, batch_product, product

Array = np.ndarray
# Bounds for the error of a sum of k products of numbers from a normal distribution.
EPSILON = {"f": 2.0**-24, "d": 2.0**-53}


def matrix(rng: np.random.Generator, rows: int, columns: int, layout: str, kind: str) -> Array:
    """Numbers that lie row by row, column by column, or with gaps between them."""
    if layout == "columns":
        return rng.standard_normal((columns, rows)).astype(kind).T
    if layout == "gaps":
        return rng.standard_normal((2 * rows + 1, 3 * columns + 1)).astype(kind)[1::2, 1::3]
    return rng.standard_normal((rows, columns)).astype(kind)


def check(kernel: Product, *operands: Array, out: Array | None = None) -> None:
    a, b, *row = operands
    result = kernel.specialize(a)(*operands, out=out)
    exact = a.astype("d") @ b.astype("d")
    size = np.abs(a).astype("d") @ np.abs(b).astype("d")
    if row:
        exact, size = exact + row[0], size + np.abs(row[0])
    bound = EPSILON[a.dtype.char] * (a.shape[-1] + 2) * size
    assert result.dtype == a.dtype
    assert (np.abs(result - exact) <= bound).all()


SHAPES = [
    (1, 1, 1), (1, 5, 7), (3, 17, 16), (6, 256, 64), (7, 300, 65), (64, 784, 10), (10, 33, 64),
    (32, 256, 300), (130, 600, 70), (16, 16, 16), (14, 12, 200), (300, 31, 33), (25, 512, 128),
    (25, 512, 130), (1200, 40, 96),
]  # fmt: skip


@pytest.mark.parametrize("kind", ["f", "d"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_products_of_matrices_in_any_layout(shape: tuple[int, int, int], kind: str) -> None:
    rng = np.random.default_rng(0)
    m, k, n = shape
    layouts = ("rows", "columns", "gaps")
    for first, second, third in itertools.product(layouts, layouts, layouts):
        a, b = matrix(rng, m, k, first, kind), matrix(rng, k, n, second, kind)
        out = matrix(rng, m, n, third, kind)
        out[...] = np.nan
        check(PRODUCT, a, b, out=out)
        out[...] = np.nan
        check(AFFINE, a, b, rng.standard_normal(n).astype(kind), out=out)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_products_of_any_shape(data: st.DataObject) -> None:
    sizes = st.integers(1, 150)
    m, k, n = data.draw(sizes), data.draw(sizes), data.draw(sizes)
    layout = st.sampled_from(["rows", "columns", "gaps"])
    rng = np.random.default_rng(m * 7 + k * 3 + n)
    a = matrix(rng, m, k, data.draw(layout), "f")
    b = matrix(rng, k, n, data.draw(layout), "f")
    check(PRODUCT, a, b)
    row = np.broadcast_to(rng.standard_normal(1).astype("f"), (n,))
    check(AFFINE, a, b, row)


def test_batches_broadcast() -> None:
    rng = np.random.default_rng(1)
    a = rng.standard_normal((3, 1, 40, 30)).astype("f")
    b = rng.standard_normal((4, 50, 30)).astype("f").swapaxes(1, 2)
    assert np.allclose(batch_product(a, b), np.matmul(a, b), atol=1e-4)
    assert np.allclose(PRODUCT.specialize(a)(a, b), np.matmul(a, b), atol=1e-4)


@pytest.mark.parametrize("shape", [(0, 5, 7), (5, 0, 7), (5, 7, 0)], ids=str)
def test_empty_matrices(shape: tuple[int, int, int]) -> None:
    m, k, n = shape
    a, b, row = np.ones((m, k), "f"), np.ones((k, n), "f"), np.arange(n, dtype="f")
    assert np.array_equal(PRODUCT.specialize(a)(a, b), a @ b)
    assert np.array_equal(AFFINE.specialize(a)(a, b, row), a @ b + row)


@pytest.mark.parametrize("layout", ["rows", "columns"])
def test_nan_and_infinity_stay_in_their_row(layout: str) -> None:
    rng = np.random.default_rng(2)
    a, b = matrix(rng, 70, 90, layout, "f"), matrix(rng, 90, 75, "rows", "f")
    a[33, 44], a[50, 3] = np.nan, np.inf
    result = PRODUCT.specialize(a)(a, b)
    assert np.isnan(result[33]).all()
    assert np.isinf(result[50]).all()
    assert np.isfinite(np.delete(result, [33, 50], axis=0)).all()


def test_results_do_not_depend_on_threads() -> None:
    rng = np.random.default_rng(3)
    pairs = [
        (matrix(rng, m, k, first, "f"), matrix(rng, k, n, second, "f"))
        for m, k, n in [(64, 784, 512), (700, 384, 640), (40, 2000, 40)]
        for first, second in [("rows", "columns"), ("rows", "rows"), ("columns", "rows")]
    ]
    before = clew.get_num_threads()
    results = []
    try:
        for threads in (1, 2, 3):
            clew.set_num_threads(threads)
            results.append([product(a, b) for a, b in pairs])
    finally:
        clew.set_num_threads(before)
    for other in results[1:]:
        for one, two in zip(results[0], other, strict=True):
            assert np.array_equal(one, two)


def test_small_products_and_large_ones_agree() -> None:
    rng = np.random.default_rng(4)
    for m, k, n in [(8, 8, 8), (2, 3000, 2), (200, 200, 200), (16, 512, 16)]:
        a, b = matrix(rng, m, k, "rows", "d"), matrix(rng, k, n, "columns", "d")
        row = rng.standard_normal(n)
        assert np.allclose(product(a, b), a @ b)
        assert np.allclose(affine(a, b, row), a @ b + row)


@pytest.mark.parametrize("kind", ["f", "d"])
@pytest.mark.parametrize(("size", "count"), [(16, 16), (16, 32), (32, 16), (64, 32)])
def test_machines_with_other_registers(
    size: int, count: int, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The vectors of a wider machine are cut by LLVM where this one has narrower registers.
    monkeypatch.setattr(native, "vector_bytes", lambda: size)
    monkeypatch.setattr(microkernels, "vector_registers", lambda size: count)
    monkeypatch.setattr(native, "functions", native.functions.__wrapped__)
    kernel = Product("affine", bias=True)
    rng = np.random.default_rng(size)
    for m, k, n in [(33, 50, 21), (64, 300, 48), (7, 130, 160)]:
        row = rng.standard_normal(n).astype(kind)
        for first, second in itertools.product(("rows", "columns"), repeat=2):
            check(kernel, matrix(rng, m, k, first, kind), matrix(rng, k, n, second, kind), row)


def test_machines_without_workers_leave_large_products_to_blas(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(products, "_HAS_WORKERS", False)
    monkeypatch.setattr(Product, "specialize", lambda *_: pytest.fail("the compiled product"))
    rng = np.random.default_rng(7)
    a, b, row = rng.standard_normal((2, 70, 80)), rng.standard_normal((2, 80, 90)), np.ones((2, 90))
    assert (product(a[0], b[0]) == a[0] @ b[0]).all()
    assert (affine(a[0], b[0], row[0]) == a[0] @ b[0] + 1).all()
    assert (batch_product(a, b) == a @ b).all()
