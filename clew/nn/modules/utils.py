"""Small helpers for the arguments of layers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any, TypeVar

C = TypeVar("C", bound=type[Any])

# A size for all spatial dimensions, or one for each.
Sizes = int | tuple[int, ...]


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    """A function that repeats a number `n` times and turns any sequence into a tuple."""

    def parse(x: Any) -> tuple[Any, ...]:
        return tuple(x) if isinstance(x, Iterable) else (x,) * n

    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t: tuple[Any, ...], n: int) -> tuple[Any, ...]:
    """Each element `n` times, last element first: how `pad` orders its amounts."""
    return tuple(x for x in reversed(t) for _ in range(n))


def _list_with_default(out_size: Any, defaults: list[int]) -> Any:
    """Sizes with each None replaced by the size of the same dimension from the end."""
    if isinstance(out_size, (int, float)):
        return out_size  # one number stands for all dimensions
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    own = defaults[-len(out_size) :]
    return [default if size is None else size for size, default in zip(out_size, own, strict=True)]


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Take a prefix such as `module.` off the keys of a state dict, in place."""
    for key in list(state_dict):
        if key.startswith(prefix):
            state_dict[key[len(prefix) :]] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", None)
    if metadata is None:
        return
    for key in list(metadata):
        # The module's own entry has no dot after its name.
        if not key:
            continue
        if key == prefix.removesuffix("."):
            metadata[""] = metadata.pop(key)
        elif key.startswith(prefix):
            metadata[key[len(prefix) :]] = metadata.pop(key)


def _named(module: object, *names: str) -> str:
    """The given attributes as they stand in a repr."""
    return ", ".join(f"{name}={getattr(module, name)}" for name in names)


def _own_constructor(kind: C) -> C:
    """Give a class its own copy of the `__init__` it inherits from a family's base.

    Python's errors about arguments then name the class that the user has called.
    """
    inherited = kind.__init__
    own = FunctionType(
        inherited.__code__,
        inherited.__globals__,
        inherited.__name__,
        inherited.__defaults__,
        inherited.__closure__,
    )
    own.__kwdefaults__ = inherited.__kwdefaults__
    own.__annotations__ = inherited.__annotations__
    own.__qualname__ = f"{kind.__qualname__}.{inherited.__name__}"
    kind.__init__ = own
    return kind
