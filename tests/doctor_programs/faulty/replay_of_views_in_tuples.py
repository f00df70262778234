# expect: aliased-buffer line 33
import random
import numpy as np
import torch
import torch.nn as nn

random.seed(0)
np.random.seed(0)
torch.manual_seed(0)


class Env:
    def __init__(self):
        self.state = np.zeros(3, dtype=np.float32)

    def reset(self):
        self.state[:] = np.random.randn(3)
        return self.state

    def step(self, a):
        self.state += (0.1 if a else -0.1) + 0.05 * np.random.randn(3).astype(np.float32)
        return self.state, -float(np.abs(self.state).sum())


env = Env()
memory = []
obs = env.reset()
for t in range(300):
    if t % 30 == 0:
        obs = env.reset()
    a = random.randint(0, 1)
    nxt, r = env.step(a)
    memory.append((torch.from_numpy(obs), a, r, torch.from_numpy(nxt)))
    obs = nxt
q = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(q.parameters(), lr=1e-3)
for it in range(60):
    mb = random.sample(memory, 32)
    s = torch.stack([m[0] for m in mb])
    a = torch.tensor([m[1] for m in mb])
    r = torch.tensor([m[2] for m in mb])
    s2 = torch.stack([m[3] for m in mb])
    with torch.no_grad():
        tgt = r + 0.9 * q(s2).max(1)[0]
    loss = nn.functional.smooth_l1_loss(q(s).gather(1, a.unsqueeze(1)).squeeze(1), tgt)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
