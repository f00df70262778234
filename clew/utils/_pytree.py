"""Nested containers: their leaves as a list, and back. PyTorch's names, which `trees/` has."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from clew.utils.trees.flattening import (
    IsLeaf,
    LeafSpec,
    PyTree,
    TreeSpec,
    tree_all,
    tree_all_only,
    tree_any,
    tree_any_only,
    tree_flatten,
    tree_is_leaf,
    tree_iter,
    tree_leaves,
    tree_map,
    tree_map_,
    tree_map_only,
    tree_map_only_,
    tree_structure,
    tree_unflatten,
)
from clew.utils.trees.paths import (
    KeyEntry,
    KeyPath,
    _generate_key_paths,
    key_get,
    keystr,
    tree_flatten_with_path,
    tree_leaves_with_path,
    tree_map_with_path,
)
from clew.utils.trees.registry import (
    CONSTANT_NODES,
    SUPPORTED_NODES,
    Context,
    GetAttrKey,
    MappingKey,
    NodeDef,
    SequenceKey,
    _defaultdict_flatten,
    _defaultdict_flatten_with_keys,
    _defaultdict_unflatten,
    _deque_flatten,
    _deque_flatten_with_keys,
    _deque_unflatten,
    _deregister_pytree_node,
    _dict_flatten,
    _dict_flatten_with_keys,
    _dict_unflatten,
    _get_node_type,
    _is_namedtuple_instance,
    _list_flatten,
    _list_flatten_with_keys,
    _list_unflatten,
    _namedtuple_flatten,
    _namedtuple_flatten_with_keys,
    _namedtuple_unflatten,
    _odict_flatten,
    _odict_unflatten,
    _ordereddict_flatten,
    _ordereddict_flatten_with_keys,
    _ordereddict_unflatten,
    _private_register_pytree_node,
    _register_pytree_node,
    _tuple_flatten,
    _tuple_flatten_with_keys,
    _tuple_unflatten,
    is_constant_class,
    is_namedtuple,
    is_namedtuple_class,
    is_namedtuple_instance,
    is_structseq,
    is_structseq_class,
    is_structseq_instance,
    register_constant,
    register_dataclass,
    register_pytree_node,
)
from clew.utils.trees.text import treespec_dumps, treespec_loads, treespec_pprint

__all__ = [
    "CONSTANT_NODES", "Context", "GetAttrKey", "KeyEntry", "KeyPath", "LeafSpec", "MappingKey",
    "NodeDef", "PyTree", "PyTreeSpec", "SUPPORTED_NODES", "SequenceKey", "TreeSpec",
    "_broadcast_to_and_flatten", "_defaultdict_flatten", "_defaultdict_flatten_with_keys",
    "_defaultdict_unflatten", "_deque_flatten", "_deque_flatten_with_keys", "_deque_unflatten",
    "_deregister_pytree_node", "_dict_flatten", "_dict_flatten_with_keys", "_dict_unflatten",
    "_generate_key_paths", "_get_node_type", "_is_leaf", "_is_namedtuple_instance",
    "_list_flatten", "_list_flatten_with_keys", "_list_unflatten", "_namedtuple_flatten",
    "_namedtuple_flatten_with_keys", "_namedtuple_unflatten", "_odict_flatten", "_odict_unflatten",
    "_ordereddict_flatten", "_ordereddict_flatten_with_keys", "_ordereddict_unflatten",
    "_private_register_pytree_node", "_register_pytree_node", "_tuple_flatten",
    "_tuple_flatten_with_keys", "_tuple_unflatten", "arg_tree_leaves", "is_constant_class",
    "is_namedtuple", "is_namedtuple_class", "is_namedtuple_instance", "is_structseq",
    "is_structseq_class", "is_structseq_instance", "key_get", "keystr", "register_constant",
    "register_dataclass", "register_pytree_node", "tree_all", "tree_all_only", "tree_any",
    "tree_any_only", "tree_flatten", "tree_flatten_with_path", "tree_is_leaf", "tree_iter",
    "tree_leaves", "tree_leaves_with_path", "tree_map", "tree_map_", "tree_map_only",
    "tree_map_only_", "tree_map_with_path", "tree_structure", "tree_unflatten", "treespec_dict",
    "treespec_dumps", "treespec_leaf", "treespec_loads", "treespec_pprint", "treespec_tuple",
]  # fmt: skip

PyTreeSpec = TreeSpec
_is_leaf = tree_is_leaf


def arg_tree_leaves(*args: PyTree, **kwargs: PyTree) -> list[Any]:
    """The leaves of the arguments of a call."""
    return tree_leaves((args, kwargs))


def _broadcast_to_and_flatten(
    tree: PyTree, treespec: TreeSpec, is_leaf: IsLeaf = None
) -> list[Any] | None:
    """A value for each leaf of a structure, from a tree that may end earlier; None if unlike."""
    if tree_is_leaf(tree, is_leaf):
        return [tree] * treespec.num_leaves
    own = tree_structure(tree, lambda value: value is not tree)
    if treespec.is_leaf() or own.type is not treespec.type or own.context != treespec.context:
        return None
    found: list[Any] = []
    for child, spec in zip(tree_leaves(tree, lambda value: value is not tree), treespec.children()):
        below = _broadcast_to_and_flatten(child, spec, is_leaf)
        if below is None:
            return None
        found.extend(below)
    return found


def treespec_leaf() -> TreeSpec:
    """The structure of a single leaf."""
    return LeafSpec()


def treespec_tuple(iterable: Iterable[TreeSpec] = (), /) -> TreeSpec:
    """The structure of a tuple whose children have the given ones."""
    return TreeSpec(tuple, None, list(iterable))


def treespec_dict(mapping: Any = (), /, **kwargs: TreeSpec) -> TreeSpec:
    """The structure of a dict whose values have the given ones."""
    given = dict(mapping, **kwargs)
    return TreeSpec(dict, list(given), list(given.values()))
