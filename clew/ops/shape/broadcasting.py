"""Shapes that broadcast to one: broadcast_to, broadcast_shapes, broadcast_tensors."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from clew import errors
from clew.core.public import public
from clew.core.tensor import Size, Tensor
from clew.ops.define.dims import shape_argument
from clew.ops.shape.views import expand

# The usual ones first: asking an abstract class takes longer.
_SEQUENCES = (tuple, list, Sequence)


@public(out=False)
def broadcast_to(input: Tensor, *args: Any, size: Any = None) -> Tensor:
    """Expand to a shape, without a copy; see `Tensor.expand`.

    Args:
        input: any tensor
        size: the new shape: a tuple, or as arguments of their own

    Example:
        >>> clew.broadcast_to(clew.tensor([1, 2, 3]), (2, 3))
        tensor([[1, 2, 3],
                [1, 2, 3]])
    """
    return expand(input, shape_argument(args, size, "broadcast_to", "size"))


@public(method=False, out=False)
def broadcast_shapes(*shapes: Any) -> Size:
    """The shape that tensors of these shapes broadcast to.

    Args:
        shapes: tuples of sizes, or numbers for vectors

    Example:
        >>> clew.broadcast_shapes((3, 1), (2,))
        torch.Size([3, 2])
    """
    result: list[int] = []
    for position, shape in enumerate(shapes):
        is_sequence = isinstance(shape, _SEQUENCES)
        if not is_sequence and not hasattr(type(shape), "__index__"):
            raise RuntimeError(
                "Input shapes should be of type ints, a tuple of ints, or a list of ints, got "
                f"{shape}" + errors.at_user_line()
            )
        sizes = list(shape) if is_sequence else [operator.index(shape)]
        result = [1] * (len(sizes) - len(result)) + result
        for back, n in enumerate(reversed(sizes), 1):
            if n < 0:
                raise ValueError(
                    f"Attempting to broadcast a dimension with negative length! It is {n} in "
                    f"{tuple(sizes)}" + errors.at_user_line()
                )
            if n != 1 and result[-back] not in (1, n):
                raise RuntimeError(
                    f"Attempting to broadcast a dimension of length {n} at {-back}! Mismatching "
                    f"argument at index {position} had {tuple(sizes)}; but expected shape should "
                    f"be broadcastable to {errors.shape_list(result)}" + errors.at_user_line()
                )
            result[-back] = n if result[-back] == 1 else result[-back]
    return Size(result)


@public(method=False, out=False)
def broadcast_tensors(*tensors: Tensor | Sequence[Tensor]) -> tuple[Tensor, ...]:
    """All tensors expanded to their common shape, as views.

    Args:
        tensors: the tensors, as arguments or in one sequence

    Example:
        >>> rows, columns = clew.broadcast_tensors(clew.tensor([[1], [2]]), clew.tensor([3, 4, 5]))
        >>> columns
        tensor([[3, 4, 5],
                [3, 4, 5]])
    """
    listed: Any = tensors
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        listed = tensors[0]
    shape: tuple[int, ...] = ()
    for tensor in listed:
        other = tensor._array.shape
        if other == shape or not other:
            continue
        if not shape:
            shape = other
            continue
        mismatch = errors.broadcast_mismatch("broadcast_tensors", shape, other)
        if mismatch is not None:
            raise mismatch
        shape = tuple(broadcast_shapes(shape, other))
    return tuple(each if each._array.shape == shape else expand(each, shape) for each in listed)
