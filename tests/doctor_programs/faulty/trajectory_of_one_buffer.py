# expect: aliased-buffer line 29
# The rollout stores the same observation array at every step.

import numpy as np
import torch
from torch import nn


class Env:
    def __init__(self):
        self.state = np.zeros(3, dtype=np.float32)
        self.rng = np.random.default_rng(0)

    def step(self, a):
        self.state += self.rng.normal(size=3).astype(np.float32) * 0.3 + 0.05 * a
        return self.state, float(-abs(self.state[0]))


torch.manual_seed(0)
env = Env()
policy = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 2))
opt = torch.optim.Adam(policy.parameters(), lr=1e-3)
for it in range(6):
    observations, actions, rewards = [], [], []
    obs = env.state
    for t in range(12):
        with torch.no_grad():
            a = torch.distributions.Categorical(logits=policy(torch.from_numpy(obs))).sample()
        observations.append(torch.from_numpy(obs))
        obs, r = env.step(a.item())
        actions.append(a)
        rewards.append(r)
    o, a = torch.stack(observations), torch.stack(actions)
    ret = torch.tensor(rewards).flip(0).cumsum(0).flip(0)
    logp = torch.distributions.Categorical(logits=policy(o)).log_prob(a)
    loss = -(logp * (ret - ret.mean())).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
