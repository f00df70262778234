"""DistributedDataParallel: equality with one rank, and each of its options."""

import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.nn.parallel import DistributedDataParallel as DDP
from training import (
    STEPS,
    assert_close,
    batch,
    loss_of,
    make,
    optimizer_of,
    same_optimizers,
    same_states,
    share,
    train_alone,
)

dist.init_process_group("gloo")
RANK, SIZE = dist.get_rank(), dist.get_world_size()


def equality(name: str, kind: str, **options) -> None:
    """N ranks with a share each do what one rank does with the whole batch."""
    model = make(name)
    if RANK:  # rank 0's parameters count
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(1)
    model = nn.SyncBatchNorm.convert_sync_batchnorm(model)
    ddp = DDP(model, bucket_cap_mb=0.002, **options)
    assert len(ddp.reducer.buckets) > 2
    optimizer = optimizer_of(ddp.parameters(), kind)
    for step in range(STEPS):
        x, y = (share(each, RANK, SIZE) for each in batch(name, step))
        optimizer.zero_grad()
        loss_of(ddp(x), y).backward()
        optimizer.step()
    alone, expected = train_alone(name, kind)
    same_states(ddp.module.state_dict(), alone.state_dict())
    assert list(ddp.state_dict()) == [f"module.{key}" for key in alone.state_dict()]
    same_optimizers(optimizer.state_dict(), expected.state_dict())


def accumulation() -> None:
    """no_sync: two half steps are one."""
    model, plain = make("mlp"), make("mlp")
    ddp = DDP(model)
    x, y = batch("mlp", 0)
    mine = [share(each, RANK, SIZE).chunk(2) for each in (x, y)]
    with ddp.no_sync():
        (loss_of(ddp(mine[0][0]), mine[1][0]) / 2).backward()
        local = model[0].weight.grad.clone()
    (loss_of(ddp(mine[0][1]), mine[1][1]) / 2).backward()
    loss_of(plain(x), y).backward()
    assert not torch.equal(local, model[0].weight.grad)
    for one, other in zip(model.parameters(), plain.parameters()):
        assert_close(one.grad, other.grad, "no_sync")


class Choosy(nn.Module):
    """Uses the branch of the step's number, or of the rank's."""

    def __init__(self) -> None:
        super().__init__()
        self.branches = nn.ModuleList([nn.Linear(3, 3) for _ in range(3)])

    def forward(self, x, which):
        return self.branches[which](x)


def unused() -> None:
    torch.manual_seed(1)
    model = Choosy()
    ddp = DDP(model, find_unused_parameters=True, gradient_as_bucket_view=True)
    for _ in range(2):
        model.zero_grad()
        ddp(torch.ones(2, 3), RANK % 2).sum().backward()
        used = min(SIZE, 2)
        for place, branch in enumerate(model.branches):
            if place < used:
                count = len([r for r in range(SIZE) if r % 2 == place])
                assert_close(branch.bias.grad, torch.full((3,), 2.0 * count / SIZE), "unused")
            else:
                assert branch.bias.grad is None
    strict = DDP(Choosy())
    strict(torch.ones(2, 3), 0).sum().backward()
    try:
        strict(torch.ones(2, 3), 0)
    except RuntimeError as error:
        assert "Expected to have finished reduction in the prior iteration" in str(error)
        assert "branches.0" not in str(error) and "branches.1.weight" in str(error)
    else:
        raise AssertionError("no error")


def hooks() -> None:
    for hook, state, tolerance in (
        (default_hooks.allreduce_hook, None, 1e-12),
        (default_hooks.fp16_compress_hook, None, 1e-3),
        (default_hooks.bf16_compress_hook, None, 1e-2),
        (default_hooks.bf16_compress_wrapper(default_hooks.allreduce_hook), None, 1e-2),
        (powerSGD_hook.powerSGD_hook, powerSGD_hook.PowerSGDState(None, 4, 2), None),
        (powerSGD_hook.batched_powerSGD_hook, powerSGD_hook.PowerSGDState(None, 8, 2), None),
    ):
        model, plain = make("mlp"), make("mlp")
        ddp = DDP(model)
        ddp.register_comm_hook(state, hook)
        optimizers = [torch.optim.SGD(each.parameters(), lr=0.1) for each in (model, plain)]
        for step in range(8):
            x, y = batch("mlp", step % 2)
            losses = []
            for each, optimizer, data in (
                (ddp, optimizers[0], [share(part, RANK, SIZE) for part in (x, y)]),
                (plain, optimizers[1], (x, y)),
            ):
                optimizer.zero_grad()
                loss = loss_of(each(data[0]), data[1])
                loss.backward()
                losses.append(loss.item())
                optimizer.step()
        if tolerance is not None:
            for one, other in zip(model.parameters(), plain.parameters()):
                assert (one - other).abs().max() < tolerance, hook
        first = [None] * SIZE
        dist.all_gather_object(first, model[0].weight.sum().item())
        assert len(set(first)) == 1, first


def uneven() -> None:
    """Ranks with different numbers of batches: all end, with equal parameters."""
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
    ddp = DDP(model)
    optimizer = torch.optim.SGD(ddp.parameters(), lr=0.1)
    steps = 0
    with ddp.join():
        for _ in range(3 + 2 * RANK):
            optimizer.zero_grad()
            ddp(torch.randn(5, 4)).pow(2).sum().backward()
            optimizer.step()
            steps += 1
    assert steps == 3 + 2 * RANK
    sums = [None] * SIZE
    dist.all_gather_object(sums, [p.sum().item() for p in model.parameters()])
    assert all(each == sums[0] for each in sums), sums


def different_models() -> None:
    try:
        DDP(nn.Linear(3, 4 + RANK))
    except RuntimeError as error:
        assert "expects same model across all ranks" in str(error) and "'weight'" in str(error)
    else:
        raise AssertionError("no error")


equality("mlp", "sgd")
equality("cnn", "adamw", gradient_as_bucket_view=True)
equality("gpt", "adamw", static_graph=True)
if "all" in sys.argv:
    for part in (accumulation, unused, hooks, uneven, different_models):
        part()
print("equal")
