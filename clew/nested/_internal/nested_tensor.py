"""The class of nested tensors of the jagged layout, and the functions that make them."""

from __future__ import annotations

from typing import Any

from clew.core.size import SymInt
from clew.core.tensor import Tensor
from clew.ops.nested.construction import jagged_from_list, view_from_jagged
from clew.ops.nested.cuts import RAGGED_LENGTHS, Jagged
from clew.ops.nested.padding import from_padded
from clew.ops.nested.tensor import NestedTensor, nested, values_of

__all__ = [
    "NestedTensor",
    "buffer_from_jagged",
    "get_tensor_symint",
    "jagged_from_list",
    "nested_from_padded",
    "nested_view_from_values_offsets",
    "nested_view_from_values_offsets_lengths",
]


_tensor_symint_registry = RAGGED_LENGTHS


def get_tensor_symint(tensor: Tensor, *, coeff: int = 1) -> SymInt:
    """The ragged length of nested tensors that are cut by a tensor.

    Args:
        tensor: the offsets, or the lengths where there are gaps
        coeff: how many times that length

    Example:
        >>> from clew.nested._internal.nested_tensor import get_tensor_symint
        >>> x = clew.nested.nested_tensor([clew.ones(1), clew.ones(2)], layout=clew.jagged)
        >>> get_tensor_symint(x.offsets()) == x.shape[1]
        True
    """
    return RAGGED_LENGTHS.of(tensor) * coeff


def buffer_from_jagged(jagged: Any) -> Tensor:
    """The values of a nested tensor.

    Args:
        jagged: the nested tensor

    Example:
        >>> x = clew.nested.nested_tensor([clew.ones(1), clew.ones(2)], layout=clew.jagged)
        >>> clew.nested._internal.nested_tensor.buffer_from_jagged(x)
        tensor([1., 1., 1.])
    """
    return values_of(jagged)


def nested_view_from_values_offsets(
    values: Tensor,
    offsets: Tensor,
    ragged_idx: int = 1,
    min_seqlen: int | None = None,
    max_seqlen: int | None = None,
) -> Tensor:
    """A nested tensor that shares the memory of its values.

    Args:
        values: the elements
        offsets: where components begin, and where the last one ends
        ragged_idx: the ragged dimension
        min_seqlen: the least length, where it is known
        max_seqlen: the greatest length, where it is known
    """
    return view_from_jagged(values, offsets, None, ragged_idx, min_seqlen, max_seqlen)


def nested_view_from_values_offsets_lengths(
    values: Tensor,
    offsets: Tensor,
    lengths: Tensor | None,
    ragged_idx: int = 1,
    min_seqlen: int | None = None,
    max_seqlen: int | None = None,
) -> Tensor:
    """The same with gaps between components.

    Args:
        values: the elements
        offsets: where components begin, and where the last one ends
        lengths: how long they are
        ragged_idx: the ragged dimension
        min_seqlen: the least length, where it is known
        max_seqlen: the greatest length, where it is known
    """
    return view_from_jagged(values, offsets, lengths, ragged_idx, min_seqlen, max_seqlen)


def nested_from_padded(
    padded: Tensor,
    offsets: Tensor,
    ragged_idx: int = 1,
    min_seqlen: int | None = None,
    max_seqlen: int | None = None,
    sum_S: int | None = None,
) -> Tensor:
    """The components of a padded tensor, as long as offsets say.

    Args:
        padded: the padded tensor
        offsets: where components begin among the values, and where the last one ends
        ragged_idx: the ragged dimension
        min_seqlen: the least length, where it is known
        max_seqlen: the greatest length, where it is known
        sum_S: how many rows there are in all, which offsets say
    """
    lengths = {"min_seqlen": min_seqlen, "max_seqlen": max_seqlen}
    known = {name: n for name, n in lengths.items() if n is not None}
    cuts = Jagged(offsets, None, ragged_idx, known)
    return nested(from_padded(padded, cuts), cuts)
