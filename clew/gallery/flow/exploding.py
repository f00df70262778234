"""Exploding gradients in a recurrent network, and clipping.

A recurrent network multiplies by the same matrix at every step, and the gradient, on its way back
through forty steps, forty times. With weights a little too small it vanishes, with weights a little
too large it explodes, and a single step then throws the network to a place from which it does not
come back. Clipping the norm of the gradient keeps its direction and bounds the step.

The task: the first number of a sequence is 1 or -1; say which, after forty steps of noise.
"""

import math
from pathlib import Path

import clew as torch
from clew.gallery import helper

nn, F = torch.nn, torch.nn.functional
HIDDEN, LENGTH = 32, 40
SMALL, LARGE = 0.8, 2.0


class Memory(nn.Module):
    """A plain recurrent network whose recurrent weights are `scale` times a rotation."""

    def __init__(self, scale: float):
        super().__init__()
        self.rnn = nn.RNN(1, HIDDEN, batch_first=True)
        self.out = nn.Linear(HIDDEN, 1)
        nn.init.orthogonal_(self.rnn.weight_hh_l0, gain=scale)
        nn.init.zeros_(self.rnn.bias_hh_l0)
        nn.init.zeros_(self.rnn.bias_ih_l0)

    def forward(self, x):
        states, _ = self.rnn(x)
        return self.out(states[:, -1]).squeeze(1)


def batch(size: int):
    """Sequences of noise behind a first number, and whether that is 1."""
    answer = torch.randint(0, 2, (size,))
    x = 0.1 * torch.randn(size, LENGTH, 1)
    x[:, 0, 0] = 2.0 * answer - 1
    return x, answer.float()


def flow_through_time(scale: float) -> list[float]:
    """The gradient of the answer with respect to each input, from the first step to the last."""
    model = Memory(scale)
    x = (0.01 * torch.randn(16, LENGTH, 1)).requires_grad_()
    (gradient,) = torch.autograd.grad(model(x).sum(), x)
    return gradient.norm(dim=(0, 2)).tolist()


def train(clip: float, steps: int, label: str):
    """The losses and the norms of the gradients before clipping, and the accuracy at the end."""
    model = Memory(LARGE)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses, norms = [], []
    bar = helper.progress(range(steps), f"{label:12}")
    for _ in bar:
        x, y = batch(32)
        optimizer.zero_grad()
        loss = F.binary_cross_entropy_with_logits(model(x), y)
        loss.backward()
        norms.append(nn.utils.clip_grad_norm_(model.parameters(), clip).item())
        optimizer.step()
        losses.append(loss.item())
        bar.say(f"loss {losses[-1]:.3g}")
    with torch.no_grad():
        x, y = batch(500)
        return losses, norms, ((model(x) > 0).float() == y).float().mean().item()


def main(fast: bool, seed: int, out: Path) -> dict[str, float]:
    torch.manual_seed(seed)
    flows = {f"{scale:g} · rotation": flow_through_time(scale) for scale in (SMALL, 1.0, LARGE)}
    runs, steps = (3, 120) if fast else (5, 600)
    clips = {"not clipped": math.inf, "clipped": 0.2}
    curves, largest, accuracy = {}, dict.fromkeys(clips, 0.0), dict.fromkeys(clips, 0.0)
    for run in range(runs):
        for name, clip in clips.items():
            torch.manual_seed(seed * runs + run)
            curves[f"{name}, run {run + 1}"], norms, right = train(clip, steps, name)
            largest[name] = max(largest[name], *norms)
            accuracy[name] += right / runs
    helper.chart(
        out / "exploding_time.svg", flows, "Back through time", "step of the sequence",
        "norm of the gradient", log=True,
    )  # fmt: skip
    helper.chart(
        out / "exploding.svg", curves, "One bit, remembered for 40 steps",
        "step of the training", "cross-entropy", log=True,
    )  # fmt: skip
    vanished, _, exploded = flows.values()
    return {
        f"{SMALL:g}: first / last step": vanished[0] / vanished[-1],
        f"{LARGE:g}: first / last step": exploded[0] / exploded[-1],
        "largest norm, not clipped": largest["not clipped"],
        "accuracy, not clipped": accuracy["not clipped"],
        "accuracy, clipped": accuracy["clipped"],
    }


def claims(figures, fast):
    small, large = (figures[f"{scale:g}: first / last step"] for scale in (SMALL, LARGE))
    yield f"weights of {SMALL:g}: back through 40 steps the gradient is {small:.0e}", small < 1e-2
    yield f"weights of {LARGE:g}: it is {large:.0e}", large > 1e2
    free, clipped = figures["accuracy, not clipped"], figures["accuracy, clipped"]
    yield f"mean accuracy {free:.0%} without clipping (50% is guessing)", free < 0.75
    yield f"{clipped:.0%} with it (80% asked)", clipped > 0.8


if __name__ == "__main__":
    raise SystemExit(helper.run(main, claims))
