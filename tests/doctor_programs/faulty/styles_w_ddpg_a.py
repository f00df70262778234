# expect: target-not-detached line 46, 47, 49
import collections
import copy
import random
import torch
from torch import nn, optim
import torch.nn.functional as F

Transition = collections.namedtuple("Transition", "s a r s2 d")


class Point:
    """A point on a line that should go to 0."""

    def reset(self):
        self.x, self.t = random.uniform(-1, 1), 0
        return [self.x, 1.0]

    def step(self, a):
        self.x = max(-2, min(2, self.x + 0.3 * a))
        self.t += 1
        return [self.x, 1.0], -abs(self.x), self.t >= 10


class Agent:
    gamma, tau = 0.95, 0.02

    def __init__(self):
        self.actor = nn.Sequential(nn.Linear(2, 24), nn.ReLU(), nn.Linear(24, 1), nn.Tanh())
        self.critic = nn.Sequential(nn.Linear(3, 24), nn.ReLU(), nn.Linear(24, 1))
        self.actor_t = copy.deepcopy(self.actor)
        self.critic_t = copy.deepcopy(self.critic)
        self.opt_a = optim.Adam(self.actor.parameters(), 1e-3)
        self.opt_c = optim.Adam(self.critic.parameters(), 2e-3)
        self.memory = collections.deque(maxlen=500)

    @torch.no_grad()
    def act(self, s):
        return float(self.actor(torch.tensor(s))) + random.gauss(0, 0.2)

    def learn(self):
        batch = Transition(*zip(*random.sample(self.memory, 32)))
        s, a, s2 = torch.tensor(batch.s), torch.tensor(batch.a)[:, None], torch.tensor(batch.s2)
        r, d = torch.tensor(batch.r)[:, None], torch.tensor(batch.d).float()[:, None]
        if True:
            q2 = self.critic(torch.cat([s2, self.actor(s2)], 1))
            y = r + self.gamma * (1 - d) * q2
        q = self.critic(torch.cat([s, a], 1))
        loss_c = F.mse_loss(q, y)
        self.opt_c.zero_grad()
        loss_c.backward()
        self.opt_c.step()
        loss_a = -self.critic(torch.cat([s, self.actor(s)], 1)).mean()
        self.opt_a.zero_grad()
        loss_a.backward()
        self.opt_a.step()
        self.soft(self.actor, self.actor_t)
        self.soft(self.critic, self.critic_t)

    def soft(self, net, target):
        for p, t in zip(net.parameters(), target.parameters()):
            t.data.mul_(1 - self.tau).add_(p.data, alpha=self.tau)


random.seed(1)
torch.manual_seed(1)
env, agent = Point(), Agent()
for episode in range(14):
    s, done, total = env.reset(), False, 0
    while not done:
        a = agent.act(s)
        s2, r, done = env.step(a)
        agent.memory.append(Transition(s, a, r, s2, done))
        s, total = s2, total + r
        if len(agent.memory) >= 64:
            agent.learn()
    if episode % 5 == 0:
        print(episode, round(total, 2))
