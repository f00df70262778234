"""One rank does what ranks must not do. The arguments: what, which rank, and in which step.

A comment with its name stands on the line of each fault: `faults.py` looks for it there.
"""

import ctypes
import os
import signal
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist

how, who = sys.argv[1], int(sys.argv[2])
when = int(sys.argv[3]) if len(sys.argv) > 3 else 3


class Samples(torch.utils.data.Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, place):
        if how == "worker" and torch.utils.data.get_worker_info() and is_bad:
            raise OSError("no such picture")  # worker
        if how == "worker dies" and torch.utils.data.get_worker_info() and is_bad:
            os.kill(os.getpid(), signal.SIGKILL)
        return torch.ones(3)


def deeper():
    return deeper()  # recursion


def bad_gradient(gradient):
    raise ValueError("bad gradient")  # backward


is_bad = int(os.environ["RANK"]) == who
if is_bad and how == "early":
    print("begins", flush=True)
    raise ImportError("no module of that name")  # early
if is_bad and how == "drops early":
    print("begins", flush=True)
    os._exit(5)
dist.init_process_group("gloo", timeout=timedelta(seconds=2))
rank, size = dist.get_rank(), dist.get_world_size()
x, large = torch.ones(3), torch.ones(100_000)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 2))
for _ in range(when):
    dist.all_reduce(x)
    dist.all_reduce(large)
    model(torch.ones(2, 3)).sum().backward()
workers = 2 if how.startswith("worker") or how == "killed with workers" else 0
loader = torch.utils.data.DataLoader(Samples(), num_workers=workers, persistent_workers=workers > 0)
if how == "killed with workers":
    batches = iter(loader)
    next(batches)
if is_bad:
    if how not in ("uneven", "at the end"):
        print("begins", flush=True)
    match how:
        case "raises":
            raise ValueError("bad news")  # raises
        case "exits":
            sys.exit(3)  # exits
        case "exits with words":
            sys.exit("no such file")  # exits with words
        case "leaves":
            sys.exit(0)
        case "drops":
            os._exit(4)
        case "drops well":
            os._exit(0)
        case "killed" | "killed with workers":
            os.kill(os.getpid(), signal.SIGKILL)
        case "segfault":
            ctypes.string_at(0)  # segfault
        case "aborts":
            os.abort()  # aborts
        case "terminated":
            os.kill(os.getpid(), signal.SIGTERM)
        case "stops":
            os.kill(os.getpid(), signal.SIGSTOP)
        case "memory":
            bytearray(1 << 60)  # memory
        case "recursion":
            deeper()
        case "mute":
            sys.stdout.close()
            raise ValueError("bad news")  # mute
        case "backward":
            next(model.parameters()).register_hook(bad_gradient)
        case "shape":
            x = torch.ones(4)
        case "dtype":
            x = x.double()
        case "order":
            dist.broadcast(x, src=0)  # order
        case "operation":
            dist.all_reduce(x, dist.ReduceOp.MAX)  # operation
        case "group":
            dist.new_group([0, 1])  # group
        case "late":
            dist.all_reduce(large)
        case "sleeps":
            time.sleep(60)  # sleeps
        case "receives":
            dist.recv(x, src=(who + 1) % size)  # receives
if how == "under way":
    work = dist.all_reduce(large, async_op=True)
    if is_bad:
        raise ValueError("bad news")  # under way
if how == "source":
    dist.broadcast(x, src=rank if is_bad else who - 1 if who else 1)  # source
for _ in loader:
    model(torch.ones(2, 3)).sum().backward()
dist.all_reduce(x)
dist.all_reduce(x)
if is_bad and how == "uneven":
    print("begins", flush=True)
    dist.all_reduce(large)  # uneven
dist.destroy_process_group()
if is_bad and how == "at the end":
    print("begins", flush=True)
    raise ValueError("bad news")  # at the end
