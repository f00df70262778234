"""Steps by a plan: whatever changes between two steps, they are those of a new optimizer."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

import clew
from clew import nn, optim

OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "adam": lambda params: optim.Adam(params, lr=0.1, weight_decay=0.1),
    "adamw": lambda params: optim.AdamW(params, lr=0.1),
    "amsgrad": lambda params: optim.Adam(params, lr=0.1, amsgrad=True),
    "sgd": lambda params: optim.SGD(params, lr=0.1),
    "momentum": lambda params: optim.SGD(params, lr=0.1, momentum=0.9),
    "rmsprop": lambda params: optim.RMSprop(params, lr=0.1),
    "nadam": lambda params: optim.NAdam(params, lr=0.1),
    "adagrad": lambda params: optim.Adagrad(params, lr=0.1),
}


def change_rate(model: Any, optimizer: Any) -> None:
    optimizer.param_groups[0]["lr"] = 0.01


def change_decay(model: Any, optimizer: Any) -> None:
    optimizer.param_groups[0]["weight_decay"] = 0.5


def rate_as_tensor(model: Any, optimizer: Any) -> None:
    optimizer.param_groups[0]["lr"] = clew.tensor(0.01)


def maximize(model: Any, optimizer: Any) -> None:
    optimizer.param_groups[0]["maximize"] = True


def no_gradient(model: Any, optimizer: Any) -> None:
    model[0].weight.grad = None


def gradient_with_gaps(model: Any, optimizer: Any) -> None:
    weight = model[0].weight
    weight.grad = weight.grad.T.contiguous().T


def other_memory(model: Any, optimizer: Any) -> None:
    model[0].weight.data = model[0].weight.detach() * 2


def other_state(model: Any, optimizer: Any) -> None:
    optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))


def forgotten_state(model: Any, optimizer: Any) -> None:
    optimizer.state.clear()


def one_state_replaced(model: Any, optimizer: Any) -> None:
    for state in list(optimizer.state.values())[:1]:
        for name, value in state.items():
            state[name] = value + 1


def fewer_parameters(model: Any, optimizer: Any) -> None:
    del optimizer.param_groups[0]["params"][0]


def another_group(model: Any, optimizer: Any) -> None:
    extra = nn.Parameter(clew.ones(2))
    extra.grad = clew.ones(2)
    optimizer.add_param_group({"params": [extra], "lr": 0.5})
    model.register_parameter("extra", extra)


CHANGES = [
    change_rate, change_decay, rate_as_tensor, maximize, no_gradient, gradient_with_gaps,
    other_memory, other_state, forgotten_state, one_state_replaced, fewer_parameters, another_group,
]  # fmt: skip


def run(kind: str, change: Any, forgets: bool) -> list[Any]:
    clew.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    optimizer = OPTIMIZERS[kind](model.parameters())
    for number in range(6):
        if forgets:
            optimizer._plan = None
        optimizer.zero_grad()
        model(clew.randn(5, 3)).square().sum().backward()
        if number == 3:
            change(model, optimizer)
        optimizer.step()
    found = [each.tolist() for each in model.state_dict().values()]
    found += [each._version for each in model.parameters()]
    for state in optimizer.state.values():
        found += [(name, value.tolist(), value._version) for name, value in state.items()
                  if isinstance(value, clew.Tensor)]  # fmt: skip
    return found


@pytest.mark.parametrize("kind", OPTIMIZERS)
@pytest.mark.parametrize("change", CHANGES, ids=lambda each: each.__name__)
def test_steps_are_those_without_a_plan(kind: str, change: Any) -> None:
    assert run(kind, change, forgets=False) == run(kind, change, forgets=True)


def test_unchanged_steps_use_the_plan() -> None:
    elsewhere = clew.ones(2, dtype=clew.complex64).conj()
    model = nn.Linear(3, 3)
    optimizer = optim.Adam(model.parameters())
    plans = []
    for number in range(4):
        optimizer.param_groups[0]["lr"] = 0.1 / (1 + number)
        model(clew.ones(1, 3)).sum().backward()
        optimizer.step()
        plans.append(optimizer._plan)
    assert plans[0] is not None and len(set(map(id, plans))) == 1
    assert elsewhere.is_conj()


def test_parameters_that_share_memory_have_no_plan() -> None:
    both = clew.ones(4)
    params = [both[:3].requires_grad_(), both[1:].requires_grad_()]
    for each in params:
        each.grad = clew.ones(3)
    optimizer = optim.SGD(params, lr=1.0)
    optimizer.step()
    assert optimizer._plan is None
    assert both.tolist() == [0.0, -1.0, -1.0, 0.0]


def test_a_copy_of_an_optimizer_has_no_plan_of_the_original() -> None:
    model = nn.Linear(2, 2)
    optimizer = optim.Adam(model.parameters())
    model(clew.ones(1, 2)).sum().backward()
    optimizer.step()
    twin = copy.deepcopy(optimizer)
    assert twin._plan is None or twin._plan is not optimizer._plan


@pytest.mark.parametrize("kind", ["adam", "sgd", "momentum"])
def test_negative_views_of_parameters_follow_a_plan(kind: str) -> None:
    param = nn.Parameter(clew.tensor([1.0, 3.0]))
    view, optimizer = param.detach()._neg_view(), OPTIMIZERS[kind]([param])
    for _ in range(3):
        param.grad = clew.ones(2)
        optimizer.step()
        assert view.tolist() == (-param).tolist()
    assert optimizer._plan is not None
