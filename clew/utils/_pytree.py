"""Nested containers: their leaves as a list, and back."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

__all__ = [
    "LeafSpec", "PyTree", "TreeSpec", "register_pytree_node", "tree_all", "tree_all_only",
    "tree_any", "tree_any_only", "tree_flatten", "tree_iter", "tree_leaves", "tree_map",
    "tree_map_", "tree_map_only", "tree_map_only_", "tree_structure", "tree_unflatten",
]  # fmt: skip

PyTree = Any
Context = Any
IsLeaf = Callable[[Any], bool] | None


class _Kind(NamedTuple):
    """How a container is taken apart, into children and the rest, and put together again."""

    flatten: Callable[[Any], tuple[Iterable[Any], Context]]
    unflatten: Callable[[Iterable[Any], Context], Any]


def _flatten_dict(value: Any) -> tuple[list[Any], Context]:
    return list(value.values()), list(value)


_NAMEDTUPLE = _Kind(lambda value: (list(value), type(value)), lambda parts, kind: kind(*parts))
_KINDS: dict[type, _Kind] = {
    tuple: _Kind(lambda value: (list(value), None), lambda parts, _: tuple(parts)),
    list: _Kind(lambda value: (value, None), lambda parts, _: list(parts)),
    dict: _Kind(_flatten_dict, lambda parts, keys: dict(zip(keys, parts))),
    OrderedDict: _Kind(_flatten_dict, lambda parts, keys: OrderedDict(zip(keys, parts))),
    defaultdict: _Kind(
        lambda value: (list(value.values()), [value.default_factory, list(value)]),
        lambda parts, context: defaultdict(context[0], zip(context[1], parts)),
    ),
    deque: _Kind(
        lambda value: (list(value), value.maxlen), lambda parts, size: deque(parts, maxlen=size)
    ),
}


def register_pytree_node(
    cls: type,
    flatten_fn: Callable[[Any], tuple[list[Any], Context]],
    unflatten_fn: Callable[[Iterable[Any], Context], Any],
    **serialization: Any,
) -> None:
    """Let objects of a class count as containers."""
    if cls in _KINDS:
        raise ValueError(f"{cls} is already registered as pytree node.")
    _KINDS[cls] = _Kind(flatten_fn, unflatten_fn)


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
        return _kind_of(self.type).unflatten(children, self.context)

    def flatten_up_to(self, tree: PyTree) -> list[PyTree]:
        """The parts of another tree that stand where this one has its leaves."""
        if self.is_leaf():
            return [tree]
        children, context = _parts(tree) or ([], None)
        if type(tree) is not self.type or context != self.context:
            raise ValueError(f"Node type mismatch: expected {self}, but got {tree!r}.")
        pairs = zip(self.children_specs, children, strict=True)
        return [part for spec, child in pairs for part in spec.flatten_up_to(child)]

    def __repr__(self, indent: int = 0) -> str:
        if self.is_leaf():
            return "*"
        name = "namedtuple" if _kind_of(self.type) is _NAMEDTUPLE else self.type.__name__
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


def _kind_of(cls: type) -> _Kind | Any:
    found = _KINDS.get(cls)
    if found is None and issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return _NAMEDTUPLE
    return found


def _parts(tree: PyTree) -> tuple[list[Any], Context] | None:
    kind = _kind_of(type(tree))
    if kind is None:
        return None
    children, context = kind.flatten(tree)
    return list(children), context


def tree_flatten(tree: PyTree, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """The leaves, and the shape they stood in."""
    leaves: list[Any] = []
    return leaves, _flatten_into(leaves, tree, is_leaf)


def _flatten_into(leaves: list[Any], tree: PyTree, is_leaf: IsLeaf) -> TreeSpec:
    parts = None if is_leaf is not None and is_leaf(tree) else _parts(tree)
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
            "tree_unflatten(leaves, treespec): Expected `treespec` to be instance of TreeSpec but "
            f"got item of type {type(treespec)}."
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
