"""All collectives on some ranks, in the words of both libraries; rank 0 prints what all have seen.

`clew launch -n 3` runs it with clew; with the word `torch` it starts three processes with gloo.
"""

import json
import os
import sys
import tempfile
from datetime import timedelta

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as funcol

RANKS = 3
REDUCED = ("float32", "float64", "float16", "bfloat16", "int64", "int32", "uint8")


def tensors(rank: int, dtype: str) -> torch.Tensor:
    values = (torch.arange(6).reshape(2, 3) * 3 + rank * 7) % 11 + 1
    return values.to(getattr(torch, dtype))


def seen(tensor: torch.Tensor) -> list:
    return [str(tensor.dtype), tensor.to(torch.float64).tolist()]


def reductions(rank: int) -> dict:
    found = {}
    for dtype in REDUCED:
        for name in ("SUM", "PRODUCT", "MIN", "MAX"):
            x = tensors(rank, dtype)
            dist.all_reduce(x, op=getattr(dist.ReduceOp, name))
            found[f"all_reduce {dtype} {name}"] = seen(x)
    for name in ("BAND", "BOR", "BXOR"):
        x = tensors(rank, "int64")
        dist.all_reduce(x, op=getattr(dist.ReduceOp, name))
        found[f"all_reduce {name}"] = seen(x)
    gaps = tensors(rank, "float32").t()
    dist.all_reduce(gaps)
    found["gaps"] = seen(gaps)
    x = tensors(rank, "float32")
    dist.reduce(x, dst=1)
    found["reduce"] = seen(x) if rank == 1 else None
    return found


def parts(rank: int) -> dict:
    found = {}
    x = tensors(rank, "float32")
    dist.broadcast(x, src=2)
    found["broadcast"] = seen(x)
    gathered = [torch.zeros(2, 3) for _ in range(RANKS)]
    dist.all_gather(gathered, tensors(rank, "float32"))
    found["all_gather"] = [seen(each) for each in gathered]
    whole = torch.zeros(2 * RANKS, 3)
    dist.all_gather_into_tensor(whole, tensors(rank, "float32"))
    found["all_gather_into_tensor"] = seen(whole)
    at_one = [torch.zeros(2, 3) for _ in range(RANKS)] if rank == 1 else None
    dist.gather(tensors(rank, "float32"), at_one, dst=1)
    found["gather"] = [seen(each) for each in at_one or []]
    mine = torch.zeros(2, 3)
    given = [tensors(r, "float32") for r in range(RANKS)] if rank == 0 else None
    dist.scatter(mine, given, src=0)
    found["scatter"] = seen(mine)
    if "clew" in torch.__file__:
        part = torch.zeros(2)
        dist.reduce_scatter(part, [torch.full((2,), rank + r) * 1.0 for r in range(RANKS)])
        assert part.tolist() == [3.0 * rank + 3] * 2, part
        half = torch.zeros(1, dtype=torch.bfloat16)
        dist.reduce_scatter_tensor(half, torch.ones(RANKS, dtype=torch.bfloat16))
        assert half.item() == RANKS
    out = torch.zeros(RANKS)
    dist.all_to_all_single(out, torch.arange(RANKS) * 1.0 + 10 * rank)
    found["all_to_all_single"] = seen(out)
    sizes = [rank + 1] * RANKS
    uneven = torch.zeros(sum(r + 1 for r in range(RANKS)), 2)
    dist.all_to_all_single(
        uneven, torch.full((sum(sizes), 2), float(rank)), [r + 1 for r in range(RANKS)], sizes
    )
    found["uneven"] = seen(uneven)
    return found


def objects(rank: int) -> dict:
    found = {}
    said = [None] * RANKS
    dist.all_gather_object(said, {"rank": rank, "list": [rank] * rank})
    found["all_gather_object"] = said
    given = [{"a": 1}, "text", rank] if rank == 0 else [None] * 3
    dist.broadcast_object_list(given, src=0)
    found["broadcast_object_list"] = given
    mine = [None]
    dist.scatter_object_list(mine, [f"for {r}" for r in range(RANKS)] if rank == 0 else None, src=0)
    found["scatter_object_list"] = mine
    at_two = [None] * RANKS if rank == 2 else None
    dist.gather_object(rank * 5, at_two, dst=2)
    found["gather_object"] = at_two
    return found


def messages(rank: int) -> dict:
    found = {}
    right, left = (rank + 1) % RANKS, (rank - 1) % RANKS
    got = torch.zeros(2, 3)
    if rank == 0:
        dist.send(tensors(rank, "float32"), right)
        found["from"] = dist.recv(got, left)
    else:
        found["from"] = dist.recv(got, left)
        dist.send(tensors(rank, "float32"), right)
    found["ring"] = seen(got)
    # Gloo takes no tensors with gaps here.
    got = torch.zeros(3, 2).t() if sys.argv[1:] != ["torch"] else torch.zeros(2, 3)
    works = dist.batch_isend_irecv(
        [
            dist.P2POp(dist.isend, tensors(rank, "float32"), left),
            dist.P2POp(dist.irecv, got, right),
        ]
    )
    for work in works:
        work.wait()
    found["batch"] = seen(got)
    x = torch.ones(4)
    work = dist.all_reduce(x, async_op=True)
    work.wait()
    found["async"] = [seen(x), work.is_completed()]
    return found


def repeated(rank: int) -> dict:
    """Reductions of tensors like some before, of the same memory or another."""
    found = {}
    x, other = torch.full((2, 3), rank + 1.0), torch.full((2, 3), rank + 2.0)
    for number in range(300):
        dist.all_reduce(x, dist.ReduceOp.MAX if number % 3 else dist.ReduceOp.SUM)
        x.div_(2)
        dist.all_reduce(other)
        other.copy_((other / 8 + number).floor() % 17 + rank)
    dist.all_reduce(x)
    found["repeated"] = [seen(x), seen(other)]
    gaps = torch.arange(6.0).reshape(3, 2).t() + rank
    if sys.argv[1:] == ["torch"]:
        gaps = gaps.contiguous()  # gloo takes no others
    dist.all_reduce(gaps)
    work = dist.all_reduce(other, async_op=True)
    dist.all_reduce(x)
    work.wait()
    found["mixed"] = [seen(gaps), seen(other), seen(x)]
    return found


def groups(rank: int) -> dict:
    outer = dist.new_group([0, 2])
    x = torch.ones(2) * (rank + 1)
    if rank != 1:
        dist.all_reduce(x, group=outer)
        dist.broadcast(x, src=2, group=outer)
    found = {"subgroup": seen(x), "rank": dist.get_rank(outer), "size": dist.get_world_size(outer)}
    found["ranks"] = dist.get_process_group_ranks(dist.group.WORLD)
    mesh = dist.init_device_mesh("cpu", (1, RANKS), mesh_dim_names=("dp", "tp"))
    found["mesh"] = [
        mesh["tp"].size(), mesh.get_local_rank("tp"), mesh.get_coordinate(), list(mesh.shape),
        mesh["tp"].mesh.tolist(), mesh.size(0), mesh["dp"].mesh.tolist(),
    ]  # fmt: skip
    dist.monitored_barrier()
    for waits_for_all in (False, True):
        broken = dist.new_group()
        try:
            if rank != 1:
                dist.monitored_barrier(broken, timedelta(milliseconds=200), waits_for_all)
        except RuntimeError as error:
            found[f"at the barrier, {waits_for_all}"] = str(error).splitlines()[0].strip()
    dist.barrier()
    return found


def functions(rank: int) -> dict:
    """Collectives that return new tensors, and those of several tensors."""
    found = {}
    group, x = dist.group.WORLD, tensors(rank, "float32")
    found["functional sum"] = seen(funcol.all_reduce(x, "sum", group))
    found["functional max"] = seen(funcol.all_reduce(x, "max", group) + 0)
    found["functional rows"] = seen(funcol.all_gather_tensor(x, 1, group) + 0)
    whole = torch.arange(12.0).reshape(2, 6) + rank
    found["functional part"] = seen(funcol.reduce_scatter_tensor(whole, "avg", 1, group) + 0)
    found["functional to all"] = seen(
        funcol.all_to_all_single(whole.reshape(6, 2), None, None, group) + 0
    )
    with dist._coalescing_manager():
        dist.all_reduce(x)
    found["coalesced"] = seen(x)
    store = dist.distributed_c10d._get_default_store()
    store.set(f"of rank {rank}", str(rank))
    found["stored"] = store.get(f"of rank {(rank + 1) % RANKS}").decode()
    dist.barrier()
    return found


def main() -> None:
    rank = dist.get_rank()
    found = {}
    for part in (reductions, parts, objects, messages, repeated, groups, functions):
        found.update(part(rank))
    everything = [None] * RANKS
    dist.all_gather_object(everything, found)
    if rank == 0:
        print("RESULT " + json.dumps(everything), flush=True)
    dist.destroy_process_group()


def start_with_gloo() -> None:
    store = os.path.join(tempfile.mkdtemp(), "store")
    children = []
    for rank in range(RANKS):
        child = os.fork()
        if child == 0:
            dist.init_process_group(
                "gloo", init_method=f"file://{store}", rank=rank, world_size=RANKS
            )
            main()
            os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)


if __name__ == "__main__":
    if sys.argv[1:] == ["torch"]:
        start_with_gloo()
    else:
        dist.init_process_group("gloo")
        main()
