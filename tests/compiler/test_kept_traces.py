"""What changes between calls and means nothing to them: their traces stay; and what does mean
something."""

from __future__ import annotations

import copy
import operator
import sys
import types
from typing import Any

import pytest

import clew
from clew import nn
from tests.compiler.agreement import Wrap, assert_agreement, shown

Scenario = Any


class Trainer:
    """Keeps its progress beside what a step needs."""

    seen: list[int] = []  # noqa: RUF012  it is shared, as in programs that are written so

    def __init__(self) -> None:
        self.model = nn.Linear(3, 3)
        self.optimizer = clew.optim.Adam(self.model.parameters())
        self.history: list[float] = []
        self.epoch, self.best, self.scale = 0, None, 1.0

    def step(self, x: clew.Tensor) -> clew.Tensor:
        self.optimizer.zero_grad()
        loss = self.model(x).square().mean() * self.factor()
        loss.backward()
        self.optimizer.step()
        return loss

    def factor(self) -> float:
        return self.scale

    def finish(self, loss: Any) -> None:
        self.history.append(loss.item())
        self.seen.append(self.epoch)
        self.epoch, self.best = self.epoch + 1, loss


def progress(wrap: Wrap) -> Any:
    trainer = Trainer()
    step = wrap(trainer.step)
    for _ in range(12):
        trainer.finish(step(clew.ones(2, 3)))
    return trainer.history


def progress_with_changes(wrap: Wrap) -> Any:
    trainer = Trainer()
    step = wrap(trainer.step)
    for _ in range(4):
        trainer.finish(step(clew.ones(2, 3)))
    trainer.scale = 0.5
    trainer.finish(step(clew.ones(2, 3)))
    trainer.factor = lambda: 3.0  # type: ignore[method-assign]  # as programs do
    trainer.finish(step(clew.ones(2, 3)))
    return trainer.history


def loaded_optimizer(wrap: Wrap) -> Any:
    trainer = Trainer()
    step, results = wrap(trainer.step), []
    for _ in range(4):
        results += [shown(step(clew.ones(2, 3))) for _ in range(3)]
        trainer.optimizer.load_state_dict(copy.deepcopy(trainer.optimizer.state_dict()))
    return results, shown(list(trainer.model.parameters()))


def loaded_optimizer_whose_rate_is_returned(wrap: Wrap) -> Any:
    trainer = Trainer()
    groups = trainer.optimizer
    step = wrap(lambda x: (trainer.step(x), groups.param_groups[0]["lr"]))
    results = [shown(step(clew.ones(2, 3))) for _ in range(3)]
    groups.load_state_dict(copy.deepcopy(groups.state_dict()))
    return results + [shown(step(clew.ones(2, 3))) for _ in range(3)]


def assigned_gradients(wrap: Wrap) -> Any:
    model = nn.Linear(3, 2)
    optimizer = clew.optim.SGD(model.parameters(), lr=0.1)

    def step(x: Any) -> Any:
        parameters = list(model.parameters())
        gradients = clew.autograd.grad(model(x).square().sum(), parameters)
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.grad = gradient
        optimizer.step()
        return gradients

    f, results = wrap(step), []
    for _ in range(4):
        made = f(clew.ones(2, 3))
        same = [g is p.grad for g, p in zip(made, model.parameters(), strict=True)]
        results.append((shown(made), same))
    return results, shown(list(model.parameters()))


def perturbation(wrap: Wrap) -> Any:
    model = nn.Linear(3, 2)

    def attack(x: Any) -> Any:
        delta = clew.zeros_like(x, requires_grad=True)
        for _ in range(3):
            model(x + delta).square().sum().backward()
            delta.data = (delta + 0.1 * delta.grad.sign()).clamp(-0.3, 0.3)
            delta.grad.zero_()
        return delta.detach()

    f = wrap(attack)
    return [shown(f(clew.ones(2, 3) * i)) for i in range(4)], shown(model.weight.grad)


def gradient_of_an_argument(wrap: Wrap) -> Any:
    cell, results = nn.GRU(3, 3), []

    def step(x: Any) -> None:
        cell(x)[0].square().sum().backward()

    f = wrap(step)
    for i in range(4):
        x = (clew.ones(2, 1, 3) * i).requires_grad_()
        f(x)
        results.append(shown(x.grad))
    return results


def leaf_that_is_forgotten(wrap: Wrap) -> Any:
    model = nn.Linear(3, 2)

    def step(x: Any) -> Any:
        x = x.detach().requires_grad_()
        (gradient,) = clew.autograd.grad(model(x).square().sum(), x)
        return x + gradient.sign()

    f, results = wrap(step), []
    for i in range(4):
        made = f(clew.ones(2, 3) * i)
        made.sum().backward()
        results.append(shown(made))
    return results


def rate_of_a_function(wrap: Wrap) -> Any:
    trainer = Trainer()
    scheduler = clew.optim.lr_scheduler.LambdaLR(trainer.optimizer, lambda epoch: 0.5**epoch)

    def step(x: Any) -> Any:
        loss = trainer.step(x)
        scheduler.step()
        return loss

    f = wrap(step)
    return [shown(f(clew.ones(2, 3))) for _ in range(4)], scheduler.get_last_lr()


@pytest.mark.parametrize(
    ("scenario", "most"),
    [
        (progress, 1), (loaded_optimizer, 1), (loaded_optimizer_whose_rate_is_returned, 1),
        (assigned_gradients, 1), (perturbation, 2), (gradient_of_an_argument, 2),
        (leaf_that_is_forgotten, 1), (rate_of_a_function, 1), (progress_with_changes, 3),
    ],
    ids=lambda each: getattr(each, "__name__", None),
)  # fmt: skip
def test_traces_are_kept(scenario: Scenario, most: int) -> None:
    (compiled,) = assert_agreement(scenario)
    assert [event.problem for event in compiled.events if event.problem] == []
    assert len(compiled.events) <= most


def module_in_an_attribute(wrap: Wrap) -> Any:
    settings: Any = types.ModuleType("settings_of_a_test")
    settings.rate = 2.0
    holder = types.SimpleNamespace(settings=settings)

    def scaled(x: Any, module: Any) -> Any:
        return x * module.rate

    f = wrap(lambda x: scaled(x, holder.settings))
    results = [shown(f(clew.ones(2))) for _ in range(2)]
    settings.rate = 3.0
    return [*results, shown(f(clew.ones(2)))]


def attribute_by_a_text(wrap: Wrap) -> Any:
    trainer, name = Trainer(), "".join(["sc", "ale"])
    f = wrap(lambda x: x * getattr(trainer, name))
    results = [shown(f(clew.ones(2)))]
    trainer.scale = 4.0
    return [*results, shown(f(clew.ones(2)))]


def attribute_by_a_getter(wrap: Wrap) -> Any:
    trainer, get = Trainer(), operator.attrgetter("scale")
    f = wrap(lambda x: x * get(trainer))
    results = [shown(f(clew.ones(2)))]
    trainer.scale = 4.0
    return [*results, shown(f(clew.ones(2)))]


def attribute_of_a_pattern(wrap: Wrap) -> Any:
    trainer = Trainer()

    def step(x: Any) -> Any:
        match trainer:
            case Trainer(scale=1.0):
                return x
            case _:
                return x * 2

    f = wrap(step)
    results = [shown(f(clew.ones(2)))]
    trainer.scale = 4.0
    return [*results, shown(f(clew.ones(2)))]


def attribute_of_a_copy(wrap: Wrap) -> Any:
    trainer = types.SimpleNamespace(scale=1.0)

    def step(x: Any) -> Any:
        return x * sum(vars(copy.copy(trainer)).values())

    f = wrap(step)
    results = [shown(f(clew.ones(2)))]
    trainer.scale = 4.0
    return [*results, shown(f(clew.ones(2)))]


def hook_of_a_parameter_that_moves(wrap: Wrap) -> Any:
    model = nn.Linear(3, 3)
    f, results = wrap(lambda x: model(x)), []

    def run() -> None:
        model.zero_grad()
        f(clew.ones(2, 3)).sum().backward()
        results.append(shown([each.grad for each in model.parameters()]))

    run()
    run()
    model.bias.register_hook(lambda gradient: gradient * 0.5)
    model.half().float()
    run()
    model.half().float()
    run()
    run()
    return results


def rate_after_a_step_of_a_scheduler(wrap: Wrap) -> Any:
    trainer = Trainer()
    optimizer = trainer.optimizer
    scheduler = clew.optim.lr_scheduler.StepLR(optimizer, 2)

    def step(x: Any) -> Any:
        loss = trainer.step(x)
        scheduler.step()
        return loss, optimizer.param_groups[0]["lr"]

    f = wrap(step)
    f(clew.ones(2, 3))
    return [shown(f(clew.ones(2, 3) * i)) for i in range(6)]


def numbers_that_are_kept(wrap: Wrap) -> Any:
    kept: list[Any] = []
    last = types.SimpleNamespace()

    def step(x: Any, factor: float) -> Any:
        value = x.sum().item()
        kept.append((factor * 2, {"value": value}))
        last.value, last.factor = value, factor
        return x * factor

    f = wrap(step)
    f(clew.ones(2), 0.5)
    numbers = [*kept[0][1].values(), kept[0][0], last.value, last.factor]
    return kept, [type(each).__name__ for each in numbers]


def parameters_of_a_group(wrap: Wrap) -> Any:
    first, second = nn.Linear(3, 3), nn.Linear(3, 3)
    optimizer = clew.optim.SGD(first.parameters(), lr=0.1)

    def step(x: Any) -> None:
        optimizer.zero_grad()
        second(first(x)).square().sum().backward()
        optimizer.step()

    f = wrap(step)
    for _ in range(3):
        f(clew.ones(2, 3))
    optimizer.param_groups[0]["params"] = list(second.parameters())
    for _ in range(3):
        f(clew.ones(2, 3))
    return shown([*first.parameters(), *second.parameters(), first.weight.grad])


@pytest.mark.parametrize(
    "scenario",
    [
        module_in_an_attribute, attribute_by_a_text, attribute_by_a_getter, attribute_of_a_pattern,
        attribute_of_a_copy, hook_of_a_parameter_that_moves, numbers_that_are_kept,
        rate_after_a_step_of_a_scheduler,
        parameters_of_a_group,
    ],
)  # fmt: skip
def test_what_means_something_is_seen(scenario: Scenario) -> None:
    assert_agreement(scenario)


def test_a_global_with_the_name_of_an_attribute_is_no_guard() -> None:
    class Result:
        loss: Any

    def step(x: Any) -> Any:
        result = Result()
        result.loss = x * 2
        return result.loss

    compiled, space = clew.compile(step), vars(sys.modules[__name__])
    try:
        for i in range(4):
            space["loss"] = i
            compiled(clew.ones(2))
    finally:
        del space["loss"]
    assert [event.trace.replays for event in compiled.events] == [3]


WRONG = {
    "nll_loss": lambda x, i: nn.functional.nll_loss(x, i),
    "cross_entropy": lambda x, i: nn.functional.cross_entropy(x, i),
    "embedding": lambda x, i: nn.functional.embedding(i, x),
    "gather": lambda x, i: x.gather(1, i[:, None]),
    "index_select": lambda x, i: x.index_select(0, i),
    "take": lambda x, i: x.take(i + 6),
    "scatter": lambda x, i: x.scatter(1, i[:, None], 0.0),
    "inverse": lambda x, i: clew.linalg.inv(x[:3, :3] * (i < 3).all()),
    "remainder": lambda x, i: i % (4 - i),
}


@pytest.mark.parametrize("name", WRONG)
def test_an_error_is_raised_though_nobody_uses_the_result(name: str) -> None:
    def step(x: Any, i: Any) -> Any:
        WRONG[name](x, i)
        return x * 2

    compiled, x = clew.compile(step), clew.eye(4, 3) + clew.ones(4, 3)
    for _ in range(2):
        compiled(x, clew.tensor([0, 1, 2, 0]))
    with pytest.raises((IndexError, RuntimeError)) as eager:
        step(x, clew.tensor([0, 1, 4, 40]))
    with pytest.raises(type(eager.value)):
        compiled(x, clew.tensor([0, 1, 4, 40]))


def test_code_that_is_defined_twice_is_captured_twice() -> None:
    text = "def inner(x): return x * 2\ndef f(x): return sum([inner(x) for _ in range(2)])"
    for _ in range(2):
        space: dict[str, Any] = {"__name__": "program"}
        exec(text, space)
        compiled = clew.compile(space["f"])
        compiled(clew.ones(1))
        assert compiled.events[0].problem is None
