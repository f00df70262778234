# expect: exploding-gradient line 10, 30
# Convolutions initialised with a standard deviation of one.

import torch
import torch.nn as nn


def init(m):
    if isinstance(m, nn.Conv2d):
        nn.init.normal_(m.weight, std=1.0)
        nn.init.zeros_(m.bias)


class Tower(nn.Module):
    def __init__(self, width=12, depth=6):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3, padding=1)
        self.body = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1) for _ in range(depth))
        self.head = nn.Linear(width, 4)

    def forward(self, x):
        x = torch.relu(self.stem(x))
        for c in self.body:
            x = torch.relu(c(x))
        return self.head(x.mean((2, 3)))


torch.manual_seed(0)
net = Tower()
net.apply(init)
opt = torch.optim.SGD(net.parameters(), lr=1e-3)
for i in range(12):
    x = torch.randn(8, 3, 8, 8)
    loss = nn.functional.cross_entropy(net(x), (x.mean((1, 2, 3)) > 0).long())
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(i, loss.item())
