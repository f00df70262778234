# expect: nothing

import torch
from torch import nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, i, o, s=1):
        super().__init__()
        self.c1 = nn.Conv2d(i, o, 3, s, 1, bias=False)
        self.b1 = nn.BatchNorm2d(o)
        self.c2 = nn.Conv2d(o, o, 3, 1, 1, bias=False)
        self.b2 = nn.BatchNorm2d(o)
        self.sc = (
            nn.Identity()
            if s == 1 and i == o
            else nn.Sequential(nn.Conv2d(i, o, 1, s, bias=False), nn.BatchNorm2d(o))
        )

    def forward(self, x):
        h = F.relu(self.b1(self.c1(x)), inplace=True)
        h = self.b2(self.c2(h))
        h += self.sc(x)
        return F.relu(h)


torch.manual_seed(0)
net = nn.Sequential(
    nn.Conv2d(1, 8, 3, padding=1),
    Block(8, 8),
    Block(8, 16, 2),
    nn.AdaptiveAvgPool2d(1),
    nn.Flatten(),
    nn.Linear(16, 2),
)
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
x = torch.randn(128, 1, 8, 8)
y = torch.arange(128) % 2
x[y == 1, :, 2:5, 2:5] += 1.0
for ep in range(4):
    net.train()
    for i in torch.randperm(96).split(16):
        opt.zero_grad()
        loss = F.cross_entropy(net(x[i]), y[i])
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        print(ep, loss.item(), (net(x[96:]).argmax(1) == y[96:]).float().mean().item())
