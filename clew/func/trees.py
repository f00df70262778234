"""Nested containers of arguments and results; dataclasses are containers like any other."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from clew.core.tensor import Tensor
from clew.utils.trees.flattening import LeafSpec, TreeSpec, parts_of
from clew.utils.trees.registry import SUPPORTED_NODES, register_pytree_node

Leaves = list[Any]
Spec = TreeSpec


_LEAF = LeafSpec()


def flatten(tree: Any) -> tuple[Leaves, Spec]:
    """The leaves of a container, in order, and its structure."""
    leaves: Leaves = []
    return leaves, _spec_of(tree, leaves)


def _spec_of(tree: Any, leaves: Leaves) -> Spec:
    kind = type(tree)
    if not issubclass(kind, Tensor):
        _learn(kind)
        parts = parts_of(tree)
        if parts is not None:
            children, context = parts
            return TreeSpec(kind, context, [_spec_of(child, leaves) for child in children])
    leaves.append(tree)
    return _LEAF


def _learn(kind: Any) -> None:
    """Make a dataclass known as a container when it is first seen."""
    if kind not in SUPPORTED_NODES and hasattr(kind, "__dataclass_fields__"):
        names = [field.name for field in dataclasses.fields(kind) if field.init]
        register_pytree_node(
            kind,
            lambda value: ([getattr(value, name) for name in names], names),
            lambda parts, context: kind(**dict(zip(context, parts, strict=True))),
        )


def unflatten(leaves: Sequence[Any], spec: Spec) -> Any:
    """The container of a structure with other leaves."""
    return spec.unflatten(leaves)


def map_leaves(function: Callable[[Any], Any], tree: Any) -> Any:
    leaves, spec = flatten(tree)
    return unflatten([function(leaf) for leaf in leaves], spec)


def broadcast(prefix: Any, spec: Spec) -> Leaves | None:
    """A value for each leaf of a structure, from one for each of its parts or for all of it.

    None where the two do not fit.
    """
    own = flatten(prefix)[1]
    if own.is_leaf():
        return [prefix] * spec.num_leaves
    if spec.is_leaf():
        return None
    if (
        own.type is not spec.type
        or own.context != spec.context
        or own.num_children != spec.num_children
    ):
        return None
    leaves: Leaves = []
    parts = list(prefix.values()) if isinstance(prefix, dict) else _parts_of(prefix)
    for part, inner in zip(parts, spec.children_specs, strict=True):
        below = broadcast(part, inner)
        if below is None:
            return None
        leaves.extend(below)
    return leaves


def _parts_of(container: Any) -> Sequence[Any]:
    if isinstance(container, tuple | list):
        return container
    return [getattr(container, field.name) for field in dataclasses.fields(container)]
