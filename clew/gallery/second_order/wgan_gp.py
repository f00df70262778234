"""WGAN-GP: a critic whose slope is held at 1 by a penalty on its gradient.

A critic measures how far generated points are from true ones (the Wasserstein distance) if its
slope is 1 wherever points move from the ones to the others. The penalty (|∇critic| - 1)² between
true and generated points holds it there. Its gradient by the critic's weights is a gradient of a
gradient: `create_graph=True`. The first form of the method clipped weights instead, and without
either the critic grows steeper and steeper: it measures nothing.
"""

import math
from pathlib import Path

import clew as torch
from clew.gallery import helper

nn = torch.nn
MODES, RADIUS, SPREAD, BATCH, CRITIC_STEPS, RATE = 8, 2.0, 0.1, 128, 3, 2e-3
SAVED_EVERY = 250
# The weight of the penalty, and the bound of weights.
WAYS = {"penalty": (1.0, math.inf), "clipped weights": (0.0, 0.1), "neither": (0.0, math.inf)}


def mlp(inputs: int, outputs: int, width: int = 96):
    return nn.Sequential(
        nn.Linear(inputs, width), nn.LeakyReLU(0.2), nn.Linear(width, width), nn.LeakyReLU(0.2),
        nn.Linear(width, outputs),
    ).double()  # fmt: skip


def noise(count: int):
    return torch.randn(count, 2, dtype=torch.float64)


def centres():
    angle = torch.arange(MODES) * (2 * math.pi / MODES)
    return RADIUS * torch.stack([angle.cos(), angle.sin()], dim=1).double()


def ring(count: int):
    """Points of eight small clusters on a circle."""
    return centres()[torch.randint(0, MODES, (count,))] + SPREAD * noise(count)


def slopes(critic, true, made, create_graph: bool = False):
    """The norms of the critic's gradients at random places between true and generated points."""
    mix = torch.rand(len(true), 1, dtype=torch.float64)
    between = (mix * true + (1 - mix) * made).requires_grad_()
    (gradient,) = torch.autograd.grad(critic(between).sum(), between, create_graph=create_graph)
    return gradient.norm(dim=1)


def critic_loss(critic, generator, weight: float):
    true = ring(BATCH)
    made = generator(noise(BATCH)).detach()  # the generator is not asked here
    loss = critic(made).mean() - critic(true).mean()
    if weight:
        loss = loss + weight * (slopes(critic, true, made, create_graph=True) - 1).square().mean()
    return loss


def train(name: str, steps: int, seed: int, saved: Path):
    """Both networks, and the mean slope of the critic on the way."""
    weight, clip = WAYS[name]
    torch.manual_seed(seed)
    generator, critic = mlp(2, 2), mlp(2, 1)
    optimizers = [
        torch.optim.Adam(each.parameters(), lr=RATE, betas=(0.5, 0.9))
        for each in (generator, critic)
    ]
    generator_optimizer, critic_optimizer = optimizers
    parts = [generator, critic, *optimizers]
    curve = []
    if saved.exists():
        state = torch.load(saved)
        for part, values in zip(parts, state["parts"]):
            part.load_state_dict(values)
        torch.set_rng_state(state["random"])
        curve = state["curve"]
    bar = helper.progress(range(len(curve), steps), f"{name:15}")
    for step in bar:
        for optimizer in optimizers:
            optimizer.param_groups[0]["lr"] = RATE * (1 - step / steps)
        for _ in range(CRITIC_STEPS):
            critic_optimizer.zero_grad()
            critic_loss(critic, generator, weight).backward()
            critic_optimizer.step()
            if clip < math.inf:
                with torch.no_grad():
                    for each in critic.parameters():
                        each.clamp_(-clip, clip)
        generator_optimizer.zero_grad()
        (-critic(generator(noise(BATCH))).mean()).backward()
        generator_optimizer.step()
        made = generator(noise(BATCH)).detach()
        curve.append(slopes(critic, ring(BATCH), made).mean().item())
        if (step + 1) % SAVED_EVERY == 0 or step + 1 == steps:
            state = {"parts": [part.state_dict() for part in parts], "curve": curve}
            torch.save(state | {"random": torch.get_rng_state()}, saved)
        bar.say(f"slope {curve[-1]:.2f}")
    return generator, curve


@torch.no_grad()
def judge(generator, seed: int) -> tuple[float, float]:
    """How many clusters get their share of the points, and how many points lie in one."""
    torch.manual_seed(1000 + seed)
    made = generator(noise(4000))
    away, nearest = torch.cdist(made, centres()).min(dim=1)
    inside = away < 4 * SPREAD
    shares = torch.bincount(nearest[inside], minlength=MODES) / len(made)
    return (shares > 0.25 / MODES).float().sum().item(), inside.float().mean().item()


def main(fast: bool, seed: int, out: Path) -> dict[str, float]:
    figures, curves, states = {}, {}, []
    for name in WAYS:
        states.append(out / f"wgan_gp-{name}-{seed}{'-fast' if fast else ''}.pt")
        generator, curves[name] = train(name, 60 if fast else 1500, seed, states[-1])
        tail = curves[name][-20:]
        figures[f"{name}: slope"] = sum(tail) / len(tail)
        modes, inside = judge(generator, seed)
        if not fast:
            figures[f"{name}: clusters"], figures[f"{name}: share inside"] = modes, inside
    helper.chart(
        out / "wgan_gp.svg", curves, "WGAN: the slope of the critic", "step of the generator",
        "mean norm of its gradient", log=True,
    )  # fmt: skip
    for saved in states:
        saved.unlink()
    return figures


def claims(figures, fast):
    slope = {name: figures[f"{name}: slope"] for name in WAYS}
    yield (
        f"with the penalty the critic's slope is {slope['penalty']:.2f}",
        (0.7 < slope["penalty"] < 1.3),
    )
    yield f"without: {slope['neither']:.3g}", slope["neither"] > (1.5 if fast else 10)
    if not fast:
        for name in WAYS:
            clusters, inside = figures[f"{name}: clusters"], figures[f"{name}: share inside"]
            text = f"{name}: {clusters:.0f} of {MODES} clusters, {inside:.0%} of points in one"
            yield text, name != "penalty" or (clusters == MODES and inside > 0.6)


if __name__ == "__main__":
    raise SystemExit(helper.run(main, claims))
