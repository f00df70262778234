"""One pass over a loader: in this process, or with worker processes."""

from __future__ import annotations

import itertools
import multiprocessing
import warnings
from typing import TYPE_CHECKING, Any

from clew import errors
from clew.observer import active
from clew.utils.data._utils.channel import Message
from clew.utils.data._utils.fetch import _DatasetKind
from clew.utils.data._utils.processes import WorkerDied, Workers
from clew.utils.data._utils.worker import ExceptionWrapper, Exhausted, WorkerTask
from clew.utils.data.sampler import draw_seed

if TYPE_CHECKING:
    from clew.utils.data.dataloader import DataLoader


class _BaseDataLoaderIter:
    """What both kinds of pass have in common."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        self._dataset = loader.dataset
        self._dataset_kind = loader._dataset_kind
        self._IterableDataset_len_called = loader._IterableDataset_len_called
        self._auto_collation = loader._auto_collation
        self._drop_last = loader.drop_last
        self._index_sampler = loader._index_sampler
        self._num_workers = loader.num_workers
        self._timeout = loader.timeout
        self._collate_fn = loader.collate_fn
        self._persistent_workers = loader.persistent_workers
        # For passes of other packages: shards of several processes, memory that a GPU can read.
        self._shared_seed, self._rank, self._world_size = None, 0, 1
        self._pin_memory, self._pin_memory_device = False, None
        self._warn_of_pinning(loader)
        self._sampler_iter = iter(self._index_sampler)
        self._base_seed = draw_seed(loader.generator)
        self._num_yielded = 0

    @staticmethod
    def _warn_of_pinning(loader: DataLoader[Any]) -> None:
        if not loader.pin_memory:
            return
        if loader.pin_memory_device:
            warnings.warn(
                "pin_memory_device is deprecated, the current accelerator will be used as the "
                f"device,ignore pin_memory_device='{loader.pin_memory_device}'.",
                stacklevel=6,
            )
        warnings.warn(
            "'pin_memory' argument is set as true but no accelerator is found, then device pinned "
            "memory won't be used.",
            stacklevel=6,
        )

    def __iter__(self) -> _BaseDataLoaderIter:
        return self

    def _reset(self, loader: DataLoader[Any], first_iter: bool = False) -> None:
        self._sampler_iter = iter(self._index_sampler)
        self._num_yielded = 0
        self._IterableDataset_len_called = loader._IterableDataset_len_called

    def _next_index(self) -> Any:
        return next(self._sampler_iter)

    def _next_data(self) -> Any:
        raise NotImplementedError  # one process and many have their own

    def __next__(self) -> Any:
        data = self._next_data()
        self._num_yielded += 1
        said = self._IterableDataset_len_called
        if (
            said is not None
            and self._dataset_kind == _DatasetKind.Iterable
            and self._num_yielded > said
        ):
            self._warn_of_length(said)
        observer = active.observer
        if observer is not None:
            observer.batch_loaded(self, data)
        return data

    def _warn_of_length(self, said: int) -> None:
        text = (
            f"Length of IterableDataset {self._dataset} was reported to be {said}(when accessing "
            f"len(dataloader)), but {self._num_yielded} samples have been fetched. "
        )
        if self._num_workers > 0:
            text += (
                "For multiprocessing data-loading, this could be caused by not properly "
                "configuring the IterableDataset replica at each worker: each worker iterates its "
                "own copy, and `get_worker_info()` says which share of the samples it should give."
            )
        warnings.warn(text, stacklevel=3)

    def __len__(self) -> int:
        return len(self._index_sampler)

    def __getstate__(self) -> Any:
        # PyTorch's words: programs see two arguments.
        raise NotImplementedError("{} cannot be pickled", type(self).__name__)


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """A pass in this process."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        if loader.timeout:
            raise AssertionError(
                "_SingleProcessDataLoaderIter requires timeout == 0\n  Without workers there is "
                "nobody to wait for: leave it out, or set num_workers." + errors.at_user_line()
            )
        self._dataset_fetcher = _DatasetKind.create_fetcher(
            self._dataset_kind,
            self._dataset,
            self._auto_collation,
            self._collate_fn,
            self._drop_last,
        )

    def _next_data(self) -> Any:
        return self._dataset_fetcher.fetch(self._next_index())


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """A pass with worker processes.

    Tasks (batches to fetch) are numbered in the order of the sampler and given to the workers in
    turn, so many at a time that each has `prefetch_factor` of them. What the next task is, and who
    gets it, is decided when a batch is handed to the user, never when an answer happens to arrive:
    so the batches of a pass are the same every time.
    """

    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        if loader.prefetch_factor <= 0:
            raise AssertionError(
                "prefetch_factor must be greater than 0 for MultiProcessingDataLoaderIter"
            )
        self._in_order = loader.in_order
        self._limit = loader.prefetch_factor * self._num_workers
        self._epoch = 0
        self._failure: str | None = None
        # Whether a message, or the account of one, is under way: if that is interrupted, the
        # workers and this pass no longer agree on what has been asked for.
        self._is_between = False
        context = loader.multiprocessing_context or multiprocessing.get_context()
        self._pool = Workers(context, [self._task(loader, n) for n in range(self._num_workers)])
        self._workers = self._pool.processes
        self._reset(loader, first_iter=True)

    def _task(self, loader: DataLoader[Any], worker: int) -> WorkerTask:
        task = WorkerTask(
            dataset_kind=self._dataset_kind,
            dataset=self._dataset,
            auto_collation=self._auto_collation,
            collate_fn=self._collate_fn,
            drop_last=self._drop_last,
            base_seed=self._base_seed,
            init_fn=loader.worker_init_fn,
            worker_id=worker,
            num_workers=self._num_workers,
        )
        if active.observer is not None:
            active.observer.worker_made(task)
        return task

    def _reset(self, loader: DataLoader[Any], first_iter: bool = False) -> None:
        super()._reset(loader, first_iter)
        self._send_idx = 0
        self._rcvd_idx = 0
        # The worker of each task that was sent and not handed out, and the answers so far.
        self._task_info: dict[int, int] = {}
        self._arrived: dict[int, Any] = {}
        self._workers_status = [True] * self._num_workers
        self._turns = itertools.cycle(range(self._num_workers))
        self._is_between = True
        if not first_iter:
            # Answers to what an earlier, unfinished pass has asked for carry its number.
            self._epoch += 1
            self._pool.resume(self._epoch)
        for _ in range(self._limit):
            self._try_put(self._next_indices())
        self._is_between = False

    # -- tasks -----------------------------------------------------------------------------

    def _next_indices(self) -> list[Any]:
        """What the sampler wants next; nothing if it has come to its end."""
        try:
            return [self._next_index()]
        except StopIteration:
            return []

    def _try_put(self, indices: list[Any]) -> None:
        """Give the next task to a worker, if there are both."""
        worker = self._next_worker() if indices else None
        if worker is None:
            return
        index = indices[0]
        self._task_info[self._send_idx] = worker
        self._pool.send(worker, self._epoch, self._send_idx, index)
        self._send_idx += 1

    def _next_worker(self) -> int | None:
        in_turn = list(itertools.islice(self._turns, self._num_workers))
        active = [worker for worker in in_turn if self._workers_status[worker]]
        if not active:
            return None
        chosen = active[0]
        if not self._in_order:
            load = list(self._task_info.values())
            chosen = min(active, key=load.count)
        while next(self._turns) != chosen:
            pass
        return chosen

    # -- answers ---------------------------------------------------------------------------

    def _next_data(self) -> Any:
        if self._failure is not None:
            raise WorkerDied(self._failure)
        if self._is_between:
            raise RuntimeError(
                "DataLoader: this pass was interrupted while a batch was on its way, and cannot be "
                "continued. Begin another one with iter(loader)."
            )
        try:
            return self._next_answer()
        except WorkerDied as error:
            self._failure = str(error)
            raise

    def _next_answer(self) -> Any:
        while True:
            task = self._awaited()
            if task is None:
                if not self._persistent_workers:
                    self._pool.close()
                raise StopIteration
            if task not in self._arrived:
                self._receive()
                continue
            indices = self._next_indices()
            self._is_between = True
            worker, data = self._task_info.pop(task), self._arrived.pop(task)
            if isinstance(data, Exhausted):
                self._retire(worker)
            self._try_put(indices)
            self._is_between = False
            if isinstance(data, ExceptionWrapper):
                data.reraise()
            if not isinstance(data, Exhausted):
                return data

    def _awaited(self) -> int | None:
        """The task whose answer comes next; None when there is none left."""
        if not self._in_order and self._arrived:
            return next(iter(self._arrived))
        return next(iter(self._task_info), None)

    def _receive(self) -> None:
        for worker in self._pool.ready(self._timeout):
            self._is_between = True
            epoch, task, message = self._pool.receive(worker)
            if epoch == self._epoch:
                self._arrived[task] = _value(message, worker)
            self._is_between = False

    def _retire(self, worker: int) -> None:
        """Forget what an exhausted worker will not answer any more."""
        self._workers_status[worker] = False
        for task, owner in list(self._task_info.items()):
            if owner == worker and task not in self._arrived:
                del self._task_info[task]

    def _shutdown_workers(self) -> None:
        self._pool.close()

    def _has_workers(self) -> bool:
        """Whether another pass can be made with these workers."""
        alive = self._pool.close.alive and all(each.is_alive() for each in self._workers)
        return alive and not self._is_between


def _value(message: Message, worker: int) -> Any:
    try:
        return message.value()
    except Exception as error:  # unpickling runs the program's code
        return ExceptionWrapper(error, f"while reading a batch of DataLoader worker {worker}")
