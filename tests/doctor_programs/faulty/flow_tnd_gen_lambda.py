# expect: target-not-detached line 23, 24

import torch
from torch import nn

torch.manual_seed(0)
critic = nn.Sequential(nn.Linear(3, 24), nn.Tanh(), nn.Linear(24, 1))
opt = torch.optim.RMSprop(critic.parameters(), lr=1e-3)


def lambda_returns(rew, val, gamma=0.95, lam=0.9):
    out, last = [], val[-1]
    for t in reversed(range(len(rew))):
        last = rew[t] + gamma * ((1 - lam) * val[t + 1] + lam * last)
        out.insert(0, last)
    return torch.stack(out)


for ep in range(30):
    obs = torch.randn(9, 3).cumsum(0) * 0.3
    rew = obs[:-1, 0].tanh()
    val = critic(obs).squeeze(1)
    tgt = lambda_returns(rew, val)
    loss = nn.functional.mse_loss(val[:-1], tgt)
    opt.zero_grad()
    loss.backward()
    opt.step()
