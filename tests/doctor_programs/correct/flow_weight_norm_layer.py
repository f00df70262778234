# expect: nothing

import torch
import torch.nn as nn


class WN(nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.v = nn.Parameter(torch.randn(b, a) * 0.1)
        self.g = nn.Parameter(torch.ones(1))

    def forward(self, x):
        w = self.v - self.v.mean()
        return x @ (self.g * w / w.norm()).t()


torch.manual_seed(0)
net = nn.Sequential(WN(6, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for i in range(40):
    x = torch.randn(32, 6)
    loss = nn.functional.cross_entropy(net(x), (x[:, 0] > 0).long())
    opt.zero_grad()
    loss.backward()
    opt.step()
