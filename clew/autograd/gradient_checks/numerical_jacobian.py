"""Jacobians by finite differences: what the gradients of a function are compared with.

An input is moved in its own memory, by one element or along a vector, and moved back; the function
runs at both ends. A Jacobian has a row for each element of the input and a column for each element
of the output. The rows of a complex input are d/dx + i d/dy, as gradients of real outputs are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import EllipsisType
from typing import Any

import numpy as np

from clew.autograd.grad_mode import no_grad
from clew.core.tensor import Tensor, wrap

Place = tuple[int, ...] | EllipsisType
# The outputs of a function at what its inputs are now.
Values = Callable[[], Sequence[Tensor]]


def as_tuple(value: Any) -> tuple[Any, ...]:
    """What a function takes or gives: one thing, or a tuple or list of them."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def central_difference(
    values: Values, moved: Tensor, place: Place, step: Any, eps: float
) -> list[Tensor]:
    """The slopes of all outputs when a part of `moved` goes from `-step` to `step`.

    `eps` is the length that the slope is taken over.
    """
    array = moved._array
    before = np.array(array[place])
    # A step may be less than what the input's own precision can hold.
    center = before.astype(np.complex128 if before.dtype.kind in "cW" else np.float64)
    try:
        array[place] = center - step
        behind = [out.detach().clone() for out in values()]
        array[place] = center + step
        ahead = [out.detach().clone() for out in values()]
    finally:
        array[place] = before
    at = "" if place is ... else f"on index {place} "
    length = eps if place is ... else step
    for a, b in zip(behind, ahead, strict=True):
        _check_alike(a, b, f"{at}by {length}")
    with no_grad():
        return [(b - a) / (2 * eps) for a, b in zip(behind, ahead, strict=True)]


def _check_alike(a: Tensor, b: Tensor, perturbed: str) -> None:
    text = (
        "Expected `func` to return outputs with the same {0} when inputs are perturbed "
        f"{perturbed}, but got: {{0}}s {{1}} and {{2}}."
    )
    if a.shape != b.shape:
        raise AssertionError(text.format("shape", a.shape, b.shape))
    if a.dtype is not b.dtype:
        raise AssertionError(text.format("dtype", a.dtype, b.dtype))


def differences_along(
    values: Values, moved: Tensor, direction: np.ndarray, eps: float
) -> list[Tensor]:
    """The slopes of all outputs along a vector of the input's size."""
    step = eps * direction.reshape(moved._array.shape)
    return central_difference(values, moved, ..., step, eps)


def numerical_jacobian(
    values: Values, outputs: Sequence[Tensor], moved: Tensor, eps: float
) -> tuple[Tensor, ...]:
    """The Jacobian of each output with respect to one input."""
    is_complex = moved.dtype.is_complex
    rows: list[list[np.ndarray]] = [[] for _ in outputs]
    for place in np.ndindex(moved._array.shape):
        slopes = central_difference(values, moved, place, eps, eps)
        if is_complex:
            slopes = _with_imaginary(slopes, values, moved, place, eps)
        for row, slope in zip(rows, slopes, strict=True):
            row.append(slope._array.ravel())
    return tuple(
        wrap(np.stack(row) if row else _no_rows(output, is_complex))
        for row, output in zip(rows, outputs, strict=True)
    )


def _with_imaginary(
    along_real: list[Tensor], values: Values, moved: Tensor, place: Place, eps: float
) -> list[Tensor]:
    if any(slope.dtype.is_complex for slope in along_real):
        raise AssertionError("Expected ds_dx to be real-valued, not complex")
    along_imaginary = central_difference(values, moved, place, eps * 1j, eps)
    return [x + y * 1j for x, y in zip(along_real, along_imaginary, strict=True)]


def _no_rows(output: Tensor, is_complex: bool) -> np.ndarray:
    array = output._array
    return np.zeros((0, array.size), np.complex128 if is_complex else array.dtype)
