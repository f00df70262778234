# expect: aliased-buffer line 12, 42
import numpy as np
import torch
from torch import nn


class Buffer:
    def __init__(self, size):
        self.size, self.items = size, []

    def push(self, **entry):
        self.items.append(entry)
        self.items = self.items[-self.size :]

    def sample(self, n, rng):
        chosen = rng.integers(0, len(self.items), n)
        return {k: np.stack([self.items[i][k] for i in chosen]) for k in self.items[0]}


class Agent:
    def __init__(self):
        torch.manual_seed(2)
        self.net = nn.Sequential(nn.Linear(3, 24), nn.Tanh(), nn.Linear(24, 3))
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=3e-3)
        self.buffer = Buffer(300)

    def learn(self, rng):
        batch = self.buffer.sample(16, rng)
        before, after = torch.as_tensor(batch["before"]), torch.as_tensor(batch["after"])
        loss = (self.net(before) - after).pow(2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


rng = np.random.default_rng(0)
agent = Agent()
position = np.zeros(3, dtype=np.float32)
for step in range(150):
    before = position.copy()
    position += 0.1 * rng.standard_normal(3).astype(np.float32) - 0.05 * position
    agent.buffer.push(before=before, after=position)
    if step > 20:
        agent.learn(rng)
