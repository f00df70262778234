"""Pipes whose elements are found by a key: sources, functions, combinations, another order."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from typing import Any

from clew.utils.data.datapipes.datapipe import (
    DataChunk,
    IterDataPipe,
    MapDataPipe,
    functional_datapipe,
    library_seed,
)

__all__ = ["Batcher", "Concater", "Mapper", "SequenceWrapper", "Shuffler", "Zipper"]


class SequenceWrapper(MapDataPipe):
    """The elements of a sequence, or the values of a dict.

    Args:
        sequence: the sequence
        deepcopy: whether it is copied
    """

    def __init__(self, sequence: Any, deepcopy: bool = True) -> None:
        self.sequence = copy.deepcopy(sequence) if deepcopy else sequence

    def __getitem__(self, index: Any) -> Any:
        return self.sequence[index]

    def __len__(self) -> int:
        return len(self.sequence)


@functional_datapipe("map")
class Mapper(MapDataPipe):
    """A function of each element.

    Args:
        datapipe: the pipe
        fn: the function
    """

    def __init__(self, datapipe: Any, fn: Callable[[Any], Any] = lambda value: value) -> None:
        self.datapipe, self.fn = datapipe, fn

    def __getitem__(self, index: Any) -> Any:
        return self.fn(self.datapipe[index])

    def __len__(self) -> int:
        return len(self.datapipe)


@functional_datapipe("batch")
class Batcher(MapDataPipe):
    """Lists of so many elements.

    Args:
        datapipe: the pipe
        batch_size: the number of elements
        drop_last: whether a last batch with fewer is left out
        wrapper_class: the class of a batch
    """

    def __init__(
        self,
        datapipe: Any,
        batch_size: int,
        drop_last: bool = False,
        wrapper_class: type = DataChunk,
    ) -> None:
        self.datapipe, self.batch_size = datapipe, batch_size
        self.drop_last, self.wrapper_class = drop_last, wrapper_class

    def __getitem__(self, index: int) -> Any:
        start = index * self.batch_size
        places = range(start, min(start + self.batch_size, len(self.datapipe)))
        if not places or (self.drop_last and len(places) < self.batch_size):
            raise IndexError(f"Index {index} is out of bound.")
        return self.wrapper_class([self.datapipe[place] for place in places])

    def __len__(self) -> int:
        count = len(self.datapipe)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


@functional_datapipe("concat")
class Concater(MapDataPipe):
    """The elements of several pipes, one pipe after the other."""

    def __init__(self, *datapipes: Any) -> None:
        if not datapipes:
            raise ValueError("Expected at least one DataPipe, but got nothing")
        self.datapipes = datapipes

    def __getitem__(self, index: int) -> Any:
        place = index
        for each in self.datapipes:
            if place < len(each):
                return each[place]
            place -= len(each)
        raise IndexError(f"Index {index} is out of range.")

    def __len__(self) -> int:
        return sum(map(len, self.datapipes))


@functional_datapipe("zip")
class Zipper(MapDataPipe):
    """Tuples of the elements of several pipes."""

    def __init__(self, *datapipes: Any) -> None:
        if not datapipes:
            raise ValueError("Expected at least one DataPipe, but got nothing")
        self.datapipes = datapipes

    def __getitem__(self, index: Any) -> tuple[Any, ...]:
        return tuple(each[index] for each in self.datapipes)

    def __len__(self) -> int:
        return min(map(len, self.datapipes))


class Shuffler(IterDataPipe):
    """The elements in random order, as a pipe that is read from start to end.

    Args:
        datapipe: the pipe
        indices: its keys; 0, 1, ... if they are not given
    """

    def __init__(self, datapipe: Any, *, indices: list[Any] | None = None) -> None:
        self.datapipe = datapipe
        self.indices = list(range(len(datapipe))) if indices is None else indices
        self._seed: int | None = None

    def set_seed(self, seed: int) -> Shuffler:
        """The seed of the next reading."""
        self._seed = seed
        return self

    def __iter__(self) -> Iterator[Any]:
        seed, self._seed = self._seed, None
        rng = random.Random(library_seed() if seed is None else seed)
        for index in rng.sample(self.indices, len(self.indices)):
            yield self.datapipe[index]

    def __len__(self) -> int:
        return len(self.datapipe)


# It is read from start to end, and made from pipes that are not.
MapDataPipe.register_datapipe_as_function("shuffle", Shuffler)
