"""Hooks that exchange gradients as products of thin matrices (PowerSGD, Vogels et al. 2019)."""

from __future__ import annotations

from typing import Any

import numpy as np

from clew import distributed as dist
from clew.core.tensor import Tensor, wrap
from clew.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from clew.distributed.data_parallel.reducer import GradBucket
from clew.distributed.runtime import world
from clew.futures import Future

__all__ = ["PowerSGDState", "batched_powerSGD_hook", "powerSGD_hook"]


class PowerSGDState:
    """What the hook remembers from step to step.

    Args:
        process_group: the ranks; None is all of them
        matrix_approximation_rank: the number of columns of the thin matrices
        start_powerSGD_iter: how many steps are exchanged in full first
        min_compression_rate: matrices that would not shrink by this are exchanged in full
        use_error_feedback: add to the next gradients what was lost
        warm_start: begin with the thin matrix of the last step
        orthogonalization_epsilon: added to the lengths of columns before division
        random_seed: of the first thin matrices
        compression_stats_logging_frequency: accepted
        batch_tensors_with_same_shape: accepted
    """

    def __init__(
        self,
        process_group: Any = None,
        matrix_approximation_rank: int = 1,
        start_powerSGD_iter: int = 1000,
        min_compression_rate: float = 2,
        use_error_feedback: bool = True,
        warm_start: bool = True,
        orthogonalization_epsilon: float = 0,
        random_seed: int = 0,
        compression_stats_logging_frequency: int = 10000,
        batch_tensors_with_same_shape: bool = False,
    ) -> None:
        if start_powerSGD_iter <= 1 and (use_error_feedback or warm_start):
            raise ValueError(
                "Expect `start_powerSGD_iter` > 1 if `use_error_feedback` or `warm_start` is "
                "enabled, because PowerSGD can only be applied after the first two iterations in "
                "DDP."
            )
        self.process_group = process_group
        self.matrix_approximation_rank = matrix_approximation_rank
        self.start_powerSGD_iter = start_powerSGD_iter
        self.min_compression_rate = min_compression_rate
        self.use_error_feedback, self.warm_start = use_error_feedback, warm_start
        self.orthogonalization_epsilon = orthogonalization_epsilon
        self.rng = np.random.default_rng(random_seed)
        self.iter = 0
        self.error_dict: dict[int, np.ndarray] = {}
        self.q_memory: dict[tuple[int, int], np.ndarray] = {}

    def begin(self, bucket: GradBucket) -> bool:
        """Count the step; whether this one is exchanged in full."""
        in_full = self.iter < self.start_powerSGD_iter
        if bucket.is_last():
            self.iter += 1
        return in_full

    def thin(self, key: tuple[int, int], columns: int, rank: int, dtype: Any) -> np.ndarray:
        """The thin matrix to begin with."""
        found = self.q_memory.get(key)
        if found is None or not self.warm_start:
            return self.rng.standard_normal((columns, rank)).astype(dtype)
        return found


def powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Future[Tensor]:
    """Average the gradients of a bucket, matrices as products of two thin ones.

    Args:
        state: what is remembered
        bucket: the gradients
    """
    if state.begin(bucket):
        return allreduce_hook(state.process_group, bucket)
    shapes = [tuple(each.shape) for each in bucket.gradients()]
    return _exchange(state, bucket, shapes)


def batched_powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Future[Tensor]:
    """Average the gradients of a bucket, all together as one square matrix.

    Args:
        state: what is remembered
        bucket: the gradients
    """
    if state.begin(bucket):
        return allreduce_hook(state.process_group, bucket)
    size = bucket.buffer()._array.size
    side = int(np.ceil(np.sqrt(size)))
    return _exchange(state, bucket, [(side, side)])


def _exchange(
    state: PowerSGDState, bucket: GradBucket, shapes: list[tuple[int, ...]]
) -> Future[Tensor]:
    """Let the group's thread exchange a bucket when its turn comes, while backward goes on."""
    group = world.default_group() if state.process_group is None else state.process_group
    buffer = bucket.buffer()
    work = group.run(
        "PowerSGD",
        (buffer.dtype.name, buffer._array.shape),
        lambda: _approximate(state, bucket, shapes, group),
        async_op=True,
        tensors=(buffer,),
    )
    assert work is not None
    done: Future[Tensor] = work.get_future().then(lambda ended: ended.value()[0])
    return done


def _approximate(
    state: PowerSGDState, bucket: GradBucket, shapes: list[tuple[int, ...]], group: Any
) -> None:
    flat = bucket.buffer()._array
    total = sum(int(np.prod(shape)) for shape in shapes)
    padded = np.zeros(total, flat.dtype)
    padded[: flat.size] = flat
    if state.use_error_feedback and bucket.index() in state.error_dict:
        padded += state.error_dict[bucket.index()]
    wanted = padded.copy()
    place, in_full = 0, []
    for number, shape in enumerate(shapes):
        size = int(np.prod(shape))
        part = padded[place : place + size]
        place += size
        matrix = part.reshape(shape[0] if shape else 1, -1)
        rows, columns = matrix.shape
        rank = min(rows, columns, state.matrix_approximation_rank)
        if len(shape) < 2 or (rows + columns) * rank * state.min_compression_rate >= size:
            in_full.append(part)
        else:
            matrix[...] = _low_rank(state, group, (bucket.index(), number), matrix, rank)
    _average_in_full(in_full, group)
    if state.use_error_feedback:
        state.error_dict[bucket.index()] = wanted - padded
        for part in in_full:
            start = (part.ctypes.data - padded.ctypes.data) // padded.itemsize
            state.error_dict[bucket.index()][start : start + part.size] = 0
    flat[:] = padded[: flat.size]


def _low_rank(
    state: PowerSGDState, group: Any, key: tuple[int, int], matrix: np.ndarray, rank: int
) -> np.ndarray:
    """The average of matrices, as far as one step of power iteration finds it."""
    q = np.linalg.qr(state.thin(key, matrix.shape[1], rank, matrix.dtype))[0]
    p = wrap(np.ascontiguousarray(matrix @ q))
    dist.all_reduce(p, group=group)
    basis = np.linalg.qr(p._array)[0]
    thin = wrap(np.ascontiguousarray(matrix.T @ basis))
    dist.all_reduce(thin, group=group)
    thin._array[...] /= group.size()
    state.q_memory[key] = thin._array
    return basis @ thin._array.T


def _average_in_full(parts: list[np.ndarray], group: Any) -> None:
    if parts:
        flat = wrap(np.concatenate(parts))
        dist.all_reduce(flat, op=dist.ReduceOp.AVG, group=group)
        place = 0
        for part in parts:
            part[:] = flat._array[place : place + part.size]
            place += part.size
