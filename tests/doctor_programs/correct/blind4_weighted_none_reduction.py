# expect: nothing

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 2))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
ce = nn.CrossEntropyLoss(reduction="none")
for i in range(80):
    x = torch.randn(32, 6)
    y = (x[:, 0] > 0.8).long()
    w = torch.where(y == 1, 3.0, 1.0)
    loss = (ce(net(x), y) * w).sum() / w.sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 20 == 0:
        print(i, loss.item())
