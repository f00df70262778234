"""Denoising diffusion: from noise to a spiral, and from noise to digits.

Data is drowned in noise, a little at each of T steps. A network learns to say which noise was
added (a plain regression), and sampling goes the steps back: from pure noise, taking away a little
of what the network finds. The same code makes points of the plane and images of digits. How far
samples are from data is measured by the energy distance, 0 only for the same distribution.

An interrupted run goes on from its last saved step when it is started again.
"""

import math
from pathlib import Path

import numpy as np

import clew as torch
from clew.gallery import helper

nn, F = torch.nn, torch.nn.functional
SAVED_EVERY = 1000


class Denoiser(nn.Module):
    """The noise in x at step t of T; t is told as sines of several frequencies."""

    def __init__(self, size: int, width: int, steps: int):
        super().__init__()
        self.steps = steps
        self.enter, self.time = nn.Linear(size, width), nn.Linear(16, width)
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(3)])
        self.leave = nn.Linear(width, size)

    def forward(self, x, t):
        phase = (t / self.steps).unsqueeze(1) * (2.0 ** torch.arange(8)) * math.pi / 2
        time = self.time(torch.cat([phase.sin(), phase.cos()], dim=1))
        h = self.enter(x) + time
        for layer in self.layers:
            h = h + F.silu(layer(F.silu(h)))
        return self.leave(F.silu(h))


class Diffusion:
    """How much is left of the data after each step: a cosine schedule."""

    def __init__(self, steps: int):
        t = torch.arange(steps + 1) / steps
        left = ((t + 0.01) / 1.01 * math.pi / 2).cos().square()
        self.steps = steps
        self.betas = (1 - left[1:] / left[:-1]).clamp(max=0.999)
        self.left = (1 - self.betas).cumprod(dim=0)

    def loss(self, model, x):
        t = torch.randint(0, self.steps, (len(x),))
        left, noise = self.left[t].unsqueeze(1), torch.randn_like(x)
        noisy = left.sqrt() * x + (1 - left).sqrt() * noise
        return F.mse_loss(model(noisy, t), noise)

    @torch.no_grad()
    def sample(self, model, count: int, size: int, bound: float):
        """From noise, the steps back; what the network takes for the data stays within a bound."""
        x = torch.randn(count, size)
        for t in reversed(range(self.steps)):
            beta, left = self.betas[t], self.left[t]
            noise = model(x, torch.full((count,), t))
            data = ((x - (1 - left).sqrt() * noise) / left.sqrt()).clamp(-bound, bound)
            if t == 0:
                return data
            # The distribution of the step before, given this one and the data.
            before = self.left[t - 1]
            mean = before.sqrt() * beta * data + (1 - beta).sqrt() * (1 - before) * x
            deviation = (beta * (1 - before) / (1 - left)).sqrt()
            x = mean / (1 - left) + deviation * torch.randn_like(x)


def spiral(count: int):
    """Points of a spiral in the plane."""
    turn = 1 + 9 * torch.rand(count).sqrt()
    points = torch.stack([turn * turn.cos(), turn * turn.sin()], dim=1) / 5
    return points + 0.03 * torch.randn(count, 2)


def energy_distance(x, y) -> float:
    """2 E|x - y| - E|x - x'| - E|y - y'|"""
    return (
        2 * torch.cdist(x, y).mean() - torch.cdist(x, x).mean() - torch.cdist(y, y).mean()
    ).item()


def train(model, process, data, steps: int, seed: int, name: str, saved: Path) -> list[float]:
    torch.manual_seed(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    losses = []
    if saved.exists():
        state = torch.load(saved)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["random"])
        losses = state["losses"]
    bar = helper.progress(range(len(losses), steps), f"{name:7}")
    for step in bar:
        optimizer.param_groups[0]["lr"] = 2e-3 * (1 - 0.95 * step / steps)
        x = data[torch.randint(0, len(data), (128,))]
        optimizer.zero_grad()
        loss = process.loss(model, x)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if (step + 1) % SAVED_EVERY == 0 or step + 1 == steps:
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
            torch.save(state | {"random": torch.get_rng_state(), "losses": losses}, saved)
        bar.say(f"loss {losses[-1]:.3f}")
    return losses


def main(fast: bool, seed: int, out: Path) -> dict[str, float]:
    torch.manual_seed(seed)
    images = torch.from_numpy(helper.digits()[0])
    kinds = {"spiral": (spiral(2000), 64, 2000), "digits": (2 * images - 1, 256, 3000)}
    process = Diffusion(20 if fast else 100)
    figures, curves, rows, states = {}, {}, {}, []
    for name, (data, width, steps) in kinds.items():
        size = data.shape[1]
        model = Denoiser(size, 64 if fast else 2 * width, process.steps)
        saved = out / f"diffusion-{name}-{seed}{'-fast' if fast else ''}.pt"
        states.append(saved)
        curves[name] = train(model, process, data, 400 if fast else 2 * steps, seed, name, saved)
        made, true = process.sample(model, 500, size, data.abs().max().item()), data[:500]
        figures[f"{name}: distance of noise"] = energy_distance(torch.randn(500, size), true)
        figures[f"{name}: distance of samples"] = energy_distance(made, true)
        figures[f"{name}: distance of other data"] = energy_distance(data[500:1000], true)
        rows[name] = made
    helper.tiles(
        out / "diffusion.svg",
        {
            "spiral, and made": np.stack([dots(kinds["spiral"][0]), dots(rows["spiral"])]),
            "digits": (images[:10]).reshape(-1, 8, 8).numpy(),
            "made from noise": (rows["digits"][:10].reshape(-1, 8, 8).numpy() + 1) / 2,
        },
        "Denoising diffusion", side=96,
    )  # fmt: skip
    for saved in states:
        saved.unlink()
    return figures


def dots(points):
    """Points of the plane as an image."""
    places = ((points[:500].numpy() + 2.3) / 4.6 * 63).round().clip(0, 63).astype(int)
    image = np.zeros((64, 64))
    image[places[:, 1], places[:, 0]] = 1
    return image


def claims(figures, fast):
    for name in ("spiral", "digits"):
        noise, made, true = (
            figures[f"{name}: distance of {what}"] for what in ("noise", "samples", "other data")
        )
        yield (
            f"{name}: samples are {made:.3f} away from the data, noise {noise:.3f}, other data "
            f"{true:.3f}",
            made < (0.75 if fast else 0.15) * noise,
        )


if __name__ == "__main__":
    raise SystemExit(helper.run(main, claims))
