# expect: nothing

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
eps = 1e-8
for i in range(100):
    x = torch.randn(32, 4)
    y = (x[:, 0] > 0).long()
    p = torch.softmax(net(x), 1)
    loss = -torch.log(p[torch.arange(32), y] + eps).mean()
    if not torch.isfinite(loss):
        continue
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
