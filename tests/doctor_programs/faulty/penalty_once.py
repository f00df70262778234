# expect: backward-twice line 13, 17

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(90, 8)
y = x[:, :3].argmax(1)
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))

opt = torch.optim.Adam(net.parameters(), lr=0.01)
l2 = sum(p.pow(2).sum() for p in net.parameters())
for i in range(5):
    loss = F.cross_entropy(net(x), y) + 1e-4 * l2
    opt.zero_grad()
    loss.backward()
    opt.step()
