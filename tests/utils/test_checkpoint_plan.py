"""Checkpointing on a budget: the choice beside all others, and steps that keep to their budget."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import clew
from clew import nn
from clew.memory import MemoryBudgetError
from clew.utils.checkpoint import plan
from clew.utils.checkpoint_choice import Block, Group, choose, peak_without

# -- choosing --------------------------------------------------------------------------------------


def chain(rng: random.Random, length: int) -> list[Block]:
    """Blocks of which each saves its argument, something of its own, and perhaps its result."""
    blocks = []
    for number in range(length):
        given = {number: 4 + number % 3}
        result = {number + 1: 4 + (number + 1) % 3} if rng.random() < 0.5 else {}
        own = {100 + number: rng.randint(1, 9)}
        sequence = "body" if rng.random() < 0.7 else None
        blocks.append(
            Block(f"{number}", {**given, **own, **result}, given, rng.randint(1, 9),
                  rng.randint(0, 2), rng.random() < 0.9, sequence)
        )  # fmt: skip
    return blocks


def all_groups(blocks: list[Block], start: int = 0) -> Iterator[tuple[Group, ...]]:
    if start == len(blocks):
        yield ()
        return
    for rest in all_groups(blocks, start + 1):
        yield rest
    first = blocks[start]
    for end in range(start + 1, len(blocks) + 1):
        inside = blocks[start:end]
        is_one = len({each.sequence for each in inside}) == 1 and first.sequence is not None
        if all(each.may_checkpoint for each in inside) and (end == start + 1 or is_one):
            for rest in all_groups(blocks, end):
                yield ((start, end), *rest)


def needed(blocks: list[Block], groups: tuple[Group, ...]) -> int:
    """The most memory of a choice: a walk through the backward, with sets of arrays."""
    most, kept = 0, 0
    ends = dict(groups)
    number, before = 0, {}
    while number < len(blocks):
        gradients = sum(each.gradients for each in blocks[number:])
        end = ends.get(number, number + 1)
        if number in ends:
            held = blocks[number].inputs
            again = {k: v for each in blocks[number:end] for k, v in each.saved.items()}
            again = {k: v for k, v in again.items() if k not in held}
        else:
            held, again = blocks[number].saved, {}
        new = sum(size for key, size in held.items() if key not in before)
        most = max(most, kept + new + sum(again.values()) + gradients)
        kept += new
        before = {} if number in ends else blocks[number].saved
        number = end
    return most


def test_the_choice_is_the_fastest_of_all() -> None:
    rng, count = random.Random(3), 0
    for _ in range(20):
        blocks = chain(rng, 6)
        ways = [
            (sum(each.seconds for a, b in groups for each in blocks[a:b]), needed(blocks, groups))
            for groups in all_groups(blocks)
        ]
        assert peak_without(blocks) == needed(blocks, ())
        for part in (0.9, 0.75, 0.6):
            budget = int(part * peak_without(blocks))
            fitting = [seconds for seconds, memory in ways if memory <= budget]
            found = choose(blocks, budget)
            assert (found is None) == (not fitting)
            if found is not None:
                assert needed(blocks, found) <= budget
                assert sum(e.seconds for a, b in found for e in blocks[a:b]) == min(fitting)
                count += 1
    assert count > 20


# -- models ----------------------------------------------------------------------------------------


class Blocks(nn.Module):
    """A list of blocks with batch norm and dropout, and residual connections around them."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, padding=1)
        self.blocks = nn.ModuleList([
            nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8), nn.GELU(),
                          nn.Dropout(0.2))
            for _ in range(4)
        ])  # fmt: skip
        self.last = nn.Linear(8, 2)

    def forward(self, x: Any) -> Any:
        x = self.first(x)
        for block in self.blocks:
            x = x + block(x)
        return self.last(x.mean((2, 3)))


def layers() -> nn.Module:
    return nn.Sequential(*[m for _ in range(6) for m in (nn.Linear(64, 64), nn.GELU())])


def transformer() -> nn.Module:
    layer = nn.TransformerEncoderLayer(32, 2, 128, dropout=0.1, batch_first=True)
    return nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)


MODELS = [(layers, (512, 64)), (Blocks, (4, 3, 24, 24)), (transformer, (8, 32, 32))]


def state(model: nn.Module) -> list[bytes]:
    tensors = [*model.state_dict().values(), *[p.grad for p in model.parameters()]]
    return [b"" if each is None else each.detach().numpy().tobytes() for each in tensors]


def gradients(model: nn.Module) -> list[Any]:
    return [each.grad for each in model.parameters()]


def step(model: nn.Module, x: clew.Tensor, seed: int = 0) -> int:
    """A step from a seed; the bytes by which memory grows."""
    model.zero_grad()
    clew.manual_seed(seed)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        model(x).sum().backward()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("make", "shape"), MODELS)
def test_steps_keep_to_their_budget_with_the_same_gradients(
    make: Callable[[], nn.Module], shape: tuple[int, ...]
) -> None:
    clew.manual_seed(0)
    model, twin = make(), make()
    twin.load_state_dict(model.state_dict())
    x = clew.randn(shape)
    step(model, x), step(twin, x)
    before, stream = state(model), clew.get_rng_state()
    free = plan(model, x, "1 GiB")
    assert free.modules == [] and free.curve[-1].memory < 0.8 * free.peak
    budget = int(0.5 * (free.peak + free.curve[-1].memory))
    found = plan(model, x, budget)
    # Nothing is left behind.
    assert state(model) == before and clew.equal(clew.get_rng_state(), stream)
    assert found.modules and found.peak <= budget and found.extra_seconds <= found.seconds
    resident = sum(t.numel() * t.element_size() for t in (x, *model.parameters(), *model.buffers()))
    with found:
        for seed in (1, 2):
            assert resident + step(model, x, seed) <= budget
            step(twin, x, seed)
            # An intercepted product rounds in another way.
            clew.testing.assert_close(gradients(model), gradients(twin), rtol=1e-4, atol=1e-4)
            clew.testing.assert_close(list(model.buffers()), list(twin.buffers()))
        with pytest.raises(RuntimeError, match="applied already"):
            found.apply()
    assert "forward" not in model.__dict__
    assert all("forward" not in each.__dict__ for each in model.modules())
    assert resident + step(model, x) > budget


def test_too_small_a_budget_names_the_least_which_is_enough() -> None:
    model, x = layers(), clew.randn(512, 64)
    with pytest.raises(
        MemoryBudgetError, match=r"a step of Sequential does not fit into 1\.0 KiB"
    ) as caught:
        plan(model, x, 1024)
    least = int(str(caught.value).partition("(")[2].partition(" ")[0])
    assert plan(model, x, int(1.02 * least)).peak <= 1.02 * least


def test_samples_losses_and_models_of_other_kinds() -> None:
    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.left, self.right = nn.Linear(8, 8), nn.Linear(8, 8)

        def forward(self, a: Any, *, b: Any) -> Any:
            return {"left": self.left(a), "right": self.right(b).tanh()}

    sample = {"a": clew.randn(3, 8), "b": clew.randn(3, 8)}
    found = plan(Two(), sample, "1 MiB", loss=lambda out: out["left"].sum())
    assert "Memory" in str(found)
    with pytest.raises(RuntimeError, match="nothing that requires grad"):
        plan(nn.Identity(), clew.ones(2), "1 MiB")
    with pytest.raises(ValueError, match="size of memory"):
        plan(nn.Linear(1, 1), clew.ones(1), "little")
