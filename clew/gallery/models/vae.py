"""A variational autoencoder on digits, and why its noise is an input.

The encoder gives a normal distribution for each digit, and a sample of it is decoded. The sample is
mean + deviation × noise: written so (the reparameterisation), gradients reach the encoder through
it. The other way to get them, the score function that REINFORCE uses, has the same mean and a far
greater variance.
"""

from pathlib import Path

import numpy as np

import clew as torch
from clew.gallery import helper

nn, F = torch.nn, torch.nn.functional
LATENT = 8


class VAE(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, width), nn.ReLU(), nn.Linear(width, 2 * LATENT))
        self.decoder = nn.Sequential(nn.Linear(LATENT, width), nn.ReLU(), nn.Linear(width, 64))

    def distribution(self, x):
        mean, log_variance = self.encoder(x).chunk(2, dim=1)
        return mean, log_variance

    def error(self, z, x):
        """How badly each image comes back, in nats (normal noise of deviation 0.2)."""
        return (self.decoder(z) - x).square().sum(dim=1) / (2 * 0.2**2)

    def forward(self, x):
        """The two parts of the loss (the ELBO, negative): reconstruction and divergence."""
        mean, log_variance = self.distribution(x)
        z = mean + (0.5 * log_variance).exp() * torch.randn_like(mean)
        divergence = 0.5 * (mean.square() + log_variance.exp() - log_variance - 1).sum(dim=1)
        return self.error(z, x).mean(), divergence.mean()


def gradient_spread(model, x, samples: int, score: bool) -> float:
    """The variance of the gradient by the encoder's last bias, over samples of the noise."""
    last = model.encoder[-1].bias
    found = []
    for _ in range(samples):
        mean, log_variance = model.distribution(x)
        noise = torch.randn_like(mean)
        z = mean + (0.5 * log_variance).exp() * noise
        if score:  # the log-probability of a sample that is only a number, times what it costs
            z = z.detach()
            log_probability = -0.5 * ((z - mean).square() / log_variance.exp() + log_variance)
            cost = log_probability.sum(dim=1) * model.error(z, x).detach()
        else:
            cost = model.error(z, x)
        (gradient,) = torch.autograd.grad(cost.mean(), last)
        found.append(gradient)
    return torch.stack(found).var(dim=0).sum().item()


def train(model, x, steps: int, seed: int) -> list[float]:
    rng = np.random.default_rng(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    losses = []
    bar = helper.progress(range(steps), "VAE")
    for _ in bar:
        chosen = torch.from_numpy(rng.integers(0, len(x), 64))
        optimizer.zero_grad()
        reconstruction, divergence = model(x[chosen])
        (reconstruction + divergence).backward()
        optimizer.step()
        losses.append((reconstruction + divergence).item())
        bar.say(f"loss {losses[-1]:.1f} nats")
    return losses


def main(fast: bool, seed: int, out: Path) -> dict[str, float]:
    torch.manual_seed(seed)
    x, _, test, _ = (torch.from_numpy(part) for part in helper.digits())
    model = VAE(64 if fast else 256)
    losses = train(model, x, 200 if fast else 4000, seed)
    ways = {"reparameterised": False, "score function": True}
    spread = {
        name: gradient_spread(model, x[:64], 20 if fast else 100, way) for name, way in ways.items()
    }
    with torch.no_grad():
        reconstruction, divergence = model(test)
        mean, _ = model.distribution(test)
        back, made = model.decoder(mean), model.decoder(torch.randn(12, LATENT))
        error = F.mse_loss(back, test).item() / (test - test.mean(dim=0)).square().mean().item()
    rows = {"digits": test[:12], "decoded": back[:12], "made from noise": made}
    helper.tiles(
        out / "vae.svg", {name: row.reshape(-1, 8, 8).numpy() for name, row in rows.items()},
        "VAE: digits it has not seen, and digits from noise",
    )  # fmt: skip
    return {
        "loss at first (nats)": losses[0],
        "loss on unseen digits (nats)": (reconstruction + divergence).item(),
        "divergence (nats)": divergence.item(),
        "error / variance": error,
        **{f"variance of the gradient, {name}": value for name, value in spread.items()},
    }


def claims(figures, fast):
    first, last = figures["loss at first (nats)"], figures["loss on unseen digits (nats)"]
    yield f"loss {first:.0f} nats at first, {last:.0f} on unseen digits", last < 0.5 * first
    error, goal = figures["error / variance"], 0.8 if fast else 0.4
    yield (
        f"unseen digits come back with {error:.0%} of the variance lost ({goal:.0%})",
        error < goal,
    )
    ways = ("score function", "reparameterised")
    score, through = (figures[f"variance of the gradient, {way}"] for way in ways)
    yield (
        f"the score function's gradients have {score / through:.0f} times the variance",
        score > 10 * through,
    )


if __name__ == "__main__":
    raise SystemExit(helper.run(main, claims))
