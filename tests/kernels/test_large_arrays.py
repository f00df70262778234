"""Kernels for large arrays: reductions, scans, places and low-precision floats.

Results are compared with exact ones or torch's, and must be the same on any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch

import clew
from clew.kernels.codegen.ufunc import scan
from clew.kernels.numpy import conversion
from tests import oracle

RNG = np.random.default_rng(7)


@pytest.fixture
def threads() -> Iterator[Callable[[int], None]]:
    before = clew.get_num_threads()
    yield clew.set_num_threads
    clew.set_num_threads(before)


REDUCTIONS: dict[str, Callable[[Any], Any]] = {
    "sum": lambda x: x.sum(), "sum first": lambda x: x.sum(0), "sum last": lambda x: x.sum(1),
    "mean": lambda x: x.mean(), "std": lambda x: x.std(), "var last": lambda x: x.var(1),
    "prod": lambda x: x.clamp(0.999, 1.001).prod(), "max": lambda x: x.max(),
    "min": lambda x: x.min(), "logsumexp": lambda x: x.reshape(-1).logsumexp(0),
    "logsumexp last": lambda x: x.logsumexp(1), "amax": lambda x: x.amax(1),
    "cumsum first": lambda x: x.cumsum(0), "cumsum last": lambda x: x.cumsum(1),
    "norm": lambda x: x.norm(1),
}  # fmt: skip


@pytest.mark.parametrize("name", REDUCTIONS)
def test_results_do_not_depend_on_the_number_of_threads(
    name: str, threads: Callable[[int], None]
) -> None:
    x = clew.tensor(RNG.standard_normal((700, 613)).astype(np.float32))
    results = []
    for count in (1, 2, 3):
        threads(count)
        results.append(REDUCTIONS[name](x).numpy())
    assert all(np.array_equal(results[0], each) for each in results[1:])


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_of_large_arrays_are_right(name: str) -> None:
    values = RNG.standard_normal((700, 613)).astype(np.float32)
    exact = REDUCTIONS[name](torch.from_numpy(values.astype(np.float64)))
    ours = REDUCTIONS[name](clew.tensor(values))
    # A sum of numbers of both signs is small beside its terms.
    allowed = 1e-5 * float(np.abs(values).sum(axis=0).max())
    oracle.assert_same(ours, exact.float(), rtol=2e-5, atol=allowed if "sum" in name else 1e-5)


def test_a_sum_of_ten_million_is_as_accurate_as_pairwise_summation() -> None:
    values = RNG.random(10_000_000, dtype=np.float32)
    exact = values.sum(dtype=np.float64)
    error = abs(clew.tensor(values).sum().item() / exact - 1)
    # Pairwise summation, too, may miss the nearest float32 by one.
    assert error <= max(abs(float(values.sum()) / exact - 1), 2.0**-23)


@pytest.mark.parametrize(
    ("shape", "dims"),
    [((40, 30, 20), (0, 2)), ((40, 30, 20), (1,)), ((3, 5000), (1,)), ((5000, 3), (0,)),
     ((6, 7, 8, 30), (3, 0)), ((20_000, 2), (0,)), ((2, 150_000), (1,)), ((9, 2100, 5), (1,))],
)  # fmt: skip
@pytest.mark.parametrize("layout", ["rows", "turned", "strided", "reversed", "complex", "half"])
def test_sums_over_any_dimensions_in_any_layout(
    shape: tuple[int, ...], dims: tuple[int, ...], layout: str
) -> None:
    full = torch.randn(*shape[:-1], 2 * shape[-1], generator=torch.Generator().manual_seed(1))
    full = full.to({"complex": torch.complex64, "half": torch.bfloat16}.get(layout, torch.float32))

    def arranged(x: Any) -> Any:
        x = x[..., ::2] if layout == "strided" else x[..., : shape[-1]]
        if layout == "reversed":
            x = x.flip(0)
        return x.transpose(0, -1) if layout == "turned" else x.clone()

    theirs = arranged(full)
    wide = theirs.to(torch.complex128 if layout == "complex" else torch.float64)
    exact = wide.sum(dims).to(theirs.dtype)
    rtol, atol = (1e-2, 0.5) if layout == "half" else (1e-5, 1e-3)
    oracle.assert_same(arranged(oracle.to_clew(full)).sum(dims), exact, rtol=rtol, atol=atol)


def test_a_sum_over_repeated_elements() -> None:
    x, row = torch.randn(50, 1), torch.randn(300)
    for expanded, dims in ((x.expand(50, 200), 1), (x.expand(50, 200), 0), (row.expand(40, 300), 0),
                           (row.expand(40, 300), 1)):  # fmt: skip
        base = x if expanded.shape[0] == 50 else row
        ours = oracle.to_clew(base).expand(*expanded.shape).sum(dims)
        oracle.assert_same(ours, expanded.sum(dims), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("count", [100, 9_000, 200_001])
@pytest.mark.parametrize("special", [float("nan"), float("inf"), float("-inf"), "all -inf"])
@pytest.mark.parametrize("name", ["sum", "mean", "prod", "max", "min", "std", "logsumexp"])
def test_nan_and_infinities_propagate(name: str, special: Any, count: int) -> None:
    # Near one, so that no product vanishes before the infinity comes.
    x = torch.rand(count) * 1e-3 + 0.9995
    if special == "all -inf":
        x.fill_(float("-inf"))
    else:
        x[count // 3] = special
    arguments = (0,) if name == "logsumexp" else ()
    ours = getattr(oracle.to_clew(x), name)(*arguments)
    oracle.assert_same(ours, getattr(x, name)(*arguments), rtol=1e-4, atol=0)


# -- scans -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
@pytest.mark.parametrize("shape", [(1,), (7,), (1000,), (5, 66), (66, 5), (3, 130, 70)])
def test_scans_along_every_dimension_of_any_layout(name: str, shape: tuple[int, ...]) -> None:
    x = torch.rand(*shape) * 0.2 + 0.9
    layouts = [
        lambda t: t,
        lambda t: t.flip(0),
        lambda t: t.transpose(0, -1),
        lambda t: t[..., ::2],
    ]
    for arranged in layouts:
        ours, theirs = arranged(oracle.to_clew(x)), arranged(x)
        for dim in range(len(shape)):
            oracle.assert_same(
                getattr(ours, name)(dim), getattr(theirs, name)(dim), rtol=1e-6, atol=0
            )


def test_the_gradient_of_a_running_sum_goes_backwards() -> None:
    for shape, dim in (((9,), 0), ((4, 70), 1), ((70, 4), 0)):
        x, g = torch.randn(*shape, requires_grad=True), torch.randn(*shape)
        ours = oracle.to_clew(x.detach()).requires_grad_()
        x.cumsum(dim).backward(g)
        ours.cumsum(dim).backward(oracle.to_clew(g))
        oracle.assert_same(ours.grad, x.grad, rtol=1e-5, atol=1e-5)


def test_a_scan_may_have_several_inputs() -> None:
    decayed = scan("decayed_example", 2)(lambda last, factor, term: last * factor + term)
    factors, terms = RNG.random((3, 50)), RNG.random((3, 50))
    expected, last = np.empty_like(terms), np.zeros(3)
    for j in range(50):
        last = last * factors[:, j] + terms[:, j]
        expected[:, j] = last
    assert np.allclose(decayed.specialize(terms)(factors, terms), expected)
    aside = decayed.specialize(terms)(factors.T.copy().T, terms.T.copy().T)
    assert np.allclose(aside, expected)


# -- places ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("shape", "dim"), [((90, 40), 0), ((90, 40), 1), ((3, 50, 70), 1)])
def test_many_places(shape: tuple[int, ...], dim: int, threads: Callable[[int], None]) -> None:
    x, values = torch.randn(*shape), torch.randn(*shape)
    index = torch.randint(0, shape[dim], shape)
    ours = [oracle.to_clew(each) for each in (x, index, values)]
    for count in (1, 2):
        threads(count)
        oracle.assert_same(ours[0].gather(dim, ours[1]), x.gather(dim, index))
        added = ours[0].scatter_add(dim, ours[1], ours[2])
        oracle.assert_same(added, x.scatter_add(dim, index, values), rtol=1e-5, atol=1e-5)
    rows = torch.randint(0, shape[0], (200,))
    more = torch.randn(200, *shape[1:])
    summed = ours[0].index_add(0, oracle.to_clew(rows), oracle.to_clew(more))
    oracle.assert_same(summed, x.index_add(0, rows, more), rtol=1e-5, atol=1e-5)


# -- low-precision floats --------------------------------------------------------------------


def test_every_float16_is_converted_and_rounded_as_numpy_does() -> None:
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    wide = conversion.converted(every, np.dtype(np.float32))
    assert np.array_equal(wide, every.astype(np.float32), equal_nan=True)
    values = RNG.standard_normal(10_000).astype(np.float32) * 10.0 ** RNG.integers(-8, 6, 10_000)
    values = values.astype(np.float32)
    with np.errstate(over="ignore"):
        expected = values.astype(np.float16)
    assert np.array_equal(conversion.converted(values, np.dtype(np.float16)), expected)


def test_every_bfloat16_is_converted_and_rounded_as_torch_does() -> None:
    every = np.arange(1 << 16, dtype=np.uint16)
    wide = conversion.converted(every.view(ml_dtypes.bfloat16), np.dtype(np.float32))
    theirs = torch.from_numpy(every.view(np.int16)).view(torch.bfloat16)
    assert np.array_equal(wide.view(np.uint32), theirs.float().numpy().view(np.uint32))
    # Floats of all sizes, halves between two bfloat16, infinities, and what becomes one.
    bits = np.concatenate([np.arange(0, 1 << 32, 99_991), (every.astype(np.int64) << 16) + 0x8000])
    values = bits.astype(np.uint32).view(np.float32)
    rounded = conversion.converted(values, np.dtype(ml_dtypes.bfloat16))
    wanted = torch.from_numpy(values).bfloat16().float().numpy()
    assert np.array_equal(rounded.astype(np.float32), wanted, equal_nan=True)
    across = conversion.converted(values[::3], np.dtype(ml_dtypes.bfloat16))
    assert np.array_equal(across.view(np.uint16), rounded[::3].view(np.uint16))


HALVES: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda t, x: x + x.flip(0), "by 2": lambda t, x: x * 2.0, "by 0.3": lambda t, x: x * 0.3,
    "plus 0.1": lambda t, x: x + 0.1, "minus": lambda t, x: 1 - x, "over": lambda t, x: x / 3,
    "too large": lambda t, x: x * 1e30, "abs": lambda t, x: x.abs(), "neg": lambda t, x: -x,
    "sqrt": lambda t, x: x.abs().sqrt(), "maximum": lambda t, x: t.maximum(x, x.flip(0)),
    "exp": lambda t, x: x.exp(), "tanh": lambda t, x: x.tanh(), "sin": lambda t, x: x.sin(),
    "sigmoid": lambda t, x: x.sigmoid(), "relu": lambda t, x: x.relu(), "erf": lambda t, x: x.erf(),
    "rsqrt": lambda t, x: x.abs().rsqrt(), "gelu": lambda t, x: t.nn.functional.gelu(x),
    "silu": lambda t, x: t.nn.functional.silu(x), "mish": lambda t, x: t.nn.functional.mish(x),
    "where": lambda t, x: t.where(x > 0, x, -x), "sum": lambda t, x: x.sum(),
    "masked_fill": lambda t, x: x.masked_fill(x > 0, 3.0),
}  # fmt: skip
# One unit in the last place where both round the same number in another way.
LAST_PLACE = {torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", HALVES)
def test_halves(name: str, dtype: torch.dtype) -> None:
    x = torch.randn(999, generator=torch.Generator().manual_seed(3)).to(dtype)
    ours = HALVES[name](clew, oracle.to_clew(x))
    oracle.assert_same(ours, HALVES[name](torch, x), rtol=LAST_PLACE[dtype], atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", ["gelu", "silu", "mish", "logsigmoid", "relu"])
def test_gradients_of_halves(name: str, dtype: torch.dtype) -> None:
    x = torch.randn(500, generator=torch.Generator().manual_seed(4)).to(dtype).requires_grad_()
    ours = oracle.to_clew(x.detach()).requires_grad_()
    getattr(torch.nn.functional, name)(x).sum().backward()
    getattr(clew.nn.functional, name)(ours).sum().backward()
    oracle.assert_same(ours.grad, x.grad, rtol=2 * LAST_PLACE[dtype], atol=LAST_PLACE[dtype])
