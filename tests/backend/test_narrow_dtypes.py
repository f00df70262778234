"""float8 and complex32: their limits, conversions and promotion."""

from __future__ import annotations

import io
from typing import Any

import pytest
import torch

import clew
from tests.twice import raised, twice

FLOAT8 = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz")
LIMITS = ("bits", "max", "min", "tiny", "smallest_normal", "resolution", "dtype")


@twice
def test_float8(lib: Any) -> Any:
    seen: list[Any] = []
    for name in FLOAT8:
        dtype = getattr(lib, name)
        x = lib.tensor([1.0, 2.0, 500.0, 1e9, -3.3, -1e9, 0.0, float("nan")]).to(dtype)
        info = lib.finfo(dtype)
        seen += [
            dtype.itemsize, dtype.is_floating_point, [getattr(info, each) for each in LIMITS],
            x.float(), x[:-1].view(lib.uint8), x.tolist()[:2], x[0].item(), repr(x[:2]),
            lib.zeros(2, dtype=dtype).float(), lib.full((2,), 3.0, dtype=dtype).float(),
            lib.tensor([1.5], dtype=dtype).float(), lib.cat([x, x]).float(), x == x,
            x.abs().float(),
            x.index_select(0, lib.tensor([0])).float(), lib.zeros(2).copy_(x[:2]),
            raised(x.numpy), raised(lib.promote_types, dtype, lib.float32, words=10),
            raised(lib.promote_types, lib.int8, dtype, words=10), raised(dtype.to_complex),
            raised(lib.set_default_dtype, dtype), raised(lib.add, x, lib.ones(8)),
        ]  # fmt: skip
    return seen


@twice
def test_limits_and_promotion_of_complex32(lib: Any) -> Any:
    dtype, all_names = lib.complex32, ("bool", "int64", "float16", "bfloat16", "float32", "float64")
    info = lib.finfo(dtype)
    return [
        dtype is lib.chalf, dtype.itemsize, dtype.is_complex, repr(dtype), repr(dtype.to_real()),
        repr(lib.float16.to_complex()), [getattr(info, each) for each in LIMITS],
        [repr(lib.promote_types(dtype, getattr(lib, each))) for each in all_names],
        repr(lib.promote_types(lib.complex64, dtype)), raised(lib.int64.to_complex),
        lib.finfo() == lib.finfo(lib.float32), lib.finfo() == lib.finfo(lib.float64),
    ]  # fmt: skip


@pytest.mark.parametrize("name", FLOAT8)
def test_float8_in_files(name: str) -> None:
    file = io.BytesIO()
    clew.save(clew.tensor([1.0, -2.0]).to(getattr(clew, name)), file)
    file.seek(0)
    theirs = torch.load(file)
    assert theirs.dtype is getattr(torch, name) and theirs.float().tolist() == [1.0, -2.0]
    file = io.BytesIO()
    torch.save(theirs, file)
    file.seek(0)
    mine = clew.load(file)
    assert mine.dtype is getattr(clew, name) and mine.float().tolist() == [1.0, -2.0]


def test_float8_is_computed_in_float32() -> None:
    x = clew.tensor([1.0, 2.0]).to(clew.float8_e5m2)
    assert (x + x).float().tolist() == [2.0, 4.0] and x.sum().float().item() == 3.0
