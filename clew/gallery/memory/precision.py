"""Half precision: what float16 loses, and GradScaler brings back; bfloat16 needs none.

float16 has eleven bits of precision and nothing below 6e-8; gradients are often smaller, and then
they are zero. GradScaler multiplies the loss before backward and divides the gradients after it,
and finds the largest factor by itself: where one overflows, that step is left out. bfloat16 has the
range of float32 and eight bits of precision, so gradients are rough, but they are there.
"""

from pathlib import Path

import clew as torch
from clew.gallery import helper

nn, F = torch.nn, torch.nn.functional
SMALL = 1e-4  # the weight of the loss, as that of one among others
# The type of products, and whether gradients are scaled.
WAYS = {
    "float32": (torch.float32, False),
    "float16 alone": (torch.float16, False),
    "float16, scaled": (torch.float16, True),
    "bfloat16": (torch.bfloat16, False),
}


def network(seed: int):
    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64)
    )


def loss_of(model, x, y, dtype):
    """A mean over many numbers: each one's share of the gradient is tiny."""
    with torch.autocast("cpu", dtype=dtype, enabled=dtype != torch.float32):
        out = model(x)
    return SMALL * F.mse_loss(out.float(), y)


def zeros(model) -> float:
    """The share of the weights that get no gradient at all."""
    gradients = torch.cat([each.grad.flatten() for each in model.parameters()])
    return (gradients == 0).float().mean().item()


def train(x, y, name: str, steps: int, seed: int):
    """The loss on the way, the weights without a gradient, and the scaler's last factor."""
    dtype, scaled = WAYS[name]
    model = network(seed)
    optimizer = torch.optim.SGD(model.parameters(), lr=1 / SMALL, momentum=0.9)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**24, growth_interval=20, enabled=scaled)
    losses = []
    bar = helper.progress(range(steps), f"{name:15}")
    for _ in bar:
        optimizer.zero_grad()
        loss = loss_of(model, x, y, dtype)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item() / SMALL)
        bar.say(f"loss {losses[-1]:.4f}")
    return losses, zeros(model), scaler.get_scale() if scaled else 1.0


def main(fast: bool, seed: int, out: Path) -> dict[str, float]:
    torch.manual_seed(seed)
    x = torch.randn(256 if fast else 1024, 16)
    y = torch.tanh(x @ torch.randn(16, 64) / 4)
    figures, curves = {}, {}
    for name in WAYS:
        losses, empty, factor = train(x, y, name, 40 if fast else 300, seed)
        curves[name] = losses
        figures[f"{name}: loss"] = losses[-1] / losses[0]
        figures[f"{name}: weights without gradient"] = empty
        if WAYS[name][1]:
            figures["factor of GradScaler"] = factor
    helper.chart(
        out / "precision.svg", curves, "Training in half precision", "step", "loss", log=True
    )
    return figures


def claims(figures, fast):
    loss = {name: figures[f"{name}: loss"] for name in WAYS}
    empty = {name: figures[f"{name}: weights without gradient"] for name in WAYS}
    alone, scaled = "float16 alone", "float16, scaled"
    yield (
        f"float16: {empty[alone]:.0%} of weights have a gradient of 0, scaled {empty[scaled]:.0%}",
        empty[alone] > empty[scaled] + 0.2,
    )
    for name in (scaled, "bfloat16"):
        yield (
            f"{name}: {loss[name]:.3f} of the first loss is left, float32 {loss['float32']:.3f}",
            loss[name] < 1.3 * loss["float32"] + 0.01,
        )
    yield f"float16 alone: {loss[alone]:.3f}", loss[alone] > 1.5 * loss["float32"]


if __name__ == "__main__":
    raise SystemExit(helper.run(main, claims))
