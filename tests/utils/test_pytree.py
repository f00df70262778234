"""torch.utils._pytree: structures, paths, text, registration, and errors."""

from __future__ import annotations

import importlib
from collections import OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass
from typing import Any

from tests.twice import raised, twice

Pair = namedtuple("Pair", "x y")
TREES: dict[str, Any] = {
    "nested": {"b": (1, [2]), "a": 3},
    "leaf": 1,
    "none": None,
    "empty": [],
    "named": Pair(1, {"k": 2}),
    "ordered": OrderedDict(z=1, y=[2]),
    "default": defaultdict(list, a=1),
    "deque": deque([1, 2], maxlen=3),
}


def pytree(lib: Any) -> Any:
    return importlib.import_module(f"{lib.__name__}.utils._pytree")


@twice
def test_structures_and_paths(lib: Any) -> Any:
    p = pytree(lib)
    seen = []
    for tree in TREES.values():
        leaves, spec = p.tree_flatten(tree)
        pairs, same = p.tree_flatten_with_path(tree)
        seen.append(
            [
                leaves, str(spec), spec == same, hash(spec) == hash(same), spec.num_leaves,
                spec.num_nodes, spec.is_leaf(), p.tree_unflatten(leaves, spec) == tree,
                [(p.keystr(path), str(path), leaf, p.key_get(tree, path)) for path, leaf in pairs],
                p.treespec_pprint(spec), p.tree_is_leaf(tree),
                p.tree_map_with_path(lambda path, leaf: (p.keystr(path), leaf), tree),
            ]
        )  # fmt: skip
    return seen


@twice
def test_text_that_is_read_again(lib: Any) -> Any:
    p = pytree(lib)
    names = ("nested", "leaf", "empty", "ordered", "deque")
    texts = [p.treespec_dumps(p.tree_structure(TREES[name])) for name in names]
    again = [p.treespec_dumps(p.treespec_loads(text)) == text for text in texts]
    return [texts, again]


@twice
def test_trees_that_are_not_alike(lib: Any) -> Any:
    p = pytree(lib)

    def add(one: Any, other: Any) -> Any:
        return raised(lambda: p.tree_map(lambda a, b: a + b, one, other), words=12)

    spec = p.tree_structure([1, 2])
    return [
        add([1, 2], [1]), add([1, 2], (1, 2)), add({"a": 1}, {"b": 1}), add([1], 1),
        p.tree_map(lambda a, b: a - b, {"a": 1, "b": 2}, {"b": 20, "a": 10}),
        raised(lambda: p.tree_unflatten([1], spec), words=9),
        raised(lambda: p.tree_unflatten([1], 3), words=5),
        p._broadcast_to_and_flatten(1, spec), p._broadcast_to_and_flatten([1, 2], spec),
        p._broadcast_to_and_flatten((1, 2), spec),
    ]  # fmt: skip


@twice
def test_functions_of_leaves(lib: Any) -> Any:
    p = pytree(lib)
    tree = {"a": [1, 2.0], "b": ("s", None)}
    return [
        p.tree_leaves(tree), list(p.tree_iter(tree)), p.tree_map_only(int, lambda v: v + 1, tree),
        p.tree_map_only((int, float), lambda v: v + 1, tree), p.tree_all(lambda v: v, [1, 0]),
        p.tree_any(lambda v: v, [1, 0]), p.tree_all_only(int, lambda v: v > 0, tree),
        p.tree_any_only(str, lambda v: v == "s", tree), p.arg_tree_leaves(1, [2], k=3),
        p.tree_leaves(tree, is_leaf=lambda v: isinstance(v, list)),
    ]  # fmt: skip


@twice
def test_more_classes(lib: Any) -> Any:
    p = pytree(lib)

    class Box:
        def __init__(self, inside: Any) -> None:
            self.inside = inside

    @dataclass
    class Point:
        x: Any
        y: Any
        z: Any = None

    p.register_pytree_node(
        Box,
        lambda box: ([box.inside], None),
        lambda parts, _: Box(*parts),
        flatten_with_keys_fn=lambda box: ([(p.GetAttrKey("inside"), box.inside)], None),
    )
    p.register_dataclass(Point)
    paths = [p.keystr(path) for path, _ in p.tree_leaves_with_path(Box([Point(1, [2])]))]
    mapped = p.tree_map(lambda v: v * 10, Point(1, 2))
    return [
        paths, (mapped.x, mapped.y, mapped.z), p.tree_leaves(Box(3)),
        raised(lambda: p.register_pytree_node(Box, None, None), words=0),
        p.is_namedtuple(Pair(1, 2)), p.is_namedtuple_class(Pair), p.is_namedtuple((1, 2)),
        p.is_structseq((1, 2)), p._get_node_type([1]) is list,
    ]  # fmt: skip
