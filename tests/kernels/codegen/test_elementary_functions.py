"""Elementary functions of compiled kernels: errors in units in the last place, and special values.

float32 is compared with float64 functions on two million bit patterns of every exponent, float64
with extended precision or 40 digits.
"""

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
import torch

from clew.kernels.codegen.tracing import FUNCTIONS
from clew.kernels.codegen.ufunc import Elementwise, elementwise

WIDE = {np.float32: np.float64, np.float64: np.longdouble}
UNSIGNED: dict[type, type] = {np.float32: np.uint32, np.float64: np.uint64}
MOST_ULPS = 4.0

needs_extended_precision = pytest.mark.skipif(
    np.finfo(np.longdouble).nmant < 60, reason="long double has no more digits than double here"
)


def kernel(name: str) -> Any:
    """The ufunc of one function by itself."""
    if name not in _MADE:
        _MADE[name] = elementwise(f"test_{name}", 2 if name == "pow" else 1)(FUNCTIONS[name])
    return _MADE[name].ufunc


_MADE: dict[str, Elementwise] = {}


def numbers(dtype: type, count: int, seed: int = 0) -> np.ndarray:
    """Finite numbers of all exponents, subnormal ones too, and as many of everyday size."""
    random = np.random.default_rng(seed)
    unsigned = UNSIGNED[dtype]
    bits = random.integers(0, np.iinfo(unsigned).max, count, unsigned, endpoint=True)
    subnormal = random.integers(0, 1 << np.finfo(dtype).nmant, count // 20, unsigned)
    everyday = [
        random.uniform(-1.0, 1.0, count // 4),
        random.uniform(-12.0, 12.0, count // 4),
        random.uniform(-120.0, 120.0, count // 4),
        random.uniform(-760.0, 760.0, count // 8),
        1.0 + random.normal(0.0, 1e-2, count // 8),
        random.integers(-1100, 1100, 1000),
    ]
    found = np.concatenate([bits.view(dtype), subnormal.view(dtype), *everyday], dtype=dtype)
    return found[np.isfinite(found)]


def ulps(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """Errors in units of the spacing of floats at the wanted results, which have more digits."""
    info, wide = np.finfo(got.dtype), want.dtype.type
    largest = wide(info.max) * (1 + wide(info.eps) / 4)
    _, exponent = np.frexp(np.abs(np.clip(want, -largest, largest)))
    spacing = np.ldexp(wide(1), np.maximum(exponent - 1, info.minexp) - info.nmant)
    error = np.abs(got.astype(wide) - want) / spacing
    right = (got == want) | (np.isnan(got) & np.isnan(want))
    # What rounds to infinity must be infinite, or at least the largest number.
    rounds_to_infinity = np.abs(want) > largest
    largest_or_infinite = np.abs(got) >= info.max
    error = np.where(rounds_to_infinity & largest_or_infinite, 1.0, error)
    return np.where(right, 0.0, np.where(np.isnan(error), np.inf, error))


def assert_close(name: str, got: np.ndarray, want: np.ndarray, *inputs: np.ndarray) -> None:
    error = ulps(got, want)
    worst = int(np.argmax(error))
    at = ", ".join(repr(each[worst]) for each in inputs)
    assert error[worst] <= MOST_ULPS, (
        f"{name}({at}) = {got[worst]!r}, not {want[worst]!r}: {error[worst]:.2f} ulp; "
        f"{np.count_nonzero(error > MOST_ULPS)} of {error.size} are as bad"
    )


Function = Callable[[np.ndarray], np.ndarray]


def of_torch(function: Callable[[torch.Tensor], torch.Tensor]) -> Function:
    return lambda x: function(torch.from_numpy(x)).numpy()


# In whatever precision the argument has.
REFERENCES: dict[str, Function] = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2,
    "log10": np.log10, "log1p": np.log1p, "tanh": np.tanh, "sinh": np.sinh, "cosh": np.cosh,
    "sin": np.sin, "cos": np.cos, "atan": np.arctan,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "softplus": lambda x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))),
}  # fmt: skip
# In float64 only.
DOUBLE_REFERENCES = {
    name: of_torch(getattr(torch.special, name)) for name in ("erf", "erfc", "erfinv")
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(REFERENCES | DOUBLE_REFERENCES))
def test_single_precision(name: str) -> None:
    x = numbers(np.float32, 2_000_000)
    if name == "erfinv":
        x = np.concatenate([x[np.abs(x) <= 1], np.tanh(x[np.abs(x) < 10])])
    reference = (REFERENCES | DOUBLE_REFERENCES)[name]
    with np.errstate(all="ignore"):
        assert_close(name, kernel(name)(x), reference(x.astype(np.float64)), x)


@needs_extended_precision
@pytest.mark.parametrize("name", sorted(REFERENCES))
def test_double_precision(name: str) -> None:
    x = numbers(np.float64, 200_000)
    with np.errstate(all="ignore"):
        assert_close(name, kernel(name)(x), REFERENCES[name](x.astype(np.longdouble)), x)


def with_40_digits(function: Callable[[Any], Any], x: np.ndarray) -> np.ndarray:
    """Results in extended precision, of numbers beyond which the function no longer changes."""
    results = []
    with mpmath.workdps(40):
        for value in x.tolist():
            mantissa, exponent = mpmath.frexp(function(mpmath.mpf(value)))
            high = np.longdouble(float(mantissa))
            low = np.longdouble(float(mantissa - float(mantissa)))
            results.append(np.ldexp(high + low, int(exponent)))
    return np.array(results, np.longdouble)


@needs_extended_precision
@pytest.mark.parametrize("name", sorted(DOUBLE_REFERENCES))
def test_double_precision_of_error_functions(name: str) -> None:
    random = np.random.default_rng(0)
    tiny = 10.0 ** random.uniform(-300, 0, 300) * random.choice([-1, 1], 300)
    if name == "erfinv":
        near_one = 1.0 - 2.0 ** random.uniform(-53, 0, 300)
        x = np.concatenate([random.uniform(-1, 1, 400), near_one, tiny[:100]])
        x = x[np.abs(x) < 1]
        # mpmath's erfinv does not converge for tiny numbers; there it is linear.
        slope = mpmath.sqrt(mpmath.pi) / 2
        want = with_40_digits(lambda v: v * slope if abs(v) < 1e-25 else mpmath.erfinv(v), x)
    else:
        x = np.concatenate([random.uniform(-7, 28, 1500), random.uniform(-2, 2, 1000), tiny])
        want = with_40_digits(getattr(mpmath, name), x)
    assert_close(name, kernel(name)(x), want, x)


@needs_extended_precision
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["sin", "cos"])
def test_arguments_none_of_which_is_large(name: str, dtype: type) -> None:
    """They are reduced in another way, up to the numbers that are just not large."""
    random = np.random.default_rng(0)
    limit = 2.0**30 if dtype is np.float32 else 2.0**20
    quarters = random.integers(-int(limit / 2), int(limit / 2), 100_000) * (np.pi / 2)
    spread = limit * 2.0 ** random.uniform(-40, 0, 100_000) * random.choice([-1, 1], 100_000)
    x = np.concatenate([quarters, spread, random.uniform(-7, 7, 100_000), [limit, -limit]])
    x = x.astype(dtype)
    want = getattr(np, name)(x.astype(np.longdouble)).astype(WIDE[dtype])
    assert_close(name, kernel(name)(x), want, x)
    # The slow way gives the same to the last digit or two.
    with_large = kernel(name)(np.append(x, dtype(1e30)))
    np.testing.assert_array_max_ulp(with_large[:-1], kernel(name)(x), 2)


# Multiples of π/2 come no closer to a float32 or a float64 than to these.
NEAREST_TO_MULTIPLE = {
    np.float32: math.ldexp(16367173.0, 72),
    np.float64: math.ldexp(6381956970095103.0, 797),
}


@needs_extended_precision
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["sin", "cos"])
def test_reduction_of_the_hardest_arguments(name: str, dtype: type) -> None:
    quarters = np.arange(-400, 400) * (np.pi / 2)
    hardest = np.array([NEAREST_TO_MULTIPLE[dtype], np.finfo(dtype).max])
    x = np.concatenate([quarters, hardest, -hardest]).astype(dtype)
    got = kernel(name)(x)
    with mpmath.workdps(400):
        exact = [getattr(mpmath, name)(mpmath.mpf(value)) for value in x.tolist()]
        want = np.array([np.longdouble(mpmath.nstr(value, 25)) for value in exact])
    assert_close(name, got, want.astype(WIDE[dtype]), x)


# -- special values --------------------------------------------------------------------------


def assert_same(got: np.ndarray, want: np.ndarray, *inputs: np.ndarray) -> None:
    """Equal within a few ulp, NaN for NaN, infinity for infinity, and zeros with their signs."""
    with np.errstate(all="ignore"):
        close = np.abs(got - want) <= MOST_ULPS * np.spacing(np.abs(want))
    same = (got == want) | (np.isnan(got) & np.isnan(want)) | close
    same &= (np.signbit(got) == np.signbit(want)) | np.isnan(want)
    wrong = [(*(each[i] for each in inputs), got[i], want[i]) for i in np.flatnonzero(~same)]
    assert not wrong


SPECIAL = [0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0]
OF_TORCH: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "softplus": lambda x: torch.logaddexp(x, torch.zeros_like(x)),
    "erfinv": torch.special.erfinv,
    # torch's own makes zeros of subnormal numbers.
    "log1p": lambda x: torch.from_numpy(np.log1p(x.numpy())),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", sorted(REFERENCES | DOUBLE_REFERENCES))
def test_special_values(name: str, dtype: type) -> None:
    smallest, largest = float(np.finfo(dtype).smallest_subnormal), float(np.finfo(dtype).max)
    x = np.array([*SPECIAL, smallest, -smallest, largest, -largest], dtype)
    function = OF_TORCH[name] if name in OF_TORCH else getattr(torch, name)
    want = function(torch.from_numpy(x)).numpy()
    assert_same(kernel(name)(x), want, x)


def test_numbers_with_exact_results() -> None:
    whole = np.arange(-1074.0, 1024.0)
    powers_of_two = np.ldexp(1.0, whole.astype(int))
    assert np.array_equal(kernel("exp2")(whole), powers_of_two)
    assert np.array_equal(kernel("log2")(powers_of_two), whole)
    powers_of_ten = np.array([10.0**k for k in range(23)])
    assert np.array_equal(kernel("log10")(powers_of_ten), np.arange(23.0))
    base, exponent = np.meshgrid(np.arange(-9.0, 10.0), np.arange(0.0, 16.0))
    exact = np.array([[float(int(b) ** int(e)) for b in base[0]] for e in exponent[:, 0]])
    assert np.array_equal(kernel("pow")(base, exponent), exact)


# -- powers ----------------------------------------------------------------------------------


@needs_extended_precision
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_powers(dtype: type) -> None:
    random = np.random.default_rng(3)
    count = 300_000
    base = np.abs(numbers(dtype, count))[:count]
    base[count // 2 :] = np.exp(random.uniform(-4, 4, count - count // 2))
    # Exponents whose results are finite for the most part, up to the ends of the range.
    with np.errstate(all="ignore"):
        room = np.log(float(np.finfo(dtype).max)) / np.abs(np.log(base.astype(np.float64)))
    exponent = (random.uniform(-1.15, 1.1, count) * np.minimum(room, 1e30)).astype(dtype)
    with np.errstate(all="ignore"):
        want = np.power(base.astype(np.longdouble), exponent.astype(np.longdouble))
    assert_close("pow", kernel("pow")(base, exponent), want.astype(WIDE[dtype]), base, exponent)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_powers_of_special_values(dtype: type) -> None:
    largest_odd = 2.0 ** (np.finfo(dtype).nmant + 1) - 1
    sizes = [0.0, 0.5, 1.0, 2.0, 2.5, 3.0, 1e-30, 1e30, largest_odd, 2 * largest_odd, math.inf]
    values = np.array([*sizes, *(-size for size in sizes), math.nan], dtype)
    base, exponent = (each.ravel() for each in np.meshgrid(values, values))
    want = torch.pow(torch.from_numpy(base), torch.from_numpy(exponent)).numpy()
    assert_same(kernel("pow")(base, exponent), want, base, exponent)
