"""Numbers that a dtype cannot hold: which are refused, which wrap around, which become infinite."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

import clew

DTYPES = ["uint8", "int8", "int16", "int32", "int64", "bool", "float32", "float64"]
VALUES: list[Any] = [
    -2.5, -1, -1.0, -0.5, 300, 300.7, 256, -300, 128, -129, 2**31, 2**31 + 0.5, 2**40, -(2**40),
    -(2**63), 2**63 - 1, 1e20, -1e20, 1e39, math.inf, -math.inf, math.nan, True, 70000.0, 65520,
    0.5,
]  # fmt: skip
Use = Callable[[Any, Any, Any], Any]


def _assign(index: Callable[[Any], Any]) -> Use:
    def use(m: Any, x: Any, value: Any) -> Any:
        x[index(m)] = value
        return x

    return use


USES: dict[str, Use] = {
    "full": lambda m, x, v: m.full((2,), v, dtype=x.dtype),
    "full_like": lambda m, x, v: m.full_like(x, v),
    "new_full": lambda m, x, v: x.new_full((2,), v),
    "scalar_tensor": lambda m, x, v: m.scalar_tensor(v, dtype=x.dtype),
    "tensor": lambda m, x, v: m.tensor([v], dtype=x.dtype),
    "fill_": lambda m, x, v: x.fill_(v),
    "fill_diagonal_": lambda m, x, v: m.zeros(2, 2, dtype=x.dtype).fill_diagonal_(v),
    "masked_fill": lambda m, x, v: x.masked_fill(m.tensor([True, False]), v),
    "masked_fill_": lambda m, x, v: x.masked_fill_(m.tensor([True, False]), v),
    "index_fill": lambda m, x, v: x.index_fill(0, m.tensor([0]), v),
    "scatter": lambda m, x, v: x.scatter(0, m.tensor([0]), v),
    "setitem": _assign(lambda m: 0),
    "slice": _assign(lambda m: slice(1)),
    "mask": _assign(lambda m: m.tensor([True, False])),
    "pad": lambda m, x, v: m.nn.functional.pad(x, (1, 0), value=v),
    "where": lambda m, x, v: m.where(m.tensor([True, False]), x, v),
    "clamp_min": lambda m, x, v: x.clamp_min(v),
    "clamp_max": lambda m, x, v: x.clamp_max(v),
    "addcmul": lambda m, x, v: m.addcmul(x, x, x, value=v),
    "add": lambda m, x, v: x + v,
    "mul": lambda m, x, v: x * v,
    "alpha": lambda m, x, v: x.add(x, alpha=v),
    "pow": lambda m, x, v: x.pow(v),
}
# PyTorch pads as if the number were a double: it refuses what fits, and rounds large integers.
OTHERWISE = {("pad", "uint8", -1), ("pad", "uint8", -129), ("pad", "int64", 2**63 - 1)}


def outcome(m: Any, use: str, dtype: str, value: Any) -> Any:
    x = m.ones(2, dtype=getattr(m, dtype))
    try:
        result = USES[use](m, x, value)
    except Exception as error:  # the error is the outcome
        kinds = {kind.__name__ for kind in type(error).__mro__}
        kind = next(
            k for k in ("RuntimeError", "TypeError", "ValueError", "Exception") if k in kinds
        )
        return f"{kind}: {' '.join(str(error).split()[:5])}"
    return str(result.dtype).removeprefix("torch."), str(result.tolist())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("use", USES)
def test_numbers_that_do_not_fit(use: str, dtype: str) -> None:
    wrong = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for value in VALUES:
            if (use, dtype, value) in OTHERWISE:
                continue
            expected, actual = outcome(torch, use, dtype, value), outcome(clew, use, dtype, value)
            if actual != expected:
                wrong.append((value, actual, expected))
    assert not wrong


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64", "bool"])
def test_converted_tensors_wrap_around(dtype: str) -> None:
    """What fits int64 is cut to the lower bits; a conversion never refuses."""
    for value in (-2.5, -1.0, 300.7, 256.0, -129.0, 70000.5, 2.0**31):
        results = [m.full((9,), value).to(getattr(m, dtype)).tolist() for m in (torch, clew)]
        assert results[0] == results[1], value
