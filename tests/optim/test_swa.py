"""Averaged models and SWALR against torch's."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch

import clew
from tests.optimizing import assert_close, to_numpy
from tests.twice import raised, twice


def model_of(module: Any) -> Any:
    module.manual_seed(0)
    nn = module.nn
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2))


AVERAGES: dict[str, Any] = {
    "default": lambda u: {},
    "buffers": lambda u: {"use_buffers": True},
    "swa": lambda u: {"avg_fn": u.get_swa_avg_fn()},
    "swa multi": lambda u: {"multi_avg_fn": u.get_swa_multi_avg_fn()},
    "ema": lambda u: {"avg_fn": u.get_ema_avg_fn(0.9)},
    "ema multi": lambda u: {"multi_avg_fn": u.get_ema_multi_avg_fn(0.9)},
    "ema buffers": lambda u: {"multi_avg_fn": u.get_ema_multi_avg_fn(0.5), "use_buffers": True},
    "own": lambda u: {"avg_fn": lambda mean, value, n: 0.3 * mean + 0.7 * value},
}


def trained(module: Any, name: str) -> Any:
    model = model_of(module)
    utils = module.optim.swa_utils
    averaged = utils.AveragedModel(model, **AVERAGES[name](utils))
    optimizer = module.optim.SGD(model.parameters(), lr=0.05)
    batches = [module.randn(8, 3) for _ in range(6)]
    for batch in batches:
        optimizer.zero_grad()
        (model(batch) ** 2).sum().backward()
        optimizer.step()
        averaged.update_parameters(model)
    before = to_numpy(dict(averaged.state_dict()))
    utils.update_bn([(batch, None) for batch in batches], averaged)
    averaged.eval()
    return [before, to_numpy(dict(averaged.state_dict())), to_numpy(averaged(batches[0]))]


@pytest.mark.parametrize("name", AVERAGES)
def test_averaged_model(name: str) -> None:
    actual, expected = (trained(module, name) for module in (clew, torch))
    assert_close(actual, expected, 1e-4, 1e-6)


def test_the_average_is_a_copy_of_its_own() -> None:
    model = model_of(clew)
    averaged = clew.optim.swa_utils.AveragedModel(model)
    assert averaged.module is not model
    assert averaged.module[0].weight is not model[0].weight
    twin = copy.deepcopy(averaged)
    averaged.update_parameters(model)
    assert (averaged.n_averaged.item(), twin.n_averaged.item()) == (1, 0)


def test_update_bn_puts_everything_back() -> None:
    model = model_of(clew)
    model[1].momentum = 0.3
    model.eval()
    clew.optim.swa_utils.update_bn([clew.randn(4, 3)], model)
    assert model[1].momentum == 0.3
    assert not model.training
    plain = clew.nn.Linear(2, 2)
    clew.optim.swa_utils.update_bn([], plain)


def rates(module: Any, **options: Any) -> list[Any]:
    params = [module.ones(2, requires_grad=True), module.ones(1, requires_grad=True)]
    groups = [{"params": params[:1], "lr": 0.4}, {"params": params[1:]}]
    optimizer = module.optim.SGD(groups, lr=0.2)
    scheduler = module.optim.swa_utils.SWALR(optimizer, **options)
    seen = [scheduler.state_dict(), scheduler.get_last_lr()]
    for _ in range(30):
        optimizer.step()
        scheduler.step()
        seen.append(scheduler.get_last_lr())
    return [*seen, scheduler.state_dict()]


@pytest.mark.parametrize(
    "options",
    [
        {"swa_lr": 0.05},
        {"swa_lr": [0.05, 0.1], "anneal_epochs": 20, "anneal_strategy": "linear"},
        {"swa_lr": 0.5, "anneal_epochs": 0},
        {"swa_lr": 0.05, "anneal_epochs": 1},
    ],
    ids=str,
)
def test_swalr(options: dict[str, Any]) -> None:
    actual, expected = (rates(module, **options) for module in (clew, torch))
    assert_close([sorted_keys(v) for v in actual], [sorted_keys(v) for v in expected], 1e-12, 0)


def sorted_keys(value: Any) -> Any:
    return dict(sorted(value.items())) if isinstance(value, dict) else value


@twice
def test_errors(torch: Any) -> Any:
    utils = torch.optim.swa_utils
    optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)
    model = torch.nn.Linear(2, 2)
    return [
        raised(utils.SWALR, optimizer, 0.1, anneal_strategy="x", words=12),
        raised(utils.SWALR, optimizer, 0.1, anneal_epochs=-1, words=10),
        raised(utils.SWALR, optimizer, 0.1, anneal_epochs=1.5, words=10),
        raised(utils.SWALR, optimizer, [0.1, 0.2]),
        raised(utils.get_ema_avg_fn, 2.0),
        raised(utils.get_ema_multi_avg_fn, -1.0),
        raised(utils.AveragedModel, model, avg_fn=abs, multi_avg_fn=abs, words=9),
    ]
