"""Memory on a budget: schedules beside the best ones, and compiled steps that keep to it."""

from __future__ import annotations

import functools
import heapq
import itertools
import math
import random
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

import clew
from clew import nn
from clew.compiler.memory.eviction import cheapest, smallest
from clew.compiler.memory.schedule import Problem, Step, peak, profile, seconds_of
from clew.memory import NO_LIMIT, MemoryBudgetError, parsed_size
from tests.compiler.test_compile import bits

# -- schedules -------------------------------------------------------------------------------------


def network(rng: random.Random, layers: int, skips: bool) -> Problem:
    """A forward and its backward, with random sizes and times, and connections that skip layers."""
    steps, sizes, reads_of = [], [], []
    for layer in range(layers):
        reads = [layer - 1] if layer else []
        if skips and layer > 1 and rng.random() < 0.3:
            reads.append(rng.randrange(layer - 1))
        sizes.append(rng.randint(1, 8))
        seconds, scratch = rng.randint(1, 9), rng.randint(0, 2)
        steps.append(Step(tuple(reads), (layer,), seconds, scratch, again_until=99))
        reads_of.append(reads)
    grads: list[int] = []
    for layer in reversed(range(layers)):
        reads = [*dict.fromkeys([layer, *reads_of[layer], *grads])]
        grads = [len(sizes)]
        sizes.append(rng.randint(1, 6))
        steps.append(Step(tuple(reads), tuple(grads), rng.randint(1, 9), 0, again_until=99))
    return Problem(steps, sizes, frozenset(grads), [0] * len(steps))


def least_seconds(problem: Problem, budget: int) -> float | None:
    """The time of the best schedule: a search of all ways to keep, drop and make again."""
    count = len(problem.steps)
    best: dict[tuple[int, frozenset[int]], float] = {(0, frozenset()): 0.0}
    order = itertools.count()
    heap: list[Any] = [(0.0, 0, (0, frozenset()))]
    while heap:
        seconds, _, (done, there) = heapq.heappop(heap)
        if seconds > best[done, there]:
            continue
        if done == count:
            if problem.results <= there:
                return seconds
            continue
        following = [(seconds, (done, there - {block})) for block in there]
        for number, step in enumerate(problem.steps[: done + 1]):
            after = there | set(step.makes)
            nbytes = sum(problem.sizes[block] for block in after) + step.scratch
            if there.issuperset(step.reads) and nbytes <= budget:
                following.append((seconds + step.seconds, (done + (number == done), after)))
        for total, state in following:
            if total < best.get(state, math.inf):
                best[state] = total
                heapq.heappush(heap, (total, next(order), state))
    return None


@pytest.mark.parametrize("skips", [False, True])
def test_schedules_take_little_longer_than_the_best(skips: bool) -> None:
    rng, ratios = random.Random(1), []
    for _ in range(20):
        problem = network(rng, 6, skips)
        for part in (0.85, 0.7, 0.55):
            budget = int(part * peak(problem, problem.once))
            right, found = least_seconds(problem, budget), cheapest(problem, budget)
            assert (found is None) == (right is None)
            if found is not None and right is not None:
                assert peak(problem, found) <= budget
                ratios.append(seconds_of(problem, found) / right)
    assert len(ratios) > 25
    assert max(ratios) <= 1.13 and sum(ratios) / len(ratios) <= 1.01
    assert sum(ratio == 1 for ratio in ratios) > 0.8 * len(ratios)


@functools.cache
def revolve(steps: int, slots: int) -> int:
    """How many steps are made to go back through a chain, with so many places for states.

    (Griewank and Walther, "Algorithm 799: revolve".)
    """
    if steps <= 1 or slots == 0:
        return steps * (steps - 1) // 2
    ways = (k + revolve(steps - k, slots - 1) + revolve(k, slots) for k in range(1, steps))
    return min(ways)


@pytest.mark.parametrize("slots", [4, 8, 12, 20])
def test_chains_are_checkpointed_as_well_as_by_revolve(slots: int) -> None:
    length = 30
    steps = [Step((), (0,), 1.0, again_until=999)]
    steps += [Step((i - 1,), (i,), 1.0, again_until=999) for i in range(1, length + 1)]
    steps += [Step((i - 1,), (), 0.0) for i in range(length, 0, -1)]
    problem = Problem(steps, [1] * (length + 1), frozenset(), [0] * len(steps))
    found = cheapest(problem, slots)
    assert found is not None and peak(problem, found) <= slots
    # The state that is being made takes a place, and so does the first.
    best = revolve(length, slots - 2) - (length - 1)
    assert len(found) - len(steps) <= best + 1


def test_the_least_memory_is_what_a_schedule_needs() -> None:
    problem = network(random.Random(5), 8, True)
    found = smallest(problem, 0.01)
    assert peak(problem, found) < peak(problem, problem.once)
    assert len(profile(problem, found)) == len(found)
    assert set(found) == set(problem.once)


def test_the_least_memory_does_not_depend_on_the_time_of_steps() -> None:
    rng = random.Random(7)
    problem, found = network(rng, 8, True), set()
    for _ in range(4):
        steps = [step._replace(seconds=rng.random()) for step in problem.steps]
        other = problem._replace(steps=steps)
        found.add(peak(other, smallest(other, 0.01)))
    assert len(found) == 1


# -- compiled steps --------------------------------------------------------------------------------


class Trained:
    """A network with its optimizer, and a step that may be compiled."""

    def __init__(self, make: Callable[[], nn.Module], shape: tuple[int, ...], memory: Any) -> None:
        clew.manual_seed(0)
        self.model = make()
        self.x = clew.randn(shape)
        self.optimizer = clew.optim.SGD(self.model.parameters(), 0.01, momentum=0.9)
        model, x, optimizer = self.model, self.x, self.optimizer

        def step() -> clew.Tensor:
            optimizer.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            optimizer.step()
            return loss.detach()

        self.step = step if memory is None else clew.compile(step, memory=memory)

    def after(self, steps: int) -> Any:
        losses = [self.step() for _ in range(steps)]
        return losses, list(self.model.state_dict().values()), clew.get_rng_state()

    @property
    def plan(self) -> Any:
        return self.step.events[-1].trace.plan  # type: ignore[attr-defined]  # it is compiled

    def least(self) -> int:
        """A little more than the least memory: what is measured is never quite the same."""
        return int(1.02 * self.step.memory_curve(3).plans[-1].peak)  # type: ignore[attr-defined]  # it is compiled

    def traced_peak(self) -> int:
        """The memory of a replay: what is there, and what Python counts beyond that."""
        grads = [p.grad.numel() * p.grad.element_size() for p in self.model.parameters()]
        tracemalloc.start()
        try:
            self.step()
            before = tracemalloc.get_traced_memory()[0]
            tracemalloc.reset_peak()
            self.step()
            growth = tracemalloc.get_traced_memory()[1] - before
        finally:
            tracemalloc.stop()
        resident: int = self.plan.resident
        return resident + sum(grads) + growth


def layers() -> nn.Module:
    return nn.Sequential(*[m for _ in range(5) for m in (nn.Linear(64, 64), nn.Tanh())])


def images() -> nn.Module:
    """Batch norm has state that is written, dropout draws, ReLU writes in place."""
    blocks = [
        (nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.Dropout(0.2))
        for _ in range(3)
    ]
    return nn.Sequential(*[each for block in blocks for each in block])


def attention() -> nn.Module:
    layer = nn.TransformerEncoderLayer(32, 2, 64, dropout=0.1, batch_first=True)
    return nn.TransformerEncoder(layer, 3, enable_nested_tensor=False)


NETWORKS = [(layers, (512, 64)), (images, (8, 8, 24, 24)), (attention, (8, 48, 32))]


@pytest.mark.parametrize(("make", "shape"), NETWORKS)
def test_steps_keep_to_their_budget_with_the_results_of_eager(
    make: Callable[[], nn.Module], shape: tuple[int, ...]
) -> None:
    free = Trained(make, shape, math.inf)
    right, eager = free.after(4), Trained(make, shape, None).after(4)
    clew.testing.assert_close(right, eager)
    assert not free.plan.again
    most, least = free.plan.peak, free.least()
    assert least < 0.9 * most
    planner = free.step.events[-1].trace.planner  # type: ignore[attr-defined]  # it is compiled
    smallest_plan = planner.least().peak
    assert planner.plan(smallest_plan).peak <= smallest_plan
    for part in (0.4, 0.0):
        budget = int(least + part * (most - least))
        small = Trained(make, shape, budget)
        clew.testing.assert_close(small.after(4), eager)
        assert small.plan.again and small.plan.extra_seconds > 0
        assert small.traced_peak() <= budget


def test_random_numbers_are_drawn_once_and_writes_made_once() -> None:
    free = Trained(images, (8, 8, 24, 24), math.inf)
    free.after(2)
    small = Trained(images, (8, 8, 24, 24), free.least())
    small.after(2)
    assert small.plan.again

    def effects(trained: Trained) -> list[str]:
        graph = trained.plan.program.graph
        return [f"{each.kind} {each.name}" for each in graph.instructions
                if each.has_effect and each.name != "wait"]  # fmt: skip

    graph = small.plan.program.graph
    assert sum(each.is_random for each in graph.instructions) == 3
    assert effects(small) == effects(free)
    assert small.model[1].num_batches_tracked == 2  # type: ignore[index]  # it is a Sequential


def test_memory_that_was_overwritten_is_not_read_again() -> None:
    weight = nn.Parameter(clew.full((300, 300), 0.01))
    # Backward does not need it, but the values that it was added to.
    shift = clew.ones(300)
    optimizer = clew.optim.SGD([weight], 0.1)

    def step(x: clew.Tensor) -> clew.Tensor:
        optimizer.zero_grad()
        hidden = x
        for _ in range(4):
            hidden = (hidden @ weight + shift).sigmoid()
        shift.mul_(0.5)
        hidden.sum().backward()
        optimizer.step()
        return hidden.sum().detach()

    def run(function: Any) -> list[bytes]:
        with clew.no_grad():
            weight.fill_(0.01), shift.fill_(1.0)
        results = [function(clew.ones(300, 300)) for _ in range(3)]
        return [bits(each) for each in (*results, weight, shift)]

    free = clew.compile(step, memory=math.inf)
    right = run(free)
    least = int(1.02 * free.memory_curve(3).plans[-1].peak)
    small = clew.compile(step, memory=least)
    assert run(small) == right
    graph = small.events[-1].trace.graph
    (written,) = [n for n, each in enumerate(graph.instructions) if each.name == "mul"]
    after = [value for each in graph.instructions[written + 1 :] for value in each.reads()]
    assert graph.instructions[written].inputs[0] not in after


def pooled() -> nn.Module:
    """Max pooling keeps what ReLU gives, so that nothing need keep what ReLU is given."""
    return nn.Sequential(
        nn.Conv2d(4, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
    )  # fmt: skip


@pytest.mark.parametrize(("make", "shape"), [(layers, (8192, 64)), (pooled, (16, 4, 64, 64))])
def test_without_a_budget_captures_and_replays_need_no_more_than_eager(
    make: Callable[[], nn.Module], shape: tuple[int, ...]
) -> None:
    model, x = make(), clew.randn(shape)

    def step() -> None:
        model.zero_grad()
        model(x).square().mean().backward()

    def growth(function: Callable[[], None]) -> int:
        tracemalloc.start()
        try:
            function()
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    step()
    eager, compiled = growth(step), clew.compile(step)
    # Kernels are compiled by a first capture.
    clew.compile(step)()
    for _ in range(2):
        assert growth(compiled) < eager + (2 << 20)
    assert compiled.events[0].trace.replays == 1


# -- what is said --------------------------------------------------------------------------------


def test_too_little_memory_names_the_least_and_that_is_enough() -> None:
    trained = Trained(layers, (512, 64), 10_000)
    with pytest.raises(MemoryBudgetError, match=r"does not fit into 9\.8 KiB: the least") as caught:
        trained.after(2)
    before = [bits(each) for each in trained.model.parameters()]
    with pytest.raises(MemoryBudgetError, match="does not fit"):
        trained.step()
    # It is refused before anything runs.
    assert [bits(each) for each in trained.model.parameters()] == before
    least = int(str(caught.value).partition("(")[2].partition(" ")[0])
    enough = Trained(layers, (512, 64), int(1.02 * least))
    enough.after(3)
    assert enough.traced_peak() <= 1.02 * least


def test_calls_that_no_plan_can_hold_raise() -> None:
    @clew.compile(memory="1 GiB")
    def printed(x: clew.Tensor) -> clew.Tensor:
        print("called")
        return x * 2

    printed(clew.ones(2))
    with pytest.raises(MemoryBudgetError, match=r"1\.0 GiB of memory, because .* print is called"):
        printed(clew.ones(2))
    model = clew.compile(nn.Linear(2, 2), memory="1 GiB")
    with pytest.raises(MemoryBudgetError, match="whole steps"):
        model(clew.ones(1, 2))
    with pytest.raises(RuntimeError, match="memory="):
        clew.compile(lambda x: x + 1).memory_curve()


def test_explain_and_the_curve_tell_what_is_computed_again() -> None:
    free = Trained(layers, (512, 64), math.inf)
    free.after(2)
    text = free.step.explain("summary")  # type: ignore[attr-defined]  # it is compiled
    assert "of any memory, of which" in text and "nothing is computed again" in text
    curve = free.step.memory_curve(5)  # type: ignore[attr-defined]  # it is compiled
    peaks = [plan.peak for plan in curve.plans]
    assert peaks == sorted(peaks, reverse=True) and len(peaks) >= 3
    assert [line.split()[0] for line in str(curve).splitlines()[:1]] == ["Memory"]
    small = Trained(layers, (512, 64), f"{free.least()} B")
    small.after(2)
    text = small.step.explain("summary")  # type: ignore[attr-defined]  # it is compiled
    assert "instructions run again, for" in text and "addmm" in text


@pytest.mark.parametrize(
    ("size", "right"),
    [(5, 5), ("300 MiB", 300 << 20), ("2GB", 2 * 10**9), ("1.5 gib", 3 << 29), ("7", 7),
     (math.inf, NO_LIMIT)],
)  # fmt: skip
def test_sizes_are_numbers_or_texts(size: Any, right: int) -> None:
    assert parsed_size(size) == right


@pytest.mark.parametrize(
    ("size", "error"), [("much", ValueError), ("3 apples", ValueError), (0, ValueError),
                        (-1.0, ValueError), (None, TypeError), (True, TypeError)],
)  # fmt: skip
def test_what_is_no_size_raises(size: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="size of memory"):
        parsed_size(size)
