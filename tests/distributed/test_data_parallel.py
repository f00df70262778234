"""DistributedDataParallel and the sampler of ranks."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import clew
from clew import distributed as dist
from clew.distributed.algorithms.ddp_comm_hooks.powerSGD_hook import PowerSGDState, powerSGD_hook
from clew.distributed.data_parallel.reducer import Bucket, GradBucket
from clew.utils.data import DistributedSampler
from tests.distributed.ranks import needs_mpi, passes


@needs_mpi
@pytest.mark.parametrize(("ranks", "parts"), [(2, ["all"]), (4, [])])
def test_many_ranks_are_one_with_the_whole_batch(ranks: int, parts: list[str]) -> None:
    assert passes(ranks, "program_ddp.py", *parts).out.count("equal") == ranks


def test_one_rank() -> None:
    dist.init_process_group("gloo")
    try:
        module = clew.nn.Linear(2, 1)
        model: Any = clew.nn.parallel.DistributedDataParallel(module)
        model(clew.ones(3, 2)).sum().backward()
        assert module.weight.grad is not None and module.weight.grad.tolist() == [[3.0, 3.0]]
        with pytest.raises(RuntimeError, match="doesn't have any parameter"):
            clew.nn.parallel.DistributedDataParallel(clew.nn.ReLU())
    finally:
        dist.destroy_process_group()


def test_power_sgd_goes_on_while_the_group_is_busy() -> None:
    dist.init_process_group("gloo")
    try:
        param = clew.nn.Parameter(clew.zeros(6, 5))
        given = GradBucket(Bucket(0, [0], [param]), [param], is_last=True)
        given.buffer().copy_(clew.outer(clew.arange(1.0, 7.0), clew.arange(5.0)).reshape(-1))
        wanted, before = given.buffer().clone(), threading.Event()
        dist.group.WORLD.run("before", (), before.wait, async_op=True)
        state = PowerSGDState(None, 1, 0, 1.0, use_error_feedback=False, warm_start=False)
        future = powerSGD_hook(state, given)
        assert not future.done()
        before.set()
        # One column is enough for a matrix of rank one.
        assert clew.allclose(future.wait(), wanted, atol=1e-5)
    finally:
        dist.destroy_process_group()


@pytest.mark.parametrize("later", [1, 2, 3])
def test_an_epoch_is_resumed_in_its_middle(later: int) -> None:
    """What two ranks had left is what other ranks get, once each."""
    data = range(24)
    first = [DistributedSampler(data, 2, rank, seed=3) for rank in range(2)]
    for sampler in first:
        sampler.set_epoch(5)
    whole = [list(sampler) for sampler in first]
    taken = [each[:3] for each in whole]
    rest: list[int] = []
    for rank in range(later):
        sampler = DistributedSampler(data, later, rank, seed=3)
        sampler.set_epoch(5, start=6)
        left = list(sampler)
        assert len(left) == len(sampler)
        rest += left
    assert sorted(rest + taken[0] + taken[1]) == list(data)
