"""All partial results of an operation that may be grouped as one likes: sums, products, states."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clew import errors
from clew.core.public import FUNCTIONS
from clew.utils._pytree import tree_flatten, tree_unflatten

__all__ = ["associative_scan"]


def associative_scan(
    combine_fn: Callable[[Any, Any], Any],
    xs: Any,
    dim: int,
    reverse: bool = False,
    combine_mode: str = "pointwise",
) -> Any:
    """Combine the slices of a dimension from the first one on, and keep every partial result.

    It takes as many steps as the length has binary digits; each combines all pairs at once.

    Args:
        combine_fn: an associative function of two values of the structure of `xs`
        xs: a tensor, or a nested structure of them, all of one length along `dim`
        dim: the dimension
        reverse: begin with the last slice
        combine_mode: "pointwise" or "generic"; there is one way

    Example:
        >>> from clew._higher_order_ops.associative_scan import associative_scan
        >>> associative_scan(lambda a, b: a + b, clew.tensor([1., 2., 3.]), 0)
        tensor([1., 3., 6.])
    """
    if not callable(combine_fn):
        raise ValueError("Combine_fn must be a callable, but got " + str(combine_fn))
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(f"combine_mode must be pointwise or generic, got {combine_mode}")
    leaves, spec = tree_flatten(xs)
    if not leaves:
        raise ValueError("Expected at least 1 xs leaf" + errors.at_user_line())
    if len({leaf.shape[dim] for leaf in leaves}) > 1:
        raise ValueError("xs must have the same length along dim" + errors.at_user_line())
    if reverse:
        leaves = [leaf.flip(dim) for leaf in leaves]

    def combined(left: list[Any], right: list[Any]) -> list[Any]:
        result = combine_fn(tree_unflatten(left, spec), tree_unflatten(right, spec))
        return tree_flatten(result)[0]

    length, step = leaves[0].shape[dim], 1
    while step < length:
        before = [leaf.narrow(dim, 0, length - step) for leaf in leaves]
        after = [leaf.narrow(dim, step, length - step) for leaf in leaves]
        rest = [leaf.narrow(dim, 0, step) for leaf in leaves]
        pairs = zip(rest, combined(before, after), strict=True)
        leaves = [FUNCTIONS["cat"](pair, dim) for pair in pairs]
        step *= 2
    if reverse:
        leaves = [leaf.flip(dim) for leaf in leaves]
    return tree_unflatten(leaves, spec)
