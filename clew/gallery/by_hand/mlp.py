"""A two-layer network whose every delta is written out by hand, beside autograd.

softmax and cross-entropy:   dz2 = (p - onehot) / n
second layer:                dW2 = a1ᵀ dz2     db2 = Σ dz2     da1 = dz2 W2ᵀ
tanh:                        dz1 = da1 (1 - a1²)
first layer:                 dW1 = xᵀ dz1      db1 = Σ dz1

The network learns by the gradients of these lines. Beside them, every step, autograd computes its
own, and the largest difference ever seen is the figure.
"""

import math
from pathlib import Path

import clew as torch
from clew.gallery import helper

F = torch.nn.functional


def three_arms(points: int):
    """Points of three spiral arms in the plane, and the arm of each."""
    radius = torch.linspace(0.1, 1.0, points)
    arms = []
    for arm in range(3):
        angle = 4.0 * radius + arm * 2 * math.pi / 3 + 0.15 * torch.randn(points)
        arms.append(torch.stack([radius * angle.cos(), radius * angle.sin()], dim=1))
    return torch.cat(arms), torch.arange(3).repeat_interleave(points)


def by_hand(x, y, w1, b1, w2, b2):
    """The loss, and its gradient with respect to each weight, without autograd."""
    n = len(x)
    # Forward, keeping what backward will need.
    a1 = (x @ w1 + b1).tanh()
    z2 = a1 @ w2 + b2
    shifted = z2 - z2.max(dim=1, keepdim=True).values  # exp must not overflow
    exp = shifted.exp()
    p = exp / exp.sum(dim=1, keepdim=True)
    loss = -(shifted[torch.arange(n), y] - exp.sum(dim=1).log()).mean()
    # Backward, from the last line to the first.
    dz2 = p.clone()
    dz2[torch.arange(n), y] -= 1
    dz2 /= n
    dw2, db2 = a1.T @ dz2, dz2.sum(dim=0)
    da1 = dz2 @ w2.T
    dz1 = da1 * (1 - a1**2)
    dw1, db1 = x.T @ dz1, dz1.sum(dim=0)
    return loss, (dw1, db1, dw2, db2)


def by_autograd(x, y, w1, b1, w2, b2):
    """The same in three lines."""
    weights = [w.detach().requires_grad_() for w in (w1, b1, w2, b2)]
    loss = F.cross_entropy((x @ weights[0] + weights[1]).tanh() @ weights[2] + weights[3], y)
    return loss.detach(), torch.autograd.grad(loss, weights)


def main(fast: bool, seed: int, out: Path) -> dict[str, float]:
    torch.manual_seed(seed)
    x, y = three_arms(50 if fast else 200)
    hidden = 32
    weights = [
        torch.randn(2, hidden) * 1.5, torch.zeros(hidden),
        torch.randn(hidden, 3) / math.sqrt(hidden), torch.zeros(3),
    ]  # fmt: skip
    losses, difference = [], 0.0
    steps = helper.progress(range(200 if fast else 2000), "by hand")
    for _ in steps:
        loss, ours = by_hand(x, y, *weights)
        reference, theirs = by_autograd(x, y, *weights)
        difference = max(difference, (loss - reference).abs().item())
        difference = max(difference, *((a - b).abs().max().item() for a, b in zip(ours, theirs)))
        weights = [w - 1.0 * g for w, g in zip(weights, ours)]
        losses.append(loss.item())
        steps.say(f"loss {losses[-1]:.3f}")
    answers = ((x @ weights[0] + weights[1]).tanh() @ weights[2] + weights[3]).argmax(dim=1)
    helper.chart(
        out / "mlp.svg", {"by hand": losses}, "Trained by deltas written out by hand",
        "step", "cross-entropy", log=True,
    )  # fmt: skip
    return {
        "largest difference from autograd": difference,
        "first loss": losses[0],
        "last loss": losses[-1],
        "accuracy": (answers == y).float().mean().item(),
    }


def claims(figures, fast):
    difference, accuracy = figures["largest difference from autograd"], figures["accuracy"]
    goal = 0.8 if fast else 0.95
    yield f"the deltas are autograd's to {difference:.0e} (1e-5 allowed)", difference < 1e-5
    yield f"and they train: accuracy {accuracy:.1%} ({goal:.0%} asked)", accuracy > goal


if __name__ == "__main__":
    raise SystemExit(helper.run(main, claims))
