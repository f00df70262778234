"""fmod and remainder: exact for quotients of any size, and at infinities, zeros and NaN."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import clew

DTYPES = ("float32", "float64", "float16", "bfloat16")
SPECIAL = (0.0, -0.0, 1.0, -1.0, 3.5, -0.7, np.inf, -np.inf, np.nan, 1e-30, 6e4)


def _compare(name: str, x: torch.Tensor, y: torch.Tensor) -> None:
    theirs = getattr(torch, name)(x, y).double().numpy()
    given = (clew.from_numpy(each.double().numpy()) for each in (x, y))
    dtype = getattr(clew, str(x.dtype).removeprefix("torch."))
    ours = getattr(clew, name)(*(each.to(dtype) for each in given)).double().numpy()
    np.testing.assert_array_equal(ours, theirs)
    is_number = ~np.isnan(ours)
    np.testing.assert_array_equal(np.signbit(ours)[is_number], np.signbit(theirs)[is_number])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["fmod", "remainder"])
def test_special_values(name: str, dtype: str) -> None:
    values = torch.tensor(SPECIAL, dtype=torch.float64).to(getattr(torch, dtype))
    x, y = torch.meshgrid(values, values, indexing="ij")
    _compare(name, x.reshape(-1), y.reshape(-1))


def test_subnormal_divisors_are_those_of_c() -> None:
    """PyTorch's vectorized loop gives NaN here, its scalar one 0."""
    x, y = np.array([1.0, -1.0, 3e-45, 6e4], np.float32), np.array([1.4e-45] * 4, np.float32)
    ours = clew.fmod(clew.from_numpy(x), clew.from_numpy(y)).numpy()
    np.testing.assert_array_equal(ours, np.fmod(x, y))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_quotients_of_all_sizes(dtype: str) -> None:
    generator = torch.manual_seed(0)
    kind = getattr(torch, dtype)
    exponents = torch.randint(-60, 60, (2, 20000), generator=generator)
    x, y = torch.ldexp(torch.randn(2, 20000, dtype=kind, generator=generator), exponents)
    _compare("fmod", x, y)
    # Multiples, where a rounded quotient may be too large by one.
    whole = torch.randint(1, 1000, (20000,), generator=generator).to(kind)
    _compare("fmod", y * whole, y)
    _compare("fmod", torch.nextafter(y * whole, torch.zeros((), dtype=kind)), y)
