"""Forward mode through a custom function: its `jvp`, and the checks on what that returns."""

from __future__ import annotations

from typing import Any

import numpy as np

from clew import errors
from clew.autograd.context import FunctionCtx
from clew.core.interception import note_constant
from clew.core.tensor import Tensor, wrap


def run_jvp(
    level: Any, ctx: FunctionCtx, inputs: tuple[Any, ...], outputs: tuple[Any, ...]
) -> list[Tensor | None]:
    """The tangents of a custom function's outputs, one for each; None where there is none."""
    tangents = [level.tangent(value) for value in inputs]
    if all(tangent is None for tangent in tangents):
        return [None] * len(outputs)
    given = [
        _zeros(value) if tangent is None and ctx.materialize_grads else tangent
        for value, tangent in zip(inputs, tangents, strict=True)
    ]
    versions = [None if tangent is None else tangent._storage.version for tangent in given]
    ctx._runs_jvp = True
    try:
        results = ctx._function.jvp(ctx, *given)
    finally:
        ctx._runs_jvp = False
    results = results if isinstance(results, tuple) else (results,)
    if len(results) != len(outputs):
        raise RuntimeError(
            "Function's jvp returned an invalid number of forward gradients (expected "
            f"{len(outputs)} but got {len(results)})" + errors.at_user_line()
        )
    written = [
        tangent if tangent is not None and tangent._storage.version != version else None
        for tangent, version in zip(given, versions, strict=True)
    ]
    return [
        _checked(ctx, index, out, tangent, inputs, given, written)
        for index, (out, tangent) in enumerate(zip(outputs, results, strict=True))
    ]


def _zeros(value: Any) -> Tensor | None:
    """The tangent of an input that has none; integers and other values have none at all."""
    if not isinstance(value, Tensor):
        return None
    inexact = value.dtype.is_floating_point or value.dtype.is_complex
    return note_constant(wrap(np.zeros_like(value._array))) if inexact else None


def _checked(
    ctx: FunctionCtx,
    index: int,
    out: Any,
    tangent: Any,
    inputs: tuple[Any, ...],
    given: list[Any],
    written: list[Any],
) -> Tensor | None:
    if not isinstance(out, Tensor):
        return None
    if tangent is not None and not isinstance(tangent, Tensor):
        raise RuntimeError(
            f"expected Variable or None (got {type(tangent).__name__}) for grad output {index}."
            + errors.at_user_line()
        )
    if not ctx._differentiable[index]:
        if tangent is not None:
            raise RuntimeError(
                f"Function's jvp returned a gradient at position {index}, but  the corresponding "
                "forward output is not a differentiable Tensor.You should return None at that "
                "position instead." + errors.at_user_line()
            )
        return None
    if any(out is dirty for dirty in ctx.dirty_tensors):
        _check_modified(out, tangent, inputs, written)
        # It is the tangent that the tensor has already.
        return None
    if tangent is None:
        return None
    if out._view is not None:
        _check_view(out, tangent, inputs, given)
    if tangent._array.shape != out._array.shape:
        raise errors.tangent_size(out._array.shape, tangent._array.shape)
    return tangent


def _check_modified(
    out: Tensor, tangent: Tensor | None, inputs: tuple[Any, ...], written: list[Any]
) -> None:
    """What is written to in place has its tangent written to in place."""
    pairs = zip(inputs, written, strict=True)
    if tangent is None or not any(out is value and tangent is had for value, had in pairs):
        raise RuntimeError(
            "An inplace custom Function is not modifying the forward mode gradients inplace. If "
            "the forward is modifying an input inplace, then the jvp function must modify the "
            "corresponding gradient inplace." + errors.at_user_line()
        )


def _check_view(out: Tensor, tangent: Tensor, inputs: tuple[Any, ...], given: list[Any]) -> None:
    """A view of an input has as its tangent the same view of the input's tangent."""
    had = next(
        (
            had
            for value, had in zip(inputs, given, strict=True)
            if isinstance(value, Tensor) and value._storage is out._storage
        ),
        None,
    )
    if had is None:
        return
    if tangent._view is None:
        raise RuntimeError(
            "A custom Function's forward is returning a view (or an input as-is) but the jvp is "
            "not returning a view." + errors.at_user_line()
        )
    if tangent._storage is not had._storage:
        of = "of the given grad input"
        if had._view is not None:
            of = "of the same base as the given grad input"
        raise RuntimeError(
            f"A custom Function is returning a view but the jvp is not returning a view {of}."
            + errors.at_user_line()
        )
