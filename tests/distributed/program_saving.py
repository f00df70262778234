"""Saves a checkpoint in each step, until somebody ends it. Prints its rank and process.

The arguments: where, and `async` to save in a thread.
"""

import os
import sys

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.tensor import Shard, distribute_tensor

folder, *how = sys.argv[1:]
dist.init_process_group("gloo")
mesh = dist.init_device_mesh("cpu", (dist.get_world_size(),))
print("process", os.getpid(), flush=True)
for step in range(10_000):
    x = distribute_tensor(torch.full((7, 3), float(step)), mesh, [Shard(0)])
    state = {"x": x, "step": step}
    if how == ["async"]:
        saving = dcp.async_save(state, checkpoint_id=folder)
        dist.barrier()
        saving.result()
    else:
        dcp.save(state, checkpoint_id=folder)
    if step == 0 and dist.get_rank() == 0:
        print("saved", flush=True)
