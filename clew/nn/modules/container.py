"""Containers of modules: Sequential, ModuleList, ModuleDict."""

from __future__ import annotations

import itertools
import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from clew.nn.modules import paths
from clew.nn.modules.module import Module, _addindent
from clew.nn.modules.parameter_container import ParameterDict, ParameterList, pairs_of

__all__ = [
    "Sequential",
    "ModuleList",
    "ModuleDict",
    "ParameterList",
    "ParameterDict",
]

S = TypeVar("S", bound="_ModuleSequence")


class _ModuleSequence(Module):
    """Modules in an order: what Sequential and ModuleList have in common."""

    def _key_at(self, index: Any) -> str:
        """The name of the module at a position, which may count from the end."""
        position, size = operator.index(index), len(self)
        if not -size <= position < size:
            raise IndexError(f"index {position} is out of range")
        return list(self._modules)[position]

    def _items(self) -> list[tuple[str, Any]]:
        return list(self._modules.items())

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            return self._part(idx)
        return self._modules[self._key_at(idx)]

    def _part(self: S, idx: slice) -> S:
        """A container of some of the modules; every subclass defines it."""
        raise NotImplementedError

    def __setitem__(self, idx: int, module: Module) -> None:
        setattr(self, self._key_at(idx), module)

    def __delitem__(self, idx: Any) -> None:
        keys = list(self._modules)[idx] if isinstance(idx, slice) else [self._key_at(idx)]
        for key in keys:
            delattr(self, key)
        self._renumber([module for _, module in self._items()])

    def _renumber(self, modules: list[Any]) -> None:
        """Hold these modules, under their numbers as names."""
        self._modules = {str(number): module for number, module in enumerate(modules)}
        for name, module in self._modules.items():
            if module is not None:
                paths.adopt(self, name, module)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]

    def append(self: S, module: Module) -> S:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def pop(self, key: Any) -> Any:
        """Take a module out, and return it."""
        module = self[key]
        del self[key]
        return module


class Sequential(_ModuleSequence):
    """Modules that run one after the other, each on the output of the one before.

    Args:
        args: the modules, or an `OrderedDict` of names and modules

    Example:
        >>> model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
        >>> model(clew.ones(4, 2)).shape
        torch.Size([4, 1])
        >>> model[1]
        ReLU()
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for key, module in args[0].items():
                self.add_module(key, module)
        else:
            for number, module in enumerate(args):
                self.add_module(str(number), module)

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            input = module(input)  # type: ignore[misc]  # a None fails here, as it should
        return input

    def _part(self, idx: slice) -> Any:
        return type(self)(OrderedDict(self._items()[idx]))

    def insert(self, index: int, module: Module) -> Sequential:
        """Put a module before the one at `index`."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        size = len(self)
        if not -size <= index <= size:
            raise IndexError(f"Index out of range: {index}")
        modules = [held for _, held in self._items()]
        modules.insert(index + size if index < 0 else index, module)
        self._renumber(modules)
        return self

    def extend(self, sequential: Iterable[Module]) -> Sequential:
        """Add several modules at the end."""
        for module in list(sequential):
            self.append(module)
        return self

    def __add__(self, other: Any) -> Sequential:
        self._require_sequential(other)
        return Sequential(*self, *other)

    def __iadd__(self, other: Any) -> Any:
        self._require_sequential(other)
        return self.extend(other)

    @staticmethod
    def _require_sequential(other: Any) -> None:
        if not isinstance(other, Sequential):
            raise ValueError(
                "add operator supports only objects of Sequential class, but "
                f"{type(other)} is given."
            )

    def _check_factor(self, other: Any) -> None:
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(other)}")
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {type(self)}")

    def __mul__(self, other: int) -> Sequential:
        self._check_factor(other)
        return Sequential(*list(self) * other)

    __rmul__ = __mul__

    def __imul__(self, other: int) -> Any:
        self._check_factor(other)
        return self.extend(list(self) * (other - 1))


class ModuleList(_ModuleSequence):
    """A list of modules, all of them registered.

    Args:
        modules: the modules to start with

    Example:
        >>> layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])
        >>> len(layers), len(list(layers.parameters()))
        (3, 6)
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def _get_abs_string_index(self, idx: int) -> str:
        return self._key_at(idx)

    def _part(self, idx: slice) -> Any:
        return type(self)(list(self)[idx])

    def insert(self, index: int, module: Module) -> None:
        """Put a module before the one at `index`."""
        if not isinstance(module, Module):
            raise TypeError(f"{type(module).__name__} is not a Module subclass")
        modules = list(self)
        modules.insert(index, module)
        self._renumber(modules)

    def extend(self, modules: Iterable[Module]) -> ModuleList:
        """Add several modules at the end."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                "ModuleList.extend should be called with an iterable, but got "
                + type(modules).__name__
            )
        offset = len(self)
        for number, module in enumerate(list(modules)):
            self.add_module(str(offset + number), module)
        return self

    def __iadd__(self, modules: Iterable[Module]) -> Any:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList([*self, *other])

    def __repr__(self) -> str:
        """Neighbours that print alike are shown once, with their count."""
        lines: list[str] = []
        position = 0
        for text, group in itertools.groupby(repr(module) for module in self):
            count = len(list(group))
            last = position + count - 1
            shown = f"({position}-{last}): {count} x {text}" if count > 1 else f"({last}): {text}"
            lines.append(_addindent(shown, 2))
            position += count
        inside = "\n  " + "\n  ".join(lines) + "\n" if lines else ""
        return f"{self._get_name()}({inside})"


class ModuleDict(Module):
    """Modules by key, all of them registered, in the order of insertion.

    Args:
        modules: a mapping, or pairs of key and module, to start with

    Example:
        >>> choices = nn.ModuleDict({"relu": nn.ReLU(), "tanh": nn.Tanh()})
        >>> choices["tanh"]
        Tanh()
    """

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        paths.release(self, self._modules.pop(key))

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: object) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Take all modules out."""
        for key in list(self._modules):
            del self[key]

    def pop(self, key: str) -> Any:
        """Take a module out, and return it."""
        module = self[key]
        del self[key]
        return module

    def keys(self) -> Any:
        """The keys."""
        return self._modules.keys()

    def items(self) -> Any:
        """Pairs of key and module."""
        return self._modules.items()

    def values(self) -> Any:
        """The modules."""
        return self._modules.values()

    def update(self, modules: Any) -> None:
        """Add modules from a mapping or from pairs; those with a known key replace others."""
        for key, module in pairs_of(modules, "ModuleDict", (ModuleDict,)):
            self[key] = module
