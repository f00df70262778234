"""Generators of both libraries with the same seed, and whether they stay in step."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import torch

from clew.backend import random as streams
from tests.tensors import to_numpy

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


def assert_same(ours: np.ndarray, theirs: torch.Tensor) -> None:
    expected = to_numpy(theirs)
    assert ours.dtype == expected.dtype
    assert ours.shape == expected.shape
    assert ours.flags.c_contiguous
    assert np.array_equal(ours, expected, equal_nan=ours.dtype.kind in "fc")


def assert_in_step(ours: streams.Generator, theirs: torch.Generator) -> None:
    assert np.array_equal(ours.get_state(), theirs.get_state().numpy())
