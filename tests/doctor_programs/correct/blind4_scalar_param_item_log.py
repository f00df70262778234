# expect: nothing

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(5, 2)
log_t = nn.Parameter(torch.zeros(()))
opt = torch.optim.Adam([*net.parameters(), log_t], lr=1e-2)
temps = []
for i in range(80):
    x = torch.randn(32, 5)
    loss = nn.functional.cross_entropy(net(x) / log_t.exp(), (x[:, 0] > 0).long())
    opt.zero_grad()
    loss.backward()
    opt.step()
    temps.append(log_t.exp().item())
print(loss.item(), temps[-1])
