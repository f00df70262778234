"""Gradient accumulation: the gradient of a big batch, from small ones.

`backward` adds to `.grad`. So the gradients of parts add up to that of the whole, if the loss of
each part is divided by how many there are, at the memory of one part. Two things break it: dividing
by the wrong number (parts of different sizes), and layers that look at the whole batch (batch
norm).
"""

from pathlib import Path

import clew as torch
from clew.gallery import helper

nn, F = torch.nn, torch.nn.functional


def network(seed: int, normalised: bool = False):
    torch.manual_seed(seed)
    norm = nn.BatchNorm1d(64) if normalised else nn.LayerNorm(64)
    layers = [nn.Linear(16, 64), norm, nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 4)]
    return nn.Sequential(*layers).double()


def gradient(model, x, y, sizes, weighted: bool = True):
    """The gradient of all examples, in parts of some sizes; and the most that autograd keeps."""
    model.zero_grad()
    meter = helper.SavedMemory([*model.parameters(), x])
    with torch.autograd.graph.saved_tensors_hooks(meter.pack, meter.unpack):
        for part, answers in zip(x.split(sizes), y.split(sizes)):
            share = len(part) / len(x) if weighted else 1 / len(sizes)
            (share * F.cross_entropy(model(part), answers)).backward()
    return torch.cat([each.grad.flatten() for each in model.parameters()]), meter.peak


def train(x, y, seed: int, parts: int, steps: int, label: str):
    """The weights after some steps with accumulated gradients."""
    model = network(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    bar = helper.progress(range(steps), label)
    for _ in bar:
        optimizer.zero_grad()
        total = 0.0
        for part, answers in zip(x.chunk(parts), y.chunk(parts)):
            loss = F.cross_entropy(model(part), answers) / parts
            loss.backward()
            total += loss.item()
        optimizer.step()
        losses.append(total)
        bar.say(f"loss {total:.4f}")
    return torch.cat([each.detach().flatten() for each in model.parameters()]), losses


def main(fast: bool, seed: int, out: Path) -> dict[str, float]:
    torch.manual_seed(seed)
    count = 256 if fast else 2048
    x = torch.randn(count, 16, dtype=torch.float64)
    y = (x[:, :4] * x[:, 4:8]).argmax(dim=1)
    whole, memory = gradient(network(seed), x, y, [count])
    parts, part_memory = gradient(network(seed), x, y, [count // 8] * 8)
    uneven = [count // 2, count // 4, count // 4]
    scale = whole.norm()

    def away(model, sizes, weighted: bool = True) -> float:
        return ((gradient(model, x, y, sizes, weighted)[0] - whole) / scale).norm().item()

    figures = {
        "difference, 8 equal parts": ((parts - whole) / scale).norm().item(),
        "difference, uneven parts": away(network(seed), uneven),
        "difference, uneven parts with equal weights": away(network(seed), uneven, weighted=False),
        "memory of a part / of the whole": part_memory / memory,
    }
    whole, _ = gradient(network(seed, True), x, y, [count])
    scale = whole.norm()
    figures["difference, batch norm"] = away(network(seed, True), [count // 8] * 8)
    steps = 40 if fast else 200
    (big, curve), (small, other) = (
        train(x, y, seed, parts, steps, label) for parts, label in ((1, "at once"), (8, "8 parts"))
    )
    figures["difference of trained weights"] = ((big - small).norm() / big.norm()).item()
    helper.chart(
        out / "accumulation.svg", {"at once": curve, "in 8 parts": other},
        "Training with a big batch, and with eight parts of it", "step", "loss",
    )  # fmt: skip
    return figures


def claims(figures, fast):
    for name in ("8 equal parts", "uneven parts"):
        away = figures[f"difference, {name}"]
        yield f"{name}: the gradient of the big batch, to {away:.0e}", away < 1e-12
    trained = figures["difference of trained weights"]
    yield f"weights after training differ by {trained:.0e}", trained < 1e-6
    share = figures["memory of a part / of the whole"]
    yield f"at {share:.0%} of the memory", share < 0.2
    wrong = figures["difference, uneven parts with equal weights"]
    yield f"uneven parts with equal weights: {wrong:.0%} away", wrong > 0.01
    norm = figures["difference, batch norm"]
    yield f"batch norm: {norm:.0%} away", norm > 0.01


if __name__ == "__main__":
    raise SystemExit(helper.run(main, claims))
