# expect: bad-learning-rate line 10
# A rate of 2 for Adam.

import torch
from torch import nn

torch.manual_seed(0)
cfg = {"lr": 2.0, "wd": 0.0, "steps": 30}
net = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 4))
opt = torch.optim.AdamW(net.parameters(), lr=cfg["lr"], weight_decay=cfg["wd"])
for i in range(cfg["steps"]):
    x = torch.randn(32, 8)
    loss = nn.functional.cross_entropy(net(x), x[:, :4].argmax(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
