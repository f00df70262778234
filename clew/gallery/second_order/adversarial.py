"""Adversarial examples: the gradient by the input, used against the network and then for it.

The gradient of the loss by an image says how to change each pixel so that the network errs. One
step along its sign (FGSM) takes a digit that every person reads to one that the network does not;
several small steps (PGD) do it better. A network that is trained on such images resists: each of
its steps differentiates by the input first and by the weights then.
"""

from pathlib import Path

import numpy as np

import clew as torch
from clew.gallery import helper

nn, F = torch.nn, torch.nn.functional
EPSILON = 0.15  # how far a pixel may move; 0 is white and 1 is black


def fgsm(model, x, y):
    """One step along the sign of the gradient."""
    x = x.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(F.cross_entropy(model(x), y), x)
    return (x + EPSILON * gradient.sign()).detach().clamp(0, 1)


def pgd(model, x, y, steps: int = 8):
    """Small steps along the sign of the gradient, never further than EPSILON from the image."""
    moved = x.clone()
    for _ in range(steps):
        moved.requires_grad_()
        (gradient,) = torch.autograd.grad(F.cross_entropy(model(moved), y), moved)
        moved = moved.detach() + 2 * EPSILON / steps * gradient.sign()
        moved = (x + (moved - x).clamp(-EPSILON, EPSILON)).clamp(0, 1)
    return moved


def train(x, y, steps: int, seed: int, attacked: bool):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    model = nn.Sequential(
        nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10)
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    bar = helper.progress(range(steps), "attacked" if attacked else "plain   ")
    for _ in bar:
        chosen = torch.from_numpy(rng.integers(0, len(x), 64))
        images = pgd(model, x[chosen], y[chosen], 4) if attacked else x[chosen]
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images), y[chosen])
        loss.backward()
        optimizer.step()
        bar.say(f"loss {loss.item():.3f}")
    return model


def main(fast: bool, seed: int, out: Path) -> dict[str, float]:
    x, y, test_x, test_y = (torch.from_numpy(part) for part in helper.digits())
    figures, rows = {}, {"digits": test_x[:12]}
    for name in ("plain", "attacked"):
        model = train(x, y, 120 if fast else 1500, seed, name == "attacked")
        for attack, images in (
            ("clean", test_x), ("FGSM", fgsm(model, test_x, test_y)),
            ("PGD", pgd(model, test_x, test_y)),
        ):  # fmt: skip
            read = model(images).argmax(dim=1)
            figures[f"{name}: accuracy, {attack}"] = (read == test_y).float().mean().item()
            rows[f"{name}, {attack}"] = images[:12]
    del rows["plain, clean"], rows["attacked, clean"]
    helper.tiles(
        out / "adversarial.svg",
        {name: images.reshape(-1, 8, 8).numpy() for name, images in rows.items()},
        f"Digits, and the same with every pixel moved by at most {EPSILON}",
    )
    return figures


def claims(figures, fast):
    plain = [figures[f"plain: accuracy, {attack}"] for attack in ("clean", "FGSM", "PGD")]
    yield (
        f"plain: {plain[0]:.0%} of digits are read, after FGSM {plain[1]:.0%}, PGD {plain[2]:.0%}",
        (plain[0] > 0.9 and plain[2] <= plain[1] + 0.02 and plain[2] < 0.5),
    )
    trained = [figures[f"attacked: accuracy, {attack}"] for attack in ("clean", "FGSM", "PGD")]
    yield (
        f"trained on attacks: {trained[0]:.0%}, {trained[1]:.0%} and {trained[2]:.0%}",
        trained[0] > (0.8 if fast else 0.93) and trained[2] > plain[2] + 0.2,
    )


if __name__ == "__main__":
    raise SystemExit(helper.run(main, claims))
