"""Training that is interrupted: it goes on with another number of ranks as if nothing had been."""

import sys

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_state_dict,
    set_state_dict,
)
from torch.distributed.fsdp import fully_shard
from training import STEPS, batch, loss_of, make, optimizer_of, same_states, share, train_alone

folder, first, last = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
model = make("gpt")
for block in model.blocks:
    fully_shard(block)
fully_shard(model)
optimizer = optimizer_of(model.parameters())


def step(number: int) -> None:
    x, y = (share(each, rank, size) for each in batch("gpt", number))
    optimizer.zero_grad()
    loss_of(model(x), y).backward()
    optimizer.step()


if first:
    weights, moments = get_state_dict(model, optimizer)
    state = {"model": weights, "optimizer": moments, "step": 0}
    dcp.load(state, checkpoint_id=folder)
    assert state["step"] == first
    set_state_dict(
        model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"]
    )
for number in range(first, last):
    step(number)
if last == STEPS:
    whole = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True))
    same_states(whole, train_alone("gpt")[0].state_dict())
else:
    weights, moments = get_state_dict(model, optimizer)
    for _ in range(2):  # the second replaces the first
        dcp.save({"model": weights, "optimizer": moments, "step": last}, checkpoint_id=folder)
    # Training goes on, and other collectives with it, while the same state is written once more.
    futures = [
        dcp.async_save(
            {"model": weights, "optimizer": moments, "step": number}, checkpoint_id=folder
        )
        for number in (-1, last)
    ]
    step(last)
    dist.barrier()
    for each in futures:
        assert each.result(60).state_dict_metadata
    try:
        dcp.load({"model": {"embed.weight": torch.zeros(3, 3)}}, checkpoint_id=folder)
    except dcp.CheckpointException as error:
        wanted = "Size mismatch between saved torch.Size([16, 16]) and current: torch.Size([3, 3])"
        assert wanted in str(error), error
    else:
        raise AssertionError("no error")
print("done")
