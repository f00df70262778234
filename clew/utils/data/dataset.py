"""Datasets: samples by index, or one after the other, and ways to combine them."""

from __future__ import annotations

import bisect
import itertools
import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar, cast

from clew import errors
from clew.core.tensor import Tensor
from clew.observer import active
from clew.ops.create.random import Generator, default_generator, randperm

__all__ = [
    "Dataset", "IterableDataset", "TensorDataset", "StackDataset", "ConcatDataset", "ChainDataset",
    "Subset", "random_split",
]  # fmt: skip

_T = TypeVar("_T")
_T_co = TypeVar("_T_co", covariant=True)


class Dataset(Generic[_T_co]):
    """Samples by index: subclasses define `__getitem__`, and `__len__` for most samplers.

    `__getitems__(indices)`, if defined, is asked for a whole batch of samples at once.

    Example:
        >>> from clew.utils.data import Dataset
        >>> class Squares(Dataset):
        ...     def __len__(self):
        ...         return 3
        ...     def __getitem__(self, index):
        ...         return index**2
        >>> Squares()[2], len(Squares() + Squares())
        (4, 6)
    """

    def __getitem__(self, index: Any) -> _T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset[_T_co]) -> ConcatDataset[_T_co]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[_T_co], Iterable[_T_co]):
    """Samples one after the other: subclasses define `__iter__`.

    In a worker process each copy of the dataset is iterated as a whole: `get_worker_info()` says
    which share of the samples a worker should give.

    Example:
        >>> from clew.utils.data import DataLoader, IterableDataset
        >>> class Lines(IterableDataset):
        ...     def __iter__(self):
        ...         return iter("one two three".split())
        >>> list(DataLoader(Lines(), batch_size=2))
        [['one', 'two'], ['three']]
    """

    # What has no indices can only be chained.
    def __add__(self, other: Dataset[_T_co]) -> ChainDataset[_T_co]:  # type: ignore[override]
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Tensors of the same length, indexed together along their first dimension.

    Args:
        tensors: the tensors

    Example:
        >>> from clew.utils.data import TensorDataset
        >>> TensorDataset(clew.arange(3), clew.eye(3))[1]
        (tensor(1), tensor([0., 1., 0.]))
    """

    tensors: tuple[Tensor, ...]

    def __init__(self, *tensors: Tensor) -> None:
        if any(tensors[0].size(0) != tensor.size(0) for tensor in tensors):
            lengths = ", ".join(str(tensor.size(0)) for tensor in tensors)
            raise AssertionError(f"Size mismatch between tensors\n  Their lengths are {lengths}")
        self.tensors = tensors
        observer = active.observer
        if observer is not None:
            observer.dataset_made(self)

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return self.tensors[0].size(0)


class StackDataset(Dataset[Any]):
    """Datasets side by side: a sample is the tuple, or the dictionary, of their samples.

    Args:
        args: datasets of the same length, for tuples
        kwargs: datasets of the same length, for dictionaries

    Example:
        >>> from clew.utils.data import StackDataset
        >>> StackDataset(image=[10, 11], label=[0, 1])[1]
        {'image': 11, 'label': 1}
    """

    datasets: tuple[Any, ...] | dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or``dict``- (via ``kwargs``) like "
                "input/output, but both types are given."
            )
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        self.datasets = args or kwargs
        self._length = len(self._members()[0])
        lengths = [len(member) for member in self._members()]
        if any(length != self._length for length in lengths):
            raise ValueError(f"Size mismatch between datasets\n  Their lengths are {lengths}")

    def _members(self) -> list[Any]:
        named = self.datasets
        return list(named.values() if isinstance(named, dict) else named)

    def _sample(self, members: Sequence[Any]) -> Any:
        if isinstance(self.datasets, dict):
            return dict(zip(self.datasets, members))
        return tuple(members)

    def __getitem__(self, index: Any) -> Any:
        return self._sample([member[index] for member in self._members()])

    def __getitems__(self, indices: Sequence[Any]) -> list[Any]:
        columns = [_column(member, indices) for member in self._members()]
        return [self._sample(row) for row in zip(*columns)]

    def __len__(self) -> int:
        return self._length


def _column(dataset: Any, indices: Sequence[Any]) -> Sequence[Any]:
    """The samples at some indices, all at once if the dataset can."""
    if not callable(getattr(dataset, "__getitems__", None)):
        return [dataset[index] for index in indices]
    samples = dataset.__getitems__(indices)
    if len(samples) != len(indices):
        raise ValueError(
            f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(samples)}"
        )
    return samples


class ConcatDataset(Dataset[_T_co]):
    """Datasets one after the other under one index.

    Args:
        datasets: the datasets

    Example:
        >>> from clew.utils.data import ConcatDataset
        >>> both = ConcatDataset([[1, 2, 3], [4, 5]])
        >>> len(both), both[3]
        (5, 4)
    """

    datasets: list[Dataset[_T_co]]
    cumulative_sizes: list[int]

    @staticmethod
    def cumsum(sequence: Iterable[Any]) -> list[int]:
        """The lengths so far, after each dataset."""
        return list(itertools.accumulate(len(each) for each in sequence))

    def __init__(self, datasets: Iterable[Dataset[_T_co]]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(each, IterableDataset) for each in self.datasets):
            raise AssertionError(
                "ConcatDataset does not support IterableDataset\n  Chain them with ChainDataset."
            )
        self.cumulative_sizes = self.cumsum(self.datasets)

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: int) -> _T_co:
        if idx < 0:
            if -idx > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            idx += len(self)
        which = bisect.bisect_right(self.cumulative_sizes, idx)
        return self.datasets[which][idx - self.cumulative_sizes[which - 1] if which else idx]

    @property
    def cummulative_sizes(self) -> list[int]:
        warnings.warn(
            "`cummulative_sizes` attribute is renamed to `cumulative_sizes`",
            category=FutureWarning,
            stacklevel=2,
        )
        return self.cumulative_sizes


class ChainDataset(IterableDataset[_T_co]):
    """Iterable datasets one after the other.

    Args:
        datasets: the datasets, each an IterableDataset

    Example:
        >>> from clew.utils.data import ChainDataset, IterableDataset
        >>> class Count(IterableDataset):
        ...     def __iter__(self):
        ...         return iter(range(2))
        >>> list(ChainDataset([Count(), Count()]))
        [0, 1, 0, 1]
    """

    def __init__(self, datasets: Iterable[Dataset[_T_co]]) -> None:
        super().__init__()
        self.datasets = datasets

    def _checked(self) -> Iterator[Any]:
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError(
                    "ChainDataset only supports IterableDataset\n"
                    f"  This is a {type(dataset).__name__}."
                )
            yield dataset

    def __iter__(self) -> Iterator[_T_co]:
        for dataset in self._checked():
            yield from dataset

    def __len__(self) -> int:
        return sum(len(dataset) for dataset in self._checked())


class Subset(Dataset[_T_co]):
    """The samples of a dataset at the given indices.

    Args:
        dataset: the dataset
        indices: the indices, in the order that the subset has

    Example:
        >>> from clew.utils.data import Subset
        >>> list(Subset("abcde", [4, 0]))
        ['e', 'a']
    """

    dataset: Dataset[_T_co]
    indices: Sequence[int]

    def __init__(self, dataset: Dataset[_T_co], indices: Sequence[int]) -> None:
        kind = type(self)
        if kind.__getitem__ is not Subset.__getitem__ and (
            kind.__getitems__ is Subset.__getitems__
        ):
            raise NotImplementedError(
                f"{kind.__name__} overrides __getitem__ but not __getitems__. When subclassing "
                "Subset and overriding __getitem__, you must also override __getitems__ to ensure "
                "DataLoader works correctly with your custom logic. A simple implementation:\n\n"
                "def __getitems__(self, indices):\n"
                "    return [self.__getitem__(idx) for idx in indices]" + errors.at_user_line()
            )
        self.dataset = dataset
        self.indices = indices
        observer = active.observer
        if observer is not None:
            observer.dataset_made(self)

    def __getitem__(self, idx: Any) -> _T_co:
        if isinstance(idx, list):
            return self.dataset[[self.indices[each] for each in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices: list[int]) -> list[_T_co]:
        chosen = [self.indices[each] for each in indices]
        if callable(getattr(self.dataset, "__getitems__", None)):
            return cast(Any, self.dataset).__getitems__(chosen)
        return [self.dataset[each] for each in chosen]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(
    dataset: Dataset[_T],
    lengths: Sequence[int | float],
    generator: Generator | None = default_generator,
) -> list[Subset[_T]]:
    """Split a dataset at random into parts of the given lengths, or of the given fractions.

    Args:
        dataset: the dataset
        lengths: numbers of samples that sum to all of them, or fractions that sum to 1
        generator: the random numbers; by default, those of the global stream

    Example:
        >>> from clew.utils.data import random_split
        >>> train, valid = random_split(range(10), [0.8, 0.2], clew.Generator().manual_seed(0))
        >>> len(train), list(valid)
        (8, [6, 2])
    """
    total = len(cast(Any, dataset))
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        lengths = _lengths_of_fractions(lengths, total)
    if sum(lengths) != total:
        raise ValueError(
            "Sum of input lengths does not equal the length of the input dataset!\n"
            f"  The lengths are {list(lengths)}, the dataset has {total} samples."
        )
    counts = cast("Sequence[int]", lengths)
    order = randperm(sum(counts), generator=generator).tolist()
    ends = itertools.accumulate(counts)
    return [Subset(dataset, order[end - count : end]) for end, count in zip(ends, counts)]


def _lengths_of_fractions(fractions: Sequence[float], total: int) -> list[int]:
    """Whole lengths: each is rounded down, and what is left goes around one by one."""
    for place, fraction in enumerate(fractions):
        if fraction < 0 or fraction > 1:
            raise ValueError(f"Fraction at index {place} is not between 0 and 1")
    lengths = [math.floor(total * fraction) for fraction in fractions]
    for extra in range(total - sum(lengths)):
        lengths[extra % len(lengths)] += 1
    for place, length in enumerate(lengths):
        if length == 0:
            warnings.warn(
                f"Length of split at index {place} is 0. This might result in an empty dataset.",
                stacklevel=3,
            )
    return lengths
