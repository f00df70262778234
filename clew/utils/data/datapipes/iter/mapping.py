"""Pipes of single elements: sources, functions of each element, selections, another order."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from clew.utils.data._utils.collate import default_collate
from clew.utils.data.datapipes.datapipe import IterDataPipe, functional_datapipe, library_seed
from clew.utils.data.sampler import SequentialSampler

__all__ = ["Collator", "Filter", "IterableWrapper", "Mapper", "Sampler", "Shuffler"]


class IterableWrapper(IterDataPipe):
    """The elements of an iterable.

    Args:
        iterable: the iterable
        deepcopy: whether each reading has a copy of its own
    """

    def __init__(self, iterable: Iterable[Any], deepcopy: bool = True) -> None:
        self.iterable, self.deepcopy = iterable, deepcopy

    def __iter__(self) -> Iterator[Any]:
        source = self.iterable
        if self.deepcopy:
            try:
                source = copy.deepcopy(self.iterable)
            except TypeError:
                # An iterator cannot be copied: it is read once.
                source = self.iterable
        yield from source

    def __len__(self) -> int:
        return len(self.iterable)  # type: ignore[arg-type]  # an iterable without a length raises


@functional_datapipe("map")
class Mapper(IterDataPipe):
    """A function of each element, or of some of its columns.

    Args:
        datapipe: the pipe
        fn: the function
        input_col: the columns that are its arguments; None for the whole element
        output_col: the column for its result; that of the argument if it is not given
    """

    def __init__(
        self,
        datapipe: Iterable[Any],
        fn: Callable[..., Any],
        input_col: Any = None,
        output_col: Any = None,
    ) -> None:
        if input_col is None and output_col is not None:
            raise ValueError("`output_col` must be None when `input_col` is None.")
        self.datapipe, self.fn = datapipe, fn
        self.input_col, self.output_col = input_col, output_col

    def __iter__(self) -> Iterator[Any]:
        for data in self.datapipe:
            yield self._apply(data)

    def _apply(self, data: Any) -> Any:
        columns = self.input_col
        if columns is None:
            return self.fn(data)
        many = isinstance(columns, (list, tuple))
        result = self.fn(*(data[each] for each in columns)) if many else self.fn(data[columns])
        is_tuple = isinstance(data, tuple)
        changed = list(data) if is_tuple else copy.copy(data)
        target = self.output_col
        if target is None:
            target = columns[0] if many else columns
        if target == -1:
            changed.append(result)
        else:
            changed[target] = result
        return tuple(changed) if is_tuple else changed

    def __len__(self) -> int:
        return len(self.datapipe)  # type: ignore[arg-type]  # a pipe without a length raises


@functional_datapipe("collate")
class Collator(Mapper):
    """A function of each batch: tensors of its elements, if none is given.

    Args:
        datapipe: the pipe of batches
        collate_fn: the function
    """

    def __init__(
        self,
        datapipe: Iterable[Any],
        conversion: Any = default_collate,
        collate_fn: Callable[..., Any] | None = None,
    ) -> None:
        super().__init__(datapipe, collate_fn or conversion)


@functional_datapipe("filter")
class Filter(IterDataPipe):
    """The elements for which a function holds.

    Args:
        datapipe: the pipe
        filter_fn: the function
        input_col: the columns that are its arguments; None for the whole element
    """

    def __init__(
        self, datapipe: Iterable[Any], filter_fn: Callable[..., bool], input_col: Any = None
    ) -> None:
        self.datapipe, self.filter_fn, self.input_col = datapipe, filter_fn, input_col

    def __iter__(self) -> Iterator[Any]:
        for data in self.datapipe:
            if self._holds(data):
                yield data

    def _holds(self, data: Any) -> bool:
        columns = self.input_col
        if columns is None:
            holds = self.filter_fn(data)
        elif isinstance(columns, (list, tuple)):
            holds = self.filter_fn(*(data[each] for each in columns))
        else:
            holds = self.filter_fn(data[columns])
        if not isinstance(holds, bool):
            raise ValueError(
                "Boolean output is required for `filter_fn` of FilterIterDataPipe, got", type(holds)
            )
        return holds


class Sampler(IterDataPipe):
    """The positions that a sampler gives.

    Args:
        datapipe: the pipe whose length counts
        sampler: the class of the sampler
        sampler_args, sampler_kwargs: its arguments
    """

    def __init__(
        self,
        datapipe: Any,
        sampler: Callable[..., Any] = SequentialSampler,
        sampler_args: tuple[Any, ...] = (),
        sampler_kwargs: dict[str, Any] | None = None,
    ) -> None:
        self.datapipe = datapipe
        self.sampler = sampler(datapipe, *sampler_args, **(sampler_kwargs or {}))

    def __iter__(self) -> Iterator[Any]:
        return iter(self.sampler)

    def __len__(self) -> int:
        return len(self.sampler)


@functional_datapipe("shuffle")
class Shuffler(IterDataPipe):
    """The elements in random order, through a buffer.

    Args:
        datapipe: the pipe
        buffer_size: how many elements wait at a time
        unbatch_level: how many levels of batches are opened before
    """

    def __init__(
        self, datapipe: Iterable[Any], *, buffer_size: int = 10000, unbatch_level: int = 0
    ) -> None:
        if buffer_size <= 0:
            raise ValueError("buffer_size should be larger than 0")
        pipe: Any = datapipe
        self.datapipe = pipe.unbatch(unbatch_level) if unbatch_level else pipe
        self.buffer_size = buffer_size
        self._enabled = True
        self._seed: int | None = None

    def set_shuffle(self, shuffle: bool = True) -> Shuffler:
        """Switch the random order on or off."""
        self._enabled = shuffle
        return self

    def set_seed(self, seed: int) -> Shuffler:
        """The seed of the next reading."""
        self._seed = seed
        return self

    def __iter__(self) -> Iterator[Any]:
        if not self._enabled:
            yield from self.datapipe
            return
        seed, self._seed = self._seed, None
        if seed is None:
            seed = library_seed()
        rng = random.Random(seed)
        waiting: list[Any] = []
        for data in self.datapipe:
            if len(waiting) == self.buffer_size:
                place = rng.randint(0, len(waiting) - 1)
                waiting[place], data = data, waiting[place]
                yield data
            else:
                waiting.append(data)
        while waiting:
            yield waiting.pop(rng.randint(0, len(waiting) - 1))

    def __len__(self) -> int:
        return len(self.datapipe)
