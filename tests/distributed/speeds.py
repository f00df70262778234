"""`python -m tests.distributed.speeds`: collectives beside mpi4py and PyTorch's gloo; DDP's step.

Two ranks of each. clew and mpi4py take turns in the same ranks; gloo runs after them. Times are
medians, and worth what the machine's rest is worth.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from tests.distributed.ranks import FOLDER, ROOT, environment

SIZES = (4, 4096, 1 << 20, 1 << 24)


def medians(
    calls: list[Callable[[], Any]], barrier: Callable[[], Any], rounds: int, block: int = 50
) -> list[float]:
    """The median time of each of several calls, which take turns in blocks."""
    times: list[list[float]] = [[] for _ in calls]
    for number in range(rounds):
        order = list(range(len(calls)))
        for place in order if number % 2 else reversed(order):
            barrier()
            calls[place]()
            for _ in range(block):
                began = time.perf_counter()
                calls[place]()
                times[place].append(time.perf_counter() - began)
    return [statistics.median(each) for each in times]


def clew_ranks() -> None:
    """As a rank of clew: collectives beside mpi4py's, then DDP."""
    import numpy as np
    from mpi4py import MPI

    import clew
    from clew import distributed as dist

    dist.init_process_group("gloo")
    comm = MPI.COMM_WORLD.Dup()
    for size in SIZES:
        # Sums of zeros stay zeros.
        mine, theirs = clew.zeros(size // 4), np.zeros(size // 4, np.float32)

        def ours(mine: Any = mine) -> None:
            dist.all_reduce(mine)

        def plain(theirs: Any = theirs) -> None:
            comm.Allreduce(MPI.IN_PLACE, theirs, MPI.SUM)

        one, other = medians([ours, plain], comm.Barrier, 20 if size < 1 << 20 else 2)
        if dist.get_rank() == 0:
            print(
                f"all_reduce of {size} bytes: {one * 1e6:.2f} us by {other * 1e6:.2f} of mpi4py "
                f"({one / other:.2f})"
            )
    _ddp(clew, dist, comm.Barrier)
    dist.destroy_process_group()


def _ddp(torch: Any, dist: Any, barrier: Callable[[], Any]) -> None:
    """A step with gradients reduced while backward goes on, after it, and not at all."""
    nn, wrapped = torch.nn, torch.nn.parallel.DistributedDataParallel
    torch.manual_seed(0)
    layers = [layer for _ in range(6) for layer in (nn.Linear(512, 512), nn.ReLU())]
    model = nn.Sequential(*layers)
    x = torch.randn(256, 512)
    replica = wrapped(model, bucket_cap_mb=1)
    group = dist.group.WORLD

    def overlapped() -> None:
        model.zero_grad()
        replica(x).sum().backward()

    def apart() -> None:
        model.zero_grad()
        with replica.no_sync():
            replica(x).sum().backward()
        for param in model.parameters():
            dist.all_reduce(param.grad, group=group)

    def alone() -> None:
        model.zero_grad()
        with replica.no_sync():
            replica(x).sum().backward()

    with_overlap, without, computed = medians([overlapped, apart, alone], barrier, 4, 4)
    if dist.get_rank() == 0:
        print(
            f"DDP's step: {with_overlap * 1e3:.2f} ms with overlap, {without * 1e3:.2f} without, "
            f"{computed * 1e3:.2f} without communication"
        )


def gloo_rank() -> None:
    """As a rank of PyTorch."""
    import torch
    from torch import distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    for size in SIZES:
        tensor = torch.zeros(size // 4)
        took = medians(
            [lambda tensor=tensor: dist.all_reduce(tensor)], dist.barrier,
            10 if size < 1 << 20 else 1,
        )[0]  # fmt: skip
        if dist.get_rank() == 0:
            print(f"gloo: all_reduce of {size} bytes: {took * 1e6:.1f} us")
    _ddp(torch, dist, dist.barrier)
    dist.destroy_process_group()


def main() -> int:
    if sys.argv[1:] == ["clew"]:
        clew_ranks()
    elif sys.argv[1:] == ["gloo"]:
        gloo_rank()
    else:
        environ = environment()
        script = str(FOLDER / "speeds.py")
        run = [sys.executable, "-m", "clew", "launch", "-n", "2", script, "clew"]
        subprocess.run(run, env=environ, cwd=ROOT, check=True)
        ranks = [
            subprocess.Popen(
                [sys.executable, script, "gloo"],
                env={**environ, "RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1",
                     "MASTER_PORT": "29533"}, cwd=ROOT,
            )
            for rank in range(2)
        ]  # fmt: skip
        for each in ranks:
            each.wait()
    return 0


if __name__ == "__main__":
    # Ranks of clew run this file by its path.
    sys.path.insert(0, os.fspath(ROOT))
    sys.exit(main())
