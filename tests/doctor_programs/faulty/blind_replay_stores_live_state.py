# expect: aliased-buffer line 28
# The environment's state array is mutated in place, and the buffer keeps the same object.

import random
import numpy as np
import torch
from torch import nn


class Env:
    def __init__(self):
        self.state = np.zeros(4, dtype=np.float32)

    def step(self, a):
        self.state += 0.1 * np.random.randn(4).astype(np.float32)
        return self.state, float(self.state[a])


np.random.seed(0)
random.seed(0)
torch.manual_seed(0)
env, buf = Env(), []
q = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
opt = torch.optim.Adam(q.parameters(), 1e-3)
for t in range(60):
    a = random.randrange(2)
    s, r = env.step(a)
    buf.append((torch.from_numpy(s), a, r))
    if len(buf) >= 16:
        ss, aa, rr = zip(*random.sample(buf, 16))
        pred = q(torch.stack(ss)).gather(1, torch.tensor(aa)[:, None]).squeeze(1)
        loss = nn.functional.mse_loss(pred, torch.tensor(rr))
        opt.zero_grad()
        loss.backward()
        opt.step()
