# expect: missing-zero-grad line 53, 54, 59
import copy
import random
from collections import deque
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
random.seed(0)


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 1), nn.Tanh())

    def forward(self, s):
        return self.net(s)


class TwinQ(nn.Module):
    def __init__(self):
        super().__init__()
        def q(): return nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
        self.q1, self.q2 = q(), q()

    def forward(self, s, a):
        sa = torch.cat([s, a], -1)
        return self.q1(sa), self.q2(sa)


class TD3:
    def __init__(self):
        self.actor, self.critic = Actor(), TwinQ()
        self.actor_t, self.critic_t = copy.deepcopy(self.actor), copy.deepcopy(self.critic)
        self.a_opt = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        self.c_opt = torch.optim.Adam(self.critic.parameters(), lr=1e-3)
        self.n = 0

    def target(self, r, s2, done):
        noise = (torch.randn(len(r), 1) * 0.2).clamp(-0.5, 0.5)
        a2 = (self.actor_t(s2) + noise).clamp(-1, 1)
        q1, q2 = self.critic_t(s2, a2)
        return r + 0.95 * (1 - done) * torch.min(q1, q2)

    def learn(self, batch):
        s, a, r, s2, done = batch
        with torch.no_grad():
            y = self.target(r, s2, done)
        q1, q2 = self.critic(s, a)
        c_loss = F.mse_loss(q1, y) + F.mse_loss(q2, y)
        c_loss.backward()
        self.c_opt.step()
        self.n += 1
        if self.n % 2 == 0:
            a_loss = -self.critic(s, self.actor(s))[0].mean()
            self.a_opt.zero_grad()
            a_loss.backward()
            self.a_opt.step()
            self.soft_update()

    @torch.no_grad()
    def soft_update(self, tau=0.01):
        for live, slow in ((self.actor, self.actor_t), (self.critic, self.critic_t)):
            for p, q in zip(live.parameters(), slow.parameters()):
                q.lerp_(p, tau)


class Pendulumish:
    def reset(self):
        self.s = torch.randn(3)
        return self.s

    def step(self, a):
        nxt = 0.9 * self.s + 0.1 * a * torch.ones(3) + 0.01 * torch.randn(3)
        self.s = nxt
        return nxt, -nxt.pow(2).sum().item(), random.random() < 0.05


agent, env, memory = TD3(), Pendulumish(), deque(maxlen=500)
s = env.reset()
for t in range(160):
    with torch.no_grad():
        a = (agent.actor(s) + 0.1 * torch.randn(1)).clamp(-1, 1)
    s2, r, done = env.step(a)
    memory.append((s, a, torch.tensor([r]), s2, torch.tensor([float(done)])))
    s = env.reset() if done else s2
    if len(memory) >= 32:
        agent.learn([torch.stack(c) for c in zip(*random.sample(memory, 32))])
print(agent.n)
