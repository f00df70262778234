"""The order of interleaved schedules: every rank gets what it waits for; graphs cut into stages."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import clew
from clew.distributed.pipelining import SplitPoint, pipe_split, pipeline
from clew.distributed.pipelining.schedules import get_schedule_class, interleaved


@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("rounds", [1, 3])
def test_no_rank_waits_forever(size: int, stages: int, rounds: int) -> None:
    count, last = rounds * size, size * stages - 1
    queues = [list(interleaved(rank, size, stages, count)) for rank in range(size)]
    assert all(len(set(each)) == len(each) == 2 * count * stages for each in queues)
    done: set[tuple[str, int, int]] = set()
    while any(queues):
        before = len(done)
        for rank, queue in enumerate(queues):
            while queue:
                kind, place, number = queue[0]
                stage = place * size + rank
                needed = {("forward", stage - 1, number)} if stage else set()
                if kind == "backward":
                    needed = {("forward", stage, number)}
                    needed |= {("backward", stage + 1, number)} if stage < last else set()
                if not needed <= done:
                    break
                done.add((kind, stage, number))
                queue.pop(0)
        assert len(done) > before, queues


def test_schedules_by_name() -> None:
    assert get_schedule_class("Interleaved1F1B").__name__ == "ScheduleInterleaved1F1B"
    with pytest.raises(ValueError, match="Unknown schedule name 'x'"):
        get_schedule_class("x")


class Block(clew.nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.a, self.norm = clew.nn.Linear(width, width), clew.nn.BatchNorm1d(width)

    def forward(self, x: Any) -> Any:
        batch, length, width = x.size()
        return x + self.a(self.norm(x.view(batch * length, width))).view(batch, length, width)


class Model(clew.nn.Module):
    def __init__(self, cuts: bool = False) -> None:
        super().__init__()
        self.cuts = cuts
        self.embed, self.position = clew.nn.Embedding(11, 4), clew.nn.Embedding(6, 4)
        self.layers = clew.nn.ModuleList([Block(4) for _ in range(3)])
        self.out = clew.nn.Linear(4, 11, bias=False)
        self.out.weight = self.embed.weight
        self.register_buffer("scale", clew.tensor(2.0))

    def forward(self, tokens: Any, mask: Any = None, *, shift: float = 0.0) -> Any:
        _, length = tokens.shape
        first = x = self.embed(tokens) + self.position(clew.arange(length))
        for number, layer in enumerate(self.layers):
            if self.cuts and number:
                pipe_split()
            if mask is not None and mask.sum() > 0:
                x = x * mask
            x = layer(x)
        return self.out(x * self.scale + first + shift), x.mean()


_BEGIN, _END = SplitPoint.BEGINNING, SplitPoint.END
CUTS: dict[str, Any] = {
    "nowhere": None,
    "before": {"layers.2": _BEGIN},
    "after": {"layers.0": _END, "layers.1": _END},
    "inside": {"layers.1.a": _END},
    "in forward": None,
}


@pytest.mark.parametrize("how", CUTS)
@pytest.mark.parametrize("given", [{}, {"shift": 1.0}, {"mask": clew.full((4,), 0.5)}], ids=str)
def test_stages_of_a_graph_do_what_the_model_does(how: str, given: dict[str, Any]) -> None:
    clew.manual_seed(0)
    model, tokens = Model(cuts=how == "in forward"), clew.randint(0, 11, (2, 5))
    before = {name: value.clone() for name, value in model.state_dict().items()}
    pipe = pipeline(model, (tokens,), given, split_spec=CUTS[how])
    # Tracing leaves the model as it was: running averages, mode and random numbers.
    assert all(clew.equal(value, before[name]) for name, value in model.state_dict().items())
    assert model.training and all(each.training for each in model.modules())
    assert pipe.num_stages == {"nowhere": 1, "after": 3, "in forward": 3}.get(how, 2)
    twin = copy.deepcopy(model)
    found, wanted = pipe(tokens, **given), twin(tokens, **given)
    for ours, theirs in zip(found, wanted, strict=True):
        assert clew.equal(ours, theirs)
    (found[0].sum() + found[1]).backward()
    (wanted[0].sum() + wanted[1]).backward()
    for ours, theirs in zip(model.parameters(), twin.parameters(), strict=True):
        assert ours.grad is not None and theirs.grad is not None
        assert clew.allclose(ours.grad, theirs.grad)
    names = {n for i in range(pipe.num_stages) for n in pipe.get_stage_module(i).state_dict()}
    assert names == set(before)


def test_a_policy_cuts_the_graph() -> None:
    def policy(traced: Any) -> Any:
        node = next(node for node in traced.graph.nodes if node.target == "1")
        with traced.graph.inserting_before(node):
            traced.graph.call_function(pipe_split)
        return traced

    model = clew.nn.Sequential(clew.nn.Linear(2, 3), clew.nn.Linear(3, 1))
    pipe = pipeline(model, (clew.ones(1, 2),), split_policy=policy)
    assert list(pipe.get_stage_module(1).state_dict()) == ["1.weight", "1.bias"]
    with pytest.raises(ValueError, match="Invalid stage index 2!"):
        pipe.get_stage_module(2)
    with pytest.raises(ValueError, match="Cannot specify both"):
        pipeline(model, (clew.ones(1, 2),), split_spec={"1": _BEGIN}, split_policy=policy)
    with pytest.raises(ValueError, match="calls no such module"):
        pipeline(model, (clew.ones(1, 2),), split_spec={"2": _BEGIN})
