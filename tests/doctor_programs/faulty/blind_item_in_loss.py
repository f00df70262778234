# expect: detached-graph line 30
# The auxiliary head's loss enters the total as a Python number.

import torch
import torch.nn.functional as F
from torch import nn


class Aux(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(6, 16)
        self.main = nn.Linear(16, 3)
        self.rot = nn.Linear(16, 4)

    def forward(self, x):
        h = F.relu(self.stem(x))
        return self.main(h), self.rot(h)


torch.manual_seed(0)
net = Aux()
opt = torch.optim.Adam(net.parameters(), 2e-3)
for it in range(20):
    x = torch.randn(32, 6)
    m, r = net(x)
    losses = {
        "main": F.cross_entropy(m, x[:, :3].argmax(1)),
        "rot": F.cross_entropy(r, x[:, :4].argmin(1)).item(),
    }
    total = sum(losses.values())
    opt.zero_grad()
    total.backward()
    opt.step()
