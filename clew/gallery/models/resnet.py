"""A ResNet on digits, and the same depth without its shortcuts.

Blocks of two convolutions with batch normalisation, each added to what came in. Thirty-two layers
of this kind train at once; the same layers without the additions train slowly, although nothing
that they could compute is missing.
"""

from pathlib import Path

import numpy as np

import clew as torch
from clew.gallery import helper

nn, F = torch.nn, torch.nn.functional
SAVED_EVERY = 50


class Block(nn.Module):
    """Two convolutions, added to the input; a stride halves the image."""

    def __init__(self, inputs: int, outputs: int, stride: int, shortcut: bool):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.norm1, self.norm2 = nn.BatchNorm2d(outputs), nn.BatchNorm2d(outputs)
        self.shortcut: nn.Module | None = None
        if shortcut:
            same = stride == 1 and inputs == outputs
            self.shortcut = nn.Identity() if same else nn.Conv2d(inputs, outputs, 1, stride)

    def forward(self, x):
        y = self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x)))))
        return F.relu(y if self.shortcut is None else y + self.shortcut(x))


def network(blocks: int, width: int, shortcut: bool):
    """Three stages of blocks, at 8 × 8, 4 × 4 and 2 × 2 pixels."""
    layers = [nn.Conv2d(1, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
    inputs = width
    for stage in range(3):
        for number in range(blocks):
            outputs = width * 2**stage
            stride = 2 if stage and not number else 1
            layers.append(Block(inputs, outputs, stride, shortcut))
            inputs = outputs
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, 10)]
    return nn.Sequential(*layers, *head)


def train(model, images, labels, steps: int, seed: int, name: str, saved: Path) -> list[float]:
    rng = np.random.default_rng(seed)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    losses = []
    if saved.exists():
        state = torch.load(saved)
        for part in (model, optimizer, schedule):
            part.load_state_dict(state[type(part).__name__])
        rng.bit_generator.state = state["random"]
        losses = state["losses"]
    bar = helper.progress(range(len(losses), steps), f"{name:8}")
    for step in bar:
        chosen = rng.integers(0, len(images), 64)
        x = torch.from_numpy(images[chosen]).reshape(-1, 1, 8, 8)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), torch.from_numpy(labels[chosen]))
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
        if (step + 1) % SAVED_EVERY == 0 or step + 1 == steps:
            state = {
                type(part).__name__: part.state_dict() for part in (model, optimizer, schedule)
            }
            state |= {"random": rng.bit_generator.state, "losses": losses}
            torch.save(state, saved)
        bar.say(f"loss {losses[-1]:.3f}")
    return losses


@torch.no_grad()
def accuracy(model, images, labels) -> float:
    model.eval()
    read = model(torch.from_numpy(images).reshape(-1, 1, 8, 8)).argmax(dim=1).numpy()
    return float((read == labels).mean())


def main(fast: bool, seed: int, out: Path) -> dict[str, float]:
    x, y, test_x, test_y = helper.digits()
    blocks, width, steps = (2, 4, 40) if fast else (5, 12, 300)
    figures, curves, states = {}, {}, []
    for name, shortcut in (("residual", True), ("plain", False)):
        torch.manual_seed(seed)
        model = network(blocks, width, shortcut)
        states.append(out / f"resnet-{name}-{seed}{'-fast' if fast else ''}.pt")
        curves[name] = train(model, x, y, steps, seed, name, states[-1])
        figures[f"{name}: loss at first"] = sum(curves[name][:5]) / 5
        tail = curves[name][-steps // 4 :]
        figures[f"{name}: loss at the end"] = sum(tail) / len(tail)
        figures[f"{name}: accuracy"] = accuracy(model, test_x, test_y)
    helper.chart(
        out / "resnet.svg", curves, f"Digits by {6 * blocks + 2} layers", "step", "loss", log=True
    )
    for saved in states:
        saved.unlink()
    return figures


def claims(figures, fast):
    residual, plain = (figures[f"{name}: accuracy"] for name in ("residual", "plain"))
    goal = 0.6 if fast else 0.97
    yield (
        f"residual: {residual:.1%} of unseen digits are read ({goal:.0%} asked), plain {plain:.1%}",
        residual > goal,
    )
    residual, plain = (figures[f"{name}: loss at the end"] for name in ("residual", "plain"))
    yield f"loss {residual:.3f}, without shortcuts {plain:.3f}", residual < plain


if __name__ == "__main__":
    raise SystemExit(helper.run(main, claims))
