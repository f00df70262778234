# expect: detached-graph line 19

import torch
import torch.nn as nn
import torch.nn.functional as F


class TwoTower(nn.Module):
    def __init__(self):
        super().__init__()
        self.u = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))
        self.i = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 8))

    def forward(self, u, i):
        return (self.u(u) * self.i(i)).sum(1)


def bpr(pos, neg):
    diff = torch.tensor((pos - neg).tolist(), requires_grad=True)
    return -F.logsigmoid(diff).mean()


torch.manual_seed(0)
net = TwoTower()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
W = torch.randn(8, 5)
for step in range(60):
    u, a, b = torch.randn(32, 8), torch.randn(32, 5), torch.randn(32, 5)
    sa, sb = ((u @ W) * a).sum(1), ((u @ W) * b).sum(1)
    swap = (sa < sb).unsqueeze(1)
    pos, neg = torch.where(swap, b, a), torch.where(swap, a, b)
    loss = bpr(net(u, pos), net(u, neg))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0:
        print(step, loss.item())
