"""Trees with the path to each leaf: the steps from the root."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from clew.utils.trees.flattening import IsLeaf, PyTree, TreeSpec, tree_flatten, tree_is_leaf
from clew.utils.trees.registry import node_of

KeyEntry = Any
KeyPath = tuple[KeyEntry, ...]


def tree_flatten_with_path(
    tree: PyTree, is_leaf: IsLeaf = None
) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """The leaves, each with its path, and the structure."""
    spec = tree_flatten(tree, is_leaf)[1]
    return list(_generate_key_paths((), tree, is_leaf)), spec


def tree_leaves_with_path(tree: PyTree, is_leaf: IsLeaf = None) -> list[tuple[KeyPath, Any]]:
    """The leaves, each with its path."""
    return list(_generate_key_paths((), tree, is_leaf))


def _generate_key_paths(
    key_path: KeyPath, tree: PyTree, is_leaf: IsLeaf = None
) -> Iterator[tuple[KeyPath, Any]]:
    if tree_is_leaf(tree, is_leaf):
        yield key_path, tree
        return
    flatten = node_of(type(tree)).flatten_with_keys_fn
    if flatten is None:
        raise ValueError(
            f"Did not find a flatten_with_keys_fn for type: {type(tree)}. Please pass a "
            "flatten_with_keys_fn argument to register_pytree_node."
        )
    for key, child in flatten(tree)[0]:
        yield from _generate_key_paths((*key_path, key), child, is_leaf)


def tree_map_with_path(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """A tree of the same structure with `func(path, leaf, ...)`."""
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    paths, leaves = [path for path, _ in pairs], [leaf for _, leaf in pairs]
    columns = [paths, leaves, *(spec.flatten_up_to(rest) for rest in rests)]
    return spec.unflatten(map(func, *columns))


def keystr(kp: KeyPath) -> str:
    """A path as the text that follows the tree's name: `['a'][0].x`."""
    return "".join(map(str, kp))


def key_get(obj: Any, kp: KeyPath) -> Any:
    """What a path leads to."""
    for key in kp:
        obj = key.get(obj)
    return obj
