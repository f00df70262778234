"""The share of a dataset that one of several processes trains on."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from typing import Any, TypeVar

from clew.ops.create.random import Generator, randperm
from clew.utils.data.dataset import Dataset
from clew.utils.data.sampler import Sampler

__all__ = ["DistributedSampler"]

_T_co = TypeVar("_T_co", covariant=True)


class DistributedSampler(Sampler[_T_co]):
    """Every `num_replicas`-th index, from the `rank`-th on, of an order that all ranks share.

    `set_epoch(epoch)` before each epoch gives it another order.

    Args:
        dataset: the dataset
        num_replicas: the number of processes; by default, that of the group
        rank: the number of this one; by default, its number in the group
        shuffle: whether the order is random
        seed: the seed of the order, the same in all processes
        drop_last: leave out the last indices, instead of repeating the first, to give all as many

    Example:
        >>> from clew.utils.data import DistributedSampler
        >>> [list(DistributedSampler(range(5), 2, rank, shuffle=False)) for rank in range(2)]
        [[0, 2, 4], [1, 3, 0]]
    """

    # How many samples of the epoch were trained on before.
    _start = 0

    def __init__(
        self,
        dataset: Dataset[Any],
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            group = _group_or_raise("num_replicas" if num_replicas is None else "rank")
            num_replicas = group.size() if num_replicas is None else num_replicas
            rank = group.rank() if rank is None else rank
        if not 0 <= rank < num_replicas:
            raise ValueError(
                f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]"
            )
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        # A dataset need not have a length: then Python's error says so, here and below.
        count: int = len(dataset)  # type: ignore[arg-type]
        share = count / num_replicas
        self.num_samples = math.floor(share) if drop_last else math.ceil(share)
        self.total_size = self.num_samples * num_replicas
        self.shuffle = shuffle
        self.seed = seed

    def _order(self) -> list[int]:
        """All indices in this epoch's order, repeated or cut so that all ranks get as many."""
        count: int = len(self.dataset)  # type: ignore[arg-type]  # as above
        if self.shuffle:
            generator = Generator().manual_seed(self.seed + self.epoch)
            indices = randperm(count, generator=generator).tolist()
        else:
            indices = list(range(count))
        if indices and len(indices) < self.total_size:
            indices *= math.ceil(self.total_size / len(indices))
        return indices[: self.total_size]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._order()[self._start + self.rank :: self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples - self._start // self.num_replicas

    def set_epoch(self, epoch: int, start: int = 0) -> None:
        """Choose the order of an epoch: without this every epoch has the same one.

        `start` resumes in the middle of it: so many samples, of all ranks together, are left out.
        With the same seed the rest is what it was, also for another number of ranks.
        """
        if start % self.num_replicas:
            raise ValueError(
                f"set_epoch: start={start} must be a multiple of the number of ranks, "
                f"{self.num_replicas}: all ranks have trained on as many samples"
            )
        self.epoch = epoch
        if start != self._start:
            self._start = start


def _group_or_raise(missing: str) -> Any:
    """The group of all ranks: there is none before `clew.distributed` was imported."""
    distributed: Any = sys.modules.get("clew.distributed")
    found = None if distributed is None else distributed.group.WORLD
    if found is None:
        raise ValueError(
            "Default process group has not been initialized, please make sure to call "
            f"init_process_group.\n  Or give DistributedSampler {missing}=..."
        )
    return found
