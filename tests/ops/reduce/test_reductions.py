"""Reductions and scans: what the op table cannot say (accuracy, names, aliases, history)."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
import torch

import clew
from tests import oracle
from tests.twice import twice

LONG_SHAPES: list[tuple[tuple[int, ...], Any]] = [
    ((200_000,), None),
    ((50_000, 4), 0),
    ((4, 50_000), 0),
    ((4, 50_000), 1),
    ((60, 70, 80), (0, 2)),
    ((3_000, 3, 20), (0, 1)),
    ((100_001, 2), 0),
]


@pytest.mark.parametrize(("shape", "dim"), LONG_SHAPES)
@pytest.mark.parametrize("name", ["sum", "mean", "var"])
def test_errors_do_not_grow_with_the_size(name: str, shape: tuple[int, ...], dim: Any) -> None:
    values = np.random.default_rng(0).random(shape, dtype=np.float32)
    exact = getattr(torch.from_numpy(values.astype(np.float64)), name)(dim)
    ours = getattr(clew.from_numpy(values), name)(dim)
    error = np.abs(ours.numpy().astype(np.float64) / exact.numpy() - 1).max()
    assert error < 2e-6


def test_a_strided_sum_of_everything_is_as_exact() -> None:
    values = np.random.default_rng(0).random((50_000, 8), dtype=np.float32)
    total = clew.from_numpy(values)[:, ::2].sum().item()
    exact = values[:, ::2].astype(np.float64).sum()
    assert abs(total / exact - 1) < 1e-6


def test_running_sums_keep_more_digits_than_they_show() -> None:
    values = np.full(100_000, 0.1, np.float32)
    expected = torch.from_numpy(values).cumsum(0)
    oracle.assert_same(clew.from_numpy(values).cumsum(0), expected, rtol=1e-7, atol=0)


def test_half_precision_is_summed_in_float32() -> None:
    ones = clew.ones(5_000, dtype=clew.float16)
    assert ones.sum().item() == 5_000.0
    assert clew.ones(300, dtype=clew.bfloat16).sum().item() == 300.0


@pytest.mark.parametrize(
    "name", ["sum", "mean", "prod", "amax", "argmin", "logsumexp", "any", "var"]
)
def test_numpy_names_of_arguments(name: str) -> None:
    x = torch.randn(3, 4)
    expected = getattr(torch, name)(x, axis=1, keepdims=True)
    oracle.assert_same(getattr(clew, name)(oracle.to_clew(x), axis=1, keepdims=True), expected)


def test_numpy_names_of_pairs() -> None:
    x = torch.randn(3, 4)
    for name in ("max", "min", "median"):
        ours = getattr(oracle.to_clew(x), name)(axis=0, keepdims=True)
        oracle.assert_same(ours, getattr(x, name)(axis=0, keepdims=True))


NODES = {
    "sum all": lambda x: x.sum(), "sum dim": lambda x: x.sum(0), "mean all": lambda x: x.mean(),
    "mean dim": lambda x: x.mean(0), "prod all": lambda x: x.prod(),
    "prod dim": lambda x: x.prod(0),
    "max all": lambda x: x.max(), "max dim": lambda x: x.max(0)[0], "min all": lambda x: x.min(),
    "max other": lambda x: x.max(x), "amax": lambda x: x.amax(0), "norm": lambda x: x.norm(),
    "median all": lambda x: x.median(), "median dim": lambda x: x.median(0)[0],
    "var": lambda x: x.var(), "std": lambda x: x.std(0), "logsumexp": lambda x: x.logsumexp(0),
    "cumsum": lambda x: x.cumsum(0), "cumprod": lambda x: x.cumprod(0),
    "cummax": lambda x: x.cummax(0)[0], "sort": lambda x: x.sort()[0],
    "topk": lambda x: x.topk(2)[0], "kthvalue": lambda x: x.kthvalue(1)[0],
    "mode": lambda x: x.mode()[0],
    "nansum": lambda x: x.nansum(), "aminmax": lambda x: x.aminmax()[0],
    "logcumsumexp": lambda x: x.logcumsumexp(0),
}  # fmt: skip


@pytest.mark.parametrize("label", NODES)
def test_node_names(label: str) -> None:
    x = torch.randn(3, 4, requires_grad=True)
    expected = NODES[label](x).grad_fn.name()
    assert NODES[label](oracle.to_clew(x)).grad_fn.name() == expected


OVERWRITES = {
    "max values": lambda x: x.max(1)[0], "sort values": lambda x: x.sort(1)[0],
    "topk values": lambda x: x.topk(2)[0], "median values": lambda x: x.median(1)[0],
    "cummax values": lambda x: x.cummax(1)[0], "sum": lambda x: x.sum(1),
    "mean": lambda x: x.mean(1), "var": lambda x: x.var(1),
    "std": lambda x: x.std(1), "logsumexp": lambda x: x.logsumexp(1),
    "amax": lambda x: x.amax(1), "norm": lambda x: x.norm(dim=1), "prod": lambda x: x.prod(1),
}  # fmt: skip


@pytest.mark.parametrize("label", OVERWRITES)
def test_overwriting_the_result_raises_as_in_torch(label: str) -> None:
    def program(x: Any) -> Any:
        result = OVERWRITES[label](x)
        result.mul_(2)
        result.sum().backward()
        return x.grad

    x = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    ours, theirs = oracle.to_clew(x), x.clone().detach().requires_grad_()
    expected, expected_error = oracle.outcome(program, theirs)
    actual, error = oracle.outcome(program, ours)
    if expected_error is not None:
        oracle.assert_same_error(error, expected_error, words=3)
    else:
        assert error is None
        oracle.assert_same(actual, expected)


REFUSED = {
    "max of nothing": lambda t: t.empty(0).max(),
    "max along nothing": lambda t: t.empty(0, 3).max(0),
    "argmax of nothing": lambda t: t.empty(0).argmax(),
    "amax of nothing": lambda t: t.empty(0).amax(),
    "aminmax of nothing": lambda t: t.empty(0).aminmax(),
    "aminmax along nothing": lambda t: t.empty(0).aminmax(dim=0),
    "mean of integers": lambda t: t.tensor([1, 2]).mean(),
    "mean as integers": lambda t: t.tensor([1.0]).mean(dtype=t.int64),
    "var of integers": lambda t: t.tensor([1, 2]).var(),
    "norm of integers": lambda t: t.tensor([1, 2]).norm(),
    "norm in a narrower dtype": lambda t: t.ones(2, dtype=t.float64).norm(dtype=t.float32),
    "infinity norm of nothing": lambda t: t.empty(0).norm(p=float("inf")),
    "norm of an unknown kind": lambda t: t.ones(2).norm(p="spectral"),
    "argmax of bools": lambda t: t.tensor([True]).argmax(),
    "max of complex numbers": lambda t: t.tensor([1j]).max(),
    "a repeated dimension": lambda t: t.ones(2, 3).sum((0, -2)),
    "nansum of complex numbers": lambda t: t.tensor([1j]).nansum(),
    "nanmean of integers": lambda t: t.tensor([1]).nanmean(),
    "quantile of integers": lambda t: t.tensor([1, 2]).quantile(0.5),
    "quantile outside": lambda t: t.ones(2).quantile(1.5),
    "renorm of a vector": lambda t: t.renorm(t.ones(2), 2, 0, 1.0),
    "sum to a size that does not fit": lambda t: t.ones(2, 3).sum_to_size(2),
}


@pytest.mark.parametrize("label", REFUSED)
def test_refused_as_in_torch(label: str) -> None:
    _, expected = oracle.outcome(REFUSED[label], torch)
    _, actual = oracle.outcome(REFUSED[label], clew)
    assert expected is not None
    oracle.assert_same_error(actual, expected, words=3)


def test_var_takes_one_kind_of_correction() -> None:
    with pytest.raises(TypeError, match="invalid combination"):
        clew.ones(3).var(0, unbiased=True, correction=0)


def test_too_few_values_for_a_variance_warn() -> None:
    with pytest.warns(UserWarning, match="degrees of freedom is <= 0"):
        assert np.isnan(clew.ones(1).var().item())


@pytest.mark.parametrize("zeros", [0, 1, 2, 3])
@pytest.mark.parametrize("name", ["prod", "cumprod"])
def test_third_derivative_of_products_with_zeros(name: str, zeros: int) -> None:
    values = [0.0] * zeros + [1.5, -2.0, 0.5, 3.0][zeros:]

    def third(library: Any) -> Any:
        x = library.tensor(values, dtype=library.float64, requires_grad=True)
        y = x.prod(0) if name == "prod" else x.cumprod(0)
        for _ in range(3):
            weights = library.arange(1, y.numel() + 1, dtype=library.float64).reshape(y.shape)
            (y,) = library.autograd.grad((y * weights).sum(), x, create_graph=True)
        return y

    oracle.assert_same(third(clew), third(torch))


def test_signatures_name_their_arguments() -> None:
    assert list(inspect.signature(clew.sum).parameters)[:3] == ["input", "dim", "keepdim"]
    assert list(inspect.signature(clew.var).parameters)[-1] == "correction"


def test_cov_and_corrcoef_with_weights() -> None:
    x = torch.randn(3, 5, dtype=torch.float64)
    f, a = torch.tensor([1, 2, 0, 3, 1]), torch.rand(5, dtype=torch.float64)
    for kwargs in (
        {},
        {"correction": 0},
        {"fweights": f},
        {"aweights": a},
        {"fweights": f, "aweights": a, "correction": 2},
    ):
        oracle.assert_same(
            clew.cov(oracle.to_clew(x), **oracle.to_clew(kwargs)), torch.cov(x, **kwargs)
        )
    oracle.assert_same(clew.corrcoef(oracle.to_clew(x)), torch.corrcoef(x))


GRADIENTS: list[dict[str, Any]] = [
    {},
    {"spacing": 0.5},
    {"spacing": [2.0, 0.5]},
    {"edge_order": 2},
    {"dim": 1},
    {"spacing": [torch.tensor([0.0, 1.0, 3.0, 4.0])], "dim": 0},
    {"spacing": [torch.tensor([0.0, 1.0, 3.0, 4.0])], "dim": 0, "edge_order": 2},
]


@pytest.mark.parametrize("kwargs", GRADIENTS, ids=str)
def test_numerical_gradient(kwargs: dict[str, Any]) -> None:
    x = torch.randn(4, 5)
    oracle.assert_same(
        clew.gradient(oracle.to_clew(x), **oracle.to_clew(kwargs)), torch.gradient(x, **kwargs)
    )


@twice
def test_tangents_of_norms_at_zero(lib: Any) -> Any:
    seen = []
    for order in (1.0, 1.5, 2.0, 3.0, 3.5):
        x = lib.zeros(3, dtype=lib.float64)
        seen.append(lib.func.jvp(lambda t, p=order: lib.linalg.norm(t, p), (x,), (x + 1,)))
    return seen


@twice
def test_numbers_are_converted_before_they_are_reduced(lib: Any) -> Any:
    rows = lib.tensor([[0.11, 3.876, 1.2346], [0.0, 257.0, 3.0]], dtype=lib.float64)
    seen = []
    for dtype in (lib.float16, lib.bfloat16, lib.float32, lib.int32):
        for given in (rows, rows[:, :2], rows.long(), rows.half()):
            seen += [given.sum(dtype=dtype), given.sum(1, dtype=dtype), given.prod(dtype=dtype)]
            seen += [given.prod(1, dtype=dtype), given.nansum(dtype=dtype)]
    return seen


@twice
def test_gradients_of_scans_are_summed_in_the_dtype_of_the_input(lib: Any) -> Any:
    seen = []
    for scan in ("cumsum", "cumprod"):
        for dtype in (lib.bfloat16, lib.float16):
            x = lib.tensor([-3.0, -2.5, -1.75, -2.5, 2.5, -2.5], requires_grad=True)
            getattr(x, scan)(0, dtype=dtype).var().backward()
            seen.append(x.grad)
    return seen


ROWS = [(n,) for n in (1, 3, 5, 7, 8, 9, 31, 65, 130, 513, 5000, 32768)]
MATRICES = [
    (1, 7),
    (4, 3),
    (3, 8),
    (17, 40),
    (65, 33),
    (300, 5),
    (2, 1, 5),
    (3, 9, 7),
    (4, 2, 3, 5),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", ROWS + MATRICES, ids=str)
def test_few_numbers_are_added_in_pytorchs_order(shape: tuple[int, ...], dtype: Any) -> None:
    """Where a sum is nearly zero, its last bits are all of it."""
    values = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    for x in (values, values - values.mean(dtype=dtype)):
        ours, theirs = clew.from_numpy(x), torch.from_numpy(x)
        for dims in (None, 0, -1, (0, -1), tuple(range(1, len(shape)))):
            if (dims == (0, -1) and len(shape) == 1) or dims == ():
                continue
            for name in ("sum", "mean"):
                found, expected = (getattr(each, name)(dims) for each in (ours, theirs))
                np.testing.assert_array_equal(found.numpy(), expected.numpy())
    if len(shape) == 2:
        np.testing.assert_array_equal(ours.t().sum(0).numpy(), theirs.t().sum(0).numpy())


@twice
def test_norms_of_one_number_are_its_size(lib: Any) -> Any:
    """Powers of it may be too large, or too small."""
    seen = []
    inf, orders = float("inf"), (2, 1, 3, 0.5, -1, 0, float("inf"), -3)
    for values, given in (
        ([1e30, -3.0, 1e-30, 0.0, float("nan")], orders),
        ([3e30 + 4e30j, 1e-30j, -2.0], (2, 3, inf)),
    ):
        x = lib.tensor(values).unsqueeze(1)
        for order in given:
            seen += [lib.linalg.vector_norm(x, order, 1), x[0].norm(order), x[0, 0].norm(order)]
            seen += [x.norm(order, 1, keepdim=True), lib.linalg.vector_norm(x[:1], order)]
        seen += [lib.dist(x[0], x[1]), lib.nn.functional.normalize(x, dim=1)]
    return seen


@twice
def test_bessel_functions_at_zero(lib: Any) -> Any:
    x = lib.zeros((), dtype=lib.float64)
    return x.i0().item() == 1, lib.special.i0e(x).item() == 1


@twice
def test_running_extremes_lie_row_by_row(lib: Any) -> Any:
    seen = []
    for dtype in (lib.bool, lib.uint8, lib.int64, lib.float32):
        x = lib.tensor([[1, 0, 1], [0, 1, 0]], dtype=dtype).T
        for dim in (0, 1):
            seen += [(each, each.stride()) for each in (*x.cummax(dim), *x.cummin(dim))]
    return seen


@twice
def test_cov_of_too_few_observations_warns(torch: Any) -> Any:
    x, weights = torch.ones(2, 1), torch.tensor([1])
    return torch.cov(x), torch.cov(x, fweights=weights), torch.cov(torch.ones(2, 3), correction=3)


@twice
def test_where_with_a_condition_of_uint8_warns(torch: Any) -> Any:
    condition = torch.tensor([1, 0], dtype=torch.uint8)
    return torch.where(condition, torch.ones(2), torch.zeros(2))


@twice
def test_cumprod_along_a_dimension_of_one_has_the_gradient_that_comes(torch: Any) -> Any:
    x = torch.tensor([[float("nan")], [float("inf")], [0.0], [2.0]], requires_grad=True)
    x.cumprod(1).abs().sum().backward()
    return x.grad
