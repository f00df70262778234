"""Training runs follow PyTorch's from the same seed: parameters, batches, masks, losses.

Each run is written once, as `run(torch)`, and made with both libraries. Nothing is copied between
them: equal seeds must give equal initial parameters, batches and dropout masks, and from there on
losses that agree at every one of 50 steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import clew
from tests.twice import twice

STEPS = 50
CURVE = 1e-4
"""Largest relative difference of two losses at any step."""


def arrays(module: Any) -> dict[str, np.ndarray]:
    return {name: value.detach().numpy().copy() for name, value in module.state_dict().items()}


def recorded_masks(torch: Any, module: Any, masks: list[tuple[np.ndarray, np.ndarray]]) -> None:
    """Note where every dropout layer's input and output are not zero, as it runs."""

    def note(layer: Any, args: Any, output: Any) -> None:
        masks.append(((args[0] != 0).numpy(), (output != 0).numpy()))

    for layer in module.modules():
        if isinstance(layer, (torch.nn.Dropout, torch.nn.Dropout2d)):
            layer.register_forward_hook(note)


def loader(torch: Any, *tensors: Any, batch_size: int) -> Any:
    data = torch.utils.data
    return data.DataLoader(data.TensorDataset(*tensors), batch_size=batch_size, shuffle=True)


def train(
    torch: Any, model: Any, optimizer: Any, batches: Any, loss_of: Callable[..., Any]
) -> dict[str, Any]:
    """`STEPS` steps; what is compared between the libraries is noted on the way."""
    run: dict[str, Any] = {"initial": arrays(model), "losses": [], "masks": [], "batches": []}
    recorded_masks(torch, model, run["masks"])
    model.train()
    while len(run["losses"]) < STEPS:
        for batch in batches:
            loss = loss_of(*batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            run["batches"].append([part.numpy().copy() for part in batch])
            run["losses"].append(loss.item())
    run["losses"] = run["losses"][:STEPS]
    run["buffers"] = {name: b.numpy().copy() for name, b in model.named_buffers()}
    return run


# -- the five models ---------------------------------------------------------------------------


def mlp(torch: Any) -> dict[str, Any]:
    nn = torch.nn
    x = torch.randn(80, 10)
    y = (x[:, :3].sum(1) > 0).long() + (x[:, 3] > 1).long()
    model = nn.Sequential(
        nn.Linear(10, 32),
        nn.ReLU(),
        nn.Dropout(0.2),
        nn.Linear(32, 32),
        nn.GELU(),
        nn.Linear(32, 3),
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    criterion = nn.CrossEntropyLoss()
    batches = loader(torch, x, y, batch_size=16)
    return train(torch, model, optimizer, batches, lambda x, y: criterion(model(x), y))


def cnn(torch: Any) -> dict[str, Any]:
    nn = torch.nn
    x = torch.randn(40, 2, 10, 10)
    y = torch.randint(0, 4, (40,))
    model = nn.Sequential(
        nn.Conv2d(2, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(),
        nn.MaxPool2d(2), nn.Dropout2d(0.2),
        nn.Conv2d(8, 12, 3, stride=2, bias=False), nn.BatchNorm2d(12), nn.ReLU(),
        nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Dropout(0.3), nn.Linear(48, 4),
    )  # fmt: skip
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.CrossEntropyLoss()
    batches = loader(torch, x, y, batch_size=10)
    return train(torch, model, optimizer, batches, lambda x, y: criterion(model(x), y))


def lstm(torch: Any) -> dict[str, Any]:
    nn = torch.nn
    text = torch.randint(0, 20, (30, 13))

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(20, 12)
            self.lstm = nn.LSTM(12, 16, num_layers=2, batch_first=True, dropout=0.2)
            self.head = nn.Linear(16, 20)

        def forward(self, x: Any) -> Any:
            return self.head(self.lstm(self.embedding(x))[0])

    model = Model()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=3e-3)

    def loss_of(t: Any) -> Any:
        return nn.functional.cross_entropy(model(t[:, :-1]).transpose(1, 2), t[:, 1:])

    return train(torch, model, optimizer, loader(torch, text, batch_size=6), loss_of)


def transformer(torch: Any) -> dict[str, Any]:
    nn = torch.nn
    tokens = torch.randint(1, 15, (40, 9))
    labels = (tokens == 3).any(1).float()

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(15, 16)
            self.position = nn.Parameter(torch.randn(9, 16) * 0.02)
            layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.1, batch_first=True)
            self.encoder = nn.TransformerEncoder(layer, 2)
            self.head = nn.Linear(16, 1)

        def forward(self, x: Any) -> Any:
            return self.head(self.encoder(self.embedding(x) + self.position).mean(1)).squeeze(1)

    model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    criterion = nn.BCEWithLogitsLoss()
    batches = loader(torch, tokens, labels, batch_size=8)
    return train(torch, model, optimizer, batches, lambda x, y: criterion(model(x), y))


def vae(torch: Any) -> dict[str, Any]:
    nn, F = torch.nn, torch.nn.functional
    x = (torch.rand(48, 18) < torch.rand(18)).float()

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder = nn.Sequential(nn.Linear(18, 24), nn.Tanh(), nn.Linear(24, 6))
            self.decoder = nn.Sequential(nn.Linear(3, 24), nn.Tanh(), nn.Linear(24, 18))

        def forward(self, x: Any) -> Any:
            mu, logvar = self.encoder(x).chunk(2, dim=1)
            z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
            kl = -0.5 * (1 + logvar - mu**2 - logvar.exp()).sum()
            return F.binary_cross_entropy_with_logits(self.decoder(z), x, reduction="sum") + kl

    model = Model()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return train(torch, model, optimizer, loader(torch, x, batch_size=12), model)


RUNS = {run.__name__: run for run in (mlp, cnn, lstm, transformer, vae)}


@pytest.fixture(scope="module")
def both() -> Callable[[str], tuple[dict[str, Any], dict[str, Any]]]:
    """Each run once with torch and once with clew, shared by the tests below."""
    done: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}

    def runs(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
        if name not in done:
            made = []
            for library in (clew, torch):
                library.manual_seed(2024)
                made.append(RUNS[name](library))
            done[name] = (made[0], made[1])
        return done[name]

    return runs


@pytest.mark.parametrize("name", RUNS)
def test_initial_parameters_are_equal(both: Any, name: str) -> None:
    ours, theirs = (run["initial"] for run in both(name))
    assert list(ours) == list(theirs)
    for key, expected in theirs.items():
        # Normal numbers may differ in the last bit (see clew/backend/normal_streams.py), uniform
        # ones and constants may not.
        if "embedding" in key or "position" in key:
            np.testing.assert_array_max_ulp(ours[key], expected, 4)
        else:
            np.testing.assert_array_equal(ours[key], expected, err_msg=key)


@pytest.mark.parametrize("name", RUNS)
def test_batches_come_in_the_same_order(both: Any, name: str) -> None:
    ours, theirs = (run["batches"] for run in both(name))
    assert len(ours) == len(theirs) >= STEPS
    for mine, expected in zip(ours, theirs):
        for part, same in zip(mine, expected, strict=True):
            np.testing.assert_allclose(part, same, rtol=1e-6, atol=0)


@pytest.mark.parametrize("name", ["mlp", "cnn", "transformer"])
def test_dropout_masks_are_equal(both: Any, name: str) -> None:
    ours, theirs = (run["masks"] for run in both(name))
    assert len(ours) == len(theirs) >= STEPS
    dropped = 0
    for (my_input, my_output), (input, output) in zip(ours, theirs):
        # An element that was zero before, after a ReLU, tells nothing of the mask.
        known = my_input & input
        np.testing.assert_array_equal(my_output[known], output[known])
        dropped += int((~output[known]).sum())
    assert dropped > 0


@pytest.mark.parametrize("name", RUNS)
def test_losses_agree_at_every_step(both: Any, name: str) -> None:
    ours, theirs = (run["losses"] for run in both(name))
    assert theirs[-1] < theirs[0], "the run does not learn, so it proves little"
    for step, (mine, expected) in enumerate(zip(ours, theirs, strict=True)):
        assert math.isclose(mine, expected, rel_tol=CURVE), f"step {step}: {mine} is not {expected}"


def test_running_statistics_agree(both: Any) -> None:
    ours, theirs = (run["buffers"] for run in both("cnn"))
    assert list(ours) == list(theirs)
    for key, expected in theirs.items():
        np.testing.assert_allclose(ours[key], expected, rtol=1e-3, atol=1e-5, err_msg=key)


# -- the standard loops ------------------------------------------------------------------------


@pytest.mark.parametrize("pieces", [2, 4])
def test_accumulated_gradients_equal_those_of_the_large_batch(pieces: int) -> None:
    clew.manual_seed(0)
    nn = clew.nn
    model = nn.Sequential(nn.Linear(6, 20), nn.LayerNorm(20), nn.SiLU(), nn.Linear(20, 3)).double()
    x, y = clew.randn(32, 6, dtype=clew.float64), clew.randint(0, 3, (32,))
    nn.functional.cross_entropy(model(x), y).backward()
    whole = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    for part, labels in zip(x.chunk(pieces), y.chunk(pieces)):
        (nn.functional.cross_entropy(model(part), labels) / pieces).backward()
    for accumulated, p in zip(whole, model.parameters()):
        clew.testing.assert_close(p.grad, accumulated, rtol=1e-12, atol=1e-14)


@twice
def test_accumulation_with_several_losses_per_step(torch: Any) -> Any:
    torch.manual_seed(1)
    nn = torch.nn
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    x, y = torch.randn(24, 4), torch.randn(24, 2)
    seen = []
    for _ in range(6):
        optimizer.zero_grad()
        for part, target in zip(x.split(8), y.split(8)):
            loss = nn.functional.mse_loss(model(part), target) / 3
            loss.backward()
            seen.append(loss.item())
        seen.append(nn.utils.clip_grad_norm_(model.parameters(), 0.1).item())
        optimizer.step()
    return seen, [p.detach() for p in model.parameters()]


@twice
def test_clipping_after_unscale(torch: Any) -> Any:
    torch.manual_seed(2)
    nn = torch.nn
    model = nn.Sequential(nn.Linear(5, 10), nn.ReLU(), nn.Linear(10, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.5)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=2)
    seen = []
    for step in range(8):
        loss = model(torch.randn(12, 5)).pow(2).mean()
        if step == 4:
            loss = loss * math.inf
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        norm = nn.utils.clip_grad_norm_(model.parameters(), 0.2)
        scaler.step(optimizer)
        scaler.update()
        seen.append([norm.isfinite().item() and norm.item(), scaler.get_scale()])
    return seen, [p.detach() for p in model.parameters()]


@twice
def test_autocast_losses(torch: Any) -> Any:
    """bfloat16 has three digits, so only the first steps are compared, and by dtype."""
    torch.manual_seed(3)
    model = torch.nn.Sequential(torch.nn.Linear(5, 10), torch.nn.GELU(), torch.nn.Linear(10, 1))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output = model(torch.ones(4, 5))
        loss = torch.nn.functional.mse_loss(output, torch.ones(4, 1))
    loss.backward()
    return output.detach(), str(loss.dtype), [str(p.grad.dtype) for p in model.parameters()]


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_lbfgs_follows_pytorch(search: str | None) -> None:
    def run(torch: Any) -> tuple[list[float], np.ndarray]:
        torch.manual_seed(4)
        x = torch.randn(40, 3, dtype=torch.float64)
        y = (x[:, 0] - x[:, 1] > 0.2).double()
        model = torch.nn.Linear(3, 1).double()
        optimizer = torch.optim.LBFGS(
            model.parameters(), lr=0.5, max_iter=8, history_size=5, line_search_fn=search
        )
        losses = []

        def closure() -> Any:
            optimizer.zero_grad()
            logits = model(x).squeeze(1)
            loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, y)
            loss = loss + 1e-3 * model.weight.square().sum()
            loss.backward()
            losses.append(loss.item())
            return loss

        for _ in range(4):
            optimizer.step(closure)
        return losses, model.weight.detach().numpy()

    (ours, weight), (theirs, expected) = run(clew), run(torch)
    assert theirs[-1] < theirs[0] / 2
    np.testing.assert_allclose(ours, theirs, rtol=1e-7)
    np.testing.assert_allclose(weight, expected, rtol=1e-6)


@twice
def test_truncated_backpropagation_through_time(torch: Any) -> Any:
    torch.manual_seed(5)
    nn = torch.nn
    rnn, head = nn.GRU(2, 10), nn.Linear(10, 1)
    parameters = [*rnn.parameters(), *head.parameters()]
    optimizer = torch.optim.SGD(parameters, lr=0.05)
    sequence, targets = torch.randn(60, 3, 2), torch.randn(60, 3, 1)
    hidden = torch.zeros(1, 3, 10)
    losses = []
    for start in range(0, 60, 12):
        hidden = hidden.detach()
        output, hidden = rnn(sequence[start : start + 12], hidden)
        loss = nn.functional.mse_loss(head(output), targets[start : start + 12])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, hidden.detach()
