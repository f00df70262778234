"""A sampler that goes on in the middle of an epoch, with any number of ranks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from clew.ops.create.random import Generator, randperm
from clew.utils.data.distributed import DistributedSampler

__all__ = ["ElasticDistributedSampler"]


class ElasticDistributedSampler(DistributedSampler[Any]):
    """A part of the shuffled samples for each rank, without those that were seen before.

    Args:
        dataset: the samples
        num_replicas: the number of ranks; by default that of the group
        rank: by default this process's
        start_index: how many samples of the epoch were seen
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        start_index: int = 0,
    ) -> None:
        super().__init__(dataset, num_replicas, rank)
        if start_index >= len(dataset):
            raise ValueError(
                f"Start index {start_index} should be less than dataset size {len(dataset)}"
            )
        self.start_index = start_index
        self.num_samples = math.ceil((len(dataset) - start_index) / self.num_replicas)
        self.total_size = self.num_samples * self.num_replicas

    def __iter__(self) -> Iterator[int]:
        # A dataset need not have a length: then Python says so.
        count = len(self.dataset) - self.start_index  # type: ignore[arg-type]
        order = randperm(count, generator=Generator().manual_seed(self.epoch)).tolist()
        indices = [self.start_index + place for place in order]
        indices += indices[: self.total_size - len(indices)]
        return iter(indices[self.rank : self.total_size : self.num_replicas])
