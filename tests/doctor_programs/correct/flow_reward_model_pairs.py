# expect: nothing

import torch
from torch import nn

torch.manual_seed(0)
rm = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 1))
opt = torch.optim.Adam(rm.parameters(), lr=1e-3)
for i in range(40):
    a, b = torch.randn(32, 6), torch.randn(32, 6)
    pref = a.sum(1) > b.sum(1)
    good, bad = torch.where(pref[:, None], a, b), torch.where(pref[:, None], b, a)
    chosen, target = rm(good).squeeze(1), rm(bad).squeeze(1)
    loss = (
        -nn.functional.logsigmoid(chosen - target).mean() + 1e-3 * (chosen + target).pow(2).mean()
    )
    opt.zero_grad()
    loss.backward()
    opt.step()
