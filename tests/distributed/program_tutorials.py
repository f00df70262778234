"""Programs in the shape of PyTorch's tutorials on DDP, FSDP2 and tensor parallelism, for gloo."""

import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn, optim
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


class ToyModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.net1 = nn.Linear(10, 10)
        self.relu = nn.ReLU()
        self.net2 = nn.Linear(10, 5)

    def forward(self, x):
        return self.net2(self.relu(self.net1(x)))


def setup(rank, world_size):
    os.environ["MASTER_ADDR"] = "localhost"
    os.environ["MASTER_PORT"] = "12355"
    dist.init_process_group("gloo", rank=rank, world_size=world_size)


def demo_basic(rank, world_size, path):
    setup(rank, world_size)
    ddp_model = DDP(ToyModel())
    loss_fn = nn.MSELoss()
    optimizer = optim.SGD(ddp_model.parameters(), lr=0.001)
    data = TensorDataset(torch.randn(40, 10), torch.randn(40, 5))
    sampler = DistributedSampler(data)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for x, y in DataLoader(data, batch_size=5, sampler=sampler):
            optimizer.zero_grad()
            loss_fn(ddp_model(x), y).backward()
            optimizer.step()
    if rank == 0:
        torch.save(ddp_model.state_dict(), path)
    dist.barrier()
    ddp_model.load_state_dict(torch.load(path, weights_only=True))
    dist.destroy_process_group()


def fsdp2():
    rank = int(os.environ["LOCAL_RANK"])
    dist.init_process_group(backend="cpu:gloo")
    torch.manual_seed(0)
    model = encoder()
    kwargs = {
        "mp_policy": MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    }
    for layer in model.layers:
        fully_shard(layer, **kwargs)
    fully_shard(model, **kwargs)
    assert isinstance(model, nn.TransformerEncoder) and isinstance(model, FSDPModule)
    for param in model.parameters():
        assert isinstance(param, DTensor) and param.placements == (Shard(0),)
    optimizer = optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(10):
        loss = model(torch.ones(2, 4, 16)).float().pow(2).sum()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    assert losses[-1] < losses[0], losses
    full = {name: value.full_tensor() for name, value in model.state_dict().items()}
    sharded = {
        name: distribute_tensor(full[name], param.device_mesh, param.placements)
        for name, param in model.state_dict().items()
    }
    model.load_state_dict(sharded, assign=True)
    for state in optimizer.state_dict()["state"].values():
        assert isinstance(state["exp_avg"], DTensor)
    # A model without memory takes them over, and goes on with them.
    with torch.device("meta"):
        other = encoder()
    for layer in other.layers:
        fully_shard(layer, **kwargs)
    fully_shard(other, **kwargs)
    other.load_state_dict(sharded, assign=True)
    x = torch.ones(2, 4, 16)
    optimizer = optim.SGD(other.parameters(), lr=0.1)
    found = other(x)
    assert torch.equal(found, model(x))
    found.float().pow(2).sum().backward()
    assert all(param.grad is not None for param in other.parameters())
    optimizer.step()
    assert not torch.equal(other(x), found)
    dist.destroy_process_group()
    return rank


def encoder():
    layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(8)
        self.w1, self.w2, self.w3 = nn.Linear(8, 16), nn.Linear(16, 8), nn.Linear(8, 16)

    def forward(self, x):
        h = self.norm(x)
        return self.w2(nn.functional.silu(self.w1(h)) * self.w3(h))


def tensor_parallel():
    world_size = int(os.environ["WORLD_SIZE"])
    tp_mesh = init_device_mesh("cpu", (world_size,))
    torch.manual_seed(0)
    model = parallelize_module(
        FeedForward(),
        tp_mesh,
        {
            "norm": SequenceParallel(use_local_output=True),
            "w1": ColwiseParallel(input_layouts=Shard(1)),
            "w3": ColwiseParallel(input_layouts=Shard(1)),
            "w2": RowwiseParallel(output_layouts=Shard(1)),
            "": PrepareModuleInput(
                input_layouts=(Replicate(),),
                desired_input_layouts=(Shard(1),),
                use_local_output=True,
            ),
        },
    )
    optimizer = optim.AdamW(model.parameters(), lr=0.05, foreach=True)
    torch.manual_seed(1)
    for _ in range(3):
        optimizer.zero_grad()
        out = model(torch.rand(2, 4, 8))
        assert out.shape == (2, 4 // world_size, 8)
        out.sum().backward()
        optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    world = int(os.environ.get("WORLD_SIZE", "2"))
    folder = os.environ.get("TUTORIAL_FOLDER", tempfile.gettempdir())
    mp.spawn(demo_basic, args=(world, os.path.join(folder, "model.pt")), nprocs=world, join=True)
    fsdp2()
    tensor_parallel()
    print("tutorials done")
