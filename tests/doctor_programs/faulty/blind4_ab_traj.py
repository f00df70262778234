# expect: aliased-buffer line 15

import torch
from torch import nn

torch.manual_seed(0)
dyn = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 2))
opt = torch.optim.Adam(dyn.parameters(), lr=5e-3)


def rollout(n):
    traj = []
    x = torch.tensor([1.0, 0.0]) + 0.1 * torch.randn(2)
    for _ in range(n):
        traj.append(x)
        x += 0.05 * torch.stack([x[1], -x[0]])
    return torch.stack(traj)


for ep in range(30):
    t = rollout(30)
    inp, tgt = t[:-1], t[1:]
    loss = nn.functional.mse_loss(dyn(inp), tgt)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
