"""Flattening nested arguments by the structure that a graph was traced with."""

from __future__ import annotations

from typing import Any

from clew.utils._pytree import TreeSpec


def tree_flatten_spec(pytree: Any, spec: TreeSpec) -> list[Any]:
    """The leaves of arguments that are nested as a structure says.

    Args:
        pytree: the arguments
        spec: the structure
    """
    return _flattened(pytree, spec)


def _flattened(tree: Any, spec: TreeSpec) -> list[Any]:
    if spec.is_leaf():
        return [tree]
    children = spec.children()
    if spec.type is dict:
        # In the order of the trace, whatever the caller's is.
        parts = [tree[key] for key in spec.context]
    elif spec.type in (list, tuple):
        # Arguments come in a list or a tuple, or in a proxy that is not iterated over.
        parts = [tree[place] for place in range(len(children))]
    else:
        return spec.flatten_up_to(tree)
    return [leaf for part, child in zip(parts, children, strict=True)
            for leaf in _flattened(part, child)]  # fmt: skip
