"""Training the same small problem with torch's and with clew's optimizers."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import torch

import clew

SHAPES: tuple[tuple[int, ...], ...] = ((4, 3), (5,), (2, 3, 2), ())


class Problem:
    """Parameters of several shapes in a noisy valley; the noise is the same in both libraries."""

    def __init__(
        self, module: Any, dtype: str, shapes: tuple[tuple[int, ...], ...] = SHAPES
    ) -> None:
        self.module = module
        self.dtype = dtype
        self.random = np.random.default_rng(0)
        self.params = [self._random(shape).requires_grad_() for shape in shapes]
        self.optimizer: Any = None

    def _random(self, shape: tuple[int, ...]) -> Any:
        array = self.random.standard_normal(shape)
        if self.dtype.startswith("complex"):
            array = array + 1j * self.random.standard_normal(shape)
        return self.module.tensor(np.asarray(array, self.dtype))

    def closure(self) -> Any:
        """Gradients of |p|² and a random slope, which also changes the signs."""
        with self.module.no_grad():
            for param in self.params:
                noise = self._random(param.shape).to(param.dtype)
                param.grad = param * 2 + noise
            return self.params[0].abs().sum()

    def train(self, steps: int) -> list[float]:
        return [float(self.optimizer.step(self.closure)) for _ in range(steps)]


def problems(dtype: str, shapes: tuple[tuple[int, ...], ...] = SHAPES) -> tuple[Problem, Problem]:
    """The same problem in both libraries."""
    return Problem(torch, dtype, shapes), Problem(clew, dtype, shapes)


def to_numpy(value: Any) -> Any:
    """A nested value with arrays in place of the tensors of either library."""
    if isinstance(value, (torch.Tensor, clew.Tensor)):
        return value.detach().numpy().copy()
    if isinstance(value, dict):
        return {key: to_numpy(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(to_numpy(item) for item in value)
    return copy.copy(value)


def from_numpy(value: Any, module: Any) -> Any:
    """A nested value with tensors of `module` in place of arrays."""
    if isinstance(value, np.ndarray):
        return module.tensor(value)
    if isinstance(value, dict):
        return {key: from_numpy(item, module) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(from_numpy(item, module) for item in value)
    return value


def assert_close(actual: Any, expected: Any, rtol: float, atol: float, path: str = "") -> None:
    """Nested values agree; the same keys, dtypes and shapes everywhere."""
    if isinstance(expected, dict):
        assert list(actual) == list(expected), f"{path}: {list(actual)} vs {list(expected)}"
        for key, item in expected.items():
            assert_close(actual[key], item, rtol, atol, f"{path}.{key}")
    elif isinstance(expected, (list, tuple)):
        assert type(actual) is type(expected) and len(actual) == len(expected), path
        for index, item in enumerate(expected):
            assert_close(actual[index], item, rtol, atol, f"{path}[{index}]")
    elif isinstance(expected, np.ndarray):
        assert isinstance(actual, np.ndarray), f"{path}: {type(actual)}"
        assert actual.dtype == expected.dtype, f"{path}: {actual.dtype} vs {expected.dtype}"
        np.testing.assert_allclose(actual, expected, rtol, atol, err_msg=path)
    elif isinstance(expected, float):
        np.testing.assert_allclose(actual, expected, rtol, atol, err_msg=path)
    else:
        assert actual == expected, f"{path}: {actual} vs {expected}"
