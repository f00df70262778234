"""GradScaler, compared with PyTorch's: scales, steps that are left out, what is saved."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import pytest

import clew
from tests.twice import raised, twice


def training(t: Any) -> tuple[Any, Any]:
    parameter = t.nn.Parameter(t.tensor([1.0, 2.0]))
    return parameter, t.optim.SGD([parameter], lr=0.1)


@twice
def test_scale_step_by_step(t: Any) -> list[Any]:
    parameter, optimizer = training(t)
    scaler = t.amp.GradScaler("cpu", init_scale=4.0, growth_interval=2)
    seen: list[Any] = [scaler.get_scale(), scaler._get_growth_tracker()]
    for factor in (1.0, 1.0, math.inf, 1.0, math.nan, 1.0, 1.0, 1.0):
        optimizer.zero_grad()
        loss = (parameter * factor).sum()
        scaled = scaler.scale(loss)
        scaled.backward()
        seen += [
            parameter.grad.tolist() if factor == 1 else "not finite",
            scaled.dtype == t.float32,
        ]
        seen += [scaler.step(optimizer), parameter.detach().clone()]
        scaler.update()
        seen += [scaler.get_scale(), scaler._get_growth_tracker(), scaler.state_dict()]
    return seen


@twice
def test_the_scale_stays_finite(t: Any) -> list[Any]:
    parameter, optimizer = training(t)
    scaler = t.amp.GradScaler("cpu", init_scale=2.0**127, growth_interval=1)
    for _ in range(2):
        optimizer.zero_grad()
        scaler.scale(parameter.sum() * 1e-20).backward()
        scaler.step(optimizer)
        scaler.update()
    return [scaler.get_scale(), scaler._get_growth_tracker()]


@twice
def test_unscale_then_clip(t: Any) -> list[Any]:
    parameter, optimizer = training(t)
    scaler = t.amp.GradScaler("cpu", init_scale=128.0)
    scaler.scale((parameter * 3).sum()).backward()
    scaler.unscale_(optimizer)
    seen = [parameter.grad.clone()]
    t.nn.utils.clip_grad_norm_([parameter], 1.0)
    scaler.step(optimizer)
    scaler.update()
    return [*seen, parameter.detach()]


@twice
def test_two_optimizers_share_a_scale(t: Any) -> list[Any]:
    (first, one), (second, two) = training(t), training(t)
    scaler = t.amp.GradScaler("cpu", init_scale=8.0)
    scaler.scale(first.sum() * math.inf).backward()
    scaler.scale(second.sum()).backward()
    scaler.step(one)
    scaler.step(two)
    scaler.update()
    return [first.detach(), second.detach(), scaler.get_scale()]


@twice
def test_nested_outputs(t: Any) -> list[Any]:
    scaler = t.amp.GradScaler("cpu", init_scale=2.0)
    x = t.ones(2)
    scaled = scaler.scale([x, (x, [x])])
    lazy = scaler.scale(each for each in (x, x))
    return [scaled, list(lazy), str(scaler.scale(x.bfloat16()).dtype), raised(scaler.scale, 3)]


@twice
def test_mistakes_with_a_scaler(t: Any) -> list[Any]:
    parameter, optimizer = training(t)
    scaler = t.amp.GradScaler("cpu", init_scale=2.0)
    seen = [raised(scaler.update, words=5), raised(scaler.step, optimizer, words=5)]
    seen.append(raised(scaler.unscale_, optimizer, words=5))
    scaler.scale(parameter.sum())
    seen += [raised(scaler.step, optimizer, words=8), raised(scaler.update, words=8)]
    scaler = t.amp.GradScaler("cpu", init_scale=2.0)
    scaler.scale(parameter.sum()).backward()
    scaler.unscale_(optimizer)
    seen += [raised(scaler.unscale_, optimizer, words=14), raised(pickle.dumps, scaler, words=14)]
    scaler.step(optimizer)
    seen += [raised(scaler.unscale_, optimizer), raised(scaler.step, optimizer, words=9)]
    seen.append(raised(scaler.step, optimizer, closure=lambda: None, words=9))
    seen.append(raised(scaler.update, t.ones(2)))
    scaler.update(32.0)
    seen.append(scaler.get_scale())
    scaler.update(t.tensor(16.0))
    seen += [scaler.get_scale(), raised(scaler.load_state_dict, {}, words=8)]
    seen.append(raised(t.amp.GradScaler, "cpu", growth_factor=1.0))
    seen.append(raised(t.amp.GradScaler, "cpu", backoff_factor=1.0))
    return seen


@twice
def test_half_precision_parameters_cannot_be_unscaled(t: Any) -> Any:
    parameter = t.nn.Parameter(t.ones(2, dtype=t.float16))
    optimizer = t.optim.SGD([parameter], lr=0.1)
    scaler = t.amp.GradScaler("cpu", init_scale=2.0)
    scaler.scale(parameter.sum()).backward()
    return raised(scaler.step, optimizer)


def test_no_gradient_is_explained() -> None:
    parameter, optimizer = training(clew)
    scaler = clew.amp.GradScaler("cpu")
    scaler.scale(parameter.sum())
    with pytest.raises(AssertionError, match="None of its parameters has a gradient"):
        scaler.step(optimizer)


@twice
def test_settings_and_saving(t: Any) -> list[Any]:
    parameter, optimizer = training(t)
    scaler = t.amp.GradScaler("cpu", 16.0, 3.0, 0.25, 5)
    scaler.set_growth_factor(4.0)
    scaler.set_backoff_factor(0.125)
    scaler.set_growth_interval(7)
    scaler.scale(parameter.sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    other = t.amp.GradScaler("cpu")
    other.load_state_dict(scaler.state_dict())
    used = t.amp.GradScaler("cpu")
    used.scale(parameter.sum())
    used.load_state_dict(scaler.state_dict())
    again = pickle.loads(pickle.dumps(scaler))
    return [
        (each.state_dict(), each.get_growth_factor(), each.get_backoff_factor(),
         each.get_growth_interval(), each.is_enabled())
        for each in (scaler, other, used, again, copy.deepcopy(scaler))
    ]  # fmt: skip


@twice
def test_a_disabled_scaler_does_nothing(t: Any) -> list[Any]:
    parameter, optimizer = training(t)
    scaler = t.amp.GradScaler()
    loss = parameter.sum()
    seen = [scaler.scale(loss) is loss, scaler.is_enabled(), scaler.get_scale()]
    loss.backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    scaler.load_state_dict({})
    return [*seen, parameter.detach(), scaler.state_dict()]
