"""SimSiam on digits: two views, one network, and the stop-gradient that keeps it from collapsing.

Two augmented views of a digit should get the same representation. The easiest answer is to give
every digit the same one; nothing in the loss forbids it. SimSiam's loss compares a prediction from
one view with the representation of the other, and lets no gradient into the latter. With this one
`.detach()` the network learns; without it the representations collapse to a point.
"""

from pathlib import Path

import numpy as np

import clew as torch
from clew.gallery import helper

nn, F = torch.nn, torch.nn.functional


def layer(inputs: int, outputs: int):
    return nn.Sequential(nn.Linear(inputs, outputs), nn.BatchNorm1d(outputs), nn.ReLU())


class SimSiam(nn.Module):
    """An encoder whose features are wanted, a projector, and a predictor."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(layer(64, 256), layer(256, 128))
        self.projector = nn.Sequential(layer(128, 128), nn.Linear(128, 32))
        self.predictor = nn.Sequential(layer(32, 64), nn.Linear(64, 32))

    def forward(self, view):
        z = self.projector(self.encoder(view))
        return z, self.predictor(z)


def loss_of(model, views, stop_gradient: bool):
    """Minus the cosine between prediction and representation, both ways; -1 is perfect."""
    (z1, p1), (z2, p2) = (model(view) for view in views)
    if stop_gradient:
        z1, z2 = z1.detach(), z2.detach()
    return -(F.cosine_similarity(p1, z2).mean() + F.cosine_similarity(p2, z1).mean()) / 2


def train(images, stop_gradient: bool, steps: int, seed: int):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    model = SimSiam()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    losses = []
    bar = helper.progress(range(steps), f"{'with' if stop_gradient else 'without':7} stop-gradient")
    for _ in bar:
        chosen = images[rng.integers(0, len(images), 256)]
        views = [torch.from_numpy(helper.augmented(chosen, rng)) for _ in range(2)]
        optimizer.zero_grad()
        loss = loss_of(model, views, stop_gradient)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        bar.say(f"loss {losses[-1]:.3f}")
    return model, losses


@torch.no_grad()
def judge(model, x, y, test_x, test_y):
    """The accuracy of a linear probe on the features, and the spread of the representations.

    The spread is the standard deviation of normalised representations times the root of their
    size: 1 if they point everywhere, 0 if all are the same.
    """
    model.eval()
    features = [model.encoder(torch.from_numpy(part)) for part in (x, test_x)]
    z = F.normalize(model.projector(features[1]), dim=1)
    spread = (z.std(dim=0).mean() * z.shape[1] ** 0.5).item()
    return helper.linear_probe(features[0].numpy(), y, features[1].numpy(), test_y), spread


def main(fast: bool, seed: int, out: Path) -> dict[str, float]:
    x, y, test_x, test_y = helper.digits()
    figures, curves = {}, {}
    for name, stop_gradient in (("with", True), ("without", False)):
        model, curves[name] = train(x, stop_gradient, 60 if fast else 800, seed)
        figures[f"{name}: probe"], figures[f"{name}: spread"] = judge(model, x, y, test_x, test_y)
        figures[f"{name}: loss"] = curves[name][-1]
    helper.chart(
        out / "simsiam.svg", {f"{name} stop-gradient": curve for name, curve in curves.items()},
        "SimSiam: the collapsed loss is the better one", "step", "loss",
    )  # fmt: skip
    return figures


def claims(figures, fast):
    probe, spread = figures["with: probe"], figures["with: spread"]
    yield f"a linear probe reads {probe:.1%} of the digits (90% asked)", probe > 0.9
    lost = figures["without: spread"]
    yield (
        f"spread {spread:.2f}, without stop-gradient {lost:.3f}: a collapse",
        (spread > 0.4 and lost < 0.2),
    )


if __name__ == "__main__":
    raise SystemExit(helper.run(main, claims))
