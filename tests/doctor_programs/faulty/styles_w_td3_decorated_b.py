# expect: missing-zero-grad line 66, 67, 68
import copy
import functools
import numpy as np
import torch
import torch.nn as nn


def logged(fn):
    @functools.wraps(fn)
    def wrapper(self, *args, **kwargs):
        out = fn(self, *args, **kwargs)
        self.log.setdefault(fn.__name__, []).append(float(out))
        return out

    return wrapper


def net(i, o, last=None):
    layers = [nn.Linear(i, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, o)]
    return nn.Sequential(*layers, *([last()] if last else []))


class Twin(nn.Module):
    def __init__(self):
        super().__init__()
        self.q1, self.q2 = net(4, 1), net(4, 1)

    def forward(self, s, a):
        x = torch.cat([s, a], 1)
        return self.q1(x), self.q2(x)


class Replay:
    def __init__(self, n):
        self.s = np.zeros((n, 3), np.float32)
        self.rows, self.n = [], n

    def add(self, s, a, r, s2):
        self.rows.append((s.copy(), a, r, s2.copy()))

    def sample(self, k):
        pick = np.random.randint(0, len(self.rows), k)
        s, a, r, s2 = map(np.stack, zip(*[self.rows[i] for i in pick]))
        return [torch.as_tensor(v, dtype=torch.float32) for v in (s, a, r[:, None], s2)]


class TD3:
    def __init__(self):
        self.log = {}
        self.pi, self.q = net(3, 1, nn.Tanh), Twin()
        self.pi_t, self.q_t = copy.deepcopy(self.pi).requires_grad_(False), copy.deepcopy(self.q).requires_grad_(False)
        self.po = torch.optim.Adam(self.pi.parameters(), lr=1e-3)
        self.qo = torch.optim.Adam(self.q.parameters(), lr=1e-3)

    def target(self, r, s2):
        noise = (0.2 * torch.randn(len(r), 1)).clamp(-0.5, 0.5)
        a2 = (self.pi_t(s2) + noise).clamp(-1, 1)
        return r + 0.9 * torch.min(*self.q_t(s2, a2))

    @logged
    def critic_step(self, s, a, r, s2):
        y = self.target(r, s2)
        q1, q2 = self.q(s, a)
        loss = (q1 - y).pow(2).mean() + (q2 - y).pow(2).mean()
        self.po.zero_grad()
        loss.backward()
        self.qo.step()
        return loss.detach()

    @logged
    def actor_step(self, s):
        loss = -self.q.q1(torch.cat([s, self.pi(s)], 1)).mean()
        self.po.zero_grad()
        loss.backward()
        self.po.step()
        for live, slow in ((self.pi, self.pi_t), (self.q, self.q_t)):
            for p, t in zip(live.parameters(), slow.parameters()):
                t.data.lerp_(p.data, 0.02)
        return loss.detach()


np.random.seed(3)
torch.manual_seed(3)
agent, replay = TD3(), Replay(500)
state = np.random.randn(3).astype(np.float32)
for t in range(150):
    with torch.no_grad():
        a = agent.pi(torch.as_tensor(state)[None])[0].numpy() + np.random.normal(0, 0.3, 1).astype(np.float32)
    old = state.copy()
    state += 0.1 * a * np.array([1, -1, 0.5], np.float32)
    state *= 0.95
    replay.add(old, a, np.float32(-np.square(state).sum()), state)
    if t > 40:
        agent.critic_step(*replay.sample(32))
        if t % 2 == 0:
            agent.actor_step(replay.sample(32)[0])
print({k: round(v[-1], 3) for k, v in agent.log.items()})
