"""`clew.compile`: what is captured, when it is replayed, and what state it leaves."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clew
import clew.nn.functional as F
from clew import nn


def bits(tensor: clew.Tensor) -> bytes:
    return tensor.detach()._array.tobytes()


def problems(compiled: Any) -> list[str | None]:
    return [event.problem for event in compiled.events]


def replays(compiled: Any) -> int:
    return sum(event.trace.replays for event in compiled.events if event.trace is not None)


# -- train steps -----------------------------------------------------------------------------


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(6, 16), nn.GELU(), nn.Dropout(0.2), nn.Linear(16, 3))


def convnet() -> nn.Module:
    return nn.Sequential(
        nn.Unflatten(1, (1, 2, 3)), nn.Conv2d(1, 4, 2), nn.BatchNorm2d(4), nn.ReLU(),
        nn.Flatten(), nn.Linear(8, 3),
    )  # fmt: skip


def normed() -> nn.Module:
    return nn.Sequential(
        nn.Linear(6, 8), nn.LayerNorm(8), nn.Tanh(), nn.Linear(8, 3), nn.Softplus()
    )


OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "sgd": lambda p: clew.optim.SGD(p, 0.1),
    "momentum": lambda p: clew.optim.SGD(p, 0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
    "adam": lambda p: clew.optim.Adam(p, 0.01),
    "adamw": lambda p: clew.optim.AdamW(p, 0.01),
    "rmsprop": lambda p: clew.optim.RMSprop(p, 0.01),
    "adagrad": lambda p: clew.optim.Adagrad(p, 0.01),
    "adamax": lambda p: clew.optim.Adamax(p, 0.01),
    "nadam": lambda p: clew.optim.NAdam(p, 0.01),
    "radam": lambda p: clew.optim.RAdam(p, 0.01),
    "rprop": lambda p: clew.optim.Rprop(p, 0.01),
    "asgd": lambda p: clew.optim.ASGD(p, 0.01),
    "adadelta": lambda p: clew.optim.Adadelta(p, 0.5),
    "adafactor": lambda p: clew.optim.Adafactor(p, 0.05),
}


def trained(build: Any, optimizer: str, compile: bool, steps: int = 12, clip: bool = False) -> Any:
    clew.manual_seed(0)
    model = build()
    update = OPTIMIZERS[optimizer](model.parameters())

    def step(x: clew.Tensor, y: clew.Tensor) -> clew.Tensor:
        update.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        if clip:
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        update.step()
        return loss

    run = clew.compile(step) if compile else step
    losses = []
    for number in range(steps):
        clew.manual_seed(100 + number)
        x, y = clew.randn(8, 6), clew.randint(0, 3, (8,))
        losses.append(run(x, y).item())
    state = [each.detach().clone() for each in model.state_dict().values()]
    grads = [each.grad.clone() for each in model.parameters()]
    remembered = [
        value
        for each in update.state.values()
        for value in each.values()
        if isinstance(value, clew.Tensor)
    ]
    return run, losses, state + grads + remembered


@pytest.mark.parametrize("build", [mlp, convnet, normed], ids=lambda build: build.__name__)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_train_step_leaves_what_eager_leaves(build: Any, optimizer: str) -> None:
    _, losses, state = trained(build, optimizer, compile=False)
    run, compiled_losses, compiled_state = trained(build, optimizer, compile=True)
    assert problems(run) == [None]
    assert replays(run) == 11
    np.testing.assert_allclose(compiled_losses, losses, 1e-5)
    for mine, right in zip(compiled_state, state, strict=True):
        np.testing.assert_allclose(mine.numpy(), right.numpy(), 1e-3, 1e-5)


def test_clipping_is_part_of_a_step() -> None:
    _, losses, _ = trained(mlp, "sgd", compile=False, clip=True)
    run, compiled_losses, _ = trained(mlp, "sgd", compile=True, clip=True)
    assert problems(run) == [None]
    np.testing.assert_allclose(compiled_losses, losses, 1e-5)


def test_a_learning_rate_may_change_without_another_capture() -> None:
    weight = clew.ones(3, requires_grad=True)
    update = clew.optim.SGD([weight], 0.1)

    @clew.compile
    def step(x: clew.Tensor) -> None:
        update.zero_grad()
        (weight * x).sum().backward()
        update.step()

    x = clew.ones(3)
    step(x)
    step(x)
    update.param_groups[0]["lr"] = 1.0
    step(x)
    assert problems(step) == [None]
    np.testing.assert_allclose(weight.detach().numpy(), 1 - 0.1 - 0.1 - 1.0, 1e-6)


def test_a_scheduler_steps_in_every_replay() -> None:
    weight = clew.ones(1, requires_grad=True)
    update = clew.optim.SGD([weight], 1.0)
    schedule = clew.optim.lr_scheduler.StepLR(update, 1, gamma=0.5)

    @clew.compile
    def step(x: clew.Tensor) -> None:
        update.zero_grad()
        (weight * x).sum().backward()
        update.step()
        schedule.step()

    for _ in range(4):
        step(clew.ones(1))
    assert problems(step) == [None]
    assert update.param_groups[0]["lr"] == 1 / 16
    np.testing.assert_allclose(weight.item(), 1 - (1 + 1 / 2 + 1 / 4 + 1 / 8))


def test_gradients_accumulate_where_nothing_clears_them() -> None:
    weight = clew.ones(2, requires_grad=True)

    @clew.compile
    def step(x: clew.Tensor) -> None:
        (weight * x).sum().backward()

    for count in range(1, 5):
        step(clew.ones(2))
        assert weight.grad.tolist() == [count, count]
    # Without a gradient before, and with one: two traces.
    assert problems(step) == [None, None]


# -- forwards with a graph -------------------------------------------------------------------


def test_a_compiled_module_trains_as_the_module() -> None:
    clew.manual_seed(0)
    model = convnet()
    twin = copy.deepcopy(model)
    compiled = clew.compile(twin)
    for number in range(4):
        clew.manual_seed(number)
        x = clew.randn(8, 6)
        one, other = x.clone().requires_grad_(), x.clone().requires_grad_()
        model(one).square().mean().backward()
        compiled(other).square().mean().backward()
        assert bits(one.grad) == bits(other.grad)
    for mine, right in zip(twin.state_dict().values(), model.state_dict().values(), strict=True):
        assert bits(mine) == bits(right)
    for mine, right in zip(twin.parameters(), model.parameters(), strict=True):
        assert bits(mine.grad) == bits(right.grad)
    assert problems(compiled.compiled) == [None]
    assert replays(compiled.compiled) == 3


def test_gradients_of_gradients_go_through_a_compiled_function() -> None:
    @clew.compile
    def cube(x: clew.Tensor) -> clew.Tensor:
        return (x**3).sum()

    for value in (2.0, 3.0):
        x = clew.tensor([value], requires_grad=True)
        (first,) = clew.autograd.grad(cube(x), x, create_graph=True)
        (second,) = clew.autograd.grad(first.sum(), x)
        assert (first.item(), second.item()) == (3 * value**2, 6 * value)


def test_a_second_backward_says_that_the_graph_is_gone() -> None:
    @clew.compile
    def square(x: clew.Tensor) -> clew.Tensor:
        return (x * x).sum()

    x = clew.ones(2, requires_grad=True)
    square(x)
    loss = square(x)
    loss.backward(retain_graph=True)
    loss.backward()
    assert x.grad.tolist() == [4.0, 4.0]
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        loss.backward()


def test_a_parameter_that_is_overwritten_before_backward_is_noticed() -> None:
    weight = clew.ones(2, requires_grad=True)

    @clew.compile
    def product(x: clew.Tensor) -> clew.Tensor:
        return (weight * x).sum()

    x = clew.ones(2, requires_grad=True)
    product(x)
    loss = product(x)
    with clew.no_grad():
        weight.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_results_that_nobody_uses_give_no_gradient() -> None:
    one, other = clew.ones(2, requires_grad=True), clew.ones(2, requires_grad=True)

    @clew.compile
    def both(x: clew.Tensor) -> tuple[clew.Tensor, clew.Tensor]:
        return (one * x).sum(), (other * x).sum()

    both(clew.ones(2))
    both(clew.ones(2))[0].backward()
    assert one.grad.tolist() == [1.0, 1.0]
    assert other.grad is None


# -- random numbers, writes ------------------------------------------------------------------


def test_random_numbers_are_those_of_eager() -> None:
    def noisy(x: clew.Tensor) -> clew.Tensor:
        return F.dropout(x + clew.randn(4) + clew.rand_like(x), 0.5)

    compiled = clew.compile(noisy)
    for seed in range(3):
        clew.manual_seed(seed)
        right = [noisy(clew.ones(4)), clew.rand(2)]
        clew.manual_seed(seed)
        mine = [compiled(clew.ones(4)), clew.rand(2)]
        assert [bits(each) for each in mine] == [bits(each) for each in right]
    assert replays(compiled) == 2


OF_NUMBERS: tuple[Callable[[clew.Tensor], clew.Tensor], ...] = (
    lambda x: F.scaled_dot_product_attention(x, x, x, dropout_p=0.5, is_causal=True),
    lambda x: F.dropout(x, 1.0),
    clew.logdet,
    clew.linalg.det,
    clew.trace,
    lambda x: clew.linalg.vander(x, N=3),
    lambda x: clew.linalg.matrix_power(x, 0) + x,
    lambda x: clew.linalg.eigh(x + x.mT)[0],
    lambda x: clew.linalg.householder_product(x, x.diagonal().square()),
)


@pytest.mark.parametrize("function", OF_NUMBERS)
def test_what_the_library_makes_of_numbers_is_known(
    function: Callable[[clew.Tensor], clew.Tensor],
) -> None:
    def step(x: clew.Tensor) -> tuple[clew.Tensor, ...]:
        out = function(x)
        return out.detach(), *clew.autograd.grad(out.sum(), x)

    compiled = clew.compile(step, fullgraph=True)
    for seed in range(3):
        seen = []
        for run in (step, compiled):
            clew.manual_seed(seed)
            x = clew.randn(3, 3) + 3 * clew.eye(3)
            seen.append(run(x.requires_grad_()))
        clew.testing.assert_close(seen[1], seen[0])
    assert replays(compiled) == 2


def test_writes_to_arguments_and_state_happen_in_every_replay() -> None:
    total = clew.zeros(2)

    @clew.compile
    def add(x: clew.Tensor) -> clew.Tensor:
        total.add_(x)
        x.mul_(2)
        return total[0] + x[1]

    for count in range(1, 4):
        x = clew.ones(2)
        version = total._version
        assert add(x).item() == count + 2
        assert (total.tolist(), x.tolist()) == ([count, count], [2.0, 2.0])
        assert total._version == version + 1
    assert problems(add) == [None]


def test_views_and_writes_keep_their_order() -> None:
    def program(x: clew.Tensor) -> clew.Tensor:
        y = x * 2
        row = y[0]
        before = row + 1
        y.mul_(3)
        row[1:] = 7.0
        y.t()[0].add_(1)
        return clew.cat([before, row, y.sum(0)])

    compiled = clew.compile(program)
    for seed in range(3):
        clew.manual_seed(seed)
        x = clew.randn(2, 3)
        assert bits(compiled(x.clone())) == bits(program(x.clone()))
    assert problems(compiled) == [None]
