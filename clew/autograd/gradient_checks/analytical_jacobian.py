"""Jacobians by automatic differentiation, in both modes, in the layout of numerical ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from clew.autograd import forward_ad
from clew.autograd.backward import grad
from clew.autograd.gradient_checks.numerical_jacobian import as_tuple
from clew.core.tensor import Tensor, wrap


class Products:
    """What backward gives for some cotangents of one output."""

    def __init__(
        self, columns: list[Tensor], is_reentrant: bool, misfit: tuple[int, Tensor] | None
    ) -> None:
        # For each input a column for each cotangent.
        self.columns = columns
        # Whether a second backward gave the same, within the tolerance.
        self.is_reentrant = is_reentrant
        # The input (by its number) and the gradient whose shape or dtype differ.
        self.misfit = misfit


def unit_vectors(array: np.ndarray) -> Iterator[np.ndarray]:
    """One vector for each element."""
    for index in range(array.size):
        vector = np.zeros(array.shape, array.dtype)
        vector.reshape(-1)[index] = 1
        yield vector


def backward_products(
    inputs: Sequence[Tensor],
    output: Tensor,
    nondet_tol: float,
    cotangents: Sequence[np.ndarray] | None = None,
) -> Products:
    """The gradients for some cotangents; for all unit vectors that is the Jacobian."""
    if cotangents is None:
        cotangents = list(unit_vectors(output._array))
    first = [_vjp(inputs, output, v) for v in cotangents]
    second = [_vjp(inputs, output, v) for v in cotangents]
    columns = [_columns(tensor, first, i) for i, tensor in enumerate(inputs)]
    again = [_columns(tensor, second, i) for i, tensor in enumerate(inputs)]
    is_reentrant = all(
        not np.any(np.abs(a - b) > nondet_tol) for a, b in zip(columns, again, strict=True)
    )
    misfits = (
        (i, found)
        for grads in first
        for i, (tensor, found) in enumerate(zip(inputs, grads, strict=True))
        if found is not None
        and (found._array.shape != tensor._array.shape or found.dtype is not tensor.dtype)
    )
    return Products([wrap(each) for each in columns], is_reentrant, next(misfits, None))


def _vjp(inputs: Sequence[Tensor], output: Tensor, v: np.ndarray) -> Sequence[Tensor | None]:
    found: Sequence[Tensor | None] = grad(
        output, inputs, wrap(v.copy()), retain_graph=True, allow_unused=True
    )
    return found


def _columns(tensor: Tensor, grads: Sequence[Sequence[Tensor | None]], which: int) -> np.ndarray:
    matrix = np.zeros((tensor._array.size, len(grads)), tensor._array.dtype)
    for column, found in enumerate(grads):
        each = found[which]
        if each is not None:
            matrix[:, column] = each._array.ravel()
    return matrix


def tangents_of_outputs(
    func: Callable[..., Any], inputs: Sequence[Any], tangents: Mapping[int, Tensor | None]
) -> list[Tensor | None]:
    """Run a function with tangents for some of its inputs (by place), which then need no grad.

    None leaves an input without a tangent.
    """
    with forward_ad.dual_level():
        args = list(inputs)
        for place, tangent in tangents.items():
            args[place] = inputs[place].detach()
            if tangent is not None:
                args[place] = forward_ad.make_dual(args[place], tangent)
        return [
            forward_ad.unpack_dual(out).tangent if isinstance(out, Tensor) else None
            for out in as_tuple(func(*args))
        ]


def forward_products(
    func: Callable[..., Any],
    inputs: Sequence[Any],
    places: Sequence[int],
    outputs: dict[int, Tensor],
    directions: Sequence[Sequence[np.ndarray]] | None = None,
) -> list[list[Tensor]]:
    """For each input that has a place, and each output, a row for each direction.

    Without directions these are all unit vectors of an input: the rows are the Jacobian's.
    """
    zeros = {place: np.zeros_like(inputs[place]._array) for place in places}
    found = []
    for number, place in enumerate(places):
        array = inputs[place]._array
        along = list(unit_vectors(array)) if directions is None else directions[number]
        jvps = []
        for vector in along:
            tangents = {each: wrap(zero.copy()) for each, zero in zeros.items()}
            tangents[place] = wrap(vector.reshape(array.shape).astype(array.dtype))
            jvps.append(tangents_of_outputs(func, inputs, tangents))
        found.append([_rows(out, [jvp[i] for jvp in jvps]) for i, out in outputs.items()])
    return found


def _rows(output: Tensor, tangents: Sequence[Tensor | None]) -> Tensor:
    matrix = np.zeros((len(tangents), output._array.size), output._array.dtype)
    for row, tangent in zip(matrix, tangents, strict=True):
        if tangent is not None:
            row[:] = tangent._array.ravel()
    return wrap(matrix)
