# expect: loss-broadcast line 14
# Values are (N, 1), returns are (N,).

import torch
import torch.nn as nn

torch.manual_seed(0)
value = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 1))
opt = torch.optim.Adam(value.parameters(), lr=1e-3)


def critic_loss(obs, returns):
    v = value(obs)
    return 0.5 * ((returns - v) ** 2).mean()


for it in range(25):
    obs = torch.randn(48, 6)
    returns = obs.sum(1)
    loss = critic_loss(obs, returns)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
