# expect: inplace-saved-tensor line 15
# Hidden activations are scaled in place after tanh saved them.

import torch
from torch import nn


class Cell(nn.Module):
    def __init__(self, d=8):
        super().__init__()
        self.i, self.h = nn.Linear(3, d), nn.Linear(d, d)

    def forward(self, x, h):
        h = torch.tanh(self.i(x) + self.h(h))
        h /= h.norm(dim=1, keepdim=True) + 1e-6
        return h


torch.manual_seed(0)
cell, out = Cell(), nn.Linear(8, 1)
opt = torch.optim.Adam([*cell.parameters(), *out.parameters()], lr=1e-3)
for i in range(4):
    h = torch.zeros(6, 8)
    for t in range(5):
        h = cell(torch.randn(6, 3), h)
    loss = out(h).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
