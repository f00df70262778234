"""Steps of many modules and optimizers, compiled: weights, buffers and gradients as eager."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clew
from clew import nn
from tests.compiler.test_compile import OPTIMIZERS, problems

STEPS = 100


class Recurrent(nn.Module):
    """A recurrent layer and its last output."""

    def __init__(self, kind: Any, **options: Any) -> None:
        super().__init__()
        self.layer = kind(6, 4, batch_first=True, **options)

    def forward(self, x: clew.Tensor) -> clew.Tensor:
        outputs, _ = self.layer(x)
        last: clew.Tensor = outputs[:, -1]
        return last


class Attention(nn.Module):
    """Self-attention."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.MultiheadAttention(6, 2, batch_first=True)

    def forward(self, x: clew.Tensor) -> clew.Tensor:
        result: clew.Tensor = self.layer(x, x, x)[0]
        return result


def images(*layers: Any) -> nn.Module:
    return nn.Sequential(*layers)


IMAGE, SEQUENCE, ROWS = (4, 2, 6, 6), (3, 5, 6), (5, 6)
MODULES: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "linear": (lambda: nn.Linear(6, 3), ROWS),
    "layer_norm": (lambda: nn.Sequential(nn.Linear(6, 6), nn.LayerNorm(6)), ROWS),
    "rms_norm": (lambda: nn.Sequential(nn.Linear(6, 6), nn.RMSNorm(6)), ROWS),
    "batch_norm": (lambda: nn.Sequential(nn.Linear(6, 6), nn.BatchNorm1d(6)), ROWS),
    "dropout": (lambda: nn.Sequential(nn.Linear(6, 6), nn.Dropout(0.5), nn.Linear(6, 2)), ROWS),
    "prelu": (lambda: nn.Sequential(nn.Linear(6, 6), nn.PReLU()), ROWS),
    "glu": (lambda: nn.Sequential(nn.Linear(6, 6), nn.GLU()), ROWS),
    "conv1d": (lambda: nn.Conv1d(5, 4, 3, padding=1), SEQUENCE),
    "conv": (lambda: images(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.SiLU()), IMAGE),
    "transposed": (lambda: images(nn.ConvTranspose2d(2, 3, 2, stride=2), nn.Mish()), IMAGE),
    "max_pool": (lambda: images(nn.Conv2d(2, 3, 3), nn.MaxPool2d(2), nn.ELU()), IMAGE),
    "avg_pool": (lambda: images(nn.Conv2d(2, 3, 3), nn.AdaptiveAvgPool2d(2)), IMAGE),
    "group_norm": (lambda: images(nn.Conv2d(2, 4, 1), nn.GroupNorm(2, 4), nn.ReLU()), IMAGE),
    "instance_norm": (
        lambda: images(nn.Conv2d(2, 4, 1), nn.InstanceNorm2d(4, affine=True)), IMAGE,
    ),
    "upsample": (lambda: images(nn.Conv2d(2, 3, 1), nn.Upsample(scale_factor=2)), IMAGE),
    "rnn": (lambda: Recurrent(nn.RNN), SEQUENCE),
    "lstm": (lambda: Recurrent(nn.LSTM, num_layers=2, dropout=0.3), SEQUENCE),
    "gru": (lambda: Recurrent(nn.GRU, bidirectional=True), SEQUENCE),
    "attention": (Attention, SEQUENCE),
    "encoder": (lambda: nn.TransformerEncoderLayer(6, 2, 8, batch_first=True), SEQUENCE),
    "spectral_norm": (lambda: nn.utils.parametrizations.spectral_norm(nn.Linear(6, 3)), ROWS),
    "weight_norm": (lambda: nn.utils.parametrizations.weight_norm(nn.Linear(6, 3)), ROWS),
}  # fmt: skip


def state_of(model: nn.Module, optimizer: Any) -> list[clew.Tensor]:
    found = [each.detach() for each in model.state_dict().values()]
    found += [each.grad for each in model.parameters() if each.grad is not None]
    for remembered in optimizer.state.values():
        found += [each for each in remembered.values() if isinstance(each, clew.Tensor)]
    return found


def steps_of(model: nn.Module, build: Any, shape: tuple[int, ...], wrap: Any) -> tuple[Any, Any]:
    optimizer = build(model.parameters())

    def step(x: clew.Tensor) -> clew.Tensor:
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    run = wrap(step)
    losses = []
    for seed in range(STEPS):
        clew.manual_seed(seed)
        if seed == STEPS // 2:
            model.eval()
        losses.append(run(clew.randn(*shape)).item())
    return run, [losses, *[each.numpy() for each in state_of(model, optimizer)]]


def assert_same_steps(name: str, optimizer: str) -> Any:
    build, shape = MODULES[name]
    clew.manual_seed(0)
    model = build()
    twin = copy.deepcopy(model)
    _, expected = steps_of(model, OPTIMIZERS[optimizer], shape, lambda step: step)
    run, found = steps_of(twin, OPTIMIZERS[optimizer], shape, clew.compile)
    for mine, right in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, right, 1e-3, 1e-5)
    return run


@pytest.mark.parametrize("name", MODULES)
def test_steps_of_a_module(name: str) -> None:
    run = assert_same_steps(name, "momentum")
    # In training and in evaluation.
    assert problems(run) == [None, None]


@pytest.mark.parametrize("name", ["encoder", "conv"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_steps_of_an_optimizer(name: str, optimizer: str) -> None:
    assert_same_steps(name, optimizer)
