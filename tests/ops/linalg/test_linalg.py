"""Linear algebra that the op table cannot express: phases, failures, history, and order of work."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import clew
from clew.autograd.gradcheck import gradcheck, gradgradcheck
from tests.twice import leaf, raised, twice

RNG = np.random.default_rng(7)


def _draw(*shape: int, kind: str = "f") -> np.ndarray:
    values = RNG.standard_normal(shape)
    return values + 1j * RNG.standard_normal(shape) if kind == "c" else values


def _leaf(values: np.ndarray) -> Any:
    return clew.tensor(values, requires_grad=True)


kinds = pytest.mark.parametrize("kind", ["f", "c"])


# -- decompositions, up to the phase of their vectors --------------------------------------------


def _projectors(vectors: Any) -> Any:
    """v v^H for each column v: what does not depend on a vector's phase."""
    columns = vectors.mT.unsqueeze(-1)
    return columns @ columns.mH


@kinds
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 3, 3)])
def test_svd_gradients(kind: str, shape: tuple[int, ...]) -> None:
    def invariants(a: Any) -> Any:
        u, s, vh = clew.linalg.svd(a, full_matrices=False)
        return _projectors(u), s, _projectors(vh.mH), (u * s.unsqueeze(-2)) @ vh

    a = _leaf(_draw(*shape, kind=kind))
    assert gradcheck(invariants, (a,))
    assert gradgradcheck(invariants, (a,), fast_mode=True, atol=1e-4)


@kinds
@pytest.mark.parametrize("uplo", ["L", "U"])
def test_eigh_gradients(kind: str, uplo: str) -> None:
    def invariants(a: Any) -> Any:
        values, vectors = clew.linalg.eigh(a + a.mH, uplo)
        return values, _projectors(vectors)

    a = _leaf(_draw(3, 3, kind=kind))
    assert gradcheck(invariants, (a,))
    assert gradgradcheck(invariants, (a,), fast_mode=True, atol=1e-4)


@kinds
def test_eig_gradients(kind: str) -> None:
    def invariants(a: Any) -> Any:
        values, vectors = clew.linalg.eig(a)
        return values, _projectors(vectors)

    a = _leaf(_draw(3, 3, kind=kind))
    assert gradcheck(invariants, (a,))


@kinds
@pytest.mark.parametrize("upper", [False, True])
def test_cholesky_gradients(kind: str, upper: bool) -> None:
    def factor(a: Any) -> Any:
        positive = a @ a.mH + 2 * clew.eye(3, dtype=a.dtype)
        return clew.linalg.cholesky(positive, upper=upper)

    a = _leaf(_draw(3, 3, kind=kind))
    assert gradcheck(factor, (a,), check_forward_ad=True)
    assert gradgradcheck(factor, (a,), fast_mode=True)


def test_a_loss_that_depends_on_the_phase_is_refused() -> None:
    a = _leaf(_draw(3, 3, kind="c"))
    loss = clew.linalg.eigh(a + a.mH)[1].sum().abs()
    with pytest.raises(RuntimeError, match="specified up to multiplication by"):
        loss.backward()


@pytest.mark.parametrize("mode", ["complete", "r"])
def test_qr_modes_without_gradient(mode: str) -> None:
    a = _leaf(_draw(4, 3))
    _, r = clew.linalg.qr(a, mode)
    with pytest.raises(RuntimeError, match=r"derivative of linalg\.qr|not differentiable when"):
        r.sum().backward()


def test_lu_of_large_matrices() -> None:
    """More columns than are eliminated at a time."""
    values = _draw(2, 70, 75)
    p, lower, upper = clew.linalg.lu(clew.tensor(values))
    expected = torch.linalg.lu(torch.tensor(values))
    for mine, theirs in zip((p, lower, upper), expected, strict=True):
        np.testing.assert_allclose(mine.numpy(), theirs.numpy(), atol=1e-10)
    np.testing.assert_allclose((p @ lower @ upper).numpy(), values, atol=1e-10)


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("adjoint", [True, False])
def test_lu_solve_gradients(left: bool, adjoint: bool) -> None:
    a, b = _draw(3, 3, kind="c"), _draw(3, 3, kind="c")
    lu, pivots = clew.linalg.lu_factor(clew.tensor(a))
    lu = lu.detach().requires_grad_()

    def solve(factors: Any, right: Any) -> Any:
        return clew.linalg.lu_solve(factors, pivots, right, left=left, adjoint=adjoint)

    assert gradcheck(solve, (lu, _leaf(b)))


def test_householder_product_agrees_with_torch() -> None:
    a, tau = _draw(4, 3), _draw(2)
    mine = clew.linalg.householder_product(clew.tensor(a), clew.tensor(tau))
    theirs = torch.linalg.householder_product(torch.tensor(a), torch.tensor(tau))
    np.testing.assert_allclose(mine.numpy(), theirs.numpy(), atol=1e-12)


# -- failures ------------------------------------------------------------------------------------

SINGULAR = [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 1.0]]
FAILURES: list[tuple[str, Callable[[Any], Any]]] = [
    ("inv", lambda t: t.linalg.inv(t.tensor(SINGULAR))),
    ("inv of a batch", lambda t: t.linalg.inv(t.stack([t.eye(3), t.tensor(SINGULAR)]))),
    ("solve", lambda t: t.linalg.solve(t.tensor(SINGULAR), t.ones(3))),
    ("cholesky", lambda t: t.linalg.cholesky(t.tensor(SINGULAR))),
    ("lu_factor", lambda t: t.linalg.lu_factor(t.tensor(SINGULAR))),
    ("svd of NaN", lambda t: t.linalg.svd(t.full((2, 2), math.nan))),
    ("eig of NaN", lambda t: t.linalg.eig(t.full((2, 2), math.nan))),
    ("inv of integers", lambda t: t.linalg.inv(t.ones(2, 2, dtype=t.int64))),
    ("inv of halves", lambda t: t.linalg.inv(t.ones(2, 2, dtype=t.float16))),
    ("eigh of integers", lambda t: t.linalg.eigh(t.ones(2, 2, dtype=t.int64))),
    ("qr mode", lambda t: t.linalg.qr(t.ones(2, 2), "x")),
    ("mixed dtypes", lambda t: t.ones(2, 2) @ t.ones(2, 2, dtype=t.float64)),
    ("mixed batches", lambda t: t.ones(2, 2, 2) @ t.ones(2, 2, 2, dtype=t.float64)),
    ("multi_dot of one", lambda t: t.linalg.multi_dot([t.ones(2, 2)])),
    ("multi_dot of misfits", lambda t: t.linalg.multi_dot([t.ones(2, 3), t.ones(2, 3)])),
    ("lstsq", lambda t: t.linalg.lstsq(t.ones(3, 2), t.ones(4, 2))),
    ("norm of three dims", lambda t: t.linalg.norm(t.ones(2, 2, 2), 2)),
    ("fft length", lambda t: t.fft.fft(t.ones(3), n=0)),
    ("fft mode", lambda t: t.fft.fft(t.ones(3), norm="x")),
    ("rfft of complex", lambda t: t.fft.rfft(t.ones(3, dtype=t.complex64))),
]


@pytest.mark.parametrize(("_name", "call"), FAILURES, ids=[name for name, _ in FAILURES])
def test_failures_in_the_words_of_torch(_name: str, call: Callable[[Any], Any]) -> None:
    with pytest.raises(Exception) as expected:  # whatever torch raises
        call(torch)
    with pytest.raises(RuntimeError) as raised:
        call(clew)
    assert str(raised.value).splitlines()[0] == str(expected.value).splitlines()[0]
    named = isinstance(expected.value, torch.linalg.LinAlgError)
    assert isinstance(raised.value, clew.linalg.LinAlgError) == named


def test_a_wrong_shape_names_the_line_and_what_would_fit() -> None:
    with pytest.raises(RuntimeError) as raised:
        clew.ones(3, 4) @ clew.ones(5, 4)
    text = str(raised.value)
    assert text.startswith("mat1 and mat2 shapes cannot be multiplied (3x4 and 5x4)")
    assert "b.T" in text
    assert "test_linalg.py" in text


# -- gradients at singular matrices --------------------------------------------------------------


@pytest.mark.parametrize("values", [SINGULAR, [[0.0, 0.0], [0.0, 0.0]], [[0.0]]])
def test_det_of_singular_matrices(values: list[list[float]]) -> None:
    mine = clew.tensor(values, dtype=clew.float64, requires_grad=True)
    clew.linalg.det(mine).backward()
    size = len(values)
    cofactors = np.empty((size, size))
    for i in range(size):
        for j in range(size):
            minor = np.delete(np.delete(np.array(values), i, 0), j, 1)
            cofactors[i, j] = (-1) ** (i + j) * (np.linalg.det(minor) if minor.size else 1)
    np.testing.assert_allclose(mine.grad.numpy(), cofactors, atol=1e-12)
    mine.grad = None
    clew.linalg.det(mine).backward(create_graph=True)
    np.testing.assert_allclose(mine.grad.detach().numpy(), cofactors, atol=1e-12)


def test_second_gradients_of_det_where_some_matrices_are_singular() -> None:
    def second(library: Any, batched: bool) -> Any:
        both = [[[1.0, 2.0, 4.0], [3.0, 5.0, 7.0], [1.0, 0.0, 1.0]], SINGULAR]
        matrices = library.tensor(both, dtype=library.float64, requires_grad=True)
        weight = library.arange(9.0, dtype=library.float64).reshape(3, 3)

        def first(one: Any) -> Any:
            return library.func.grad(library.linalg.det)(one)

        if batched:
            return library.func.vmap(library.func.grad(lambda one: (first(one) * weight).sum()))(
                matrices
            )
        (grads,) = library.autograd.grad(
            library.linalg.det(matrices).sum(), matrices, create_graph=True
        )
        return library.autograd.grad((grads * weight).sum(), matrices)[0]

    expected = second(torch, False).numpy()
    for batched in (False, True):
        result = second(clew, batched).detach().numpy()
        np.testing.assert_allclose(result, expected, atol=1e-9)


# -- history -------------------------------------------------------------------------------------

NAMES: list[tuple[str, Callable[[Any, Any], Any]]] = [
    ("mm", lambda t, x: x @ x),
    ("bmm", lambda t, x: x[None].bmm(x[None])),
    ("matmul 3-D", lambda t, x: x[None] @ x[None]),
    ("mv", lambda t, x: x @ x[0]),
    ("folded", lambda t, x: x[None] @ x),
    ("dot", lambda t, x: x[0] @ x[0]),
    ("addmm", lambda t, x: t.addmm(x, x, x)),
    ("linear", lambda t, x: t.addmm(x[0], x, x.T)),
    ("inv", lambda t, x: t.linalg.inv(x)),
    ("solve", lambda t, x: t.linalg.solve(x, x)),
    ("det", lambda t, x: t.linalg.det(x)),
    ("slogdet", lambda t, x: t.linalg.slogdet(x)[1]),
    ("qr", lambda t, x: t.linalg.qr(x)[0]),
    ("svd", lambda t, x: t.linalg.svd(x)[1]),
    ("svdvals", lambda t, x: t.linalg.svdvals(x)),
    ("eigh", lambda t, x: t.linalg.eigh(x)[0]),
    ("eig", lambda t, x: t.linalg.eig(x)[0]),
    ("pinv", lambda t, x: t.linalg.pinv(x)),
    ("lu_factor", lambda t, x: t.linalg.lu_factor(x)[0]),
    ("lu", lambda t, x: t.linalg.lu(x)[1]),
    ("exp", lambda t, x: t.linalg.matrix_exp(x)),
    ("outer", lambda t, x: t.outer(x[0], x[1])),
    ("lstsq", lambda t, x: t.linalg.lstsq(x, x).solution),
    ("kron", lambda t, x: t.kron(x, x)),
    ("power", lambda t, x: t.matrix_power(x, 3)),
    ("trace", lambda t, x: t.trace(x)),
    ("cdist", lambda t, x: t.cdist(x, x)),
    ("rfft", lambda t, x: t.fft.rfft(x)),
    ("ifft", lambda t, x: t.fft.ifft(x)),
    ("irfft", lambda t, x: t.fft.irfft(x + 0j)),
    ("einsum", lambda t, x: t.einsum("ij,jk->ik", x, x)),
]


@pytest.mark.parametrize(("_name", "call"), NAMES, ids=[name for name, _ in NAMES])
def test_nodes_have_the_names_of_torch(_name: str, call: Callable[[Any, Any], Any]) -> None:
    values = _draw(3, 3) + 3 * np.eye(3)
    mine = call(clew, clew.tensor(values, requires_grad=True))
    theirs = call(torch, torch.tensor(values, requires_grad=True))
    assert mine.grad_fn.name() == theirs.grad_fn.name()


def test_overwriting_a_factor_is_noticed() -> None:
    a, b = clew.ones(2, 2, requires_grad=True), clew.ones(2, 2)
    product = a @ b
    b.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        product.sum().backward()


def test_only_the_factor_that_is_needed_is_saved() -> None:
    a, b = clew.ones(2, 2, requires_grad=True), clew.ones(2, 2)
    product = a @ b
    with clew.no_grad():
        a.add_(1)  # only b is needed for the gradient of a
    product.sum().backward()
    assert a.grad.tolist() == [[2.0, 2.0], [2.0, 2.0]]


def test_addmm_with_beta_zero_ignores_its_input() -> None:
    result = clew.addmm(clew.full((2, 2), math.nan), clew.ones(2, 2), clew.ones(2, 2), beta=0)
    assert result.tolist() == [[2.0, 2.0], [2.0, 2.0]]


def test_a_chain_is_multiplied_in_the_cheapest_order() -> None:
    shapes = [(2, 30), (30, 3), (3, 40), (40, 2)]
    tensors = [_draw(*shape) for shape in shapes]
    mine = clew.linalg.multi_dot([clew.tensor(t) for t in tensors])
    np.testing.assert_allclose(mine.numpy(), np.linalg.multi_dot(tensors), atol=1e-10)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clew.chain_matmul(*(clew.tensor(t) for t in tensors))
    assert "chain_matmul is deprecated" in str(caught[0].message)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_low_precision_products_are_rounded_once(dtype: str) -> None:
    a = clew.randn(16, 64).to(getattr(clew, dtype))
    b = clew.randn(64, 16).to(getattr(clew, dtype))
    exact = (a.to(clew.float32) @ b.to(clew.float32)).to(getattr(clew, dtype))
    assert clew.equal(a @ b, exact)


def test_numpy_arrays_on_the_left() -> None:
    values = _draw(3, 3)
    result = values @ clew.tensor(values)
    assert isinstance(result, clew.Tensor)
    np.testing.assert_allclose(result.numpy(), values @ values)


@twice
def test_what_of_a_decomposition_has_history(lib: Any) -> Any:
    a, b = leaf(lib, [[1.0, 2.0], [3.0, 5.0], [0.0, 1.0]]), leaf(lib, [[1.0], [2.0], [4.0]])
    drivers = ("gels", "gelsy", "gelsd", "gelss")
    flags = [[t.requires_grad for t in lib.linalg.lstsq(a, b, driver=each)] for each in drivers]
    none = leaf(lib, [[1.0, 2.0], [3.0, 4.0]]), lib.empty(0, dtype=lib.float64, requires_grad=True)
    product = lib.linalg.householder_product(*none)
    product.sum().backward()
    return flags, product, none[0].grad


@twice
def test_the_determinant_of_one_number_is_linear(lib: Any) -> Any:
    a = leaf(lib, [[[2.0]], [[0.0]], [[-3.0]]])
    det = lib.linalg.det(a)
    (first,) = lib.autograd.grad(det.square().sum(), a, create_graph=True)
    (second,) = lib.autograd.grad(first.sum(), a)
    return det, first, second


@twice
def test_pivots_that_all_matrices_share(lib: Any) -> Any:
    a = lib.tensor([[1.0, 2.0, 0.5], [4.0, 3.0, 1.0], [2.0, 8.0, 5.0]])
    factors, pivots = lib.linalg.lu_factor(a)
    many = factors.expand(4, 3, 3)
    return [
        lib.lu_unpack(many, pivots.expand(4, 3)),
        lib.vmap(lambda each: lib.lu_unpack(each, pivots))(many),
        lib.linalg.lu_solve(many, pivots.expand(4, 3), lib.ones(4, 3, 1)),
    ]


@twice
def test_tensordot_of_numbers(lib: Any) -> Any:
    number, vector = lib.tensor(2.0), lib.ones(3)
    pairs = ((number, number), (number, vector), (vector, number))
    return [lib.tensordot(a, b, 0) for a, b in pairs], lib.tensordot(vector, vector, 1)


@twice
def test_products_without_elements(lib: Any) -> Any:
    """Bools have no products, but where there is nothing to multiply they have the shape of one."""
    shapes = [
        ((1, 1), (1, 0)),
        ((0, 1), (1, 1)),
        ((2, 0), (0, 3)),
        ((3, 0), (0,)),
        ((2, 3, 0),) * 2,
    ]
    seen = []
    for dtype in (lib.bool, lib.int32, lib.float32):
        for left, right in shapes:
            a, b = lib.ones(left, dtype=dtype), lib.ones(right, dtype=dtype)
            seen.append(a @ (b.mT if len(right) == 3 else b))
    return seen


@twice
def test_products_of_two_dtypes_are_refused_as_what_they_are_computed_by(torch: Any) -> Any:
    half, single = torch.ones(4, 2, 4).half(), torch.ones(1, 4, 4)
    pairs = [
        (half, single),
        (half, single.clone().requires_grad_()),
        (half > 0, single.clone().requires_grad_()),
        (half.transpose(0, 1), single[0, 0]),
        (half.transpose(0, 1), single[0]),
        (half.transpose(0, 1), single[0].clone().requires_grad_()),
        (half, single[0]),
    ]
    return [raised(torch.matmul, first, second) for first, second in pairs]
