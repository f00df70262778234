"""Collectives, messages, objects and groups: real ranks, compared with gloo's."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

import clew
from clew import distributed as dist
from tests.distributed.ranks import FOLDER, LIMIT, environment, needs_mpi, passes


def result(text: str) -> Any:
    line = next(line for line in text.splitlines() if "RESULT " in line)
    return json.loads(line.partition("RESULT ")[2])


@needs_mpi
def test_all_ranks_see_what_gloo_shows() -> None:
    mine = result(passes(3, "program_collectives.py").out)
    done = subprocess.run(
        [sys.executable, str(FOLDER / "program_collectives.py"), "torch"],
        capture_output=True, text=True, timeout=LIMIT, env=environment(),
    )  # fmt: skip
    theirs = result(done.stdout)
    for rank, (ours, expected) in enumerate(zip(mine, theirs, strict=True)):
        assert ours.keys() == expected.keys()
        for name, value in expected.items():
            assert ours[name] == value, (rank, name)


@pytest.fixture
def alone() -> Any:
    dist.init_process_group("gloo")
    yield
    dist.destroy_process_group()


def test_one_process_needs_no_mpi(alone: Any) -> None:
    assert (dist.get_rank(), dist.get_world_size(), dist.get_backend()) == (0, 1, "gloo")
    x = clew.ones(2, 3).t()
    dist.all_reduce(x, op=dist.ReduceOp.AVG)
    dist.broadcast(x, 0)
    parts = [clew.zeros(3, 2)]
    dist.all_gather(parts, x)
    whole, part = clew.zeros(3, 2), clew.zeros(3, 2)
    dist.all_gather_into_tensor(whole, x)
    dist.reduce_scatter_tensor(part, x)
    assert all(clew.equal(each, clew.ones(3, 2)) for each in (x, *parts, whole, part))
    said = [None]
    dist.all_gather_object(said, "a")
    assert said == ["a"]
    work = dist.all_reduce(x, async_op=True)
    assert work is not None and work.wait() and work.result()[0] is x
    assert work.get_future().wait()[0] is x
    dist.barrier()
    assert dist.new_group([0]).size() == 1
    assert dist.init_device_mesh("cpu", (1, 1), mesh_dim_names=("a", "b"))["b"].size() == 1


def test_what_is_wrong_is_said(alone: Any) -> None:
    with pytest.raises(ValueError, match="trying to initialize the default process group twice!"):
        dist.init_process_group("gloo")
    with pytest.raises(TypeError, match="Expected parameter `tensor` of type"):
        dist.all_reduce([1.0])  # type: ignore[arg-type]  # that is the point
    with pytest.raises(ValueError, match="Global rank 3 is not part of group"):
        dist.broadcast(clew.ones(1), src=3)
    with pytest.raises(ValueError, match="must have 2"):
        dist.all_gather([clew.zeros(3)], clew.ones(2))
    with pytest.raises(KeyError, match="Valid mesh_dim_names"):
        dist.init_device_mesh("cpu", (1,), mesh_dim_names=("a",))["c"]


def test_a_write_is_counted(alone: Any) -> None:
    x = clew.ones(2, requires_grad=True)
    y = x * 2
    loss = (y * y).sum()
    dist.all_reduce(y.detach())
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        ({"backend": "nccl"}, RuntimeError, "moves tensors between GPUs"),
        ({"backend": "smoke"}, ValueError, "Invalid backend: 'smoke'"),
        ({"world_size": 4, "rank": 0}, RuntimeError, "clew launch -n 4"),
    ],
)
def test_what_cannot_begin_says_how(arguments: Any, kind: Any, words: str) -> None:
    with pytest.raises(kind, match=words):
        dist.init_process_group(**arguments)
    assert not dist.is_initialized()
