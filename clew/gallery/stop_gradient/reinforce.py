"""REINFORCE on CartPole with a baseline that must not get the policy's gradients.

The policy's loss is  -log π(action) · (return - baseline).  The baseline is a network of its own,
trained to predict the return. In the policy's loss it is a number: without `.detach()` the policy's
loss would also train the baseline, and not to predict, but to lower the loss, by making itself as
large as it can where actions were probable. The figure is what that does to it.
"""

from pathlib import Path

import clew as torch
from clew.gallery import helper

nn, F = torch.nn, torch.nn.functional
Categorical = torch.distributions.Categorical
GAMMA = 0.99


def network(outputs: int):
    return nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, outputs))


@torch.no_grad()
def episode(world, policy, seed: int):
    """Play once: the states, the actions, and the discounted return from each step on."""
    state, _ = world.reset(seed=seed)
    states, actions, over = [], [], False
    while not over:
        states.append(torch.from_numpy(state))
        actions.append(Categorical(logits=policy(states[-1])).sample())
        state, _, fell, timed_out, _ = world.step(int(actions[-1].item()))
        over = fell or timed_out
    returns, running = [], 0.0
    for _ in states:
        running = 1.0 + GAMMA * running
        returns.append(running)
    return torch.stack(states), torch.stack(actions), torch.tensor(returns[::-1])


def policy_loss(policy, baseline, play, detach: bool):
    states, actions, returns = play
    guess = baseline(states).squeeze(1)
    advantage = (returns - (guess.detach() if detach else guess)) / 10
    return -(Categorical(logits=policy(states)).log_prob(actions) * advantage).mean()


def leak(policy, baseline, play) -> float:
    """The largest gradient that the policy's loss gives the baseline when nothing stops it."""
    loss = policy_loss(policy, baseline, play, detach=False)
    return max(g.abs().max().item() for g in torch.autograd.grad(loss, baseline.parameters()))


def main(fast: bool, seed: int, out: Path) -> dict[str, float]:
    torch.manual_seed(seed)
    world, policy, baseline = helper.cartpole(), network(2), network(1)
    learner = torch.optim.Adam(policy.parameters(), lr=5e-3)
    predictor = torch.optim.Adam(baseline.parameters(), lr=1e-2)
    episodes, enough = (70, 60) if fast else (800, 400)
    curve, leaked, kept_out = [], 0.0, True
    bar = helper.progress(range(episodes), "REINFORCE")
    for number in bar:
        play = episode(world, policy, 1000 * seed + number)
        if number == 0:
            leaked = leak(policy, baseline, play)
        learner.zero_grad()
        predictor.zero_grad()
        policy_loss(policy, baseline, play, detach=True).backward()
        # The proof: the policy's backward has left the baseline alone.
        kept_out = kept_out and all(p.grad is None for p in baseline.parameters())
        states, _, returns = play
        F.mse_loss(baseline(states).squeeze(1), returns).backward()
        learner.step()
        predictor.step()
        curve.append(len(states))
        bar.say(f"mean return of 10 episodes {sum(curve[-10:]) / 10:.0f}")
        if sum(curve[-10:]) / 10 >= enough:
            break
    helper.chart(
        out / "reinforce.svg", {"REINFORCE": curve}, "CartPole by REINFORCE", "episode", "return"
    )
    return {
        "first 10 episodes": sum(curve[:10]) / 10,
        "last 10 episodes": sum(curve[-10:]) / 10,
        "episodes": len(curve),
        "gradient that would leak into the baseline": leaked,
        "baseline got none": float(kept_out),
    }


def claims(figures, fast):
    goal = 35 if fast else 195
    value = figures["last 10 episodes"]
    yield f"mean return {value:.0f} of the last 10 episodes ({goal} asked)", value >= goal
    leaked = figures["gradient that would leak into the baseline"]
    yield (
        f"detached, the baseline gets no policy gradient (else {leaked:.2g})",
        (figures["baseline got none"] == 1 and leaked > 0),
    )


if __name__ == "__main__":
    raise SystemExit(helper.run(main, claims))
