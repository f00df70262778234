"""Replicas that train, with one mistake that the first argument names. Run by test_doctor.py."""

import random
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler

how = sys.argv[1]
dist.init_process_group("gloo")
rank = dist.get_rank()


class Ramp(Dataset):
    def __len__(self):
        return 32

    def __getitem__(self, index):
        x = torch.full((4,), index / 32)
        if "augmented" in how or "seeds" in how:
            x = x + 0.1 * torch.randn(4)
        if how == "rolled":
            x = x + random.random()
        return x, x.sum().reshape(1)


torch.manual_seed(rank if how == "init" else 0)
model, head = nn.Linear(4, 1), nn.Linear(1, 1)
random.seed(0)
if "seeds" in how:
    torch.manual_seed(rank)
replica = model if how in ("alone", "init") else DistributedDataParallel(model)
data = Ramp()
sampler = None if how == "same" else DistributedSampler(data)
workers = 2 if "workers" in how else 0
loader = DataLoader(data, batch_size=4, sampler=sampler, num_workers=workers)
params = [*model.parameters(), *(head.parameters() if how == "outside" else [])]
optimizer = torch.optim.SGD(params, lr=0.01)
for epoch in range(2):
    if sampler is not None and how != "epoch":
        sampler.set_epoch(epoch)
    for number, (x, y) in enumerate(loader):
        if how == "uneven" and rank == 1 and number == 2:
            break
        output = replica(x)
        if how == "outside":
            output = head(output)
        optimizer.zero_grad()
        ((output - y) ** 2).mean().backward()
        if how == "init":
            for param in model.parameters():
                dist.all_reduce(param.grad)
        optimizer.step()
        if how == "written" and number == 2 and rank == 0:
            with torch.no_grad():
                model.weight.mul_(0.5)
    if how == "uneven":
        break
