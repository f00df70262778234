"""Influence functions: which training examples have taught a network what it says.

Some digits get a wrong label, and a network of more than a million parameters learns them with the
rest. The influence of a training example on the loss of others is  -∇l(test)ᵀ H⁻¹ ∇l(train),  with
EKFAC in place of the Hessian (`torch.func.curvature`, which PyTorch does not have). Examples that
make digits with right labels worse are the wrong ones.
"""

from pathlib import Path

import numpy as np

import clew as torch
from clew.gallery import helper

nn, F, curvature = torch.nn, torch.nn.functional, torch.func.curvature
WRONG, DAMPING = 0.1, 1e-2


def spoiled(labels, rng):
    """Labels of which some are wrong, and which."""
    wrong = rng.uniform(size=len(labels)) < WRONG
    moved = (labels + rng.integers(1, 10, len(labels))) % 10
    return np.where(wrong, moved, labels), wrong


def train(x, y, width: int, steps: int, seed: int):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    model = nn.Sequential(
        nn.Linear(64, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10)
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-4)
    bar = helper.progress(range(steps), "train")
    for _ in bar:
        chosen = torch.from_numpy(rng.integers(0, len(x), 64))
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x[chosen]), y[chosen])
        loss.backward()
        optimizer.step()
        bar.say(f"loss {loss.item():.3f}")
    return model


def found_early(score, wrong) -> float:
    """The share of wrong examples among as many of the highest scores."""
    first = np.argsort(-score)[: wrong.sum()]
    return float(wrong[first].mean())


def main(fast: bool, seed: int, out: Path) -> dict[str, float]:
    rng = np.random.default_rng(seed)
    images, labels, test_images, test_labels = helper.digits()
    count, asked, width = (400, 40, 150) if fast else (1297, 100, 1000)
    labels, wrong = spoiled(labels[:count], rng)
    x, y = torch.from_numpy(images[:count]), torch.from_numpy(labels)
    model = train(x, y, width, 100 if fast else 200, seed)
    test = torch.from_numpy(test_images[:asked]), torch.from_numpy(test_labels[:asked])

    factors = curvature.EKFAC(model, F.cross_entropy, [(x, y)])
    influence = curvature.influence(factors.inverse(DAMPING), [(x, y)], [test])
    harm = influence.sum(dim=0).numpy()
    losses = F.cross_entropy(model(x), y, reduction="none").detach().numpy()
    worst = np.argsort(-harm)
    helper.tiles(
        out / "influence.svg",
        {
            "most harmful": images[worst[:12]].reshape(-1, 8, 8),
            "most helpful": images[worst[-12:]].reshape(-1, 8, 8),
        },
        "Labels of the first row: " + " ".join(str(labels[i]) for i in worst[:12]),
    )
    return {
        "parameters": factors.shape[0],
        "wrong labels": float(wrong.sum()),
        "mean harm of wrong labels": float(harm[wrong].mean()),
        "mean harm of right labels": float(harm[~wrong].mean()),
        "found by influence": found_early(harm, wrong),
        "found by loss": found_early(losses, wrong),
    }


def claims(figures, fast):
    yield f"{figures['parameters']:,} parameters", fast or figures["parameters"] > 1_000_000
    found, goal = figures["found by influence"], 0.4 if fast else 0.6
    yield (
        f"{found:.0%} of the most harmful examples are those with wrong labels ({goal:.0%} asked; "
        f"chance: {WRONG:.0%})",
        found > goal,
    )
    wrong, right = (figures[f"mean harm of {kind} labels"] for kind in ("wrong", "right"))
    yield f"wrong labels do harm ({wrong:.2g}), right ones help ({right:.2g})", wrong > 0 > right


if __name__ == "__main__":
    raise SystemExit(helper.run(main, claims))
