"""Parameters in parts: ZeRO, fully_shard, tensor parallel, pipeline and mixtures equal one rank."""

import itertools
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
)
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.distributed.pipelining import (
    PipelineStage,
    Schedule1F1B,
    ScheduleGPipe,
    ScheduleInterleaved1F1B,
    ScheduleLoopedBFS,
    SplitPoint,
)
from torch.distributed.pipelining import pipeline as cut
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    SequenceParallel,
    loss_parallel,
    parallelize_module,
)
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
WHOLE = StateDictOptions(full_state_dict=True)


def train(model, optimizer, name, rank=RANK, size=SIZE):
    for step in range(STEPS):
        x, y = (share(each, rank, size) for each in batch(name, step))
        optimizer.zero_grad()
        loss_of(model(x), y).backward()
        optimizer.step()


def compare(model, optimizer, name, kind="adamw"):
    """Weights and optimizer state, gathered, are those of one rank."""
    weights = get_model_state_dict(model, options=WHOLE)
    found = get_optimizer_state_dict(model, optimizer, options=WHOLE)["state"]
    if RANK:
        return  # all have gathered the same
    alone, expected = train_alone(name, kind)
    same_states(weights, alone.state_dict())
    names = [key for key, _ in alone.named_parameters()]
    for place, state in expected.state_dict()["state"].items():
        for key, value in state.items():
            assert_close(torch.as_tensor(found[names[place]][key]), torch.as_tensor(value), key)


def zero():
    for name in ("mlp", "cnn", "gpt"):
        model = DDP(nn.SyncBatchNorm.convert_sync_batchnorm(make(name)))
        optimizer = ZeroRedundancyOptimizer(
            model.parameters(), torch.optim.AdamW, lr=0.01, eps=1e-3
        )
        train(model, optimizer, name)
        alone, expected = train_alone(name)
        same_states(model.module.state_dict(), alone.state_dict())
        held = sum(p.numel() for p in optimizer.optim.state)
        total = sum(p.numel() for p in model.parameters())
        # The largest parameters of the others are half of them.
        assert name != "gpt" or held < total * (1.3 / SIZE), (held, total)
        optimizer.consolidate_state_dict(to=0)
        if RANK == 0:
            same_optimizers(optimizer.state_dict(), expected.state_dict())


def shard_all(model, **options):
    """Each layer by itself, then the rest, as programs do."""
    inner = model.blocks if hasattr(model, "blocks") else [m for m in model if list(m.parameters())]
    for module in inner:
        fully_shard(module, **options)
    return fully_shard(model, **options)


def sharded():
    for name in ("mlp", "cnn", "gpt"):
        model = shard_all(nn.SyncBatchNorm.convert_sync_batchnorm(make(name)))
        assert all(isinstance(p, DTensor) for p in model.parameters())
        optimizer = optimizer_of(model.parameters())
        train(model, optimizer, name)
        compare(model, optimizer, name)
        held = [p.to_local().numel() for p in model.parameters()]
        held += [p.grad.to_local().numel() for p in model.parameters()]
        held += [s["exp_avg"].to_local().numel() for s in optimizer.state.values()]
        assert all(s["exp_avg"].placements == p.placements for p, s in optimizer.state.items())
        whole = 3 * sum(p.numel() for p in model.parameters())
        if name == "gpt" and SIZE == 4:
            assert sum(held) * 1.0 <= 0.3 * whole, (sum(held), whole)


def sharded_options():
    """Gradient accumulation, clipping, bfloat16 computation, loading."""
    model, plain = shard_all(make("mlp")), make("mlp")
    x, y = batch("mlp", 0)
    mine = [share(each, RANK, SIZE).chunk(2) for each in (x, y)]
    model.set_requires_gradient_sync(False)
    (loss_of(model(mine[0][0]), mine[1][0]) / 2).backward()
    assert all(p.grad is None for p in model.parameters())
    model.set_requires_gradient_sync(True)
    (loss_of(model(mine[0][1]), mine[1][1]) / 2).backward()
    loss_of(plain(x), y).backward()
    for one, other in zip(model.parameters(), plain.parameters()):
        assert_close(one.grad.full_tensor(), other.grad, "accumulated")
    norms = [nn.utils.clip_grad_norm_(each.parameters(), 0.1) for each in (model, plain)]
    assert_close(norms[0], norms[1], "norm")
    for one, other in zip(model.parameters(), plain.parameters()):
        assert_close(one.grad.full_tensor(), other.grad, "clipped")
    model.load_state_dict({name: value + 1 for name, value in plain.state_dict().items()})
    for one, other in zip(model.parameters(), plain.parameters()):
        assert_close(one.full_tensor(), other + 1, "loaded")
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    model = shard_all(make("mlp"), mp_policy=policy)
    out = model(share(x, RANK, SIZE))
    assert out.dtype == torch.bfloat16
    out.float().sum().backward()
    assert all(p.grad.dtype == torch.float64 for p in model.parameters())


def gpt_plan():
    plan = {f"blocks.*.{part}": ColwiseParallel() for part in ("q", "k", "v", "up")}
    return plan | {f"blocks.*.{part}": RowwiseParallel() for part in ("out", "down")}


def sequence_plan():
    """Between attention and the feed-forward layers each rank has a part of the sequence."""
    plan = {
        f"blocks.*.{part}": ColwiseParallel(input_layouts=Shard(1))
        for part in ("q", "k", "v", "up")
    }
    plan |= {
        f"blocks.*.{part}": RowwiseParallel(output_layouts=Shard(1)) for part in ("out", "down")
    }
    plan |= {f"blocks.*.norm{n}": SequenceParallel(use_local_output=True) for n in (1, 2)}
    plan["norm"] = SequenceParallel(use_local_output=True)
    plan["embed"] = RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1))
    plan["head"] = ColwiseParallel(input_layouts=Shard(1), output_layouts=Replicate())
    return plan


def tensor_parallel():
    mesh = dist.init_device_mesh("cpu", (SIZE,))
    model = parallelize_module(make("mlp"), mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    optimizer = optimizer_of(model.parameters())
    train(model, optimizer, "mlp", 0, 1)
    compare(model, optimizer, "mlp")
    model = parallelize_module(make("gpt"), mesh, gpt_plan())
    optimizer = optimizer_of(model.parameters())
    assert model.blocks[0].q.weight.to_local().shape[0] == 16 // SIZE
    train(model, optimizer, "gpt", 0, 1)
    compare(model, optimizer, "gpt")


def sequence_parallel():
    mesh = dist.init_device_mesh("cpu", (SIZE,))
    model = parallelize_module(make("gpt"), mesh, sequence_plan())
    optimizer = optimizer_of(model.parameters())
    train(model, optimizer, "gpt", 0, 1)
    compare(model, optimizer, "gpt")


def loss_in_parts():
    mesh = dist.init_device_mesh("cpu", (SIZE,))
    plan = gpt_plan() | {"head": ColwiseParallel(use_local_output=False)}
    model = parallelize_module(make("gpt"), mesh, plan)
    optimizer = optimizer_of(model.parameters())
    for step in range(STEPS):
        x, y = batch("gpt", step)
        optimizer.zero_grad()
        with loss_parallel():
            loss = nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten())
            loss.backward()
        optimizer.step()
    compare(model, optimizer, "gpt")


def mixed():
    """Tensor parallel inside, fully_shard outside."""
    mesh = dist.init_device_mesh("cpu", (SIZE // 2, 2), mesh_dim_names=("dp", "tp"))
    model = parallelize_module(make("gpt"), mesh["tp"], gpt_plan())
    for block in model.blocks:
        fully_shard(block, mesh=mesh["dp"])
    fully_shard(model, mesh=mesh["dp"])
    optimizer = optimizer_of(model.parameters())
    train(model, optimizer, "gpt", mesh.get_local_rank("dp"), SIZE // 2)
    compare(model, optimizer, "gpt")


def hybrid():
    """Replicas of sharded models."""
    mesh = dist.init_device_mesh("cpu", (2, SIZE // 2), mesh_dim_names=("replicate", "shard"))
    model = shard_all(make("mlp"), mesh=mesh)
    optimizer = optimizer_of(model.parameters())
    train(model, optimizer, "mlp")
    compare(model, optimizer, "mlp")


def pipeline():
    layers = list(make("mlp"))
    each = -(-len(layers) // SIZE)
    mine = nn.Sequential(*layers[RANK * each : (RANK + 1) * each])
    stage = PipelineStage(mine, RANK, SIZE, torch.device("cpu"))
    run_pipeline("mlp", [mine], ScheduleGPipe(stage, n_microbatches=4, loss_fn=loss_of))
    expected = nn.Sequential(*list(train_alone("mlp")[0])[RANK * each : (RANK + 1) * each])
    same_states(mine.state_dict(), expected.state_dict())


def pipeline_of_a_graph():
    model, (x, _) = make("gpt"), batch("gpt", 0)
    cuts = ["blocks.1"] if SIZE == 2 else ["blocks.0", "blocks.1", "norm"]
    spec = dict.fromkeys(cuts, SplitPoint.BEGINNING)
    stage = cut(model, (x.chunk(4)[0],), split_spec=spec).build_stage(RANK, torch.device("cpu"))
    run_pipeline("gpt", [stage.submod], Schedule1F1B(stage, n_microbatches=4, loss_fn=loss_of))
    found, expected = stage.submod.state_dict(), train_alone("gpt")[0].state_dict()
    same_states(found, {name: expected[name] for name in found})


def run_pipeline(name, mine, schedule, micro_batches=4):
    """Train, and compare the optimizer's state with that of one rank."""
    params = [p for module in mine for p in module.parameters()]
    optimizer = optimizer_of(params) if params else None
    for step in range(STEPS):
        x, y = batch(name, step)
        if optimizer:
            optimizer.zero_grad()
        losses = []
        # The first stage is on the first rank, the last on the last.
        given = (x,) if RANK == 0 else ()
        if RANK == SIZE - 1:
            out = schedule.step(*given, target=y, losses=losses)
            assert out.shape[0] == len(x) and len(losses) == micro_batches
        else:
            schedule.step(*given)
        if optimizer:
            optimizer.step()
    return optimizer


def gpt_stages(model, count):
    """The layers of a GPT in as many stages."""
    layers = [model.embed, *model.blocks, model.norm, model.head]
    bounds = [round(place * len(layers) / count) for place in range(count + 1)]
    return [nn.Sequential(*layers[a:b]) for a, b in itertools.pairwise(bounds)]


def interleaved():
    """Several stages on each of two ranks, of a GPT."""
    for schedule_class in (ScheduleInterleaved1F1B, ScheduleLoopedBFS):
        count = 2 * SIZE if SIZE == 2 else SIZE
        alone, expected = train_alone("gpt")
        mine = gpt_stages(make("gpt"), count)[RANK::SIZE]
        stages = [PipelineStage(m, RANK + n * SIZE, count) for n, m in enumerate(mine)]
        schedule = schedule_class(stages, n_microbatches=4, loss_fn=loss_of)
        optimizer = run_pipeline("gpt", mine, schedule)
        for found, wanted in zip(mine, gpt_stages(alone, count)[RANK::SIZE]):
            same_states(found.state_dict(), wanted.state_dict())
            for one, other in zip(found.parameters(), wanted.parameters()):
                for key, value in expected.state[other].items():
                    assert_close(
                        torch.as_tensor(optimizer.state[one][key]), torch.as_tensor(value), key
                    )


def parts():
    mesh = dist.init_device_mesh("cpu", (SIZE,))
    whole = torch.arange(7 * 3.0).reshape(7, 3)
    for placement in (Shard(0), Shard(1), Replicate()):
        x = distribute_tensor(whole, mesh, [placement])
        assert x.shape == whole.shape and torch.equal(x.full_tensor(), whole)
        moved = x.redistribute(placements=[Shard(1)])
        assert moved.placements == (Shard(1),) and torch.equal(moved.full_tensor(), whole)
        assert torch.equal((x * 2 + x).full_tensor(), whole * 3)
    try:
        x.histc()
    except NotImplementedError as error:
        assert "to_local()" in str(error)
    else:
        raise AssertionError("no error")


CASES = [
    parts, zero, sharded, sharded_options, tensor_parallel, sequence_parallel, loss_in_parts,
    pipeline, pipeline_of_a_graph, interleaved,
]  # fmt: skip
if SIZE == 4:
    CASES += [mixed, hybrid]
for case in CASES:
    if not sys.argv[1:] or case.__name__ in sys.argv[1:]:
        case()
        if RANK == 0:
            print("passed", case.__name__, flush=True)
print("equal")
