"""A tree's leaves as a list and back, functions of all leaves, and the structure as an object."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from clew.utils.trees.registry import (
    NAMEDTUPLE,
    Context,
    node_of,
)

PyTree = Any
IsLeaf = Callable[[Any], bool] | None
_DICTS = ("dict", "OrderedDict", "defaultdict")


@dataclass(frozen=True)
class TreeSpec:
    """The shape of a tree: a container's class, what it is besides its children, and theirs."""

    type: Any
    context: Context
    children_specs: list[TreeSpec]

    @property
    def num_children(self) -> int:
        return len(self.children_specs)

    @property
    def num_leaves(self) -> int:
        return sum(child.num_leaves for child in self.children_specs)

    @property
    def num_nodes(self) -> int:
        return 1 + sum(child.num_nodes for child in self.children_specs)

    def is_leaf(self) -> bool:
        return self.type is None

    def unflatten(self, leaves: Iterable[Any]) -> PyTree:
        """The tree of this shape with the given leaves."""
        given = list(leaves)
        if len(given) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(given)} but the spec refers "
                f"to a pytree that holds {self.num_leaves} items ({self})."
            )
        return self._build(iter(given))

    def _build(self, leaves: Any) -> PyTree:
        if self.is_leaf():
            return next(leaves)
        children = [child._build(leaves) for child in self.children_specs]
        return node_of(self.type).unflatten_fn(children, self.context)

    def children(self) -> list[TreeSpec]:
        """The structures of the children."""
        return list(self.children_specs)

    def child(self, index: int) -> TreeSpec:
        """The structure of one child."""
        return self.children_specs[index]

    def flatten_up_to(self, tree: PyTree) -> list[PyTree]:
        """The parts of another tree that stand where this one has its leaves."""
        if self.is_leaf():
            return [tree]
        children, context = parts_of(tree) or ([], None)
        self._check_alike(tree, children, context)
        if self._is_dict():
            # Of dicts the keys count, not their order.
            children = [tree[key] for key in self._keys()]
        pairs = zip(self.children_specs, children, strict=True)
        return [part for spec, child in pairs for part in spec.flatten_up_to(child)]

    def _is_dict(self) -> bool:
        return self.type.__name__ in _DICTS and node_of(self.type) is not NAMEDTUPLE

    def _keys(self) -> list[Any]:
        return self.context[1] if self.type.__name__ == "defaultdict" else self.context

    def _check_alike(self, tree: PyTree, children: list[Any], context: Context) -> None:
        both_dicts = self._is_dict() and isinstance(tree, dict) and node_of(type(tree)) is not None
        if type(tree) is not self.type and not both_dicts:
            raise ValueError(f"Node type mismatch; expected {self.type!r}, but got {type(tree)!r}.")
        if len(children) != self.num_children:
            raise ValueError(
                f"Node arity mismatch; expected {self.num_children}, but got {len(children)}."
            )
        if both_dicts:
            missing, extra = set(self._keys()) - set(tree), set(tree) - set(self._keys())
            if missing or extra:
                said = [f"missing key(s): {missing}"] if missing else []
                said += [f"extra key(s): {extra}"] if extra else []
                raise ValueError(f"Node keys mismatch; {'; '.join(said)}.")
        elif context != self.context:
            raise ValueError(
                f"Node context mismatch for custom node type {self.type!r}; "
                f"expected {self.context!r}, but got {context!r}."
            )

    def __hash__(self) -> int:
        context = self._keys() if not self.is_leaf() and self._is_dict() else self.context
        return hash((self.type, repr(context), tuple(self.children_specs)))

    def __repr__(self, indent: int = 0) -> str:
        if self.is_leaf():
            return "*"
        name = "namedtuple" if node_of(self.type) is NAMEDTUPLE else self.type.__name__
        children = f",\n{' ' * (indent + 2)}".join(
            child.__repr__(indent + 2) for child in self.children_specs
        )
        return f"TreeSpec({name}, {self.context}, [{children}])"


class LeafSpec(TreeSpec):
    """The shape of a single leaf."""

    def __init__(self) -> None:
        super().__init__(None, None, [])

    @property
    def num_leaves(self) -> int:
        return 1


def parts_of(tree: PyTree) -> tuple[list[Any], Context] | None:
    """The children of a container and what it is besides; None for a leaf."""
    node = node_of(type(tree))
    if node is None:
        return None
    children, context = node.flatten_fn(tree)
    return list(children), context


def tree_is_leaf(tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether a value is a leaf."""
    return (is_leaf is not None and is_leaf(tree)) or node_of(type(tree)) is None


def tree_flatten(tree: PyTree, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """The leaves, and the shape they stood in."""
    leaves: list[Any] = []
    return leaves, _flatten_into(leaves, tree, is_leaf)


def _flatten_into(leaves: list[Any], tree: PyTree, is_leaf: IsLeaf) -> TreeSpec:
    parts = None if is_leaf is not None and is_leaf(tree) else parts_of(tree)
    if parts is None:
        leaves.append(tree)
        return LeafSpec()
    children, context = parts
    specs = [_flatten_into(leaves, child, is_leaf) for child in children]
    return TreeSpec(type(tree), context, specs)


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """The tree of a shape with the given leaves."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            "Expected `treespec` to be an instance of PyTreeSpec but got item of type "
            f"{type(treespec)}."
        )
    return treespec.unflatten(leaves)


def tree_leaves(tree: PyTree, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves alone."""
    return tree_flatten(tree, is_leaf)[0]


def tree_iter(tree: PyTree, is_leaf: IsLeaf = None) -> Iterable[Any]:
    """The leaves, one after the other."""
    return iter(tree_leaves(tree, is_leaf))


def tree_structure(tree: PyTree, is_leaf: IsLeaf = None) -> TreeSpec:
    """The shape alone."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """A tree of the same shape with `func` of the leaves that stand at the same place."""
    leaves, spec = tree_flatten(tree, is_leaf)
    columns = [leaves, *(spec.flatten_up_to(rest) for rest in rests)]
    return spec.unflatten(map(func, *columns))


def tree_map_(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """Call `func` with the leaves that stand at the same place, and return the tree as it is."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def _chooser(wanted: Any) -> Callable[[Any], bool]:
    """A test from a class, several classes, or a function."""
    if callable(wanted) and not isinstance(wanted, type):
        return wanted
    return lambda value: isinstance(value, wanted)


def tree_map_only(
    type_or_types_or_pred: Any,
    /,
    func: Callable[[Any], Any],
    tree: PyTree,
    is_leaf: IsLeaf = None,
) -> PyTree:
    """As `tree_map`, for the leaves of some classes; the others stay."""
    chosen = _chooser(type_or_types_or_pred)
    return tree_map(lambda leaf: func(leaf) if chosen(leaf) else leaf, tree, is_leaf=is_leaf)


def tree_map_only_(
    type_or_types_or_pred: Any,
    /,
    func: Callable[[Any], Any],
    tree: PyTree,
    is_leaf: IsLeaf = None,
) -> PyTree:
    """Call `func` with the leaves of some classes, and return the tree as it is."""
    tree_map_only(type_or_types_or_pred, func, tree, is_leaf)
    return tree


def tree_all(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether all leaves pass."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether a leaf passes."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


def tree_all_only(
    type_or_types: Any, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None
) -> bool:
    """Whether all leaves of some classes pass."""
    chosen = _chooser(type_or_types)
    return all(pred(leaf) for leaf in tree_leaves(tree, is_leaf) if chosen(leaf))


def tree_any_only(
    type_or_types: Any, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None
) -> bool:
    """Whether a leaf of some classes passes."""
    chosen = _chooser(type_or_types)
    return any(pred(leaf) for leaf in tree_leaves(tree, is_leaf) if chosen(leaf))
