# expect: backward-twice line 15, 18

import torch
import torch.nn as nn

torch.manual_seed(0)
cell = nn.GRUCell(3, 16)
out = nn.Linear(16, 1)
opt = torch.optim.Adam([*cell.parameters(), *out.parameters()], lr=1e-3)
h = torch.zeros(8, 16)
for step in range(20):
    loss = 0
    for t in range(5):
        x = torch.randn(8, 3)
        h = cell(x, h)
        loss = loss + nn.functional.mse_loss(out(h).squeeze(1), x[:, 0])
    opt.zero_grad()
    loss.backward()
    opt.step()
