# expect: nothing

import torch
from torch import nn

torch.manual_seed(0)
cell, head = nn.GRUCell(2, 16), nn.Linear(16, 1)
opt = torch.optim.Adam([*cell.parameters(), *head.parameters()], lr=5e-3)
for it in range(60):
    x = torch.randn(16, 8, 2)
    y = x[..., :1].cumsum(1)
    h = torch.zeros(16, 16)
    loss = 0
    for t in range(8):
        h = cell(x[:, t], h)
        loss = loss + nn.functional.mse_loss(head(h), y[:, t])
    loss = loss / 8
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 20 == 0:
        print(it, loss.item())
