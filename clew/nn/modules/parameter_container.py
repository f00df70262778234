"""Containers of parameters: ParameterList and ParameterDict."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from clew.core.tensor import Tensor
from clew.nn.modules.module import Module
from clew.nn.parameter import Parameter

__all__ = ["ParameterDict", "ParameterList"]


class _ParameterContainer(Module):
    """Values as attributes, where tensors become parameters and anything else stays as it is."""

    _kind: str

    def _put(self, name: str, value: Any) -> None:
        if isinstance(value, Tensor) and not isinstance(value, Parameter):
            value = Parameter(value)
        setattr(self, name, value)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"{self._kind} should not be called.")


def _described(value: Any, type_name: Callable[[Tensor], str]) -> str:
    if not isinstance(value, Tensor):
        return f"Object of type: {type(value).__name__}"
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    sizes = "x".join(map(str, value.size()))
    return f"{kind} containing: [{type_name(value)} of size {sizes}]"


class ParameterList(_ParameterContainer):
    """A list of parameters, all of them registered.

    Args:
        values: the tensors to start with; each becomes a parameter

    Example:
        >>> scales = nn.ParameterList([clew.ones(2), clew.zeros(3)])
        >>> [tuple(each.shape) for each in scales]
        [(2,), (3,)]
    """

    _kind = "ParameterList"

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def _get_abs_string_index(self, idx: int) -> str:
        position, size = operator.index(idx), len(self)
        if not -size <= position < size:
            raise IndexError(f"index {position} is out of range")
        return str(position % size)

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            part = type(self)()
            return part.extend([self[number] for number in range(*idx.indices(len(self)))])
        return getattr(self, self._get_abs_string_index(idx))

    def __setitem__(self, idx: int, param: Any) -> None:
        self._put(self._get_abs_string_index(idx), param)

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return (self[number] for number in range(len(self)))

    def __iadd__(self, parameters: Iterable[Any]) -> Any:
        return self.extend(parameters)

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]

    def append(self, value: Any) -> ParameterList:
        """Add a value at the end."""
        self._size += 1
        self[-1] = value
        return self

    def extend(self, values: Iterable[Any]) -> Any:
        """Add several values at the end."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(
                "ParameterList.extend should be called with an iterable, but got "
                + type(values).__name__
            )
        for value in values:
            self.append(value)
        return self

    def extra_repr(self) -> str:
        return "\n".join(
            f"  ({number}): {_described(value, lambda tensor: repr(tensor.dtype))}"
            for number, value in enumerate(self)
        )


class ParameterDict(_ParameterContainer):
    """Parameters by key, all of them registered, in the order of insertion.

    Args:
        parameters: a mapping, or pairs of key and tensor, to start with

    Example:
        >>> scales = nn.ParameterDict({"left": clew.ones(1), "right": clew.zeros(1)})
        >>> sorted(scales.keys())
        ['left', 'right']
    """

    _kind = "ParameterDict"

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def _key_to_attr(self, key: str) -> str:
        if not isinstance(key, str):
            raise TypeError(
                "Index given to ParameterDict cannot be used as a key as it is not a string (type "
                f"is '{type(key).__name__}'). Open an issue on github if you need non-string keys."
            )
        return key

    def __getitem__(self, key: str) -> Any:
        return getattr(self, self._key_to_attr(key))

    def __setitem__(self, key: str, value: Any) -> None:
        # The attribute's name is the key, so only strings can be keys.
        name = self._key_to_attr(key)
        self._keys[key] = None
        self._put(name, value)

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, self._key_to_attr(key))

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self._keys))

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def copy(self) -> ParameterDict:
        """Another dict with the same parameters."""
        return ParameterDict(OrderedDict(self.items()))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The value of a key, which gets `default` when it is new."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Take everything out."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key: str) -> Any:
        """Take a value out, and return it."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Take out the pair that came last."""
        key, _ = self._keys.popitem()
        # The key must be in place for `pop` to take it out.
        self._keys[key] = None
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key, or `default`."""
        return self[key] if key in self else default  # noqa: SIM401  (this is `get`)

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """A dict with these keys, all with the same value."""
        return ParameterDict((key, default) for key in keys)

    def keys(self) -> Any:
        """The keys."""
        return self._keys.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Pairs of key and value."""
        return ((key, self[key]) for key in self._keys)

    def values(self) -> Iterable[Any]:
        """The values."""
        return (self[key] for key in self._keys)

    def update(self, parameters: Any) -> None:
        """Add values from a mapping or from pairs."""
        pairs = pairs_of(parameters, "ParameterDict", (ParameterDict,))
        if isinstance(parameters, Mapping) and not isinstance(parameters, OrderedDict):
            # As in PyTorch, whose dicts once had no order: so the optimizer's order is the same.
            pairs.sort(key=operator.itemgetter(0))
        for key, value in pairs:
            self[key] = value

    def extra_repr(self) -> str:
        return "\n".join(
            f"  ({key}): {_described(value, lambda tensor: tensor.type())}"
            for key, value in self.items()
        )

    def __or__(self, other: ParameterDict) -> ParameterDict:
        both = self.copy()
        both.update(other)
        return both

    def __ror__(self, other: ParameterDict) -> ParameterDict:
        both = other.copy()
        both.update(self)
        return both

    def __ior__(self, other: ParameterDict) -> Any:
        self.update(other)
        return self


def pairs_of(source: Any, who: str, mappings: tuple[type, ...]) -> list[tuple[str, Any]]:
    """The pairs of a mapping, or of an iterable of pairs."""
    if not isinstance(source, Iterable):
        shown = "ParametersDict" if who == "ParameterDict" else who
        raise TypeError(
            f"{shown}.update should be called with an iterable of key/value pairs, but got "
            + type(source).__name__
        )
    if isinstance(source, (Mapping, *mappings)):
        mapping: Any = source
        return list(mapping.items())
    pairs = list(source)
    for place, pair in enumerate(pairs):
        if not isinstance(pair, Iterable):
            raise TypeError(
                f"{who} update sequence element #{place} should be Iterable; is"
                + type(pair).__name__
            )
        size = len(pair)  # type: ignore[arg-type]  # an iterable without a length fails here
        if size != 2:
            raise ValueError(
                f"{who} update sequence element #{place} has length {size}; 2 is required"
            )
    return pairs
