# expect: missing-zero-grad line 15, 16
# The branch for large batches returns before zero_grad.

import torch
from torch import nn


class Loop:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(4, 16), nn.ELU(), nn.Linear(16, 2))
        self.opt = torch.optim.Adam(self.net.parameters(), lr=1e-3)

    def update(self, x, y):
        loss = nn.functional.cross_entropy(self.net(x), y)
        loss.backward()
        self.opt.step()
        if len(x) > 8:
            return loss.item()
        self.opt.zero_grad()
        return loss.item()


torch.manual_seed(0)
loop = Loop()
for i in range(30):
    x = torch.randn(16, 4)
    v = loop.update(x, (x[:, 0] > 0).long())
print(v)
