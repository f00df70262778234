# expect: detached-graph line 19

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(64, 8)
y = x[:, :1] * 2 - x[:, 1:2]


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(8, 16)
        self.dec = nn.Linear(16, 1)

    def forward(self, x):
        h = torch.relu(self.enc(x)).data
        return self.dec(h)


m = M()
opt = torch.optim.Adam(m.parameters(), lr=0.01)
for i in range(20):
    opt.zero_grad()
    F.mse_loss(m(x), y).backward()
    opt.step()
