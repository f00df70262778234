# expect: nothing

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for i in range(30):
    x = torch.randn(16, 8)
    y = x[:, :3].argmax(1)
    u = torch.randn(64, 8)
    conf, lab = F.softmax(net(u).detach(), 1).max(1)
    loss = (
        F.cross_entropy(net(x), y)
        + 0.5
        * (
            F.cross_entropy(net(u + 0.05 * torch.randn_like(u)), lab, reduction="none")
            * (conf > 0.6)
        ).mean()
    )
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
