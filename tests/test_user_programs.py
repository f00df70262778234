"""Whole programs, written as PyTorch's users write them, give the same results under clew.

Each module of `tests/user_programs` defines `main(torch)`; it runs once with PyTorch and once with
clew, and everything it returns must agree: the structure, the text, shapes, dtypes and values.
"""

from __future__ import annotations

import importlib
import math
import pkgutil
from typing import Any

import numpy as np
import pytest
import torch

import clew
from tests import user_programs
from tests.tensors import short_name

TENSOR_TOLERANCE = {
    "float16": 2e-3,
    "bfloat16": 1.6e-2,
    "float32": 2e-5,
    "float64": 1e-9,
    "complex64": 2e-5,
    "complex128": 1e-9,
}
"""Largest difference of two tensors over the largest value in them, per dtype."""

CURVE_TOLERANCE = 1e-4
"""Largest relative difference of two Python floats: a loss curve drifts with every step."""

PROGRAMS = sorted(module.name for module in pkgutil.iter_modules(user_programs.__path__))


def program(name: str) -> Any:
    return importlib.import_module(f"{user_programs.__name__}.{name}").main


def values_of(tensor: Any) -> Any:
    """The values as an array that NumPy can compare; bfloat16 has no native one in torch."""
    tensor = tensor.detach()
    if short_name(tensor.dtype) == "bfloat16":
        tensor = tensor.float()
    return np.asarray(tensor.resolve_conj().resolve_neg().numpy())


def assert_tensors_agree(actual: clew.Tensor, expected: torch.Tensor, where: str) -> None:
    assert short_name(actual.dtype) == short_name(expected.dtype), where
    assert tuple(actual.shape) == tuple(expected.shape), where
    assert actual.requires_grad == expected.requires_grad, where
    tolerance = TENSOR_TOLERANCE.get(short_name(expected.dtype), 0)
    ours, theirs = values_of(actual), values_of(expected)
    finite = np.abs(theirs[np.isfinite(theirs)])
    scale = float(finite.max()) if finite.size and tolerance else 0.0
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance * scale, err_msg=where)


def assert_agree(actual: Any, expected: Any, where: str) -> None:
    """Both results, nested as they are, agree; `where` names the place in a failure."""
    if isinstance(expected, torch.Tensor):
        assert isinstance(actual, clew.Tensor), f"{where}: {type(actual)}"
        assert_tensors_agree(actual, expected, where)
    elif isinstance(expected, dict):
        assert list(actual) == list(expected), where
        for key, value in expected.items():
            assert_agree(actual[key], value, f"{where}[{key!r}]")
    elif isinstance(expected, list | tuple):
        assert len(actual) == len(expected), f"{where}: {actual} against {expected}"
        for number, value in enumerate(expected):
            assert_agree(actual[number], value, f"{where}[{number}]")
    elif isinstance(expected, float):
        assert isinstance(actual, float), f"{where}: {type(actual)}"
        same = math.isclose(actual, expected, rel_tol=CURVE_TOLERANCE, abs_tol=1e-7)
        both_nan = math.isnan(actual) and math.isnan(expected)
        assert same or both_nan, f"{where}: {actual} is not {expected}"
    elif isinstance(expected, torch.dtype):
        assert short_name(actual) == short_name(expected), where
    elif isinstance(expected, np.ndarray):
        assert isinstance(actual, np.ndarray) and actual.dtype == expected.dtype, where
        np.testing.assert_allclose(actual, expected, rtol=2e-5, atol=1e-6, err_msg=where)
    else:
        assert isinstance(expected, str | int | bool | complex | None), f"{where}: {type(expected)}"
        assert actual == expected, where


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_gives_what_it_gives_under_pytorch(name: str) -> None:
    main = program(name)
    expected = main(torch)
    assert_agree(main(clew), expected, name)


def test_there_are_programs() -> None:
    assert len(PROGRAMS) >= 30
