"""FSDP1's wrapper trains as one process with the whole batch; DDP's buckets follow backward."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import (
    FullStateDictConfig,
    ShardingStrategy,
    StateDictType,
    fully_shard,
)
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp.wrap import ModuleWrapPolicy
from torch.distributed.tensor import Shard
from torch.nn.parallel import DistributedDataParallel


def made():
    torch.manual_seed(0)
    layers = [nn.Linear(6, 12), nn.Tanh(), nn.Sequential(nn.Linear(12, 12), nn.Tanh())]
    return nn.Sequential(*layers, nn.Linear(12, 3)).double()


def train(model, x, y, clip):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(10):
        optimizer.zero_grad()
        ((model(x) - y) ** 2).mean().backward()
        clip(model)
        optimizer.step()


class Backwards(nn.Module):
    """Uses its layers in another order than they are registered in."""

    def __init__(self):
        super().__init__()
        self.last, self.first = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        return self.last(self.first(x))


dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(1)
x, y = torch.randn(8, 6).double(), torch.randn(8, 3).double()
alone = made()
train(alone, x, y, lambda m: nn.utils.clip_grad_norm_(m.parameters(), 0.1))
for strategy in ShardingStrategy:
    model = FSDP(
        made(), auto_wrap_policy=ModuleWrapPolicy({nn.Sequential}), sharding_strategy=strategy,
        sync_module_states=True,
    )  # fmt: skip
    train(model, x[rank::size], y[rank::size], lambda m: m.clip_grad_norm_(0.1))
    with FSDP.state_dict_type(
        model, StateDictType.FULL_STATE_DICT, FullStateDictConfig(rank0_only=True)
    ):
        state = model.state_dict()
    assert bool(state) == (rank == 0)
    for name, value in state.items():
        torch.testing.assert_close(value, alone.state_dict()[name], rtol=0, atol=1e-9)
    assert [name for name, _ in model.named_parameters()] == list(alone.state_dict())

with FSDP.summon_full_params(model):
    assert [tuple(p.shape) for p in model.parameters()] == [
        tuple(p.shape) for p in alone.parameters()
    ]
    with torch.no_grad():
        model.module[0].weight.mul_(2)
torch.testing.assert_close(
    model.state_dict()["0.weight"], 2 * alone[0].weight.detach(), rtol=0, atol=1e-9
)

# Optimizer state by names, whole, and back into another model's optimizer.
models = [FSDP(made(), auto_wrap_policy=ModuleWrapPolicy({nn.Sequential})) for _ in range(2)]
optimizers = [torch.optim.AdamW(each.parameters(), lr=1e-2) for each in models]
for _ in range(2):
    models[0](x[rank::size]).sum().backward()
    optimizers[0].step()
whole = FSDP.optim_state_dict(models[0], optimizers[0])
assert whole["state"]["0.weight"]["exp_avg"].shape == (12, 6)
optimizers[1].load_state_dict(FSDP.optim_state_dict_to_load(models[1], optimizers[1], whole))
again = FSDP.optim_state_dict(models[1], optimizers[1])
for name, state in whole["state"].items():
    for key, value in state.items():
        torch.testing.assert_close(again["state"][name][key], value)

# Parameters cut along another dimension.
second = made()
fully_shard(second, shard_placement_fn=lambda p: Shard(1) if p.dim() == 2 else None)
assert second[0].weight.to_local().shape == (12, 6 // size)
train(second, x[rank::size], y[rank::size], lambda m: nn.utils.clip_grad_norm_(m.parameters(), 0.1))
for name, value in second.state_dict().items():
    torch.testing.assert_close(value.full_tensor(), alone.state_dict()[name], rtol=0, atol=1e-9)

replica = DistributedDataParallel(Backwards(), bucket_cap_mb=0)
for _ in range(2):
    replica(torch.ones(2, 4) * rank).sum().backward()
names = [replica.reducer.names[bucket.places[0]] for bucket in replica.reducer.buckets]
assert [name.split(".")[0] for name in names] == ["last", "last", "first", "first"], names

# Initial values of parts are those of the whole, whatever the number of ranks.
torch.manual_seed(3)
whole = nn.Linear(5, 7)
with torch.device("meta"):
    parts = nn.Linear(5, 7)
fully_shard(parts)
parts.to_empty(device="cpu")
torch.manual_seed(3)
parts.reset_parameters()
assert torch.equal(parts.weight.full_tensor(), whole.weight)
print("equal")
