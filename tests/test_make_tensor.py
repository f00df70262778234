"""testing.make_tensor: torch's numbers for the same seed, and torch's refusals."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import clew
from tests import oracle

DTYPES = [
    "float32",
    "float64",
    "float16",
    "bfloat16",
    "int64",
    "int8",
    "uint8",
    "bool",
    "complex64",
]
OPTIONS: list[dict[str, Any]] = [
    {},
    {"low": 0, "high": 2},
    {"low": -1.5, "high": 1.5, "exclude_zero": True},
    {"noncontiguous": True},
]


def _made(library: Any, *shape: Any, dtype: str, **options: Any) -> Any:
    library.manual_seed(4)
    kind = getattr(library, dtype)
    return library.testing.make_tensor(*shape, dtype=kind, device="cpu", **options)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_are_torchs(dtype: str, options: dict[str, Any]) -> None:
    for shape in ((3, 4), ((5,),), ((),), ([2, 0],)):
        ours, theirs = (_made(m, *shape, dtype=dtype, **options) for m in (clew, torch))
        oracle.assert_same(ours, theirs)
        assert ours.stride() == theirs.stride()


@pytest.mark.parametrize(
    ("dtype", "options"),
    [
        ("float32", {"low": 2, "high": 1}),
        ("float32", {"low": float("nan")}),
        ("int64", {"low": 0, "high": 0}),
        ("bool", {"low": 2}),
        ("int64", {"requires_grad": True}),
    ],
)
def test_what_is_refused(dtype: str, options: dict[str, Any]) -> None:
    error, expected = (
        oracle.outcome(_made, m, 3, dtype=dtype, **options)[1] for m in (clew, torch)
    )
    assert expected is not None
    oracle.assert_same_error(error, expected)


def test_grad_and_memory_format() -> None:
    x = _made(clew, 1, 2, 3, 3, dtype="float32", memory_format=clew.channels_last)
    assert x.is_contiguous(memory_format=clew.channels_last)
    assert _made(clew, 2, dtype="float32", requires_grad=True).requires_grad
