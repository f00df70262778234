"""The random streams, compared bit for bit with PyTorch's."""

from __future__ import annotations

import copy
import pickle
import random as python_random
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch

from clew.backend import random as streams

SEEDS = [0, 1, 1234, 2**40 + 7]
SIZES = [0, 1, 5, 15, 16, 17, 31, 100, 1000]
FLOATS = {
    torch.float32: np.float32,
    torch.float64: np.float64,
    torch.float16: np.float16,
    torch.bfloat16: ml_dtypes.bfloat16,
}
COMPLEX = {torch.complex64: np.complex64, torch.complex128: np.complex128}
INTEGERS = {
    torch.uint8: np.uint8,
    torch.int8: np.int8,
    torch.int16: np.int16,
    torch.int32: np.int32,
    torch.int64: np.int64,
}
WIDE_UNSIGNED = {torch.uint16: np.uint16, torch.uint32: np.uint32, torch.uint64: np.uint64}
DTYPES: dict[torch.dtype, Any] = {
    **FLOATS,
    **COMPLEX,
    **INTEGERS,
    **WIDE_UNSIGNED,
    torch.bool: np.bool_,
}


def pair(seed: int) -> tuple[streams.Generator, torch.Generator]:
    return streams.Generator().manual_seed(seed), torch.Generator().manual_seed(seed)


def to_numpy(tensor: torch.Tensor) -> np.ndarray:
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return tensor.numpy()


def from_numpy(array: np.ndarray) -> torch.Tensor:
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.int16).copy()).view(torch.bfloat16)
    return torch.from_numpy(array.copy())


def assert_same(ours: np.ndarray, theirs: torch.Tensor) -> None:
    expected = to_numpy(theirs)
    assert ours.dtype == expected.dtype
    assert ours.shape == expected.shape
    assert ours.flags.c_contiguous
    assert np.array_equal(ours, expected, equal_nan=ours.dtype.kind in "fc")


def assert_in_step(ours: streams.Generator, theirs: torch.Generator) -> None:
    assert np.array_equal(ours.get_state(), theirs.get_state().numpy())


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


# Generators and their states


def test_a_new_generator_has_the_default_seed() -> None:
    assert streams.Generator().initial_seed() == torch.Generator().initial_seed()
    assert streams.Generator().get_state().shape == torch.Generator().get_state().shape
    assert_in_step(streams.Generator(), torch.Generator())
    assert streams.Generator("cpu").device == "cpu"


@pytest.mark.parametrize("module", ["clew", "torch"])
def test_unseeded_processes_draw_different_numbers(module: str) -> None:
    question = f"import {module}; print({module}.initial_seed())"
    answers = {
        subprocess.run(
            [sys.executable, "-c", question],
            capture_output=True,
            text=True,
            check=True,
            cwd=Path(__file__).parents[2],
        ).stdout
        for _ in range(2)
    }
    assert len(answers) == 2


@pytest.mark.parametrize("seed", [0, -1, 2**32, 2**63, 2**64 - 1, -(2**63)])
def test_seeds(seed: int) -> None:
    a, b = pair(seed)
    assert a.initial_seed() == b.initial_seed()
    assert_in_step(a, b)
    assert_same(streams.uniform(a, (3,), np.float32), torch.rand(3, generator=b))


def test_a_random_seed_can_be_used_again() -> None:
    generator = streams.Generator()
    seed = generator.seed()
    assert generator.initial_seed() == seed != generator.seed()
    first = streams.uniform(generator.manual_seed(seed), (3,), np.float32)
    assert np.array_equal(first, streams.uniform(generator.manual_seed(seed), (3,), np.float32))


@pytest.mark.parametrize("drawn", [0, 1, 3, 15, 16, 17, 311, 312, 313, 623, 624, 625, 2000])
def test_states_move_between_the_libraries(drawn: int) -> None:
    a, b = pair(42)
    streams.uniform(a, drawn, np.float32)
    torch.rand(drawn, generator=b)
    streams.normal(a, 3, np.float32)
    torch.randn(3, generator=b)
    into_torch = torch.Generator().set_state(torch.from_numpy(a.get_state()))
    into_clew = streams.Generator().set_state(b.get_state().numpy())
    assert_in_step(into_clew, into_torch)
    assert_in_step(a.clone_state(), b)
    expected = torch.randn(700, generator=b), torch.randn(7, generator=b)
    for theirs in (torch.randn(700, generator=into_torch), torch.randn(7, generator=into_torch)):
        assert theirs.equal(expected[0] if theirs.numel() == 700 else expected[1])
    assert_same(streams.normal(into_clew, 700, np.float32), expected[0])
    assert_same(streams.normal(into_clew, 7, np.float32), expected[1])


def test_a_float_normal_that_waits_survives_a_round_trip() -> None:
    state = torch.Generator().get_state().numpy().copy()
    state[5048:5052] = np.frombuffer(np.float32(0.5).tobytes(), np.uint8)
    state[5052] = 1
    assert np.array_equal(streams.Generator().set_state(state).get_state(), state)


@pytest.mark.parametrize(
    "duplicate",
    [streams.Generator.clone_state, copy.deepcopy, lambda g: pickle.loads(pickle.dumps(g))],
)
def test_a_copy_is_independent(
    duplicate: Callable[[streams.Generator], streams.Generator],
) -> None:
    generator = streams.Generator().manual_seed(1)
    streams.normal(generator, 3, np.float32)
    twin = duplicate(generator)
    first = streams.normal(generator, 5, np.float32)
    assert np.array_equal(first, streams.normal(twin, 5, np.float32))


MIXED: list[tuple[Callable[[Any, int], np.ndarray], Callable[[Any, int], torch.Tensor]]] = [
    (lambda g, n: streams.uniform(g, n, np.float32), lambda g, n: torch.rand(n, generator=g)),
    (
        lambda g, n: streams.uniform(g, n, np.float64),
        lambda g, n: torch.rand(n, dtype=torch.float64, generator=g),
    ),
    (lambda g, n: streams.normal(g, n, np.float32), lambda g, n: torch.randn(n, generator=g)),
    (
        lambda g, n: streams.normal(g, n, np.float64),
        lambda g, n: torch.randn(n, dtype=torch.float64, generator=g),
    ),
    (
        lambda g, n: streams.normal(g, n, np.float16),
        lambda g, n: torch.empty(n, dtype=torch.float16).normal_(generator=g),
    ),
    (
        lambda g, n: streams.randint(g, -3, 1000, n),
        lambda g, n: torch.randint(-3, 1000, (n,), generator=g),
    ),
    (lambda g, n: streams.randperm(g, n), lambda g, n: torch.randperm(n, generator=g)),
    (
        lambda g, n: streams.bernoulli_scalar(g, 0.5, n),
        lambda g, n: torch.empty(n).bernoulli_(0.5, generator=g),
    ),
    (
        lambda g, n: streams.poisson(g, np.full(n, 11.0, np.float32)),
        lambda g, n: torch.poisson(torch.full((n,), 11.0), generator=g),
    ),
    (
        lambda g, n: streams.log_normal(g, n, np.float64),
        lambda g, n: torch.empty(n, dtype=torch.float64).log_normal_(generator=g),
    ),
]


@pytest.mark.parametrize("seed", range(8))
def test_mixed_calls_stay_in_step(seed: int) -> None:
    a, b = pair(seed)
    choose = python_random.Random(seed)
    for _ in range(80):
        ours, theirs = choose.choice(MIXED)
        n = choose.choice([0, 1, 2, 3, 5, 15, 16, 17, 40, 255, 256, 257, 700])
        assert_same(ours(a, n), theirs(b, n))
        assert_in_step(a, b)


def test_threads_share_a_stream_without_losing_numbers() -> None:
    generator = streams.Generator().manual_seed(0)
    pieces: list[np.ndarray] = []

    def draw() -> None:
        for _ in range(50):
            pieces.append(streams.normal(generator, 3, np.float64))

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    alone = streams.normal(streams.Generator().manual_seed(0), 600, np.float64, contiguous=False)
    assert np.array_equal(np.sort(np.concatenate(pieces)), np.sort(alone))


G = streams.Generator
ERRORS: list[tuple[Callable[[], object], type[Exception], str]] = [
    (lambda: G("cuda"), RuntimeError, "expected device cpu"),
    (lambda: G().manual_seed(2**64), ValueError, "Overflow"),
    (lambda: G().set_state(np.zeros(10, np.uint8)), RuntimeError, "of size 5056 but found"),
    (lambda: G().set_state(np.zeros(5056)), TypeError, "must be a torch.ByteTensor"),
    (lambda: G().set_state(np.zeros(5056, np.uint8)), RuntimeError, "Invalid mt19937 state"),
    (lambda: streams.uniform(G(), 3, np.float32, 2, 1), RuntimeError, r"uniform_ expects .* range"),
    (lambda: streams.uniform(G(), 3, np.float16, 0, 1e6), RuntimeError, "to is out of bounds"),
    (lambda: streams.uniform(G(), 3, np.float16, -6e4, 6e4), RuntimeError, "exceed the limit"),
    (lambda: streams.uniform(G(), 3, np.int64), NotImplementedError, "check_uniform_bounds"),
    (lambda: streams.normal(G(), 3, np.float32, 0, -1), RuntimeError, "normal expects std >= 0.0"),
    (lambda: streams.normal(G(), 3, np.int64), NotImplementedError, "normal_kernel_cpu"),
    (lambda: streams.log_normal(G(), 3, np.float32, 0, 0), RuntimeError, "log_normal_ expects std"),
    (lambda: streams.cauchy(G(), 3, np.float32, 0, 0), RuntimeError, "cauchy_ expects sigma"),
    (lambda: streams.exponential(G(), 3, np.float32, 0), RuntimeError, "exponential_ expects lam"),
    (lambda: streams.exponential(G(), 3, np.int64), RuntimeError, "but you specified Long"),
    (lambda: streams.cauchy(G(), 3, np.int32), RuntimeError, "Cauchy distribution is a continuous"),
    (lambda: streams.log_normal(G(), 3, np.int64), NotImplementedError, "log_normal_cpu.*'Long'"),
    (lambda: streams.geometric(G(), 3, np.float32, 1), RuntimeError, "geometric_ expects p to be"),
    (lambda: streams.geometric(G(), 3, np.bool_, 0.5), NotImplementedError, "geometric_cpu"),
    (lambda: streams.randint(G(), 3, 3, 2), RuntimeError, "random_ expects 'from' to be less"),
    (lambda: streams.random_(G(), 3, np.int8, 0, 300), RuntimeError, "to - 1 is out of bounds"),
    (lambda: streams.random_(G(), 3, np.uint16), NotImplementedError, "random_kernel_cpu"),
    (lambda: streams.random_(G(), 3, np.complex64), NotImplementedError, "random_kernel_cpu"),
    (lambda: streams.randperm(G(), -1), RuntimeError, "negative dimension -1"),
    (lambda: streams.randperm(G(), 300, np.uint8), RuntimeError, "without overflow"),
    (
        lambda: streams.randperm(G(), 2050, np.float16),
        RuntimeError,
        "n cannot be greater than 2049",
    ),
    (lambda: streams.randperm(G(), 3, np.bool_), NotImplementedError, "randperm"),
    (lambda: streams.randperm(G(), 2**28), NotImplementedError, "not supported"),
    (lambda: streams.bernoulli_scalar(G(), 1.5, 3), RuntimeError, "bernoulli_ expects p to be in"),
    (lambda: streams.bernoulli_tensor(G(), np.array([1.5])), RuntimeError, "Expected p_in >= 0"),
    (lambda: streams.multinomial(G(), np.ones((1, 1, 1)), 1), RuntimeError, "1 or 2 dim"),
    (lambda: streams.multinomial(G(), np.ones(2, np.int64), 1), RuntimeError, "floating-point"),
    (lambda: streams.multinomial(G(), np.ones(2), 0), RuntimeError, "n_sample <= 0"),
    (lambda: streams.multinomial(G(), np.ones(2), 3), RuntimeError, "without replacement"),
    (lambda: streams.multinomial(G(), np.array([-1.0, 2]), 1), RuntimeError, "element < 0"),
    (lambda: streams.multinomial(G(), np.zeros(2), 1), RuntimeError, "sum of probabilities <= 0"),
    (
        lambda: streams.bernoulli_scalar(G(), 0.5, 3, np.complex64),
        NotImplementedError,
        "bernoulli_s",
    ),
    (
        lambda: streams.bernoulli_tensor(G(), np.ones(2, np.int64)),
        NotImplementedError,
        "tensor_cpu",
    ),
    (lambda: streams.poisson(G(), np.ones(2, np.int64)), NotImplementedError, "poisson_cpu"),
    (lambda: streams.poisson(G(), np.array([-1.0])), RuntimeError, "invalid Poisson rate"),
    (
        lambda: streams.binomial(G(), np.ones(1, np.float16), np.ones(1, np.float16)),
        NotImplementedError,
        "binomial_cpu",
    ),
    (
        lambda: streams.binomial(G(), np.ones(1), np.ones(1, np.float32)),
        RuntimeError,
        "Found dtype Float but expected Double",
    ),
    (lambda: streams.standard_gamma(G(), np.ones(1, np.float16)), NotImplementedError, "gamma_cpu"),
    (lambda: streams.dirichlet(G(), np.ones(1, np.float16)), NotImplementedError, "dirichlet"),
]


@pytest.mark.parametrize(("call", "error", "words"), ERRORS, ids=[e[2] for e in ERRORS])
def test_errors(call: Callable[[], object], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()
