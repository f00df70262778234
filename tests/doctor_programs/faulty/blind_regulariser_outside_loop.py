# expect: backward-twice line 13, 17
# The smoothness term is computed once before the loop.

import torch
from torch import nn

torch.manual_seed(0)
table = nn.Embedding(30, 4)
net = nn.Linear(4, 1)
opt = torch.optim.Adam([*table.parameters(), *net.parameters()], 1e-2)
idx = torch.arange(30)
target = torch.sin(idx / 5.0).unsqueeze(1)
smooth = (table.weight[1:] - table.weight[:-1]).pow(2).mean()
for epoch in range(10):
    loss = nn.functional.mse_loss(net(table(idx)), target) + 0.1 * smooth
    opt.zero_grad()
    loss.backward()
    opt.step()
