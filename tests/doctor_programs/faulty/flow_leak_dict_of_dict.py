# expect: graph-leak line 15

import torch
from torch import nn
from collections import defaultdict

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
stats = defaultdict(list)
for ep in range(40):
    x = torch.randn(16, 8)
    pred = net(x)
    loss = (pred - x[:, :1]).pow(2).mean()
    stats["mse"].append(loss)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(sum(v.item() for v in stats["mse"]) / 40)
