"""The classes that count as containers: how each is taken apart and put together again."""

from __future__ import annotations

import dataclasses
import sys
import threading
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from clew.forking import add_lock

Context = Any
Flatten = Callable[[Any], tuple[Iterable[Any], Context]]
Unflatten = Callable[[Iterable[Any], Context], Any]
FlattenWithKeys = Callable[[Any], tuple[list[tuple[Any, Any]], Context]]


class NodeDef(NamedTuple):
    """How a container is taken apart, into children and the rest, and put together again."""

    type: Any
    flatten_fn: Flatten
    unflatten_fn: Unflatten
    flatten_with_keys_fn: FlattenWithKeys | None


class SerializedNode(NamedTuple):
    """How a container's class and the rest of it are written as JSON."""

    name: str | None
    dump: Callable[[Context], Any] | None
    load: Callable[[Any], Context] | None


# -- the steps from a container to a child ---------------------------------------------------------


@dataclass(frozen=True)
class MappingKey:
    """The step to the value of a key."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        """The value there."""
        return mapping[self.key]


@dataclass(frozen=True)
class SequenceKey:
    """The step to the element at a position."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        """The element there."""
        return sequence[self.idx]


@dataclass(frozen=True)
class GetAttrKey:
    """The step to an attribute."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        """The value of the attribute."""
        return getattr(obj, self.name)


# -- the classes that are known from the start -----------------------------------------------------


def _tuple_flatten(d: tuple[Any, ...]) -> tuple[list[Any], Context]:
    return list(d), None


def _tuple_unflatten(values: Iterable[Any], context: Context) -> tuple[Any, ...]:
    return tuple(values)


def _list_flatten(d: list[Any]) -> tuple[list[Any], Context]:
    return d, None


def _list_unflatten(values: Iterable[Any], context: Context) -> list[Any]:
    return list(values)


def _list_flatten_with_keys(d: Any) -> tuple[list[tuple[Any, Any]], Context]:
    return [(SequenceKey(place), each) for place, each in enumerate(d)], None


_tuple_flatten_with_keys = _list_flatten_with_keys


def _dict_flatten(d: Mapping[Any, Any]) -> tuple[list[Any], Context]:
    return list(d.values()), list(d)


def _dict_unflatten(values: Iterable[Any], context: Context) -> dict[Any, Any]:
    return dict(zip(context, values, strict=True))


def _dict_flatten_with_keys(d: Any) -> tuple[list[tuple[Any, Any]], Context]:
    return [(MappingKey(key), value) for key, value in d.items()], list(d)


def _ordereddict_unflatten(values: Iterable[Any], context: Context) -> OrderedDict[Any, Any]:
    return OrderedDict(zip(context, values, strict=True))


_ordereddict_flatten = _odict_flatten = _dict_flatten
_odict_unflatten = _ordereddict_unflatten
_ordereddict_flatten_with_keys = _dict_flatten_with_keys


def _defaultdict_flatten(d: defaultdict[Any, Any]) -> tuple[list[Any], Context]:
    return list(d.values()), [d.default_factory, list(d)]


def _defaultdict_unflatten(values: Iterable[Any], context: Context) -> defaultdict[Any, Any]:
    factory, keys = context
    return defaultdict(factory, zip(keys, values, strict=True))


def _defaultdict_flatten_with_keys(d: Any) -> tuple[list[tuple[Any, Any]], Context]:
    return _dict_flatten_with_keys(d)[0], [d.default_factory, list(d)]


def _deque_flatten(d: deque[Any]) -> tuple[list[Any], Context]:
    return list(d), d.maxlen


def _deque_unflatten(values: Iterable[Any], context: Context) -> deque[Any]:
    return deque(values, maxlen=context)


def _deque_flatten_with_keys(d: Any) -> tuple[list[tuple[Any, Any]], Context]:
    return _list_flatten_with_keys(d)[0], d.maxlen


def _namedtuple_flatten(d: Any) -> tuple[list[Any], Context]:
    return list(d), type(d)


def _namedtuple_unflatten(values: Iterable[Any], context: Context) -> Any:
    return context(*values)


def _namedtuple_flatten_with_keys(d: Any) -> tuple[list[tuple[Any, Any]], Context]:
    return [(GetAttrKey(name), each) for name, each in zip(d._fields, d, strict=True)], type(d)


NAMEDTUPLE = NodeDef(
    tuple, _namedtuple_flatten, _namedtuple_unflatten, _namedtuple_flatten_with_keys
)
SUPPORTED_NODES: dict[type, NodeDef] = {
    each.type: each
    for each in (
        NodeDef(tuple, _tuple_flatten, _tuple_unflatten, _tuple_flatten_with_keys),
        NodeDef(list, _list_flatten, _list_unflatten, _list_flatten_with_keys),
        NodeDef(dict, _dict_flatten, _dict_unflatten, _dict_flatten_with_keys),
        NodeDef(
            OrderedDict,
            _ordereddict_flatten,
            _ordereddict_unflatten,
            _ordereddict_flatten_with_keys,
        ),
        NodeDef(
            defaultdict,
            _defaultdict_flatten,
            _defaultdict_unflatten,
            _defaultdict_flatten_with_keys,
        ),
        NodeDef(deque, _deque_flatten, _deque_unflatten, _deque_flatten_with_keys),
    )
}
SERIALIZED: dict[type, SerializedNode] = {
    each: SerializedNode(f"{each.__module__}.{each.__qualname__}", None, None)
    for each in (tuple, list, dict, OrderedDict, deque)
}
CONSTANT_NODES: set[type] = set()
_lock = add_lock(sys.modules[__name__], "_lock", threading.Lock)


# -- more classes ----------------------------------------------------------------------------------


def register_pytree_node(
    cls: type,
    flatten_fn: Flatten,
    unflatten_fn: Unflatten,
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Callable[[Context], Any] | None = None,
    from_dumpable_context: Callable[[Any], Context] | None = None,
    flatten_with_keys_fn: FlattenWithKeys | None = None,
) -> None:
    """Let objects of a class count as containers.

    Args:
        cls: the class
        flatten_fn: gives an object's children and what it is besides them
        unflatten_fn: makes an object of these
        serialized_type_name: the name of the class in `treespec_dumps`
        to_dumpable_context, from_dumpable_context: what an object is besides its children as
            something that JSON has, and back
        flatten_with_keys_fn: as `flatten_fn`, with the step to each child
    """
    with _lock:
        if cls in SUPPORTED_NODES:
            raise ValueError(f"{cls} is already registered as pytree node.")
        _private_register_pytree_node(
            cls,
            flatten_fn,
            unflatten_fn,
            serialized_type_name=serialized_type_name,
            to_dumpable_context=to_dumpable_context,
            from_dumpable_context=from_dumpable_context,
            flatten_with_keys_fn=flatten_with_keys_fn,
        )


def _private_register_pytree_node(
    cls: type,
    flatten_fn: Flatten,
    unflatten_fn: Unflatten,
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Callable[[Context], Any] | None = None,
    from_dumpable_context: Callable[[Any], Context] | None = None,
    flatten_with_keys_fn: FlattenWithKeys | None = None,
) -> None:
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise ValueError(
            f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or "
            "registered."
        )
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)
    SERIALIZED[cls] = SerializedNode(
        serialized_type_name, to_dumpable_context, from_dumpable_context
    )


def _register_pytree_node(
    cls: type,
    flatten_fn: Flatten,
    unflatten_fn: Unflatten,
    to_str_fn: Any = None,
    maybe_from_str_fn: Any = None,
    **serialization: Any,
) -> None:
    """The former name of `register_pytree_node`: a class may be registered again."""
    if cls in SUPPORTED_NODES:
        return
    register_pytree_node(cls, flatten_fn, unflatten_fn, **serialization)


def _deregister_pytree_node(cls: type) -> None:
    """Let objects of a class be leaves again."""
    with _lock:
        del SUPPORTED_NODES[cls]
        SERIALIZED.pop(cls, None)
        CONSTANT_NODES.discard(cls)


def register_dataclass(
    cls: type,
    *,
    field_names: list[str] | None = None,
    drop_field_names: list[str] | None = None,
    serialized_type_name: str | None = None,
) -> None:
    """Let objects of a dataclass count as containers of their fields.

    Args:
        cls: the dataclass
        field_names: the fields that are children; all that `__init__` takes if it is not given
        drop_field_names: fields that are not kept
        serialized_type_name: the name of the class in `treespec_dumps`
    """
    if field_names is None:
        if not dataclasses.is_dataclass(cls):
            raise ValueError(
                "field_names must be specified with a list of all fields used to initialize the "
                f"class, as it is not a dataclass: {cls}"
            )
        field_names = [each.name for each in dataclasses.fields(cls) if each.init]
    names = [name for name in field_names if name not in (drop_field_names or ())]

    def present(value: Any) -> tuple[list[str], list[str]]:
        given = [name for name in names if getattr(value, name) is not None]
        return given, [name for name in names if name not in given]

    def flatten(value: Any) -> tuple[list[Any], Context]:
        given, absent = present(value)
        return [getattr(value, name) for name in given], [given, absent]

    def flatten_with_keys(value: Any) -> tuple[list[tuple[Any, Any]], Context]:
        given, absent = present(value)
        return [(GetAttrKey(name), getattr(value, name)) for name in given], [given, absent]

    def unflatten(values: Iterable[Any], context: Context) -> Any:
        given, absent = context
        return cls(**dict(zip(given, values, strict=True)), **dict.fromkeys(absent))

    _private_register_pytree_node(
        cls,
        flatten,
        unflatten,
        serialized_type_name=serialized_type_name,
        flatten_with_keys_fn=flatten_with_keys,
    )


def register_constant(cls: type) -> None:
    """Let objects of a class count as containers without children.

    Args:
        cls: the class; its objects are compared and hashed by value
    """
    if getattr(cls, "__eq__", None) is object.__eq__:
        raise TypeError(
            "register_constant(cls) expects `cls` to have a non-default `__eq__` implementation."
        )
    if cls.__hash__ is None:
        raise TypeError(
            "register_constant(cls) expects `cls` to have a non-default `__hash__` implementation."
        )
    _private_register_pytree_node(
        cls,
        lambda value: ([], value),
        lambda values, context: context,
        flatten_with_keys_fn=lambda value: ([], value),
    )
    CONSTANT_NODES.add(cls)


def is_constant_class(cls: type) -> bool:
    """Whether objects of a class are containers without children."""
    return cls in CONSTANT_NODES


# -- questions about classes -----------------------------------------------------------------------


def is_namedtuple_class(cls: Any) -> bool:
    """Whether a class is a named tuple's."""
    return (
        isinstance(cls, type)
        and issubclass(cls, tuple)
        and isinstance(fields := getattr(cls, "_fields", None), tuple)
        and all(isinstance(name, str) for name in fields)
        and callable(getattr(cls, "_make", None))
        and callable(getattr(cls, "_asdict", None))
    )


def is_namedtuple_instance(obj: Any) -> bool:
    """Whether an object is a named tuple."""
    return is_namedtuple_class(type(obj))


_is_namedtuple_instance = is_namedtuple_instance


def is_namedtuple(obj: Any) -> bool:
    """Whether an object, or a class, is a named tuple."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_structseq_class(cls: Any) -> bool:
    """Whether a class is a struct sequence's, such as `torch.return_types.max`."""
    return (
        isinstance(cls, type)
        and cls.__bases__ == (tuple,)
        and not is_namedtuple_class(cls)
        and isinstance(getattr(cls, "n_sequence_fields", None), int)
        and isinstance(getattr(cls, "n_fields", None), int)
        and isinstance(getattr(cls, "n_unnamed_fields", None), int)
    )


def is_structseq_instance(obj: Any) -> bool:
    """Whether an object is a struct sequence."""
    return is_structseq_class(type(obj))


def is_structseq(obj: Any) -> bool:
    """Whether an object, or a class, is a struct sequence."""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


def node_of(cls: type) -> NodeDef | Any:
    """How objects of a class are taken apart; None if they are leaves."""
    found = SUPPORTED_NODES.get(cls)
    if found is None and issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return NAMEDTUPLE
    return found


def _get_node_type(tree: Any) -> Any:
    """The class of a container; `namedtuple` for those that are not registered."""
    node_type = type(tree)
    if node_type in SUPPORTED_NODES:
        return node_type
    return namedtuple_marker if is_namedtuple_class(node_type) else node_type


def namedtuple_marker() -> None:
    """Stands for all classes of named tuples."""


namedtuple_marker.__name__ = namedtuple_marker.__qualname__ = "namedtuple"
