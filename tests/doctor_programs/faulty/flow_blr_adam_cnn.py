# expect: bad-learning-rate line 11

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(
    nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(128, 4)
)
cfg = {"lr": 1.0, "betas": (0.9, 0.99)}
opt = torch.optim.Adam(net.parameters(), **cfg)
for i in range(40):
    y = torch.randint(0, 4, (16,))
    x = torch.randn(16, 1, 8, 8) + y.view(-1, 1, 1, 1).float()
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
