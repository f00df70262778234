# expect: graph-leak line 13

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(6, 4)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
best = []


def track(loss, step):
    best.append((step, loss))
    best.sort(key=lambda p: p[1].item())


for i in range(50):
    x = torch.randn(16, 6)
    loss = nn.functional.cross_entropy(net(x), x[:, :4].argmax(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    track(loss, i)
