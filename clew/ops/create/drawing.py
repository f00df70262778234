"""What random numbers are drawn, and how arrays are filled with them in PyTorch's order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clew.backend import dtypes
from clew.backend import random as streams
from clew.backend.layout import memory_format as format_type
from clew.core.result_layout import memory_order
from clew.core.tensor import Tensor, wrap
from clew.ops.create.constants import array_like
from clew.ops.define.options import Options, made


class Drawing:
    """How a new tensor of random numbers of a distribution is made, of any shape."""

    __slots__ = ("distribution", "function", "kind", "options", "out", "stream")

    def __init__(
        self, function: str, distribution: Distribution, stream: streams.Generator,
        kind: dtypes.dtype, options: Options, out: Tensor | None,
    ) -> None:  # fmt: skip
        self.function, self.distribution, self.stream = function, distribution, stream
        self.kind, self.options, self.out = kind, options, out

    @property
    def __name__(self) -> str:
        """The distribution's, by which interceptors name what is drawn."""
        return self.distribution.name

    def __call__(self, shape: tuple[int, ...]) -> Tensor:
        array = self.distribution.numbers(self.stream, shape, self.kind.np, self.out)
        return made(self.function, array, self.options, self.out)


class Distribution:
    """The numbers that a function draws from a stream, and how it fills an array with them."""

    def __init__(
        self, name: str, numbers: Callable[..., np.ndarray], fill: Callable[..., None]
    ) -> None:
        self.name, self.numbers, self.fill = name, numbers, fill


def _uniforms_for(
    stream: streams.Generator, shape: tuple[int, ...], kind: np.dtype, out: Tensor | None
) -> np.ndarray:
    return streams.uniform(stream, shape, kind)


def _fill_uniform(array: np.ndarray, stream: streams.Generator) -> None:
    fill_in_memory_order(array, lambda shape, kind: streams.uniform(stream, shape, kind))


def _normals_for(
    stream: streams.Generator, shape: tuple[int, ...], kind: np.dtype, out: Tensor | None
) -> np.ndarray:
    """Drawn in the order in which PyTorch writes to `out`."""
    if out is None or out._array.shape != shape or out._array.flags.c_contiguous:
        return streams.normal(stream, shape, kind)
    array = np.empty_like(out._array, kind)
    fill_in_memory_order(
        array, lambda shape, kind: streams.normal(stream, shape, kind, contiguous=False)
    )
    return array


def _fill_normal(array: np.ndarray, stream: streams.Generator) -> None:
    contiguous = array.flags.c_contiguous
    fill_in_memory_order(
        array, lambda shape, kind: streams.normal(stream, shape, kind, contiguous=contiguous)
    )


UNIFORM = Distribution("uniform", _uniforms_for, _fill_uniform)
NORMAL = Distribution("normal", _normals_for, _fill_normal)


class DrawingLike:
    """How random numbers are made in the shape of an array, and with its memory order."""

    def __init__(
        self, function: str, distribution: Distribution, stream: streams.Generator, dtype: Any,
        memory_format: format_type | None,
    ) -> None:  # fmt: skip
        self.function, self.distribution, self.stream = function, distribution, stream
        self.dtype, self.memory_format = dtype, memory_format

    def __call__(self, given: np.ndarray) -> np.ndarray:
        array = array_like(self.function, wrap(given), self.dtype, self.memory_format)
        self.distribution.fill(array, self.stream)
        return array


def fill_in_memory_order(array: np.ndarray, draw: Callable[..., np.ndarray]) -> None:
    """Draw in the order in which the elements lie in memory, as PyTorch walks a tensor."""
    if array.flags.c_contiguous:
        array[...] = draw(array.shape, array.dtype)
        return
    in_order = array.transpose(memory_order(array))
    in_order[...] = draw(in_order.shape, array.dtype)
