"""Exploding gradients in a recurrent network, and clipping.

A recurrent network multiplies by the same matrix at every step. Back through forty steps the
gradient is multiplied by it forty times: with weights a little too small it vanishes, with weights
a little too large it explodes, and one batch can then throw away all that was learned. Clipping
the norm of the gradient keeps its direction and bounds the step.

The task: of a sequence of numbers, add the two that are marked.
"""

import math
from pathlib import Path

import clew as torch
from clew.gallery import helper

nn, F = torch.nn, torch.nn.functional
HIDDEN, LENGTH = 32, 40
LOST = 100.0  # a loss from which there is no way back


class Adder(nn.Module):
    """A plain recurrent network that begins as `scale` times the identity."""

    def __init__(self, scale: float):
        super().__init__()
        self.rnn = nn.RNN(2, HIDDEN, nonlinearity="relu", batch_first=True)
        self.out = nn.Linear(HIDDEN, 1)
        with torch.no_grad():
            self.rnn.weight_hh_l0.copy_(scale * torch.eye(HIDDEN))
            self.rnn.weight_ih_l0.normal_(std=0.1)
            self.rnn.bias_hh_l0.zero_()
            self.rnn.bias_ih_l0.zero_()

    def forward(self, x):
        states, _ = self.rnn(x)
        return self.out(states[:, -1]).squeeze(1)


def batch(size: int, length: int = LENGTH):
    """Sequences of numbers with two marks, and the sum of the marked numbers."""
    numbers = torch.rand(size, length)
    marks = torch.zeros(size, length)
    rows = torch.arange(size)
    marks[rows, torch.randint(0, length // 2, (size,))] = 1
    marks[rows, torch.randint(length // 2, length, (size,))] = 1
    return torch.stack([numbers, marks], dim=2), (numbers * marks).sum(dim=1)


def flow_through_time(scale: float) -> list[float]:
    """How large the gradient of the last state is at each step before it."""
    model = Adder(scale)
    x, _ = batch(16)
    x.requires_grad_()
    (gradient,) = torch.autograd.grad(model(x).sum(), x)
    return gradient.norm(dim=(0, 2)).tolist()


def train(clip: float | None, steps: int, label: str):
    """Losses of a training run until it is lost, and the largest norm of a gradient in it."""
    model = Adder(1.0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    losses, largest = [], 0.0
    bar = helper.progress(range(steps), f"{label:14}")
    for _ in bar:
        x, y = batch(32)
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        if not loss.item() < LOST:
            break
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), clip if clip else math.inf).item()
        optimizer.step()
        losses.append(loss.item())
        largest = max(largest, norm)
        bar.say(f"loss {losses[-1]:.3g}")
    return losses, largest


def main(fast: bool, seed: int, out: Path) -> dict[str, float]:
    torch.manual_seed(seed)
    flows = {f"{scale:g} · identity": flow_through_time(scale) for scale in (0.8, 1.0, 1.2)}
    steps = 200 if fast else 2000
    torch.manual_seed(seed)
    free, largest = train(None, steps, "not clipped")
    torch.manual_seed(seed)
    clipped, _ = train(0.5, steps, "clipped")
    helper.chart(
        out / "exploding_time.svg", flows, "Back through time", "step of the sequence",
        "norm of the gradient", log=True,
    )  # fmt: skip
    helper.chart(
        out / "exploding.svg", {"not clipped": [*free, LOST], "clipped at 0.5": clipped},
        "Adding two numbers, 40 steps", "step of the training", "mean squared error", log=True,
    )  # fmt: skip
    tail = clipped[-len(clipped) // 10 :]
    return {
        "0.8: first / last step": flows["0.8 · identity"][0] / flows["0.8 · identity"][-1],
        "1.2: first / last step": flows["1.2 · identity"][0] / flows["1.2 · identity"][-1],
        "steps until it is lost, not clipped": len(free),
        "largest norm, not clipped": largest,
        "steps until it is lost, clipped": len(clipped),
        "loss, clipped": sum(tail) / len(tail),
    }


def claims(figures, fast):
    small, large = figures["0.8: first / last step"], figures["1.2: first / last step"]
    yield f"weights of 0.8: the gradient shrinks to {small:.0e} in 40 steps", small < 1e-2
    yield f"weights of 1.2: it grows to {large:.0e}", large > 1e2
    steps, norm = figures["steps until it is lost, not clipped"], figures["largest norm, not clipped"]
    yield (
        f"not clipped, a gradient of norm {norm:.0e} ends the training after {steps:.0f} steps",
        steps < figures["steps until it is lost, clipped"],
    )
    loss = figures["loss, clipped"]
    goal = 0.4 if fast else 0.1
    yield f"clipped, the loss falls to {loss:.3f} (below {goal:g}; the mean: 0.167)", loss < goal


if __name__ == "__main__":
    raise SystemExit(helper.run(main, claims))
