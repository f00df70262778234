"""Quantisation-aware training at 8, 4 and 2 bits, with a straight-through estimator.

Rounding weights and activations to a few levels is a step function: its derivative is 0 wherever it
has one. Straight-through: round in the forward pass, pass the gradient on in the backward pass,

    rounded = x + (round(x) - x).detach()

so that a network can learn to be good after rounding. Beside it: the same network trained without
rounding, and rounded afterwards.
"""

import copy
from pathlib import Path

import clew as torch
from clew.gallery import helper

nn, F = torch.nn, torch.nn.functional
BITS = (8, 4, 2)


def quantised(x, bits: int):
    """x in 2^bits - 1 levels around 0, as wide as x is; gradients passed straight through."""
    most = 2 ** (bits - 1) - 1
    step = 2 * x.detach().abs().mean() / most**0.5
    return x + ((x / step).round().clamp(-most, most) * step - x).detach()


class Network(nn.Module):
    """Two hidden layers whose weights and activations are rounded if `bits` is given."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(64, 64), nn.Linear(64, 64), nn.Linear(64, 10)])
        self.bits: int | None = None

    def forward(self, x):
        for number, layer in enumerate(self.layers):
            weight = layer.weight
            if self.bits is not None:
                weight, x = quantised(weight, self.bits), quantised(x, self.bits)
            x = F.linear(x, weight, layer.bias)
            x = F.relu(x) if number < len(self.layers) - 1 else x
        return x


def fit(model, x, y, steps: int, lr: float, label: str) -> list[float]:
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    losses = []
    bar = helper.progress(range(steps), f"{label:10}")
    for _ in bar:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        bar.say(f"loss {losses[-1]:.3f}")
    return losses


@torch.no_grad()
def accuracy(model, x, y) -> float:
    return (model(x).argmax(dim=1) == y).float().mean().item()


def main(fast: bool, seed: int, out: Path) -> dict[str, float]:
    torch.manual_seed(seed)
    x, y, test_x, test_y = (torch.from_numpy(part) for part in helper.digits())
    model = Network()
    fit(model, x, y, 100 if fast else 300, 5e-3, "32 bits")
    figures, curves = {"32 bits": accuracy(model, test_x, test_y)}, {}
    for bits in BITS:
        trained = copy.deepcopy(model)
        trained.bits = model.bits = bits
        figures[f"{bits} bits, rounded afterwards"] = accuracy(model, test_x, test_y)
        curves[f"{bits} bits"] = fit(trained, x, y, 60 if fast else 400, 2e-3, f"{bits} bits")
        figures[f"{bits} bits, trained"] = accuracy(trained, test_x, test_y)
    helper.chart(
        out / "quantisation.svg", curves, "Learning to be good after rounding",
        "step", "cross-entropy of the rounded network", log=True,
    )  # fmt: skip
    return figures


def claims(figures, fast):
    full = figures["32 bits"]
    for bits, allowed in zip(BITS, (0.02, 0.03, 0.2 if fast else 0.15)):
        after, trained = (
            figures[f"{bits} bits, {how}"] for how in ("rounded afterwards", "trained")
        )
        yield (
            f"{bits} bits: {trained:.1%} trained, {after:.1%} rounded afterwards, {full:.1%} full",
            trained > full - allowed,
        )
    gain = figures["2 bits, trained"] - figures["2 bits, rounded afterwards"]
    yield f"at 2 bits, training with rounding is worth {100 * gain:.0f} points", gain > 0.03


if __name__ == "__main__":
    raise SystemExit(helper.run(main, claims))
