"""Where a module sits in its model, and what an error inside it says about that.

A module's place says, weakly, who registered it last and under which name. Its dotted path follows
from that, is computed at the first call and kept. A module with a known path has ancestors with
known paths, so that forgetting can stop at the first module without one.

Places are kept beside the modules, by identity: they are no part of a module's state, take no name
from its class, and leave its memory layout to other bases (`class Table(nn.Module, dict)`).
"""

from __future__ import annotations

import weakref
from types import TracebackType
from typing import TYPE_CHECKING, Any

from clew import errors
from clew.core.tensor import Tensor
from clew.observed import NotStrided
from clew.source import INTERNAL_PACKAGES

if TYPE_CHECKING:
    from clew.nn.modules.module import Module


class _Place(weakref.ref["Module"]):
    """Who registered a module, and under which name. It ends with the module."""

    __slots__ = ("key", "name", "owner")

    key: int
    name: str
    owner: weakref.ref[Module] | None


_places: dict[int, _Place] = {}
# The paths that are known, by the identity of their modules. Each of these has a place.
known: dict[int, str] = {}


def _place_of(module: Module) -> _Place:
    place = _places.get(id(module))
    if place is None:
        place = _places[id(module)] = _Place(module, _ended)
        place.key, place.name, place.owner = id(module), "", None
    return place


def _ended(place: _Place) -> None:
    known.pop(place.key, None)
    _places.pop(place.key, None)


def adopt(owner: Module, name: str, child: Module) -> None:
    """Note that `owner` has registered `child`."""
    place = _place_of(child)
    place.name, place.owner = name, weakref.ref(owner)
    forget(child)


def release(owner: Module, child: Module | None) -> None:
    """Note that `owner` has given `child` up."""
    if child is not None and owner_of(child) is owner:
        _place_of(child).owner = None
        forget(child)


def owner_of(module: Module) -> Module | None:
    """Who registered this module last; None for a root."""
    place = _places.get(id(module))
    return None if place is None or place.owner is None else place.owner()


def forget(module: Module) -> None:
    """Drop the known paths of a module and of everything inside it."""
    todo = [module]
    while todo:
        current = todo.pop()
        if known.pop(id(current), None) is not None:
            todo += [child for child in current._modules.values() if child is not None]


def path_of(module: Module) -> str:
    """`blocks.0.attn` from the root on; a root is called by the name of its class."""
    owner = owner_of(module)
    above = None if owner is None else known.get(id(owner))
    if owner is not None and above is not None:
        # The usual case: the owner is running.
        name = _place_of(module).name
        known[id(module)] = path = name if owner_of(owner) is None else f"{above}.{name}"
        return path
    chain: list[Module] = []
    current: Module | None = module
    while current is not None and not any(current is each for each in chain):
        chain.append(current)
        current = owner_of(current)
    root = chain.pop()
    path = known[_place_of(root).key] = type(root).__name__
    inner = ""
    for each in reversed(chain):
        place = _place_of(each)
        path = inner = f"{inner}.{place.name}" if inner else place.name
        known[place.key] = path
    return path


# -- errors ------------------------------------------------------------------------------------

_EXPLAINED = (RuntimeError, ValueError, IndexError, TypeError, AssertionError)


def tell_module(
    error: Exception, module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Add the innermost module's path and sizes to an error that clew itself has raised."""
    if hasattr(error, "module_path"):
        return
    error.module_path = known.get(id(module))  # type: ignore[attr-defined]  # for every later handler
    if not isinstance(error, _EXPLAINED) or not _is_own(error.__traceback__):
        return
    if len(error.args) == 1 and isinstance(error.args[0], str):
        text = error.args[0]
        if errors.AT not in text:
            # Raised without a line, as Python's own errors are: the line that called the module.
            text += errors.at_user_line()
        error.args = (text + _description(module, args, kwargs),)


def _is_own(trace: TracebackType | None) -> bool:
    """Whether the error comes from clew's code, not from the user's."""
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and trace.tb_frame.f_globals.get("__package__") in INTERNAL_PACKAGES


def _description(module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    shown = _shown(module)
    path = known.get(id(module))
    place = shown if path == shown else f"{path}: {shown}"
    lines = [f"\n  in module {place}"]
    values = [("", value) for value in args] + [(f"{key}=", kwargs[key]) for key in kwargs]
    shapes = [
        f"{name}{errors.shape_list(value._layout.shape)}"
        for name, value in values
        if isinstance(value, Tensor)
    ]
    if shapes:
        lines.append(f"  called with {', '.join(shapes)}")
    try:
        hint = module._mismatch(*args, **kwargs)
    except NotStrided:
        hint = ""  # layers compare the sizes of arrays, which nested and sparse inputs do not have
    if hint:
        lines.append(f"  {hint}")
    return "\n".join(lines)


def _shown(module: Module) -> str:
    """The module's class, with its sizes where they fit one line."""
    name = module._get_name()
    try:
        sizes = module.extra_repr()
    except Exception:
        # A user's `extra_repr` that fails must not hide the error that is being explained.
        return name
    return f"{name}({sizes})" if sizes and "\n" not in sizes else name
