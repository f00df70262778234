"""Samplers: in which order a loader takes the samples of a dataset."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any, Generic, TypeVar

from clew.backend import dtypes
from clew.ops.create.constants import empty
from clew.ops.create.from_data import as_tensor
from clew.ops.create.random import Generator, randint, randperm
from clew.ops.create.sampling import multinomial

__all__ = [
    "BatchSampler", "RandomSampler", "Sampler", "SequentialSampler", "SubsetRandomSampler",
    "WeightedRandomSampler",
]  # fmt: skip

_T_co = TypeVar("_T_co", covariant=True)

# PyTorch draws indices with replacement in pieces of this length, which the stream can tell.
_REPLACEMENT_PIECE = 32


def draw_seed(generator: Generator | None = None) -> int:
    """A seed from a random stream: one 64-bit draw."""
    return int(empty((), dtype=dtypes.int64).random_(generator=generator).item())


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _check_count(name: str, value: Any) -> None:
    if not _is_count(value):
        raise ValueError(f"{name} should be a positive integer value, but got {name}={value}")


class Sampler(Generic[_T_co]):
    """An order of indices: subclasses define `__iter__`, and `__len__` where it is known.

    Example:
        >>> from clew.utils.data import DataLoader, Sampler
        >>> class Backwards(Sampler):
        ...     def __iter__(self):
        ...         return iter([2, 1, 0])
        >>> list(DataLoader(range(3), sampler=Backwards()))
        [tensor([2]), tensor([1]), tensor([0])]
    """

    def __iter__(self) -> Iterator[_T_co]:
        raise NotImplementedError  # subclasses define it


class SequentialSampler(Sampler[int]):
    """The indices in order.

    Args:
        data_source: the dataset

    Example:
        >>> from clew.utils.data import SequentialSampler
        >>> list(SequentialSampler("abc"))
        [0, 1, 2]
    """

    data_source: Sized

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """The indices in random order, or drawn with replacement.

    Args:
        data_source: the dataset
        replacement: whether an index may come twice
        num_samples: how many indices; by default, as many as samples
        generator: the random numbers; by default, seeded from the global stream

    Example:
        >>> from clew.utils.data import RandomSampler
        >>> list(RandomSampler("abcd", generator=clew.Generator().manual_seed(0)))
        [0, 1, 3, 2]
    """

    data_source: Sized
    replacement: bool

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Any = None,
    ) -> None:
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError(
                f"replacement should be a boolean value, but got replacement={replacement}"
            )
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            _check_count("num_samples", self.num_samples)

    @property
    def num_samples(self) -> int:
        # The dataset may grow between epochs.
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        # A generator, because the seed is drawn when the first index is asked for.
        n = len(self.data_source)
        generator = self.generator
        if generator is None:
            generator = Generator().manual_seed(draw_seed())
        draw = self._with_replacement if self.replacement else self._without_replacement
        yield from draw(n, generator)

    def _with_replacement(self, n: int, generator: Generator) -> Iterator[int]:
        whole, rest = divmod(self.num_samples, _REPLACEMENT_PIECE)
        for size in (*itertools.repeat(_REPLACEMENT_PIECE, whole), rest):
            drawn = randint(high=n, size=(size,), dtype=dtypes.int64, generator=generator)
            yield from drawn.tolist()

    def _without_replacement(self, n: int, generator: Generator) -> Iterator[int]:
        whole, rest = divmod(self.num_samples, n)
        for _ in range(whole):
            yield from randperm(n, generator=generator).tolist()
        yield from randperm(n, generator=generator).tolist()[:rest]

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """Given indices in random order.

    Args:
        indices: the indices
        generator: the random numbers; by default, those of the global stream

    Example:
        >>> from clew.utils.data import SubsetRandomSampler
        >>> list(SubsetRandomSampler([7, 8, 9], clew.Generator().manual_seed(0)))
        [9, 7, 8]
    """

    indices: Sequence[int]

    def __init__(self, indices: Sequence[int], generator: Any = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for place in randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[place]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Indices drawn in proportion to weights.

    Args:
        weights: one for each index; they need not sum to 1
        num_samples: how many indices
        replacement: whether an index may come twice
        generator: the random numbers; by default, those of the global stream

    Example:
        >>> from clew.utils.data import WeightedRandomSampler
        >>> list(WeightedRandomSampler([0., 1., 0.], 4))
        [1, 1, 1, 1]
    """

    num_samples: int
    replacement: bool

    def __init__(
        self,
        weights: Sequence[float],
        num_samples: int,
        replacement: bool = True,
        generator: Any = None,
    ) -> None:
        _check_count("num_samples", num_samples)
        if not isinstance(replacement, bool):
            raise ValueError(
                f"replacement should be a boolean value, but got replacement={replacement}"
            )
        self.weights = as_tensor(weights, dtype=dtypes.float64)
        if self.weights.dim() != 1:
            raise ValueError(
                "weights should be a 1d sequence but given weights have shape "
                f"{tuple(self.weights.shape)}"
            )
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        drawn = multinomial(
            self.weights, self.num_samples, self.replacement, generator=self.generator
        )
        yield from drawn.tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """The indices of another sampler in lists of one batch each.

    Args:
        sampler: the other sampler, or any iterable of indices
        batch_size: the indices of a batch
        drop_last: leave out a last batch that is smaller

    Example:
        >>> from clew.utils.data import BatchSampler
        >>> list(BatchSampler(range(5), 2, drop_last=False))
        [[0, 1], [2, 3], [4]]
    """

    def __init__(
        self, sampler: Sampler[int] | Iterable[int], batch_size: int, drop_last: bool
    ) -> None:
        _check_count("batch_size", batch_size)
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        # A sampler need not have a length: then Python's error says so.
        whole, rest = divmod(len(self.sampler), self.batch_size)  # type: ignore[arg-type]
        return whole + bool(rest and not self.drop_last)
