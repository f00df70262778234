"""The random streams, compared bit for bit with PyTorch's."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from clew.backend import random as streams
from tests.seeded import (
    COMPLEX,
    DTYPES,
    FLOATS,
    INTEGERS,
    WIDE_UNSIGNED,
    assert_in_step,
    assert_same,
    pair,
)
from tests.tensors import to_numpy

SEEDS = [0, 1, 1234, 2**40 + 7]
SIZES = [0, 1, 5, 15, 16, 17, 31, 100, 1000]


def check(
    seed: int,
    ours: Callable[[streams.Generator], np.ndarray],
    theirs: Callable[[torch.Generator], torch.Tensor],
) -> None:
    """Both give the same array, twice in a row, and leave the same state."""
    a, b = pair(seed)
    for _ in range(2):
        assert_same(ours(a), theirs(b))
    assert_in_step(a, b)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("dtype", [*FLOATS, *COMPLEX], ids=str)
def test_uniform(dtype: torch.dtype, n: int) -> None:
    for seed in SEEDS:
        for low, high in [(0.0, 1.0), (-1.3, 2.9), (0.1, 0.7), (2.0, 2.0)]:
            check(
                seed,
                lambda g, low=low, high=high: streams.uniform(g, (n,), DTYPES[dtype], low, high),
                lambda g, low=low, high=high: torch.empty(n, dtype=dtype).uniform_(
                    low, high, generator=g
                ),
            )


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_uniform_never_reaches_the_upper_bound(dtype: torch.dtype) -> None:
    high = 1 + 4 * torch.finfo(dtype).eps
    a, b = pair(0)
    ours = streams.uniform(a, (1000,), FLOATS[dtype], 1.0, high)
    assert_same(ours, torch.empty(1000, dtype=dtype).uniform_(1.0, high, generator=b))
    assert float(ours.max()) < high


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("dtype", [*FLOATS, *COMPLEX], ids=str)
def test_normal(dtype: torch.dtype, n: int) -> None:
    for seed in SEEDS:
        for mean, std in [(0.0, 1.0), (0.7, 1.3), (-2.0, 0.0), (0.0, 0.02), (3.0, 1.0)]:
            check(
                seed,
                lambda g, mean=mean, std=std: streams.normal(g, (n,), DTYPES[dtype], mean, std),
                lambda g, mean=mean, std=std: torch.empty(n, dtype=dtype).normal_(
                    mean, std, generator=g
                ),
            )


def test_large_float32_normals_are_equal_in_every_bit() -> None:
    for seed in SEEDS:
        a, b = pair(seed)
        assert_same(streams.normal(a, (200_003,), np.float32), torch.randn(200_003, generator=b))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("shape", [(4, 8), (3, 5), (2, 3)])
def test_transposed_destinations_fill_in_memory_order(
    dtype: torch.dtype, shape: tuple[int, int]
) -> None:
    kind = FLOATS[dtype]
    for seed in SEEDS:
        a, b = pair(seed)
        theirs = torch.empty(shape, dtype=dtype)
        theirs.t().uniform_(generator=b)
        assert_same(streams.uniform(a, shape, kind), theirs)
        theirs.t().normal_(0.5, 2.0, generator=b)
        assert_same(streams.normal(a, shape, kind, 0.5, 2.0, contiguous=False), theirs)
        assert_in_step(a, b)


def test_sliced_destinations_use_the_pairwise_normals() -> None:
    a, b = pair(3)
    theirs = torch.zeros(4, 16)[:, ::2].normal_(generator=b)
    assert_same(streams.normal(a, (4, 8), np.float32, contiguous=False), theirs.contiguous())


def test_normal_with_tensor_arguments_is_an_affine_map() -> None:
    mean, std = torch.linspace(-1, 1, 40), torch.linspace(0.1, 2, 40)
    a, b = pair(5)
    ours = streams.normal(a, (40,), np.float32) * std.numpy() + mean.numpy()
    assert_same(ours, torch.normal(mean, std, generator=b))
    ours = streams.normal(a, (40,), np.float32, 0.0, 0.5) + mean.numpy()
    assert_same(ours, torch.normal(mean, 0.5, generator=b))
    assert_in_step(a, b)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_other_continuous_distributions(dtype: torch.dtype, n: int) -> None:
    kind = FLOATS[dtype]
    for seed in SEEDS:
        for rate in (1.0, 1.7):
            check(
                seed,
                lambda g, rate=rate: streams.exponential(g, (n,), kind, rate),
                lambda g, rate=rate: torch.empty(n, dtype=dtype).exponential_(rate, generator=g),
            )
        for centre, width in [(0.0, 1.0), (0.3, 1.7)]:
            check(
                seed,
                lambda g, c=centre, w=width: streams.cauchy(g, (n,), kind, c, w),
                lambda g, c=centre, w=width: torch.empty(n, dtype=dtype).cauchy_(c, w, generator=g),
            )
        for mean, std in [(1.0, 2.0), (0.3, 0.7)]:
            check(
                seed,
                lambda g, m=mean, s=std: streams.log_normal(g, (n,), kind, m, s),
                lambda g, m=mean, s=std: torch.empty(n, dtype=dtype).log_normal_(m, s, generator=g),
            )


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS], ids=str)
def test_geometric(dtype: torch.dtype) -> None:
    for seed in SEEDS:
        for p in (0.3, 0.9):
            check(
                seed,
                lambda g, p=p: streams.geometric(g, (300,), DTYPES[dtype], p),
                lambda g, p=p: torch.empty(300, dtype=dtype).geometric_(p, generator=g),
            )


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize(
    ("low", "high"),
    [(0, 10), (-5, 5), (0, 2**28 - 1), (0, 2**28), (-7, 2**31 - 8), (0, 2**40 + 3), (-(2**63), 9)],
)
def test_randint(low: int, high: int, n: int) -> None:
    for seed in SEEDS:
        check(
            seed,
            lambda g: streams.randint(g, low, high, (n,)),
            lambda g: torch.randint(low, high, (n,), generator=g),
        )


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, torch.bool], ids=str)
def test_random_without_bounds(dtype: torch.dtype) -> None:
    for seed in SEEDS:
        check(
            seed,
            lambda g: streams.random_(g, (4, 70), DTYPES[dtype]),
            lambda g: torch.empty(4, 70, dtype=dtype).random_(generator=g),
        )


@pytest.mark.filterwarnings("ignore:.*out of bounds.*")
@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, *WIDE_UNSIGNED, torch.bool], ids=str)
@pytest.mark.parametrize(
    ("low", "high"),
    [(3, None), (0, 100), (1, 127), (0, 2049), (0, 60001), (-4097, 4099), (0, 2**28),
     (5, 2**24 + 2), (-(2**25) - 1, 2**25 + 1), (-(2**63), None)],
)  # fmt: skip
def test_random_with_bounds(dtype: torch.dtype, low: int, high: int | None) -> None:
    kind = DTYPES[dtype]
    a, b = pair(11)
    theirs = torch.empty(300, dtype=dtype)
    try:
        theirs.random_(low, high, generator=b)
    except RuntimeError as error:
        with pytest.raises(RuntimeError) as caught:
            streams.random_(a, (300,), kind, low, high)
        assert str(caught.value).split(" for ")[0] == str(error).split(" for ")[0]
    else:
        assert_same(streams.random_(a, (300,), kind, low, high), theirs)
        assert_in_step(a, b)


@pytest.mark.parametrize("n", [*SIZES, 2, 3, 4, 7, 70_000])
def test_randperm(n: int) -> None:
    for seed in SEEDS:
        check(
            seed,
            lambda g: streams.randperm(g, n),
            lambda g: torch.randperm(n, generator=g),
        )


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS], ids=str)
def test_randperm_dtypes(dtype: torch.dtype) -> None:
    check(
        9,
        lambda g: streams.randperm(g, 100, DTYPES[dtype]),
        lambda g: torch.randperm(100, dtype=dtype, generator=g),
    )


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, torch.bool], ids=str)
def test_bernoulli_with_one_probability(dtype: torch.dtype) -> None:
    for seed in SEEDS:
        for p in (0.0, 0.3, 1.0):
            check(
                seed,
                lambda g, p=p: streams.bernoulli_scalar(g, p, (33,), DTYPES[dtype]),
                lambda g, p=p: torch.empty(33, dtype=dtype).bernoulli_(p, generator=g),
            )


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_bernoulli_with_a_tensor_of_probabilities(dtype: torch.dtype, n: int) -> None:
    p = torch.linspace(0, 1, n).to(dtype)
    for seed in SEEDS:
        check(
            seed,
            lambda g: streams.bernoulli_tensor(g, to_numpy(p)),
            lambda g: torch.bernoulli(p, generator=g),
        )
        check(
            seed,
            lambda g: streams.bernoulli_tensor(g, to_numpy(p), np.int64),
            lambda g: torch.empty(n, dtype=torch.int64).bernoulli_(p, generator=g),
        )


# Rows short enough that rounding to half precision makes no ties, whose order is PyTorch's sort's.
@pytest.mark.parametrize(
    ("dtype", "shape"),
    [(dtype, shape) for dtype in FLOATS for shape in [(1,), (7,), (3, 50), (4, 1)]]
    + [(torch.float32, (300,)), (torch.float64, (300,))],
    ids=str,
)
def test_multinomial(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    weights = torch.rand(shape, generator=torch.Generator().manual_seed(0)).to(dtype) + 0.01
    for seed in SEEDS:
        for samples, replacement in [(1, False), (1, True), (min(5, shape[-1]), False), (20, True)]:
            check(
                seed,
                lambda g, k=samples, r=replacement: streams.multinomial(g, to_numpy(weights), k, r),
                lambda g, k=samples, r=replacement: torch.multinomial(weights, k, r, generator=g),
            )


def test_multinomial_never_draws_a_weight_of_zero_while_others_remain() -> None:
    weights = torch.tensor([0.0, 2.0, 0.0, 1.0, 4.0, 0.0])
    for samples, replacement in [(3, False), (50, True)]:
        check(
            2,
            lambda g, k=samples, r=replacement: streams.multinomial(g, weights.numpy(), k, r),
            lambda g, k=samples, r=replacement: torch.multinomial(weights, k, r, generator=g),
        )


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_poisson(dtype: torch.dtype) -> None:
    rates = torch.tensor([0.0, 0.5, 3.0, 9.5, 10.0, 12.5, 50.0, 200.0]).repeat(40).to(dtype)
    for seed in SEEDS:
        check(
            seed,
            lambda g: streams.poisson(g, to_numpy(rates)),
            lambda g: torch.poisson(rates, generator=g),
        )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_binomial(dtype: torch.dtype) -> None:
    counts = torch.tensor([0, 1, 5, 20, 30, 100, 1000, 100_000.0]).repeat(60).to(dtype)
    probs = torch.linspace(-0.05, 1.05, counts.numel()).to(dtype)
    probs = probs[torch.randperm(counts.numel(), generator=torch.Generator().manual_seed(0))]
    for seed in SEEDS:
        check(
            seed,
            lambda g: streams.binomial(g, counts.numpy(), probs.numpy()),
            lambda g: torch.binomial(counts, probs, generator=g),
        )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_gamma_and_dirichlet(dtype: torch.dtype) -> None:
    alpha = torch.tensor([0.0, 0.01, 0.3, 0.99, 1.0, 2.5, 30.0, 1000.0]).repeat(30, 1).to(dtype)
    for seed in SEEDS:
        a, b = pair(seed)
        for _ in range(2):
            ours = streams.standard_gamma(a, alpha.numpy())
            assert_same(ours, torch._standard_gamma(alpha, generator=b))
            shares = streams.dirichlet(a, alpha.numpy())
            theirs = torch._sample_dirichlet(alpha, generator=b).numpy()
            # The sum of a row is taken in another order than PyTorch's.
            np.testing.assert_array_max_ulp(shares, theirs, maxulp=2)
        assert_in_step(a, b)
