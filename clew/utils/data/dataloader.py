"""DataLoader: batches of a dataset, in this process or from worker processes."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.context import BaseContext
from typing import Any, Generic, TypeVar

from clew.observer import active
from clew.ops.create.random import Generator
from clew.utils.data import graph_settings
from clew.utils.data._utils.collate import default_collate, default_convert
from clew.utils.data._utils.fetch import _DatasetKind
from clew.utils.data._utils.iterators import (
    _BaseDataLoaderIter,
    _MultiProcessingDataLoaderIter,
    _SingleProcessDataLoaderIter,
)
from clew.utils.data._utils.worker import get_worker_info
from clew.utils.data.dataset import Dataset, IterableDataset
from clew.utils.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler

__all__ = ["DataLoader", "get_worker_info", "default_collate", "default_convert"]

_T_co = TypeVar("_T_co", covariant=True)
T_co = TypeVar("T_co", covariant=True)

_FIXED = frozenset(
    ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")
)


_collate_fn_t = Callable[[list[Any]], Any]
_worker_init_fn_t = Callable[[int], None]


def _sharding_worker_init_fn(
    worker_init_fn: _worker_init_fn_t | None, world_size: int, rank_id: int, worker_id: int
) -> None:
    """Run a worker's own function, then give its pipes their share of the elements."""
    if worker_init_fn is not None:
        worker_init_fn(worker_id)
    info = get_worker_info()
    assert info is not None
    graph_settings.apply_sharding(
        info.dataset, world_size * info.num_workers, rank_id * info.num_workers + info.id
    )


class _InfiniteConstantSampler(Sampler[None]):
    """Stands for the order of an iterable dataset, which has one of its own."""

    def __iter__(self) -> Iterator[None]:
        return itertools.repeat(None)


class DataLoader(Generic[_T_co]):
    """Batches of a dataset.

    For the same seed they are those of PyTorch: the order, and the random streams of the workers.

    Args:
        dataset: the dataset
        batch_size: the samples of a batch; None gives samples as they are
        shuffle: a new random order in each epoch
        sampler: an order of indices, instead of `shuffle`
        batch_sampler: lists of indices, instead of `batch_size`, `shuffle`, `sampler`, `drop_last`
        num_workers: the processes that load; 0 loads in this one
        collate_fn: makes a batch of a list of samples; by default, `default_collate`
        pin_memory: accepted; without an accelerator, it has no effect
        drop_last: leave out a last batch that is smaller
        timeout: the seconds to wait for a worker; 0 waits for ever
        worker_init_fn: called in each worker with its number
        multiprocessing_context: how processes start: a context, or its name
        generator: the random numbers of the order and of the workers' seeds
        prefetch_factor: the batches that each worker loads ahead; by default, 2
        persistent_workers: keep the workers for the next epoch
        pin_memory_device: deprecated and ignored
        in_order: give batches in the order of the sampler; False gives each when it is ready

    Example:
        >>> from clew.utils.data import DataLoader, TensorDataset
        >>> data = TensorDataset(clew.arange(5), clew.arange(5) ** 2)
        >>> for x, y in DataLoader(data, batch_size=2):
        ...     print(x, y)
        tensor([0, 1]) tensor([0, 1])
        tensor([2, 3]) tensor([4, 9])
        tensor([4]) tensor([16])
    """

    dataset: Dataset[_T_co]
    batch_size: int | None
    num_workers: int
    pin_memory: bool
    drop_last: bool
    timeout: float
    sampler: Any
    pin_memory_device: str
    prefetch_factor: Any
    _iterator: _MultiProcessingDataLoaderIter | None
    __initialized = False

    def __init__(
        self,
        dataset: Dataset[_T_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Sampler[Any] | Iterable[Any] | None = None,
        batch_sampler: Sampler[list[Any]] | Iterable[list[Any]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers > 0 and prefetch_factor is None else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        self._dataset_kind = _DatasetKind.Map
        if isinstance(dataset, IterableDataset):
            self._dataset_kind = _DatasetKind.Iterable
            _check_iterable(shuffle, sampler, batch_sampler)
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            _check_batch_sampler(batch_size, shuffle, sampler, drop_last)
            batch_size = None
            drop_last = False
        elif batch_size is None and drop_last:
            raise ValueError(
                "batch_size=None option disables auto-batching and is mutually exclusive with "
                "drop_last"
            )
        if sampler is None:
            sampler = self._default_sampler(shuffle, generator)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.generator = generator
        if collate_fn is None:
            collate_fn = default_collate if self._auto_collation else default_convert
        self.collate_fn = collate_fn
        self.persistent_workers = persistent_workers
        self.__initialized = True
        self._IterableDataset_len_called: int | None = None
        self._iterator = None
        self.check_worker_number_rationality()
        observer = active.observer
        if observer is not None:
            observer.dataset_made(self)

    def _default_sampler(self, shuffle: bool | None, generator: Generator | None) -> Sampler[Any]:
        if self._dataset_kind == _DatasetKind.Iterable:
            return _InfiniteConstantSampler()
        # Not every dataset has a length: without one, Python's error says so.
        if shuffle:
            return RandomSampler(self.dataset, generator=generator)  # type: ignore[arg-type]
        return SequentialSampler(self.dataset)  # type: ignore[arg-type]  # as above

    @property
    def multiprocessing_context(self) -> BaseContext | None:
        return self.__multiprocessing_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, value: Any) -> None:
        if value is not None:
            value = _read_context(value, self.num_workers)
        self.__multiprocessing_context: BaseContext | None = value

    def __setattr__(self, name: str, value: Any) -> None:
        if self.__initialized and name in _FIXED:
            raise ValueError(
                f"{name} attribute should not be set after {type(self).__name__} is initialized"
            )
        super().__setattr__(name, value)

    def __iter__(self) -> _BaseDataLoaderIter:
        iterator = self._begun_iterator()
        observer = active.observer
        if observer is not None:
            observer.loader_begins(self, iterator)
        return iterator

    def _begun_iterator(self) -> _BaseDataLoaderIter:
        if not (self.persistent_workers and self.num_workers > 0):
            return self._get_iterator()
        # Worker processes live as long as the loader: a new pass uses the same ones.
        if self._iterator is None or not self._iterator._has_workers():
            if self._iterator is not None:
                self._iterator._shutdown_workers()
            self.check_worker_number_rationality()
            self._iterator = _MultiProcessingDataLoaderIter(self)
        else:
            self._iterator._reset(self)
        return self._iterator

    def _get_iterator(self) -> _BaseDataLoaderIter:
        if self.num_workers == 0:
            return _SingleProcessDataLoaderIter(self)
        self.check_worker_number_rationality()
        return _MultiProcessingDataLoaderIter(self)

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        """The sampler of what is asked of the dataset in one go."""
        return self.batch_sampler if self._auto_collation else self.sampler

    def __len__(self) -> int:
        if self._dataset_kind != _DatasetKind.Iterable:
            return len(self._index_sampler)
        length: int = len(self.dataset)  # type: ignore[arg-type]  # it may have none: an error
        self._IterableDataset_len_called = length
        if self.batch_size is None:
            return length
        whole, rest = divmod(length, self.batch_size)
        return whole + bool(rest and not self.drop_last)

    def check_worker_number_rationality(self) -> None:
        """Warn if there are more workers than processors."""
        if not self.num_workers:
            return
        if hasattr(os, "sched_getaffinity"):
            processors = len(os.sched_getaffinity(0))
        else:
            processors = os.cpu_count() or 1
        if self.num_workers > processors:
            warnings.warn(
                f"This DataLoader will create {self.num_workers} worker processes in total. Our "
                f"suggested max number of worker in current system is {processors}, which is "
                "smaller than what this DataLoader is going to create. Please be aware that "
                "excessive worker creation might get DataLoader running slow or even freeze, lower "
                "the worker number to avoid potential slowness/freeze if necessary.",
                stacklevel=3,
            )


def _check_workers(
    num_workers: int, timeout: float, prefetch_factor: int | None, persistent_workers: bool
) -> None:
    if num_workers < 0:
        raise ValueError(
            "num_workers option should be non-negative; use num_workers=0 to disable "
            "multiprocessing."
        )
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 "
            "to enable multiprocessing, otherwise set prefetch_factor to None."
        )
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if persistent_workers and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")


def _check_iterable(shuffle: Any, sampler: Any, batch_sampler: Any) -> None:
    """An iterable dataset has its own order: there is nothing to sample."""
    given = {
        "shuffle": shuffle if shuffle not in (None, False) else None,
        "sampler": sampler,
        "batch_sampler": batch_sampler,
    }
    for name, value in given.items():
        if value is not None:
            raise ValueError(
                f"DataLoader with IterableDataset: expected unspecified {name} option, but got "
                f"{name}={value}"
            )


def _check_batch_sampler(batch_size: Any, shuffle: Any, sampler: Any, drop_last: bool) -> None:
    if batch_size != 1 or shuffle or sampler is not None or drop_last:
        raise ValueError(
            "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and "
            "drop_last"
        )


def _read_context(value: Any, num_workers: int) -> BaseContext:
    if num_workers <= 0:
        raise ValueError(
            "multiprocessing_context can only be used with multi-process loading "
            f"(num_workers > 0), but got num_workers={num_workers}"
        )
    if isinstance(value, str):
        methods = multiprocessing.get_all_start_methods()
        if value not in methods:
            raise ValueError(
                "multiprocessing_context option should specify a valid start method in "
                f"{methods!r}, but got multiprocessing_context={value!r}"
            )
        return multiprocessing.get_context(value)
    if not isinstance(value, BaseContext):
        raise TypeError(
            "multiprocessing_context option should be a valid context object or a string "
            f"specifying the start method, but got multiprocessing_context={value}"
        )
    return value
