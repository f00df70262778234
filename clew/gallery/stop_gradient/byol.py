"""BYOL on digits: a network learns to predict a slow copy of itself, and collapses without it.

The online network predicts, from one view of a digit, what the target network says of another
view. The target is an exponential moving average of the online network and gets no gradients. There
are no negatives: what keeps all digits from getting one answer is that the target does not move
towards the prediction. Let gradients into it, and they do.
"""

import copy
from pathlib import Path

import numpy as np

import clew as torch
from clew.gallery import helper

nn, F = torch.nn, torch.nn.functional


def layer(inputs: int, outputs: int):
    return nn.Sequential(nn.Linear(inputs, outputs), nn.BatchNorm1d(outputs), nn.ReLU())


class Network(nn.Module):
    """The encoder whose features are wanted, and a projector."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(layer(64, 256), layer(256, 128))
        self.projector = nn.Sequential(layer(128, 128), nn.Linear(128, 32))

    def forward(self, view):
        return self.projector(self.encoder(view))


class BYOL(nn.Module):
    """The online network, its predictor, and the target that follows it."""

    def __init__(self, stop_gradient: bool):
        super().__init__()
        self.online = Network()
        self.predictor = nn.Sequential(layer(32, 64), nn.Linear(64, 32))
        # Without the stop-gradient the target is the online network itself.
        self.stop_gradient = stop_gradient
        self.target = copy.deepcopy(self.online).requires_grad_(False)

    def aim(self, view):
        if not self.stop_gradient:
            return self.online(view)
        with torch.no_grad():
            return self.target(view)

    def forward(self, first, second):
        """The distance of each view's prediction from the other's target; 0 is perfect."""
        one = F.cosine_similarity(self.predictor(self.online(first)), self.aim(second))
        other = F.cosine_similarity(self.predictor(self.online(second)), self.aim(first))
        return 2 - (one + other).mean()

    @torch.no_grad()
    def move_target(self, decay: float = 0.97):
        for slow, now in zip(self.target.parameters(), self.online.parameters()):
            slow.lerp_(now, 1 - decay)


def train(images, stop_gradient: bool, steps: int, seed: int):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    model = BYOL(stop_gradient)
    learned = [*model.online.parameters(), *model.predictor.parameters()]
    optimizer = torch.optim.SGD(learned, lr=0.1, momentum=0.9, weight_decay=1e-4)
    losses = []
    bar = helper.progress(range(steps), f"{'with' if stop_gradient else 'without':7} stop-gradient")
    for _ in bar:
        chosen = images[rng.integers(0, len(images), 256)]
        views = [torch.from_numpy(helper.augmented(chosen, rng)) for _ in range(2)]
        optimizer.zero_grad()
        loss = model(*views)
        loss.backward()
        optimizer.step()
        model.move_target()
        losses.append(loss.item())
        bar.say(f"loss {losses[-1]:.3f}")
    return model.online, losses


@torch.no_grad()
def judge(network, x, y, test_x, test_y):
    """The accuracy of a linear probe on the features, and the spread of the representations.

    The spread is the standard deviation of normalised representations times the root of their
    size: 1 if they point everywhere, 0 if all are the same.
    """
    network.eval()
    features = [network.encoder(torch.from_numpy(part)) for part in (x, test_x)]
    z = F.normalize(network.projector(features[1]), dim=1)
    spread = (z.std(dim=0).mean() * z.shape[1] ** 0.5).item()
    return helper.linear_probe(features[0].numpy(), y, features[1].numpy(), test_y), spread


def main(fast: bool, seed: int, out: Path) -> dict[str, float]:
    x, y, test_x, test_y = helper.digits()
    figures, curves = {}, {}
    for name, stop_gradient in (("with", True), ("without", False)):
        network, curves[name] = train(x, stop_gradient, 60 if fast else 800, seed)
        figures[f"{name}: probe"], figures[f"{name}: spread"] = judge(network, x, y, test_x, test_y)
        figures[f"{name}: loss"] = curves[name][-1]
    helper.chart(
        out / "byol.svg", {f"{name} stop-gradient": curve for name, curve in curves.items()},
        "BYOL: the collapsed loss is the better one", "step", "loss",
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
