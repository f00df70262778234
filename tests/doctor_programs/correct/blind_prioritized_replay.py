# expect: nothing
# Replay with preallocated numpy arrays, target net refreshed by load_state_dict, Double DQN.

import numpy as np
import torch
from torch import nn


class Replay:
    def __init__(self, n):
        self.s, self.s2 = np.zeros((n, 3), "f4"), np.zeros((n, 3), "f4")
        self.a, self.r, self.p = np.zeros(n, "i8"), np.zeros(n, "f4"), np.zeros(n)
        self.i, self.n = 0, n

    def add(self, s, a, r, s2):
        k = self.i % self.n
        self.s[k], self.a[k], self.r[k], self.s2[k], self.p[k] = s, a, r, s2, 1.0
        self.i += 1

    def sample(self, m):
        top = min(self.i, self.n)
        idx = np.random.choice(top, m, p=self.p[:top] / self.p[:top].sum())
        return idx, *map(torch.from_numpy, (self.s[idx], self.a[idx], self.r[idx], self.s2[idx]))


np.random.seed(0)
torch.manual_seed(0)


def mk():
    return nn.Sequential(nn.Linear(3, 24), nn.ReLU(), nn.Linear(24, 2))


q, qt = mk(), mk()
qt.load_state_dict(q.state_dict())
opt = torch.optim.Adam(q.parameters(), 1e-3)
mem = Replay(64)
s = np.zeros(3, "f4")
for t in range(100):
    with torch.no_grad():
        a = int(q(torch.as_tensor(s)).argmax()) if np.random.rand() > 0.3 else np.random.randint(2)
    s2 = (0.8 * s + 0.2 * np.random.randn(3)).astype("f4")
    mem.add(s, a, float(s2[a]), s2)
    s = s2
    if t >= 16:
        idx, S, A, R, S2 = mem.sample(16)
        with torch.no_grad():
            tgt = R + 0.9 * qt(S2).gather(1, q(S2).argmax(1, keepdim=True)).squeeze(1)
        td = q(S).gather(1, A[:, None]).squeeze(1) - tgt
        opt.zero_grad()
        td.pow(2).mean().backward()
        opt.step()
        mem.p[idx] = td.abs().detach().numpy() + 1e-3
    if t % 25 == 0:
        qt.load_state_dict(q.state_dict())
