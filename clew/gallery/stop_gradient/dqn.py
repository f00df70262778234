"""Q-learning on CartPole: DQN with a target network, Double DQN with a moving average.

The network learns towards  r + γ max Q(next state),  which it computes itself. Were the gradient to
go through that target too, the network would also move the target towards what it says now; and
were the target to move at every step, it would chase itself. So the target comes from a second
network that gets no gradients (`torch.no_grad`) and follows the first: by a hard copy now and then
(DQN), or by a little at every step, as an exponential moving average (Double DQN, where the first
network chooses the action and the second one judges it).

An interrupted run goes on from its last saved episode when it is started again.
"""

import copy
from pathlib import Path

import clew as torch
from clew.gallery import helper

nn, F = torch.nn, torch.nn.functional
GAMMA, BATCH, CAPACITY, WARM_UP = 0.99, 64, 10_000, 300
RATE, COPIED = 5e-4, 200  # the learning rate; steps from one copy to the target to the next


class Memory:
    """The last transitions: state, action, reward, next state, and whether the pole fell."""

    def __init__(self):
        self.rows = torch.zeros(CAPACITY, 4 + 1 + 1 + 4 + 1)
        self.count = 0

    def add(self, state, action, reward, following, fell) -> None:
        row = torch.tensor([*state, action, reward, *following, fell], dtype=torch.float32)
        self.rows[self.count % CAPACITY] = row
        self.count += 1

    def sample(self):
        rows = self.rows[torch.randint(0, min(self.count, CAPACITY), (BATCH,))]
        return rows.split([4, 1, 1, 4, 1], dim=1)


class Agent:
    """Two networks and the rule by which they learn."""

    def __init__(self, double: bool):
        self.double = double
        self.online = nn.Sequential(
            nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2)
        )
        self.target = copy.deepcopy(self.online).requires_grad_(False)
        self.optimizer = torch.optim.Adam(self.online.parameters(), lr=RATE)
        self.memory = Memory()

    def act(self, state, epsilon: float) -> int:
        if torch.rand(()).item() < epsilon:
            return int(torch.randint(0, 2, ()).item())
        with torch.no_grad():
            return int(self.online(torch.from_numpy(state)).argmax().item())

    def learn(self) -> None:
        states, actions, rewards, following, fell = self.memory.sample()
        values = self.online(states).gather(1, actions.long())
        with torch.no_grad():  # the target is a number to learn, not a way for gradients
            judged = self.target(following)
            chooser = self.online(following) if self.double else judged
            future = judged.gather(1, chooser.argmax(dim=1, keepdim=True))
            goal = rewards + GAMMA * (1 - fell) * future
        self.optimizer.zero_grad()
        F.smooth_l1_loss(values, goal).backward()
        self.optimizer.step()

    def move_target(self) -> None:
        if self.double:
            with torch.no_grad():
                for slow, now in zip(self.target.parameters(), self.online.parameters()):
                    slow.lerp_(now, 0.01)
        elif self.memory.count % COPIED == 0:
            self.target.load_state_dict(self.online.state_dict())

    def state_dict(self) -> dict:
        """All that is needed to go on later."""
        return {
            "online": self.online.state_dict(), "target": self.target.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "rows": self.memory.rows, "count": self.memory.count, "random": torch.get_rng_state(),
        }  # fmt: skip

    def load_state_dict(self, state: dict) -> None:
        self.online.load_state_dict(state["online"])
        self.target.load_state_dict(state["target"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.memory.rows, self.memory.count = state["rows"], state["count"]
        torch.set_rng_state(state["random"])


def episode(world, agent, seed: int, learning: bool) -> int:
    """Play until the pole falls or 500 steps are over: the return, 1 for each step."""
    state, _ = world.reset(seed=seed)
    steps, over = 0, False
    while not over:
        epsilon = max(0.02, 1 - agent.memory.count / 2000) if learning else 0.0
        action = agent.act(state, epsilon)
        following, reward, fell, timed_out, _ = world.step(action)
        if learning:
            agent.memory.add(state, action, reward, following, fell)
            if agent.memory.count > WARM_UP:
                agent.learn()
                agent.move_target()
        state, steps, over = following, steps + 1, fell or timed_out
    return steps


def mean_return(world, agent, episodes: int) -> float:
    """Of episodes that it has not learned from, without exploration."""
    returns = [episode(world, agent, 900_000 + i, learning=False) for i in range(episodes)]
    return sum(returns) / episodes


def train(double: bool, episodes: int, enough: float, seed: int, saved: Path) -> tuple:
    """Learn until the mean return is enough: the returns on the way, and the agent at its best."""
    torch.manual_seed(seed)
    world, agent, returns = helper.cartpole(), Agent(double), []
    most, best, over = 0.0, copy.deepcopy(agent.online.state_dict()), False
    if saved.exists():
        state = torch.load(saved)
        agent.load_state_dict(state["agent"])
        returns, most, best = state["returns"], state["most"], state["best"]
        over = state["over"]
    left = range(len(returns), len(returns) if over else episodes)
    bar = helper.progress(left, "Double DQN" if double else "DQN")
    for number in bar:
        returns.append(episode(world, agent, 1000 * seed + number, learning=True))
        recent = sum(returns[-5:]) / 5
        if recent > most:  # Q-learning forgets what it could
            most, best = recent, copy.deepcopy(agent.online.state_dict())
        if recent >= 0.8 * enough and mean_return(world, agent, 5) >= enough:
            best, over = agent.online.state_dict(), True
        over = over or number + 1 == episodes
        if over or number % 10 == 9:
            state = {"agent": agent.state_dict(), "returns": returns, "most": most, "best": best}
            torch.save(state | {"over": over}, saved)
        if over:
            break
        bar.say(f"mean return of 5 episodes {recent:.0f}")
    agent.online.load_state_dict(best)
    return returns, agent


def main(fast: bool, seed: int, out: Path) -> dict[str, float]:
    episodes, enough = (150, 60) if fast else (600, 400)
    figures, curves, states = {}, {}, []
    for name, double in (("DQN", False), ("Double DQN", True)):
        states.append(out / f"dqn-{int(double)}-{seed}{'-fast' if fast else ''}.pt")
        returns, agent = train(double, episodes, enough, seed, states[-1])
        figures[f"{name}: return"] = mean_return(helper.cartpole(), agent, 20)
        figures[f"{name}: episodes"] = len(returns)
        curves[name] = returns
    helper.chart(
        out / "dqn.svg", curves, "CartPole: for how long the pole stands", "episode", "return"
    )
    for saved in states:
        saved.unlink()
    return figures


def claims(figures, fast):
    goal = 40 if fast else 195
    for name in ("DQN", "Double DQN"):
        value = figures[f"{name}: return"]
        yield (
            f"{name}: mean return {value:.0f} of 20 episodes ({goal} asked; chance: 22)",
            (value >= goal),
        )


if __name__ == "__main__":
    raise SystemExit(helper.run(main, claims))
