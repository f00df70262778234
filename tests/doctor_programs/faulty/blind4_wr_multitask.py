# expect: wrong-reduction line 19, 24

import torch
import torch.nn as nn


class MT(nn.Module):
    def __init__(self):
        super().__init__()
        self.t = nn.Sequential(nn.Linear(8, 32), nn.ReLU())
        self.c, self.r = nn.Linear(32, 3), nn.Linear(32, 2)

    def forward(self, x):
        h = self.t(x)
        return self.c(h), self.r(h)


ce = nn.CrossEntropyLoss()
l1 = nn.SmoothL1Loss(reduction="sum")


def step(net, opt, x, yc, yr):
    c, r = net(x)
    loss = ce(c, yc) + l1(r, yr)
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item()


torch.manual_seed(0)
net = MT()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for i in range(60):
    x = torch.randn(64, 8)
    l = step(net, opt, x, x[:, :3].argmax(1), x[:, 3:5] * 2)
    if i % 20 == 0:
        print(i, l)
