"""Gradient checks of functions with sparse or nested inputs or outputs: by way of their values."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from clew.core.tensor import Tensor


def has_sparse(values: tuple[Any, ...]) -> bool:
    """Whether a tensor among some values is sparse or nested."""
    return any(isinstance(value, Tensor) and value._is_unstrided for value in values)


def over_values(
    func: Callable[..., Any], inputs: tuple[Any, ...]
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A function of the values of sparse inputs, with strided results, and its inputs.

    Only listed elements are moved, and only their gradients are compared.
    """
    templates: list[Any] = []
    strided: list[Any] = []
    for value in inputs:
        if has_sparse((value,)) and value.requires_grad:
            source = value.detach()
            if value.is_nested:
                templates.append(functools.partial(_with_values, source))
                strided.append(source.values().clone().requires_grad_())
                continue
            if value.layout.name == "sparse_coo":
                source = source.coalesce()
            templates.append(functools.partial(_with_elements, source))
            strided.append(source.values().clone().requires_grad_())
        else:
            templates.append(None)
            strided.append(value)

    def through(*values: Any) -> Any:
        made = [
            value if make is None else make(value)
            for make, value in zip(templates, values, strict=True)
        ]
        results = func(*made)
        if isinstance(results, (list, tuple)):
            return tuple(_strided(each) for each in results)
        return _strided(results)

    return through, tuple(strided)


def _strided(value: Any) -> Any:
    if not has_sparse((value,)):
        return value
    return value.values() if value.is_nested else value.to_dense(masked_grad=False)


def _with_elements(places: Tensor, values: Tensor) -> Tensor:
    """A sparse tensor that lists other elements at the same places."""
    from clew.ops.sparse.core_ops import SPARSE

    result: Tensor = SPARSE(values, places=places)
    return result


def _with_values(like: Any, values: Tensor) -> Tensor:
    """A nested tensor with other elements."""
    from clew.ops.nested.tensor import nested

    return nested(values, like._cuts)
