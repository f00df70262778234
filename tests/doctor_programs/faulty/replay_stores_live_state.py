# expect: aliased-buffer line 36
# The environment reuses one array for its state, the replay buffer stores it without a copy.

import random

import numpy as np
import torch
from torch import nn


class PointEnv:
    def __init__(self, seed=0):
        self.rng = np.random.default_rng(seed)
        self.state = np.zeros(2, dtype=np.float32)

    def reset(self):
        self.state[:] = self.rng.normal(size=2)
        return self.state

    def step(self, action):
        self.state += np.float32(0.2) * (np.float32(-1.0) if action == 0 else np.float32(1.0))
        reward = -float(np.abs(self.state).sum())
        return self.state, reward


random.seed(162)
torch.manual_seed(162)
env = PointEnv(162)
q = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(q.parameters(), lr=2e-3)
buffer = []
state = env.reset()
for t in range(150):
    action = random.randrange(2)
    next_state, reward = env.step(action)
    buffer.append((torch.from_numpy(state), action, reward))
    state = next_state
    if t % 15 == 14:
        state = env.reset()
    if t >= 32:
        states, actions, rewards = zip(*random.sample(buffer, 16))
        picked = q(torch.stack(states)).gather(1, torch.tensor(actions).unsqueeze(1))
        loss = nn.functional.mse_loss(picked, torch.tensor(rewards).unsqueeze(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if t % 30 == 0:
            print(t, loss.item())
