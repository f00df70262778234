# expect: detached-graph line 15
# A learned threshold is used in a comparison only.

import torch
from torch import nn


class Gate(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.threshold = nn.Parameter(torch.zeros(d))
        self.fc = nn.Linear(d, 1)

    def forward(self, x):
        keep = (x > self.threshold).float()
        return self.fc(x * keep)


torch.manual_seed(0)
net = Gate(6)
opt = torch.optim.Adam(net.parameters(), 1e-2)
for _ in range(20):
    x = torch.randn(32, 6)
    loss = (net(x) - x.clamp_min(0.3).sum(1, keepdim=True)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
