"""Nested containers of arguments and results: taken apart into leaves, and put together again."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

Leaves = list[Any]


class Spec:
    """The structure of a container: its kind, what else it is made of, its parts' structures."""

    __slots__ = ("context", "kind", "parts")

    def __init__(self, kind: Any, context: Any, parts: tuple[Spec, ...]) -> None:
        self.kind = kind
        self.context = context
        self.parts = parts

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Spec)
            and self.kind is other.kind
            and self.context == other.context
            and self.parts == other.parts
        )

    __hash__ = None  # type: ignore[assignment]  # compared, never looked up

    @property
    def count(self) -> int:
        """The number of leaves."""
        return 1 if self.kind is None else sum(part.count for part in self.parts)

    def __repr__(self) -> str:
        if self.kind is None:
            return "*"
        parts = ", ".join(map(repr, self.parts))
        return f"TreeSpec({self.kind.__name__}, {self.context}, [{parts}])"


LEAF = Spec(None, None, ())


def _take_apart(tree: Any) -> tuple[Any, Any, Sequence[Any]] | None:
    """(kind, context, parts) of a container; None for a leaf."""
    kind = type(tree)
    if kind is tuple or kind is list:
        return kind, None, tree
    if kind in (dict, OrderedDict, defaultdict):
        extra = tree.default_factory if kind is defaultdict else None
        return kind, (tuple(tree), extra), list(tree.values())
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return kind, None, tree
    if isinstance(tree, tuple) and kind.__module__.startswith("clew") and hasattr(kind, "n_fields"):
        return kind, None, tree
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        names = tuple(field.name for field in dataclasses.fields(tree) if field.init)
        return kind, names, [getattr(tree, name) for name in names]
    return None


def flatten(tree: Any) -> tuple[Leaves, Spec]:
    """The leaves of a container, in order, and its structure."""
    found = _take_apart(tree)
    if found is None:
        return [tree], LEAF
    kind, context, parts = found
    leaves: Leaves = []
    specs = []
    for part in parts:
        inner, spec = flatten(part)
        leaves.extend(inner)
        specs.append(spec)
    return leaves, Spec(kind, context, tuple(specs))


def unflatten(leaves: Sequence[Any], spec: Spec) -> Any:
    """The container of a structure with other leaves."""
    return _build(iter(leaves), spec)


def _build(leaves: Any, spec: Spec) -> Any:
    if spec.kind is None:
        return next(leaves)
    parts = [_build(leaves, part) for part in spec.parts]
    kind, context = spec.kind, spec.context
    if kind is tuple or kind is list:
        return kind(parts)
    if kind is defaultdict:
        return defaultdict(context[1], zip(context[0], parts, strict=True))
    if kind is dict or kind is OrderedDict:
        return kind(zip(context[0], parts, strict=True))
    if context is not None:
        return kind(**dict(zip(context, parts, strict=True)))
    return kind(*parts) if hasattr(kind, "_fields") else kind(parts)


def map_leaves(function: Callable[[Any], Any], tree: Any) -> Any:
    leaves, spec = flatten(tree)
    return unflatten([function(leaf) for leaf in leaves], spec)


def leaves_of(tree: Any) -> Leaves:
    return flatten(tree)[0]


def broadcast(prefix: Any, spec: Spec) -> Leaves | None:
    """A value for each leaf of a structure, from one for each of its parts or for all of it.

    None where the two do not fit.
    """
    if prefix is None or isinstance(prefix, int):
        return [prefix] * spec.count
    found = _take_apart(prefix)
    if found is None or spec.kind is None:
        return None
    kind, context, parts = found
    same_kind = kind is spec.kind or (kind in (tuple, list) and spec.kind in (tuple, list))
    if not same_kind or context != spec.context or len(parts) != len(spec.parts):
        return None
    leaves: Leaves = []
    for part, inner in zip(parts, spec.parts, strict=True):
        below = broadcast(part, inner)
        if below is None:
            return None
        leaves.extend(below)
    return leaves
