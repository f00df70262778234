"""PPO on CartPole: the old policy's log-probabilities, detached, and a clipped ratio.

One batch of play is used for several steps of the optimizer. The ratio π_new / π_old says how far
the policy has moved since the batch was played; clipping it takes the gain away from moving
further. Only π_new may get gradients: the old log-probabilities are recorded without a graph, and
so are the advantages, which come from the value network and must not train it through the policy.

An interrupted run goes on from its last saved round when it is started again.
"""

from pathlib import Path

import clew as torch
from clew.gallery import helper

nn, F = torch.nn, torch.nn.functional
Categorical = torch.distributions.Categorical
GAMMA, LAMBDA, CLIP, EPOCHS, MINIBATCH = 0.99, 0.95, 0.2, 10, 64
REWARD = 1 - GAMMA  # for each step, so that values lie between 0 and 1


class ActorCritic(nn.Module):
    """Two networks: the logits of the actions, and the value of the state."""

    def __init__(self):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 2))
        self.critic = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 1))
        # Begin undecided: both actions equally probable in every state.
        nn.init.normal_(self.actor[2].weight, std=0.01)

    def forward(self, states):
        return Categorical(logits=self.actor(states)), self.critic(states).squeeze(-1)


class World:
    """CartPole that begins anew when an episode is over."""

    def __init__(self, seed: int):
        self.env, self.seed, self.episodes = helper.cartpole(), seed, 0

    def begin(self) -> None:
        self.state, _ = self.env.reset(seed=1000 * self.seed + self.episodes)
        self.length = 0

    def step(self, action: int):
        """The next state, and whether the pole fell and whether the episode is over."""
        state, _, fell, timed_out, _ = self.env.step(action)
        self.state, self.length = state, self.length + 1
        return fell, fell or timed_out


@torch.no_grad()
def play(world: World, model, steps: int):
    """A batch of play: states, actions, log-probabilities, advantages, returns; episode lengths."""
    states, actions, log_probs, values, deltas, ends, lengths = [], [], [], [], [], [], []
    for _ in range(steps):
        state = torch.from_numpy(world.state)
        policy, value = model(state)
        action = policy.sample()
        fell, over = world.step(int(action.item()))
        # Where time ran out the pole still stands: what would have come is the critic's guess.
        following = 0.0 if fell else model.critic(torch.from_numpy(world.state)).item()
        states.append(state)
        actions.append(action)
        log_probs.append(policy.log_prob(action))
        values.append(value.item())
        deltas.append(REWARD + GAMMA * following - value.item())
        ends.append(over)
        if over:
            lengths.append(world.length)
            world.episodes += 1
            world.begin()
    advantages, running = [], 0.0
    for delta, over in zip(reversed(deltas), reversed(ends)):
        running = delta + (0.0 if over else GAMMA * LAMBDA * running)
        advantages.append(running)
    advantage = torch.tensor(advantages[::-1])
    batch = (torch.stack(states), torch.stack(actions), torch.stack(log_probs), advantage)
    return (*batch, advantage + torch.tensor(values)), lengths


def improve(model, optimizer, batch) -> None:
    """Several passes over a batch of play, by the clipped objective."""
    size = len(batch[0])
    for _ in range(EPOCHS):
        for rows in torch.randperm(size).split(MINIBATCH):
            states, actions, old_log_probs, advantages, returns = (part[rows] for part in batch)
            advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
            policy, values = model(states)
            ratio = (policy.log_prob(actions) - old_log_probs).exp()
            gain = torch.min(ratio * advantages, ratio.clamp(1 - CLIP, 1 + CLIP) * advantages)
            loss = -gain.mean() + F.mse_loss(values, returns)
            loss = loss - 0.005 * policy.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()


@torch.no_grad()
def mean_return(model, episodes: int) -> float:
    """Of episodes that it has not learned from, always taking the more probable action."""
    world, total = helper.cartpole(), 0
    for number in range(episodes):
        (state, _), over = world.reset(seed=900_000 + number), False
        while not over:
            action = int(model.actor(torch.from_numpy(state)).argmax().item())
            state, _, fell, timed_out, _ = world.step(action)
            total, over = total + 1, fell or timed_out
    return total / episodes


def train(rounds: int, steps: int, enough: float, lr: float, seed: int, saved: Path) -> tuple:
    """Rounds of play and learning until the mean return is enough: those returns, and the model."""
    torch.manual_seed(seed)
    world, model = World(seed), ActorCritic()
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    curve: list[float] = []
    if saved.exists():
        state = torch.load(saved)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["random"])
        world.episodes, curve = state["episodes"], state["curve"]
    bar = helper.progress(range(len(curve), rounds), "PPO")
    for _ in bar:
        world.begin()  # so that there is no half-played episode to be saved
        batch, lengths = play(world, model, steps)
        improve(model, optimizer, batch)
        curve.append(sum(lengths) / max(len(lengths), 1))
        state = {
            "model": model.state_dict(), "optimizer": optimizer.state_dict(),
            "random": torch.get_rng_state(), "episodes": world.episodes, "curve": curve,
        }  # fmt: skip
        torch.save(state, saved)
        bar.say(f"mean return {curve[-1]:.0f}")
        if curve[-1] > 0.8 * enough and mean_return(model, 10) >= enough:
            break
    saved.unlink(missing_ok=True)
    return curve, model


def main(fast: bool, seed: int, out: Path) -> dict[str, float]:
    size = (5, 512, 120, 2e-3) if fast else (60, 1024, 495, 1e-3)
    curve, model = train(*size, seed, out / f"ppo-{seed}{'-fast' if fast else ''}.pt")
    helper.chart(out / "ppo.svg", {"PPO": curve}, "CartPole by PPO", "round of play", "mean return")
    return {"return": mean_return(model, 20), "rounds": len(curve)}


def claims(figures, fast):
    goal = 60 if fast else 400
    value = figures["return"]
    yield f"mean return {value:.0f} of 20 episodes ({goal} asked; chance: 22)", value >= goal


if __name__ == "__main__":
    raise SystemExit(helper.run(main, claims))
