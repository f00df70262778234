"""Collectives of several tensors in one call, which MPI performs one after the other."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from clew.core.tensor import Tensor
from clew.distributed.collectives import ReduceOp, all_reduce
from clew.distributed.collectives_in_parts import all_gather
from clew.distributed.runtime.work import Work

__all__ = ["all_gather_coalesced", "all_reduce_coalesced"]


class _Works(Work):
    """Several works as one."""

    def __init__(self, works: list[Work]) -> None:
        self.works = works

    def append(self, work: Work | None) -> None:
        """Take another one in."""
        if work is not None:
            self.works.append(work)

    def is_completed(self) -> bool:
        return all(work.is_completed() for work in self.works)

    def wait(self, timeout: Any = None) -> bool:
        for work in self.works:
            work.wait(timeout)
        return True

    def result(self) -> list[Any]:
        return [each for work in self.works for each in work.result()]


def _ended(works: list[Work | None], async_op: bool) -> Work | None:
    together = _Works([work for work in works if work is not None])
    return together if async_op else None


@contextlib.contextmanager
def _coalescing_manager(
    group: Any = None, device: Any = None, async_ops: bool = False
) -> Iterator[_Works]:
    """Inside, collectives are one call elsewhere; MPI performs each where it stands."""
    yield _Works([])


def all_reduce_coalesced(
    tensors: list[Tensor], op: ReduceOp = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Replace each of several tensors by its sum over all ranks.

    Args:
        tensors: what is reduced and overwritten
        op: the reduction
        group: the ranks; None is all of them
        async_op: return at once, with a `Work` to wait for
    """
    return _ended([all_reduce(each, op, group, async_op) for each in tensors], async_op)


def all_gather_coalesced(
    output_tensor_lists: list[list[Tensor]],
    input_tensor_list: list[Tensor],
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Gather several tensors from all ranks.

    Args:
        output_tensor_lists: for each rank, a tensor for each of the inputs
        input_tensor_list: what this rank sends
        group: the ranks; None is all of them
        async_op: return at once, with a `Work` to wait for
    """
    works = [
        all_gather([each[place] for each in output_tensor_lists], tensor, group, async_op)
        for place, tensor in enumerate(input_tensor_list)
    ]
    return _ended(works, async_op)
