# expect: param-not-in-optimizer line 15, 25

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(64, 8)
y = x[:, :1] * 2 - x[:, 1:2]


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = {"a": nn.Linear(8, 16), "b": nn.Linear(16, 16)}
        self.out = nn.Linear(16, 1)

    def forward(self, x):
        for l in self.layers.values():
            x = torch.relu(l(x))
        return self.out(x)


m = M()
opt = torch.optim.Adam(m.parameters(), lr=0.01)
for i in range(15):
    opt.zero_grad()
    F.mse_loss(m(x), y).backward()
    opt.step()
