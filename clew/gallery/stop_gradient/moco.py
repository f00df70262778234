"""MoCo on digits: a momentum encoder without gradients, and a queue of its keys.

A query should match the key of another view of the same digit, among many keys of other digits.
The keys come from a queue, the last batches of a second encoder that gets no gradients and follows
the first one slowly, so that keys of different ages stay comparable. The queue is what keeps the
representations apart: without it, and with gradients into both sides, they collapse.
"""

import copy
from pathlib import Path

import numpy as np

import clew as torch
from clew.gallery import helper

nn, F = torch.nn, torch.nn.functional
BATCH, QUEUE, TEMPERATURE, MOMENTUM = 128, 1024, 0.2, 0.97


def layer(inputs: int, outputs: int):
    return nn.Sequential(nn.Linear(inputs, outputs), nn.BatchNorm1d(outputs), nn.ReLU())


class Encoder(nn.Module):
    """Features that are wanted, and a projection of length 1 that is compared."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(layer(64, 256), layer(256, 128))
        self.projector = nn.Sequential(layer(128, 128), nn.Linear(128, 32))

    def forward(self, view):
        return F.normalize(self.projector(self.features(view)), dim=1)


class MoCo(nn.Module):
    """The encoder of queries, that of keys, and the queue."""

    queue: torch.Tensor

    def __init__(self):
        super().__init__()
        self.query = Encoder()
        self.key = copy.deepcopy(self.query).requires_grad_(False)
        self.register_buffer("queue", F.normalize(torch.randn(QUEUE, 32), dim=1))
        self.place = 0

    @torch.no_grad()
    def keys_of(self, view):
        """Move the key encoder after the query encoder, and encode."""
        for slow, now in zip(self.key.parameters(), self.query.parameters()):
            slow.lerp_(now, 1 - MOMENTUM)
        return self.key(view)

    def forward(self, first, second):
        """How badly each query finds its own key among those of the queue."""
        queries, keys = self.query(first), self.keys_of(second)
        own = (queries * keys).sum(dim=1, keepdim=True)
        logits = torch.cat([own, queries @ self.queue.T], dim=1) / TEMPERATURE
        # A copy: this batch's logits need the queue as it was when backward comes.
        self.queue = self.queue.clone()
        self.queue[self.place : self.place + BATCH] = keys
        self.place = (self.place + BATCH) % QUEUE
        return F.cross_entropy(logits, torch.zeros(BATCH, dtype=torch.long))


def without_queue(model, first, second):
    """Both views by one encoder, with gradients through both, and nothing to be different from."""
    return 1 - (model.query(first) * model.query(second)).sum(dim=1).mean()


def train(images, queue: bool, steps: int, seed: int):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    model = MoCo()
    optimizer = torch.optim.Adam(model.query.parameters(), lr=2e-3)
    losses = []
    bar = helper.progress(range(steps), f"{'with' if queue else 'without':7} queue")
    for _ in bar:
        chosen = images[rng.integers(0, len(images), BATCH)]
        views = [torch.from_numpy(helper.augmented(chosen, rng)) for _ in range(2)]
        optimizer.zero_grad()
        loss = model(*views) if queue else without_queue(model, *views)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        bar.say(f"loss {losses[-1]:.3f}")
    return model.query, losses


@torch.no_grad()
def judge(encoder, x, y, test_x, test_y):
    """The accuracy of a linear probe on the features, and the spread of the representations.

    The spread is the standard deviation of normalised representations times the root of their
    size: 1 if they point everywhere, 0 if all are the same.
    """
    encoder.eval()
    features = [encoder.features(torch.from_numpy(part)) for part in (x, test_x)]
    z = encoder(torch.from_numpy(test_x))
    spread = (z.std(dim=0).mean() * z.shape[1] ** 0.5).item()
    return helper.linear_probe(features[0].numpy(), y, features[1].numpy(), test_y), spread


def main(fast: bool, seed: int, out: Path) -> dict[str, float]:
    x, y, test_x, test_y = helper.digits()
    figures, curves = {}, {}
    for name, queue in (("with", True), ("without", False)):
        encoder, curves[name] = train(x, queue, 80 if fast else 1500, seed)
        figures[f"{name}: probe"], figures[f"{name}: spread"] = judge(encoder, x, y, test_x, test_y)
    helper.chart(
        out / "moco.svg", {f"{name} queue": curve for name, curve in curves.items()},
        "MoCo: the loss with the queue, and without it", "step", "loss",
    )  # fmt: skip
    return figures


def claims(figures, fast):
    probe, spread = figures["with: probe"], figures["with: spread"]
    yield f"a linear probe reads {probe:.1%} of the digits (90% asked)", probe > 0.9
    lost = figures["without: spread"]
    yield (
        f"spread {spread:.2f}, without the queue {lost:.3f}: a collapse",
        (spread > 0.4 and lost < 0.2),
    )


if __name__ == "__main__":
    raise SystemExit(helper.run(main, claims))
