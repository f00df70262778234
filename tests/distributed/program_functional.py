"""Gradients through collectives and messages: gradcheck over the graph of all ranks.

Each rank checks its own inputs while all compute: the loss of a rank depends on the inputs of all,
and the numbers are perturbed on one rank at a time.
"""

import torch
import torch.distributed as dist
import torch.distributed.nn.functional as dist_f

dist.init_process_group("gloo")
RANK, SIZE = dist.get_rank(), dist.get_world_size()
WEIGHTS = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64) * (RANK + 1)


def weighted(tensors):
    """A number that depends on every element differently."""
    return sum((each.sin() * WEIGHTS).sum() * (place + 1) for place, each in enumerate(tensors))


def at(rank):
    """Results that only one rank has."""
    return lambda tensors: weighted(tensors) if rank == RANK else sum(t.sum() * 0 for t in tensors)


CASES = {
    "all_reduce": lambda x: weighted([dist_f.all_reduce(x)]),
    "broadcast": lambda x: weighted([dist_f.broadcast(x, 1)]),
    "reduce": lambda x: at(1)([dist_f.reduce(x, 1)]),
    "all_gather": lambda x: weighted(dist_f.all_gather(x)),
    "reduce_scatter": lambda x: weighted(
        [dist_f.reduce_scatter(torch.zeros(3), [x * (r + 2) for r in range(SIZE)])]
    ),
    "gather": lambda x: at(1)(dist_f.gather(x, 1)),
    "scatter": lambda x: weighted([dist_f.scatter([x * (r + 2) for r in range(SIZE)], 0)]),
    "all_to_all": lambda x: weighted(
        dist_f.all_to_all([torch.zeros(3)] * SIZE, [x * (r + 2) for r in range(SIZE)])
    ),
    "all_to_all_single": lambda x: weighted(
        dist_f.all_to_all_single(
            torch.zeros(SIZE, 3), torch.stack([x * (r + 2) for r in range(SIZE)])
        ).unbind()
    ),
}


def ring(x):
    """Around by messages: each sends to the next and gets the gradient back from there."""
    if RANK == 0:
        token = dist_f.send(x * 3, 1)
        return token
    if RANK == 1:
        got = dist_f.recv(torch.zeros(3, dtype=torch.float64), 0)
        return weighted([got * x])
    return (x * 0).sum()


CASES["messages"] = ring

for name, loss in CASES.items():
    x = torch.tensor([0.3, -0.7, 1.1], dtype=torch.float64) + RANK
    x.requires_grad_()
    value = loss(x)
    value.backward()
    # The derivative of the sum of all losses, by differences on one rank at a time.
    for rank in range(SIZE):
        for index in range(3):
            ends = []
            for step in (1e-6, -1e-6):
                moved = x.detach().clone()
                if rank == RANK:
                    moved[index] += step
                total = loss(moved).detach().clone()
                dist.all_reduce(total)
                ends.append(total.item())
            if rank == RANK:
                numeric = (ends[0] - ends[1]) / 2e-6
                assert abs(numeric - x.grad[index].item()) < 1e-6, (
                    name,
                    rank,
                    index,
                    numeric,
                    x.grad,
                )
print("checked", len(CASES))
