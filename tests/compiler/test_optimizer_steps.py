"""Steps of optimizers inside of native segments: what they leave, and when Python makes them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

import clew
from clew import nn
from clew.compiler.native.segments import Segment
from clew.nn import functional as F
from tests.compiler.test_compile import OPTIMIZERS
from tests.compiler.test_signals import Late, handled, interrupted

# These compute their numbers from more than the number of the step.
IN_PYTHON = ("nadam", "asgd", "adafactor")
TARGET = clew.tensor([1, 0, 2, 2])


class Training:
    """A small network with an optimizer, and its step, which may be compiled."""

    def __init__(self, build: Callable[[Any], Any], wrap: Callable[[Any], Any]) -> None:
        clew.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 3))
        self.target = TARGET.clone()
        self.optimizer = build(self.model.parameters())
        optimizer, model, target = self.optimizer, self.model, self.target

        def step(x: clew.Tensor) -> clew.Tensor:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), target)
            loss.backward()
            optimizer.step()
            return loss

        self.step = wrap(step)

    def seen(self) -> list[Any]:
        """All that a step leaves."""
        found: list[Any] = []
        for each in self.model.parameters():
            state = self.optimizer.state.get(each, {})
            for tensor in (each, *[v for v in state.values() if isinstance(v, clew.Tensor)]):
                found += [tensor.detach().clone(), tensor._version]
            found.append(None if each.grad is None else each.grad.clone())
        return found


def inputs(count: int) -> list[clew.Tensor]:
    clew.manual_seed(1)
    return [clew.randn(4, 5) for _ in range(count)]


def both(build: Callable[[Any], Any]) -> tuple[Training, Training]:
    return Training(build, lambda step: step), Training(build, clew.compile)


def assert_same(eager: Training, compiled: Training) -> None:
    for right, mine in zip(eager.seen(), compiled.seen(), strict=True):
        if isinstance(right, clew.Tensor):
            clew.testing.assert_close(mine, right, rtol=1e-4, atol=1e-6)
        else:
            assert mine == right


def native_steps(training: Training) -> int:
    """How many steps are part of segments, in the last program."""
    program = training.step.events[-1].trace.program_with_steps
    if program is None:
        return 0
    return sum(len(each.steps) for each in program.items if isinstance(each, Segment))


def adam(params: Any) -> Any:
    return clew.optim.Adam(params, 0.05)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_hundred_steps_leave_what_eager_leaves(name: str) -> None:
    eager, compiled = both(OPTIMIZERS[name])
    for x in inputs(100):
        clew.testing.assert_close(compiled.step(x), eager.step(x), rtol=1e-4, atol=1e-5)
    assert_same(eager, compiled)
    assert native_steps(compiled) == (name not in IN_PYTHON)
    assert len(compiled.step.events) == 1


@pytest.mark.parametrize(
    "options", [{"weight_decay": 0.1}, {"amsgrad": True}, {"maximize": True}, {"fused": True}]
)
def test_options_of_adam(options: dict[str, Any]) -> None:
    eager, compiled = both(lambda params: clew.optim.Adam(params, 0.05, **options))
    for x in inputs(6):
        eager.step(x), compiled.step(x)
    assert_same(eager, compiled)


def test_groups_have_numbers_of_their_own() -> None:
    def build(params: Any) -> Any:
        first, *others = params
        groups = [{"params": others, "lr": 0.2, "momentum": 0.5}, {"params": [first]}]
        return clew.optim.SGD(groups, 0.1, momentum=0.9)

    eager, compiled = both(build)
    for x in inputs(6):
        eager.step(x), compiled.step(x)
    assert_same(eager, compiled)
    assert native_steps(compiled) == 1


def test_a_learning_rate_is_read_in_every_step() -> None:
    eager, compiled = both(adam)
    for number, x in enumerate(inputs(12)):
        for each in (eager, compiled):
            each.optimizer.param_groups[0]["lr"] = 0.1 / (1 + number)
            if number == 6:
                each.optimizer.param_groups[0]["betas"] = (0.5, 0.9)
            if number == 9:
                each.optimizer.param_groups[0]["maximize"] = True
            if number == 10:
                each.optimizer.param_groups[0]["maximize"] = False
            if number == 11:
                each.optimizer.param_groups[0]["weight_decay"] = 0.5
            each.step(x)
        assert_same(eager, compiled)
    assert len(compiled.step.events) == 1 and native_steps(compiled) == 1


@pytest.mark.parametrize("kind", ["outside", "inside"])
def test_schedulers_change_the_next_step(kind: str) -> None:
    def run(wrap: Callable[[Any], Any]) -> Training:
        training = Training(adam, lambda step: step)
        scheduler = clew.optim.lr_scheduler.OneCycleLR(training.optimizer, 0.1, total_steps=20)
        inner = training.step

        def step(x: clew.Tensor) -> clew.Tensor:
            loss = inner(x)
            scheduler.step()
            return loss

        training.step = wrap(step if kind == "inside" else inner)
        for x in inputs(12):
            training.step(x)
            if kind == "outside":
                scheduler.step()
        return training

    assert_same(run(lambda step: step), run(clew.compile))


def test_state_may_be_replaced_between_steps() -> None:
    eager, compiled = both(adam)
    for number, x in enumerate(inputs(24)):
        for each in (eager, compiled):
            if number % 4 == 3:
                saved = copy.deepcopy(each.optimizer.state_dict()["state"])
                groups = each.optimizer.state_dict()["param_groups"]
                each.optimizer.load_state_dict({"state": saved, "param_groups": groups})
            if number == 10:
                weight = each.model[0].weight
                each.optimizer.state[weight] = copy.deepcopy(each.optimizer.state[weight])
            if number == 14:
                # One that is behind the others.
                each.optimizer.state[each.model[0].weight]["step"].fill_(3)
            if number == 18:
                each.optimizer.state.clear()
            each.step(x)
        assert_same(eager, compiled)


def test_parameters_may_get_other_memory() -> None:
    eager, compiled = both(adam)
    for number, x in enumerate(inputs(9)):
        for each in (eager, compiled):
            if number == 3:
                each.model[0].weight.data = each.model[0].weight.data * 2
            if number == 6:
                state = {name: value * 0.5 for name, value in each.model.state_dict().items()}
                each.model.load_state_dict(state)
            each.step(x)
        assert_same(eager, compiled)


def test_hooks_that_come_later_run() -> None:
    counts = []
    for wrap in (lambda step: step, clew.compile):
        training, calls = Training(adam, wrap), []
        for number, x in enumerate(inputs(6)):
            if number == 3:
                handle = training.optimizer.register_step_post_hook(
                    lambda *_, calls=calls: calls.append(1)
                )
            if number == 5:
                handle.remove()
            training.step(x)
        counts.append(len(calls))
    assert counts == [2, 2]


def test_a_class_that_does_not_exist_leaves_weights_and_state_alone() -> None:
    _, compiled = both(adam)
    for x in inputs(4):
        compiled.step(x)
    assert native_steps(compiled) == 1
    before = weights_and_state(compiled)
    compiled.target[1] = 7
    with pytest.raises(IndexError, match="Target 7 is out of bounds"):
        compiled.step(x)
    compiled.target[1] = 0
    assert weights_and_state(compiled) == before
    assert all(each.grad is None for each in compiled.model.parameters())


def weights_and_state(training: Training) -> str:
    """The numbers that a step changes."""
    states = training.optimizer.state.values()
    remembered = [each.tolist() for state in states for each in state.values()]
    return repr([[each.tolist() for each in training.model.parameters()], remembered])


@pytest.mark.parametrize("kind", [KeyboardInterrupt, Late])
def test_a_step_that_is_interrupted_is_made_whole_or_not_at_all(kind: type[BaseException]) -> None:
    training = Training(adam, clew.compile)
    x = inputs(1)[0]
    for _ in range(3):
        training.step(x)
    assert native_steps(training) == 1
    start = copy.deepcopy([training.model.state_dict(), training.optimizer.state_dict()])
    before = weights_and_state(training)
    training.step(x)
    after = weights_and_state(training)
    number, found = 1, set()
    with handled(kind):
        while number < 500:
            training.model.load_state_dict(start[0])
            for mine, kept in zip(
                training.optimizer.state.values(), start[1]["state"].values(), strict=True
            ):
                for name, value in kept.items():
                    mine[name].copy_(value)
            if not interrupted(lambda: training.step(x), number, kind):
                break
            state = weights_and_state(training)
            assert state in (before, after)
            found.add(state == after)
            number += 1
    assert found == {True, False} and number < 500


def test_a_gradient_that_is_a_parameter_is_that_of_before_the_step() -> None:
    def run(wrap: Callable[[Any], Any]) -> list[Any]:
        p = clew.tensor([1.0, 2.0, 3.0], requires_grad=True)
        q = clew.tensor([3.0, 4.0, 5.0], requires_grad=True)
        optimizer, found = clew.optim.SGD([p, q], 0.1), []

        def step() -> None:
            optimizer.zero_grad()
            (p * 1).backward(q.detach())
            (q * 1).backward(p.detach())
            optimizer.step()

        run = wrap(step)
        for _ in range(5):
            run()
            assert p.grad is not None and q.grad is not None
            found += [each.detach().clone() for each in (p, q, p.grad, q.grad)]
        return found

    for mine, right in zip(run(clew.compile), run(lambda step: step), strict=True):
        clew.testing.assert_close(mine, right)


def test_gradients_are_accumulated_over_calls() -> None:
    def run(wrap: Callable[[Any], Any]) -> Training:
        training = Training(adam, lambda step: step)
        model, optimizer = training.model, training.optimizer

        def accumulate(x: clew.Tensor) -> None:
            F.cross_entropy(model(x), TARGET).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.1)
            optimizer.step()

        step = wrap(accumulate)
        for number, x in enumerate(inputs(12)):
            if number % 3 == 0:
                optimizer.zero_grad()
            step(x)
        return training

    assert_same(run(lambda step: step), run(clew.compile))


def test_two_optimizers_in_one_call() -> None:
    def run(wrap: Callable[[Any], Any]) -> list[clew.Tensor]:
        clew.manual_seed(0)
        maker, judge = nn.Linear(3, 3), nn.Linear(3, 1)
        one = clew.optim.Adam(maker.parameters(), 0.05)
        two = clew.optim.AdamW(judge.parameters(), 0.05)

        def step(x: clew.Tensor) -> clew.Tensor:
            two.zero_grad()
            (judge(maker(x).detach()).mean() - judge(x).mean()).backward()
            two.step()
            one.zero_grad()
            loss = -judge(maker(x)).mean()
            loss.backward()
            one.step()
            return loss

        run = wrap(step)
        losses = [run(x) for x in clew.randn(8, 4, 3).unbind(0)]
        return [*losses, *maker.parameters(), *judge.parameters()]

    for mine, right in zip(run(clew.compile), run(lambda step: step), strict=True):
        clew.testing.assert_close(mine, right, rtol=1e-4, atol=1e-6)
