# expect: nothing

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
cell = nn.GRUCell(3, 16)
out = nn.Linear(16, 1)
opt = torch.optim.Adam([*cell.parameters(), *out.parameters()], lr=1e-2)
for i in range(25):
    x = torch.randn(12, 16, 3)
    h = torch.zeros(16, 16)
    loss = 0
    for t in range(12):
        h = cell(x[t], h)
        loss = loss + F.mse_loss(out(h), x[t, :, :1])
    loss = loss / 12
    opt.zero_grad()
    loss.backward()
    opt.step()
