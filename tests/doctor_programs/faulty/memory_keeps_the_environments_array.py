# expect: aliased-buffer line 40
import random
from collections import deque

import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

random.seed(0)
np.random.seed(0)
torch.manual_seed(10)


class Track:
    """A point that is pushed to and fro."""

    def __init__(self):
        self.state = np.zeros(2, dtype=np.float32)

    def reset(self):
        self.state[:] = np.random.uniform(-1, 1, 2)
        return self.state

    def step(self, action):
        self.state[1] += 0.1 * (action - 1)
        self.state[0] += 0.1 * self.state[1]
        return self.state, -abs(float(self.state[0]))


env = Track()
memory = deque(maxlen=500)
q = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer = torch.optim.Adam(q.parameters(), lr=1e-3)
state = env.reset()
for step in range(200):
    action = random.randrange(3)
    before = state.copy()
    state, reward = env.step(action)
    memory.append((before, action, reward, state))
    if len(memory) >= 32:
        s, a, r, n = zip(*random.sample(memory, 16))
        s, n = torch.tensor(np.array(s)), torch.tensor(np.array(n))
        a, r = torch.tensor(a), torch.tensor(r)
        with torch.no_grad():
            goal = r + 0.9 * q(n).max(1).values
        loss = F.mse_loss(q(s).gather(1, a[:, None]).squeeze(1), goal)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if step % 40 == 39:
        state = env.reset()
