"""VQ-VAE on digits: a codebook, the straight-through estimator, and the commitment loss.

The encoder's vectors are replaced by the nearest of 32 codes, a choice that has no derivative.
Straight-through: forward the code, backward as if it were the encoder's own vector,

    quantised = z + (code - z).detach()

The codes learn from one loss that must not move the encoder, |z.detach() - code|², and the encoder
is held near its codes by another that must not move them, |z - code.detach()|².
"""

from pathlib import Path

import numpy as np

import clew as torch
from clew.gallery import helper

nn, F = torch.nn, torch.nn.functional
CODES, SIZE = 32, 16


class Quantiser(nn.Module):
    """The nearest code for each vector."""

    def __init__(self):
        super().__init__()
        self.codes = nn.Parameter(torch.randn(CODES, SIZE))

    @torch.no_grad()
    def begin_at(self, z):
        """Codes that are far from all vectors would never be chosen: begin at some of them."""
        self.codes.copy_(z[torch.randperm(len(z))[:CODES]])

    def forward(self, z, straight_through: bool = True):
        chosen = torch.cdist(z.detach(), self.codes.detach()).argmin(dim=1)
        code = self.codes[chosen]
        loss = F.mse_loss(code, z.detach()) + 0.25 * F.mse_loss(z, code.detach())
        quantised = z + (code - z).detach() if straight_through else code
        return quantised, chosen, loss


class VQVAE(nn.Module):
    """Images of 8 × 8 pixels through 16 codes, one for each 2 × 2 pixels."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 32, 4, stride=2, padding=1), nn.ReLU(), nn.Conv2d(32, SIZE, 3, padding=1)
        )
        self.quantiser = Quantiser()
        self.decoder = nn.Sequential(
            nn.Conv2d(SIZE, 32, 3, padding=1), nn.ReLU(),
            nn.ConvTranspose2d(32, 1, 4, stride=2, padding=1),
        )  # fmt: skip

    def encode(self, x):
        """The encoder's vectors, one row for each place of each image."""
        return self.encoder(x).permute(0, 2, 3, 1).reshape(-1, SIZE)

    def forward(self, x, straight_through: bool = True):
        quantised, chosen, loss = self.quantiser(self.encode(x), straight_through)
        image = quantised.reshape(len(x), 4, 4, SIZE).permute(0, 3, 1, 2)
        return self.decoder(image), chosen, loss


def encoder_gradient(model, x, straight_through: bool) -> float:
    """The norm of what the reconstruction alone teaches the encoder."""
    image, _, _ = model(x, straight_through)
    weights = list(model.encoder.parameters())
    gradients = torch.autograd.grad(F.mse_loss(image, x), weights, allow_unused=True)
    return sum(g.pow(2).sum().item() for g in gradients if g is not None) ** 0.5


def main(fast: bool, seed: int, out: Path) -> dict[str, float]:
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    train_x, _, test_x, _ = (torch.from_numpy(part) for part in helper.digits())
    images, test = train_x.reshape(-1, 1, 8, 8), test_x.reshape(-1, 1, 8, 8)
    model = VQVAE()
    model.quantiser.begin_at(model.encode(images[:64]))
    cut, through = (encoder_gradient(model, images[:64], way) for way in (False, True))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    bar = helper.progress(range(100 if fast else 1500), "VQ-VAE")
    for _ in bar:
        x = images[torch.from_numpy(rng.integers(0, len(images), 64))]
        optimizer.zero_grad()
        image, _, quantisation = model(x)
        reconstruction = F.mse_loss(image, x)
        (reconstruction + quantisation).backward()
        optimizer.step()
        losses.append(reconstruction.item())
        bar.say(f"reconstruction {losses[-1]:.4f}")
    with torch.no_grad():
        image, chosen, _ = model(test)
        error = F.mse_loss(image, test).item() / (test - test.mean(dim=0)).pow(2).mean().item()
    share = torch.bincount(chosen, minlength=CODES).float() / len(chosen)
    perplexity = torch.exp(-(share * (share + 1e-12).log()).sum()).item()
    helper.tiles(
        out / "vqvae.svg",
        {"digits": test[:12, 0].numpy(), f"from {CODES} codes": image[:12, 0].numpy()},
        "VQ-VAE: digits it has not seen",
    )
    return {
        "error / variance": error,
        "codes in use (perplexity)": perplexity,
        "gradient of the encoder, straight-through": through,
        "gradient of the encoder, without": cut,
    }


def claims(figures, fast):
    error, goal = figures["error / variance"], 0.35 if fast else 0.15
    yield (
        f"unseen digits come back with {error:.1%} of the variance lost ({goal:.0%})",
        error < goal,
    )
    used = figures["codes in use (perplexity)"]
    yield f"{used:.1f} of {CODES} codes are in use (6 asked)", used > 6
    cut, through = (
        figures[f"gradient of the encoder, {way}"] for way in ("without", "straight-through")
    )
    yield (
        f"the reconstruction teaches the encoder {through:.2g}, without the estimator {cut:g}",
        (cut == 0 and through > 0),
    )


if __name__ == "__main__":
    raise SystemExit(helper.run(main, claims))
