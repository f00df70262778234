# expect: retain-graph-misuse line 16

import torch
from torch import nn

torch.manual_seed(0)
cell = nn.GRUCell(3, 8)
out = nn.Linear(8, 1)
opt = torch.optim.Adam([*cell.parameters(), *out.parameters()], lr=1e-3)
h = torch.zeros(4, 8)
for i in range(25):
    x = torch.randn(4, 3)
    hn = cell(x, h.detach())
    loss = (out(hn) - x.sum(1, keepdim=True)).pow(2).mean()
    opt.zero_grad()
    loss.backward(retain_graph=True)
    opt.step()
    h = hn
