"""Structures of trees as text: JSON that can be read again, and a form for people."""

from __future__ import annotations

import json
from collections import defaultdict
from enum import Enum
from importlib import import_module
from typing import Any

from clew.utils.trees.flattening import LeafSpec, TreeSpec
from clew.utils.trees.registry import NAMEDTUPLE, SERIALIZED, node_of

_PROTOCOL = 1
_BY_NAME = "collections.namedtuple"


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """A structure as JSON.

    Args:
        treespec: the structure
        protocol: the version of the form; there is one
    """
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            "treespec_dumps(treespec, protocol): Expected `treespec` to be instance of TreeSpec "
            f"but got item of type {type(treespec)}."
        )
    if protocol not in (None, _PROTOCOL):
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [{_PROTOCOL}]")
    return json.dumps((_PROTOCOL, _dumped(treespec)))


def _dumped(spec: TreeSpec) -> dict[str, Any]:
    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    if node_of(spec.type) is NAMEDTUPLE:
        name, context = _BY_NAME, json.dumps(_class_name(spec.context))
    elif spec.type is defaultdict:
        factory, keys = spec.context
        name = "collections.defaultdict"
        written = None if factory is None else _class_name(factory)
        context = json.dumps({"default_factory": written, "keys": keys})
    else:
        name, context = _dumped_class(spec)
    return {"type": name, "context": context, "children_spec": list(map(_dumped, spec.children()))}


def _dumped_class(spec: TreeSpec) -> tuple[str, Any]:
    known = SERIALIZED.get(spec.type)
    if known is None or known.name is None:
        raise NotImplementedError(
            f"No registered serialization name for {spec.type} found. Please update your "
            "_register_pytree_node call with a `serialized_type_name` kwarg."
        )
    if known.dump is not None:
        return known.name, known.dump(spec.context)
    try:
        return known.name, json.dumps(spec.context, default=_enum)
    except TypeError as error:
        raise TypeError(
            "Unable to serialize context. Please make the context json dump-able, or register a "
            "custom serializer using _register_pytree_node."
        ) from error


def _enum(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    raise TypeError(f"{value!r} has no form in JSON")


def _class_name(cls: Any) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def _class_of(name: str) -> Any:
    module, _, attribute = name.rpartition(".")
    return getattr(import_module(module), attribute)


def treespec_loads(serialized: str) -> TreeSpec:
    """The structure of a text that `treespec_dumps` wrote.

    Args:
        serialized: the text
    """
    protocol, written = json.loads(serialized)
    if protocol != _PROTOCOL:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [{_PROTOCOL}]")
    return _loaded(written)


def _loaded(written: dict[str, Any]) -> TreeSpec:
    name = written["type"]
    if name is None:
        return LeafSpec()
    children = [_loaded(each) for each in written["children_spec"]]
    if name == _BY_NAME:
        cls = _class_of(json.loads(written["context"]))
        return TreeSpec(cls, cls, children)
    if name == "collections.defaultdict":
        given = json.loads(written["context"])
        factory = given["default_factory"]
        context = [None if factory is None else _class_of(factory), given["keys"]]
        return TreeSpec(defaultdict, context, children)
    for cls, known in SERIALIZED.items():
        if known.name == name:
            load = known.load or json.loads
            return TreeSpec(cls, load(written["context"]), children)
    raise NotImplementedError(
        f"Deserializing `{name}` in pytree is not registered; import the module that registers it."
    )


def treespec_pprint(treespec: TreeSpec) -> str:
    """The tree with `*` for each leaf."""
    return repr(treespec.unflatten([_Star()] * treespec.num_leaves))


class _Star:
    """Stands for a leaf."""

    def __repr__(self) -> str:
        return "*"
