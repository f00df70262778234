"""Gradients averaged over all ranks at first, and then among neighbours only (post-local SGD)."""

from __future__ import annotations

import socket
from typing import Any

from clew import distributed as dist
from clew.core.tensor import Tensor
from clew.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from clew.distributed.data_parallel.reducer import GradBucket
from clew.futures import Future

__all__ = ["PostLocalSGDState", "post_localSGD_hook"]


class PostLocalSGDState:
    """What the hook remembers.

    Args:
        process_group: the ranks; None is all of them
        subgroup: this rank's neighbours; None is the ranks of its machine
        start_localSGD_iter: how many steps are averaged over all ranks
        post_local_gradient_allreduce: whether neighbours average gradients afterwards
    """

    def __init__(
        self,
        process_group: Any,
        subgroup: Any,
        start_localSGD_iter: int,
        post_local_gradient_allreduce: bool = True,
    ) -> None:
        self.process_group, self.subgroup = process_group, subgroup
        self.start_localSGD_iter = start_localSGD_iter
        self.post_local_gradient_allreduce = post_local_gradient_allreduce
        self.iter = 0

    def neighbours(self) -> Any:
        """The group that averages after the first steps; made when it is needed, by all ranks."""
        if self.subgroup is None:
            self.subgroup = dist.new_subgroups(group_size=_ranks_of_this_machine())[0]
        return self.subgroup


def _ranks_of_this_machine() -> int:
    names: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(names, socket.gethostname())
    return names.count(socket.gethostname())


def post_localSGD_hook(state: PostLocalSGDState, bucket: GradBucket) -> Future[Tensor]:
    """Average the gradients of a bucket over all ranks, or over neighbours after the first steps.

    Args:
        state: what is remembered
        bucket: the gradients
    """
    is_global = state.iter < state.start_localSGD_iter
    if bucket.is_last():
        state.iter += 1
    if is_global:
        return allreduce_hook(state.process_group, bucket)
    if not state.post_local_gradient_allreduce:
        future: Future[Tensor] = Future()
        future.set_result(bucket.buffer())
        return future
    return allreduce_hook(state.neighbours(), bucket)
