"""A 30-layer sigmoid network whose gradients vanish, and its repair step by step.

The gradient of a layer is a product over all layers behind it. A sigmoid's slope is at most 1/4, so
thirty of them leave nothing. Each repair is one change to the network before it:

  sigmoid          the slope is at most 1/4
  relu             the slope is 1 where it is not 0, but the weights still shrink the signal
  initialisation   weights of variance 2 / fan_in (He): as large behind a layer as before it
  residual         x + f(x): the gradient has a way past each layer
  normalisation    the scale no longer depends on the weights
"""

import math
from pathlib import Path

import clew as torch
from clew.gallery import helper

nn, F = torch.nn, torch.nn.functional
DEPTH, WIDTH = 30, 24


class Block(nn.Module):
    """One layer with those of the repairs that are asked for."""

    def __init__(self, activation, he, residual, normalised):
        super().__init__()
        self.linear = nn.Linear(WIDTH, WIDTH)
        self.norm = nn.LayerNorm(WIDTH) if normalised else nn.Identity()
        self.activation, self.residual = activation, residual
        if he:
            nn.init.normal_(self.linear.weight, std=math.sqrt(2 / WIDTH))

    def forward(self, x):
        y = self.activation(self.linear(self.norm(x)))
        # A branch of a residual network is scaled, so that thirty of them do not add up.
        return x + y / math.sqrt(DEPTH) if self.residual else y


REPAIRS = {
    "sigmoid": (torch.sigmoid, False, False, False),
    "relu": (torch.relu, False, False, False),
    "+ initialisation": (torch.relu, True, False, False),
    "+ residual": (torch.relu, True, True, False),
    "+ normalisation": (torch.relu, True, True, True),
}


def network(repairs):
    blocks = [Block(*repairs) for _ in range(DEPTH)]
    return nn.Sequential(nn.Linear(2, WIDTH), *blocks, nn.Linear(WIDTH, 2))


def two_rings(points: int):
    """Points of two rings, one inside the other, and the ring of each."""
    angle = 2 * math.pi * torch.rand(points)
    ring = torch.arange(points) % 2
    radius = 0.5 + ring + 0.1 * torch.randn(points)
    return 2 * torch.stack([radius * angle.cos(), radius * angle.sin()], dim=1), ring


def gradient_norms(model) -> list[float]:
    """The norm of each block's weight gradient, from the first block to the last.

    In float64: the squares of the smallest are zero in float32.
    """
    return [block.linear.weight.grad.double().norm().item() for block in list(model)[1:-1]]


def train(model, x, y, steps, name):
    """The gradients of the first step, and the accuracy after all of them."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    first: list[float] = []
    bar = helper.progress(range(steps), f"{name:16}")
    for _ in bar:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        first = first or gradient_norms(model)
        optimizer.step()
        bar.say(f"loss {loss.item():.3f}")
    with torch.no_grad():
        return first, (model(x).argmax(dim=1) == y).float().mean().item()


def main(fast: bool, seed: int, out: Path) -> dict[str, float]:
    torch.manual_seed(seed)
    x, y = two_rings(128 if fast else 512)
    figures, norms = {}, {}
    for name, repairs in REPAIRS.items():
        norms[name], accuracy = train(network(repairs), x, y, 40 if fast else 300, name)
        figures[f"{name}: first / last gradient"] = norms[name][0] / norms[name][-1]
        figures[f"{name}: accuracy"] = accuracy
    helper.chart(
        out / "vanishing.svg", norms, "Thirty layers: how much gradient arrives at each",
        "layer", "norm of the weight's gradient at the first step", log=True, start=1,
    )  # fmt: skip
    return figures


def claims(figures, fast):
    ratio = {name: figures[f"{name}: first / last gradient"] for name in REPAIRS}
    accuracy = {name: figures[f"{name}: accuracy"] for name in REPAIRS}
    yield (
        f"sigmoid: the first layer gets {ratio['sigmoid']:.0e} of the last one's gradient",
        ratio["sigmoid"] < 1e-12,
    )
    yield f"relu alone: {ratio['relu']:.0e}", 1e-12 < ratio["relu"] < 1e-4
    for name in ("+ initialisation", "+ residual", "+ normalisation"):
        yield f"{name}: {ratio[name]:.2g}", 0.01 < ratio[name] < 100
    yield (
        f"accuracy {accuracy['sigmoid']:.0%} before, {accuracy['+ normalisation']:.0%} after",
        accuracy["sigmoid"] < 0.7 and accuracy["+ normalisation"] > 0.95,
    )


if __name__ == "__main__":
    raise SystemExit(helper.run(main, claims))
