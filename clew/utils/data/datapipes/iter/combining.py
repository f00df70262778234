"""Pipes of several pipes: one after the other, side by side, in turns; and one as several."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from clew.utils.data.datapipes.datapipe import IterDataPipe, functional_datapipe

__all__ = ["Concater", "Demultiplexer", "Forker", "Multiplexer", "Zipper"]


class _OfPipes(IterDataPipe):
    """Base of pipes of several pipes."""

    def __init__(self, *datapipes: Any) -> None:
        if not datapipes:
            raise ValueError(f"Expected at least one DataPipe for {type(self).__name__}")
        if not all(isinstance(each, IterDataPipe) for each in datapipes):
            raise TypeError("Expected all inputs to be `IterDataPipe`")
        self.datapipes = datapipes


@functional_datapipe("concat")
class Concater(_OfPipes):
    """The elements of several pipes, one pipe after the other."""

    def __iter__(self) -> Iterator[Any]:
        return itertools.chain.from_iterable(self.datapipes)

    def __len__(self) -> int:
        return sum(map(len, self.datapipes))


@functional_datapipe("zip")
class Zipper(_OfPipes):
    """Tuples of the elements of several pipes, until one ends."""

    def __iter__(self) -> Iterator[Any]:
        return iter(zip(*self.datapipes, strict=False))

    def __len__(self) -> int:
        return min(map(len, self.datapipes))


@functional_datapipe("mux")
class Multiplexer(_OfPipes):
    """Elements of several pipes in turns, until one ends."""

    def __iter__(self) -> Iterator[Any]:
        return itertools.chain.from_iterable(zip(*self.datapipes, strict=False))

    def __len__(self) -> int:
        return min(map(len, self.datapipes)) * len(self.datapipes)


class _Part(IterDataPipe):
    """One of the pipes that a pipe was split into: all that `chosen` gives of the source."""

    def __init__(self, source: Iterable[Any], chosen: Callable[[Any], bool], counts: bool) -> None:
        self.source, self.chosen, self.counts = source, chosen, counts

    def __iter__(self) -> Iterator[Any]:
        return filter(self.chosen, self.source)

    def __len__(self) -> int:
        if not self.counts:
            raise TypeError(f"{type(self).__name__} instance doesn't have valid length")
        return len(self.source)  # type: ignore[arg-type]  # a pipe without a length raises


def _everything(data: Any) -> bool:
    return True


class Forker:
    """Several pipes with all elements of one; each reads the source for itself.

    Args:
        datapipe: the pipe
        num_instances: how many
        buffer_size, copy: accepted; nothing is buffered
    """

    def __new__(
        cls, datapipe: Any, num_instances: int, buffer_size: int = 1000, copy: Any = None
    ) -> Any:
        if num_instances < 1:
            raise ValueError(
                f"Expected `num_instances` larger than 0, but {num_instances} is found"
            )
        if num_instances == 1:
            return datapipe
        return [_Part(datapipe, _everything, True) for _ in range(num_instances)]


class _Choice:
    """Whether a function puts an element into one part."""

    def __init__(self, function: Callable[[Any], int | None], number: int, drop: bool) -> None:
        self.function, self.number, self.drop = function, number, drop

    def __call__(self, data: Any) -> bool:
        found = self.function(data)
        if found is None and not self.drop:
            raise ValueError("Output of the `classifier_fn` is None: pass drop_none=True")
        return found == self.number


class Demultiplexer:
    """Several pipes, each with the elements that a function puts there.

    Args:
        datapipe: the pipe
        num_instances: how many
        classifier_fn: the function that gives an element's pipe, or None
        drop_none: whether elements without a pipe are left out
        buffer_size: accepted; nothing is buffered
    """

    def __new__(
        cls,
        datapipe: Any,
        num_instances: int,
        classifier_fn: Callable[[Any], int | None],
        drop_none: bool = False,
        buffer_size: int = 1000,
    ) -> Any:
        if num_instances < 1:
            raise ValueError(
                f"Expected `num_instances` larger than 0, but {num_instances} is found"
            )
        return [
            _Part(datapipe, _Choice(classifier_fn, number, drop_none), False)
            for number in range(num_instances)
        ]


IterDataPipe.register_datapipe_as_function("fork", Forker)
IterDataPipe.register_datapipe_as_function("demux", Demultiplexer)
