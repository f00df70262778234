"""Generators: seeds, states, copies, threads, and the errors of draws."""

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

import numpy as np
import pytest
import torch

from clew.backend import random as streams
from tests.seeded import (
    assert_in_step,
    assert_same,
    pair,
)


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
