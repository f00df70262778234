"""`IterDataPipe` and `MapDataPipe`: datasets with the registered pipes as methods."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, TypeVar

from clew.backend import dtypes
from clew.core.public import FUNCTIONS
from clew.utils.data.dataset import Dataset, IterableDataset

__all__ = ["DataChunk", "IterDataPipe", "MapDataPipe", "functional_datapipe"]

P = TypeVar("P", bound=type)


def library_seed() -> int:
    """One number of the library's stream, so that `manual_seed` decides a random order."""
    return int(FUNCTIONS["empty"]((), dtype=dtypes.int64).random_())


class DataChunk(list[Any]):
    """The elements of a batch.

    Args:
        iterable: the elements

    Example:
        >>> from clew.utils.data import DataChunk
        >>> DataChunk([1, 2])
        [1, 2]
    """

    def as_str(self, indent: str = "") -> str:
        """The elements as text."""
        return indent + "[" + ", ".join(map(str, self)) + "]"

    def raw_iterator(self) -> Iterator[Any]:
        """The elements, one after the other."""
        return iter(self)


class _Piped:
    """The methods that `functional_datapipe` registers, by the kind of pipe."""

    functions: ClassVar[dict[str, Callable[..., Any]]]

    def __getattr__(self, name: str) -> Any:
        made = type(self).functions.get(name)
        if made is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        return functools.partial(made, self)

    @classmethod
    def register_datapipe_as_function(cls, name: str, pipe: Callable[..., Any]) -> None:
        """Give all pipes of a kind a method that makes another pipe of them."""
        if name in cls.functions:
            raise Exception(f"Unable to add DataPipe function name {name} as it is already taken")
        cls.functions[name] = pipe

    register_function = register_datapipe_as_function

    def __repr__(self) -> str:
        return type(self).__qualname__

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


class IterDataPipe(_Piped, IterableDataset[Any]):
    """A dataset that is read from start to end; registered pipes are its methods.

    Example:
        >>> from clew.utils.data.datapipes.iter import IterableWrapper
        >>> list(IterableWrapper(range(5)).map(lambda x: x * x).batch(2))
        [[0, 1], [4, 9], [16]]
    """

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}

    def reset(self) -> None:
        """Begin anew."""


class MapDataPipe(_Piped, Dataset[Any]):
    """A dataset whose elements are found by a key; registered pipes are its methods.

    Example:
        >>> from clew.utils.data.datapipes.map import SequenceWrapper
        >>> SequenceWrapper([1, 2, 3]).map(lambda x: 10 * x)[1]
        20
    """

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}


class _DataPipeSerializationWrapper:
    """A pipe inside another one, which loaders send to their workers."""

    def __init__(self, datapipe: Any) -> None:
        self._datapipe = datapipe

    def __len__(self) -> int:
        try:
            return len(self._datapipe)
        except Exception as error:  # the pipe's own
            raise TypeError(f"{type(self).__name__} instance doesn't have valid length") from error


class _IterDataPipeSerializationWrapper(_DataPipeSerializationWrapper, IterDataPipe):
    """Of a pipe that is read from start to end."""

    def __iter__(self) -> Iterator[Any]:
        yield from self._datapipe


class _MapDataPipeSerializationWrapper(_DataPipeSerializationWrapper, MapDataPipe):
    """Of a pipe whose elements are found by a key."""

    def __getitem__(self, index: Any) -> Any:
        return self._datapipe[index]


class functional_datapipe:
    """A decorator that makes a class of pipes a method of all pipes.

    Args:
        name: the name of the method
        enable_df_api_tracing: accepted
    """

    def __init__(self, name: str, enable_df_api_tracing: bool = False) -> None:
        self.name = name

    def __call__(self, cls: P) -> P:
        kind = IterDataPipe if issubclass(cls, IterDataPipe) else MapDataPipe
        if not issubclass(cls, (IterDataPipe, MapDataPipe)):
            raise TypeError("`functional_datapipe` can only decorate IterDataPipe or MapDataPipe")
        kind.register_datapipe_as_function(self.name, cls)
        return cls
