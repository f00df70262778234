"""What must hold of gradients besides their values.

Backward is linear, so zeros give zeros; what is absent counts as zero, in both modes; and several
gradients at once, by vmap, are the same as one after the other.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from clew.autograd.backward import grad
from clew.autograd.function import Function
from clew.autograd.gradient_checks import gradcheck_errors
from clew.autograd.gradient_checks.analytical_jacobian import tangents_of_outputs
from clew.autograd.gradient_checks.jacobian_check import Point, positive_vectors
from clew.core.tensor import Tensor, wrap
from clew.ops.batching.level import UNSUPPORTED, running
from clew.ops.create.random import randn_like
from clew.ops.shape.joining import stack

# How many gradients are computed at once.
BATCH = 2


class _UndefinedGrad(Function):
    """Passes its input on, and in backward says that there is no gradient."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor) -> Tensor:
        return tensor.clone()

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return None


def check_zero_grads(point: Point) -> None:
    """A gradient of zero must give zeros: backward is linear."""
    outputs = list(point.outputs.values())
    if outputs:
        for found in _grads_for_zeros(outputs, point).values():
            if found is not None and np.any(found._array != 0):
                raise gradcheck_errors.not_multiplied()


def _grads_for_zeros(outputs: list[Tensor], point: Point) -> dict[int, Tensor | None]:
    zeros = [wrap(np.zeros(out._array.shape, out._array.dtype)) for out in outputs]
    found = grad(outputs, list(point.wanted.values()), zeros, allow_unused=True)
    return dict(zip(point.wanted, found, strict=True))


def check_undefined_grads(point: Point) -> None:
    """Outputs whose gradient is absent, all of them and then each: it must be taken as zero."""
    count = len(point.outputs)
    absent = [set(range(count))]
    if count > 1:
        absent += [{number} for number in range(count)]
    for numbers in absent if count else ():
        outputs = [
            _UndefinedGrad.apply(out) if number in numbers else out
            for number, out in enumerate(point.values())
        ]
        try:
            found = _grads_for_zeros(outputs, point)
        except RuntimeError as error:
            gradcheck_errors.warn_undefined_support()
            raise gradcheck_errors.undefined_raises(error) from error
        for place, each in found.items():
            if each is not None and np.any(each._array != 0):
                gradcheck_errors.warn_undefined_support()
                raise gradcheck_errors.undefined_gives(place)


def check_undefined_tangents(point: Point) -> None:
    """An input without a tangent must count as one with a tangent of zeros."""
    wanted = point.wanted
    given: dict[int, Tensor | None] = dict(
        zip(wanted, positive_vectors(list(wanted.values())), strict=True)
    )
    for place, tensor in wanted.items():
        zeros = wrap(np.zeros_like(tensor._array))
        with_zeros = tangents_of_outputs(point.func, point.inputs, {**given, place: zeros})
        without = tangents_of_outputs(point.func, point.inputs, {**given, place: None})
        for number, (zero, absent) in enumerate(zip(with_zeros, without, strict=True)):
            if zero is not None and absent is not None and not _close(zero, absent):
                raise gradcheck_errors.undefined_tangent(number, tensor, zero, absent)


def _close(a: Tensor, b: Tensor) -> bool:
    return bool(np.allclose(a._array, b._array, rtol=1e-5, atol=1e-8))


def check_batched_grads(point: Point) -> None:
    """Several cotangents at once must give what they give one by one."""
    inputs = list(point.wanted.values())
    for number, output in enumerate(point.outputs.values()):

        def vjp(v: Tensor, output: Tensor = output) -> Sequence[Tensor | None]:
            found: Sequence[Tensor | None] = grad(
                output, inputs, v, retain_graph=True, allow_unused=True
            )
            return found

        for which, found, expected in _batched(vjp, output):
            if not _close(found, expected):
                raise gradcheck_errors.batched_differ(number, which, found, expected, False)


def check_batched_tangents(point: Point) -> None:
    """Several tangents at once must give what they give one by one."""
    for number, (place, tensor) in enumerate(point.wanted.items()):
        absent = dict.fromkeys(point.wanted)

        def jvp(
            tangent: Tensor, place: int = place, absent: dict[int, None] = absent
        ) -> Sequence[Tensor | None]:
            found = tangents_of_outputs(point.func, point.inputs, {**absent, place: tangent})
            return [found[i] for i in point.outputs]

        for which, found, expected in _batched(jvp, tensor, is_forward=True):
            if not _close(found, expected):
                raise gradcheck_errors.batched_differ(which, number, found, expected, True)


def _batched(
    func: Callable[[Tensor], Sequence[Tensor | None]], like: Tensor, is_forward: bool = False
) -> list[tuple[int, Tensor, Tensor]]:
    """For each result that there is: its number, all at once by vmap, and one by one."""
    vectors = [randn_like(like).detach() for _ in range(BATCH)]
    single = [func(vector) for vector in vectors]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with running(BATCH, UNSUPPORTED, is_transform=False) as level:
                found = func(level.lift(stack(vectors)))
    except RuntimeError as error:
        raise gradcheck_errors.batched_raises(error, is_forward) from error
    return [
        (number, level.result(many), stack(rows))
        for number, (many, rows) in enumerate(zip(found, zip(*single, strict=True), strict=True))
        if many is not None and all(row is not None for row in rows)
    ]
