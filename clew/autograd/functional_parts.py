"""Parts of `autograd.functional`: its checks, and helpers that public packages take from there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clew.core.tensor import Tensor, wrap


def _tensors(value: Any, what: str, function: str) -> tuple[bool, tuple[Tensor, ...]]:
    """Whether a tuple was given, and the tensors."""
    is_tuple = isinstance(value, tuple)
    values = value if is_tuple else (value,)
    for index, each in enumerate(values):
        if not isinstance(each, Tensor):
            which = f"value at index {index} of the" if is_tuple else "given"
            raise TypeError(
                f"The {what} given to {function} must be either a Tensor or a tuple of Tensors but "
                f"the {which} {what} has type {type(each)}."
            )
    return is_tuple, tuple(values)


def _check_independent(outs: Sequence[Tensor], strict: bool) -> None:
    for index, out in enumerate(outs):
        if strict and not out.requires_grad:
            raise RuntimeError(
                f"Output {index} of the user-provided function does not require gradients. The "
                "outputs must be computed in a differentiable manner from the input when running "
                "in strict mode."
            )


def _check_used(grads: Sequence[Any], strict: bool, output: int, create_graph: bool) -> None:
    for index, each in enumerate(grads):
        if not strict:
            continue
        if each is None:
            raise RuntimeError(
                f"Output {output} of the user-provided function is independent of input {index}. "
                "This is not allowed in strict mode."
            )
        if create_graph and not each.requires_grad:
            raise RuntimeError(
                f"The jacobian of the user-provided function is independent of input {index}. "
                "This is not allowed in strict mode when create_graph=True."
            )


def _as_tuple(inp: Any, arg_name: str | None = None, fn_name: str | None = None) -> Any:
    """A tuple in any case; with names for the error, whether one was given as well."""
    if arg_name is None and fn_name is None:
        return inp if isinstance(inp, tuple) else (inp,)
    return _tensors(inp, str(arg_name), str(fn_name))


def _construct_standard_basis_for(
    tensors: Sequence[Tensor], tensor_numels: Sequence[int]
) -> tuple[Tensor, ...]:
    """For each tensor its part of the unit vectors of all elements together."""
    total = sum(tensor_numels)
    found, start = [], 0
    for tensor, count in zip(tensors, tensor_numels, strict=True):
        found.append(wrap(np.eye(total, count, -start, dtype=tensor._array.dtype)))
        start += count
    return tuple(found)


def _grad_postprocess(inputs: Any, create_graph: bool) -> Any:
    """Results without history, unless one is asked for."""
    if isinstance(inputs, tuple):
        return tuple(_grad_postprocess(each, create_graph) for each in inputs)
    return inputs if create_graph else inputs.detach()


def _tuple_postprocess(res: tuple[Any, ...], to_unpack: bool | tuple[bool, bool]) -> Any:
    """A single result where no tuple was given, of the outputs and then of the inputs."""
    if isinstance(to_unpack, tuple):
        outer, inner = to_unpack
        parts = res if inner else tuple(each[0] for each in res)
        return parts if outer else parts[0]
    return res if to_unpack else res[0]
