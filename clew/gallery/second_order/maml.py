"""MAML on sinusoids: a gradient through a step of gradient descent.

Each task is a sine wave of its own amplitude and phase, known by five points. MAML looks for
weights from which one step of gradient descent on those points does well on all other points of
the task: the outer gradient goes through the inner step, and so through a gradient
(`create_graph=True`). Beside it, the same network trained on all tasks without the inner step: the
best that it can learn is their mean, and one step from there does harm.
"""

import math
from pathlib import Path

import clew as torch
from clew.gallery import helper

nn, F = torch.nn, torch.nn.functional
SHOTS, WIDTH, INNER, OUTER = 5, 80, 0.03, 3e-3
SAVED_EVERY = 1000
SIZES = [(WIDTH, 1), (WIDTH,), (WIDTH, WIDTH), (WIDTH,), (1, WIDTH), (1,)]


def begin(seed: int):
    """The weights of a small network, as a list: the inner step makes new ones."""
    torch.manual_seed(seed)
    bounds = [1, 1, WIDTH**-0.5, WIDTH**-0.5, WIDTH**-0.5, WIDTH**-0.5]
    return [
        torch.empty(size).uniform_(-bound, bound).requires_grad_()
        for size, bound in zip(SIZES, bounds)
    ]


def network(weights, x):
    """Of tasks × points × 1; each task may have weights of its own."""
    for layer in range(3):
        weight, bias = weights[2 * layer : 2 * layer + 2]
        x = x @ weight.transpose(-1, -2) + bias.unsqueeze(-2)
        x = torch.tanh(x) if layer < 2 else x
    return x


def tasks(count: int, points: int):
    """Points of sine waves; of each, some to adapt to and the others to be judged by."""
    amplitude, phase = 0.1 + 4.9 * torch.rand(count, 1, 1), math.pi * torch.rand(count, 1, 1)
    x = 10 * torch.rand(count, points, 1) - 5
    y = amplitude * (x - phase).sin()
    return (x[:, :SHOTS], y[:, :SHOTS]), (x[:, SHOTS:], y[:, SHOTS:])


def error(weights, x, y):
    """The squared error of each task."""
    return (network(weights, x) - y).square().mean(dim=(1, 2))


def adapted(weights, known, steps: int = 1, create_graph: bool = False):
    """The weights of each task after some steps on its points."""
    x, y = known
    own = [weight.expand(len(x), *weight.shape) for weight in weights]
    for _ in range(steps):
        loss = error(own, x, y).sum()  # a sum: each task's weights get the gradient of its loss
        gradients = torch.autograd.grad(loss, own, create_graph=create_graph)
        own = [weight - INNER * gradient for weight, gradient in zip(own, gradients)]
    return own


def train(name: str, steps: int, seed: int, saved: Path):
    """MAML, or the same network on all tasks without adapting; the error on the way."""
    weights = begin(seed)
    optimizer = torch.optim.Adam(weights, lr=OUTER)
    curve = []
    if saved.exists():
        state = torch.load(saved)
        for weight, value in zip(weights, state["weights"]):
            weight.data.copy_(value)
        optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["random"])
        curve = state["curve"]
    bar = helper.progress(range(len(curve), steps), f"{name:8}")
    for number in bar:
        optimizer.param_groups[0]["lr"] = OUTER * (1 - number / steps)
        known, asked = tasks(25, 2 * SHOTS)
        own = adapted(weights, known, create_graph=True) if name == "MAML" else weights
        loss = error(own, *asked).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        curve.append(loss.item())
        if (number + 1) % SAVED_EVERY == 0 or number + 1 == steps:
            state = {"weights": [weight.detach() for weight in weights], "curve": curve}
            state |= {"optimizer": optimizer.state_dict(), "random": torch.get_rng_state()}
            torch.save(state, saved)
        bar.say(f"error {curve[-1]:.2f}")
    return weights, curve


def judge(weights, seed: int) -> list[float]:
    """The error on new tasks after 0 to 5 steps of adapting."""
    torch.manual_seed(1000 + seed)
    known, asked = tasks(400, SHOTS + 100)
    return [error(adapted(weights, known, steps=n), *asked).mean().item() for n in range(6)]


def main(fast: bool, seed: int, out: Path) -> dict[str, float]:
    steps = 300 if fast else 8000
    figures, curves, states = {}, {}, []
    for name in ("MAML", "together"):
        states.append(out / f"maml-{name}-{seed}{'-fast' if fast else ''}.pt")
        weights, _ = train(name, steps, seed, states[-1])
        curves[name] = judge(weights, seed)
        for n in (0, 1, 5):
            figures[f"{name}: error after {n} steps"] = curves[name][n]
    helper.chart(
        out / "maml.svg", curves, "New sine waves: the error after steps on five points",
        "steps of gradient descent", "squared error", log=True,
    )  # fmt: skip
    for saved in states:
        saved.unlink()
    return figures


def claims(figures, fast):
    before, after = (figures[f"MAML: error after {n} steps"] for n in (0, 1))
    goal = 1.5 if fast else 5
    yield (
        f"MAML: one step on five points makes the error {before / after:.1f} times smaller "
        f"({goal} asked)",
        before / after > goal,
    )
    alone = figures["together: error after 1 steps"]
    yield (
        f"trained on all tasks without adapting, the error after that step is {alone:.2f}, "
        f"with MAML {after:.2f}",
        alone > after,
    )


if __name__ == "__main__":
    raise SystemExit(helper.run(main, claims))
